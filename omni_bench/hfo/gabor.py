"""Wavelet entropy of short segments (Zelmann et al. 2010): how evenly a segment fills the band."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Floats = NDArray[np.float64]

N_NOISE = 100
"""Noise segments behind the maximum entropy."""


class Bank(NamedTuple):
    """Everything that turns segments into band powers by two matrix products."""

    cosine: Floats
    sine: Floats
    power: Floats


@lru_cache(maxsize=8)
def bank(length: int, sfreq: float, low: float, high: float) -> Bank:
    """Fourier and Gabor weights for segments of ``length`` samples.

    The mean squared Gabor coefficient of a segment's autocorrelation is, by Parseval, a weighted sum of the fourth
    power of the segment's own spectrum on the ``2 length - 1`` point grid of the autocorrelation; no transform back
    is needed. Frequencies stand about 5 Hz apart; the Gabor window has a time spread of three periods.
    """
    n_frequencies = len(np.arange(low, high, 5))
    step = int((high - low) / (n_frequencies - 1))
    frequencies = np.arange(low, high + step / 2, step)
    frequencies = frequencies[frequencies <= high]
    n_lags = 2 * length - 1
    bins = np.arange(n_lags // 2 + 1)
    spread = 3 / frequencies
    distance = 2 * np.pi * (sfreq * bins[:, None] / n_lags - frequencies)
    power = np.exp(-((distance * spread) ** 2))
    power /= power.sum(0) * spread
    used = np.flatnonzero(power.max(1) > np.finfo(float).eps * power.max())
    angle = 2 * np.pi * np.arange(length)[:, None] * used / n_lags
    return Bank(np.cos(angle), np.sin(angle), power[used])


def entropy(segments: Floats, weights: Bank) -> Floats:
    """Entropy in nats of the band powers of each row of ``segments`` (n, length)."""
    spectrum = (segments @ weights.cosine) ** 2 + (segments @ weights.sine) ** 2
    power = (spectrum * spectrum) @ weights.power
    power /= power.sum(1, keepdims=True)
    return -np.sum(power * np.log(power, out=np.zeros_like(power), where=power > 0), axis=1)


def windows(x: Floats, length: int, hop: int) -> Floats:
    """Segments of ``length`` every ``hop`` samples of the one channel ``x``, as far as they fit."""
    return sliding_window_view(x, length)[::hop]


def cover(chosen: NDArray[np.bool_], length: int, hop: int, n_times: int) -> NDArray[np.bool_]:
    """Samples that at least one chosen window covers."""
    edges = np.zeros(n_times + 1, dtype=np.intp)
    start = np.flatnonzero(chosen) * hop
    np.add.at(edges, start, 1)
    np.add.at(edges, start + length, -1)
    return np.cumsum(edges[:-1]) > 0


@lru_cache(maxsize=32)
def reference_maximum(length: int, sfreq: float, low: float, high: float, seed: int) -> float:
    """Median entropy of 100 segments of uniform [0, 1) noise from MT19937, as the reference draws them."""
    noise = np.random.RandomState(seed).rand(N_NOISE, length)
    return float(np.median(entropy(noise, bank(length, sfreq, low, high))))
