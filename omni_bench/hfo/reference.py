"""The event rules of the published package (HFODetector 0.0.25), faults included: integers for parity.

Each function takes the zero-state filtered signal ``x`` (n_channels, n_times; best one channel, which stays in the
cache) and returns intervals whose ``stop`` is
the integer that the package prints: inclusive for STE, one short for Hilbert, exclusive for MNI.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft, special

from omni_bench.hfo import gabor, gamma
from omni_bench.hfo.envelopes import centred_rms_zero_ends, odd_window
from omni_bench.hfo.parameters import MNI, STE, Hilbert
from omni_bench.hfo.runs import Runs, count_peaks, merge, runs

Floats = NDArray[np.float64]


def _joined(parts: list[Runs]) -> Runs:
    channel, start, stop = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.lexsort((start, channel))
    return Runs(channel[order], start[order], stop[order])


def _epochs(n_times: int, length: int) -> list[tuple[int, int]]:
    return [(start, min(start + length, n_times)) for start in range(0, n_times, length)]


def ste(x: Floats, sfreq: float, band: tuple[float, float], p: STE) -> Runs:
    """Short-time energy; ``stop`` is the last sample above threshold."""
    rms = centred_rms_zero_ends(x, odd_window(p.rms_window, sfreq))
    parts = []
    for first, last in _epochs(x.shape[1], round(p.epoch_len * sfreq)):
        r = rms[:, first:last]
        found = runs(r > (r.mean(1) + p.rms_thres * r.std(1))[:, None])
        found = found.keep(found.stop - found.start > round(p.min_window * sfreq))
        found = merge(found, round(p.min_gap * sfreq) - 1)
        rectified = np.abs(x[:, first:last])
        height = rectified.mean(1) + p.peak_thres * rectified.std(1)
        found = found.keep(count_peaks(rectified, found, height[found.channel]) >= p.min_osc)
        parts.append(Runs(found.channel, found.start + first, found.stop + first - 1))
    return _joined(parts)


def hilbert(x: Floats, sfreq: float, band: tuple[float, float], p: Hilbert) -> Runs:
    """Hilbert envelope; ``stop`` is one before the last sample above threshold."""
    n_times = x.shape[1]
    envelope = np.empty(x.shape)
    for row, channel in zip(envelope, x, strict=True):
        np.square(quadrature(channel), out=row)
        row += channel * channel
        np.sqrt(row, out=row)
    parts = []
    for first, last in _epochs(n_times - 1, round(p.epoch_len * sfreq)):
        e = envelope[:, first:last]
        found = runs(e > (e.mean(1) + p.sd_thres * e.std(1))[:, None])
        found = found.keep(found.stop - found.start - 1 > round(p.min_window * sfreq))
        parts.append(Runs(found.channel, found.start + first, found.stop + first - 2))
    return _joined(parts)


@lru_cache(maxsize=1)
def _quarter_turn(n_times: int) -> tuple[int, NDArray[np.complex128], NDArray[np.complex128]]:
    """Rows, twiddle factors and Hilbert factors (-i below the Nyquist rate, i above, 0 at both ends) of `quadrature`."""
    rows = next(divisor for divisor in range(int(np.sqrt(n_times)), 0, -1) if n_times % divisor == 0)
    row, column = np.ogrid[: rows // 2 + 1, : n_times // rows]
    factors = -1j * np.sign(n_times - 2 * (row + rows * column))
    factors[0, 0] = 0
    return rows, np.exp(-2j * np.pi * row * column / n_times), factors


def quadrature(x: Floats) -> Floats:
    """Circular Hilbert transform of one channel over exactly its length, as a matrix (see `omni_bench.hfo.convolution`)."""
    rows, twiddle, factors = _quarter_turn(len(x))
    matrix = fft.rfft(x.reshape(rows, -1), axis=0)
    matrix *= twiddle
    matrix = fft.fft(matrix, axis=1, overwrite_x=True)
    matrix *= factors
    matrix = fft.ifft(matrix, axis=1, overwrite_x=True)
    matrix *= twiddle.conj()
    return fft.irfft(matrix, rows, axis=0).ravel()


def mni(x: Floats, sfreq: float, band: tuple[float, float], p: MNI) -> Runs:
    """Montreal detector; ``stop`` is exclusive. Samples that no threshold covers count as above."""
    rms = centred_rms_zero_ends(x, odd_window(p.rms_window, sfreq))
    n_times = x.shape[1]
    length = round(p.base_seg * sfreq)
    hop = round(length * p.base_shift)
    weights = gabor.bank(length, sfreq, *band)
    limit = p.base_thrd * gabor.reference_maximum(length, sfreq, *band, p.seed)
    above = np.empty(x.shape, dtype=bool)
    for channel, r in enumerate(rms):
        low = gabor.entropy(gabor.windows(x[channel], length, hop), weights) < limit
        baseline = gabor.cover(low, length, hop, n_times)
        if baseline.sum() >= p.base_min / 60 * n_times:
            threshold = _baseline_threshold(r, baseline, round(p.epoch_time * sfreq), p.thrd_perc)
        else:
            threshold = _continuous_threshold(r, round(p.epo_CHF * sfreq), p.per_CHF, p.min_win * sfreq)
        above[channel] = r >= threshold
    found = runs(above)
    found = found.keep(found.stop - found.start > p.min_win * sfreq)
    return merge(found, p.min_gap * sfreq)


def _baseline_threshold(r: Floats, baseline: NDArray[np.bool_], block: int, percentile: float) -> Floats:
    """Blocks of ``block`` samples from each baseline run's start; later blocks overwrite; 0 outside all."""
    threshold = np.zeros(len(r))
    _, run_start, run_stop = runs(baseline[None])
    starts = [np.arange(u, d - 1, block) for u, d in zip(run_start, run_stop, strict=True)]
    start = np.concatenate([*starts, np.empty(0, dtype=np.intp)])
    start = start[start + block <= len(r)]
    if not len(start):
        return threshold
    total = np.concatenate([[0], np.cumsum(r)])
    log_total = np.concatenate([[0], np.cumsum(np.log(r, out=np.zeros_like(r), where=r > 0))])
    mean = (total[start + block] - total[start]) / block
    mean_log = (log_total[start + block] - log_total[start]) / block
    lowest = np.array([r[s : s + block].min() for s in start])
    highest = np.array([r[s : s + block].max() for s in start])
    shape = gamma.reference_shape(np.full(len(start), float(block)), mean, mean_log, lowest, highest)
    percentiles = mean / shape * special.gammaincinv(shape, percentile)
    for s, limit, top in zip(start, percentiles, highest, strict=True):
        values = r[s : s + block]
        threshold[s : s + block] = top if top <= limit else values[values <= limit].max(initial=0)
    return threshold


def _continuous_threshold(r: Floats, block: int, percentile: float, min_over: float) -> Floats:
    """One threshold per whole block (one sample short is enough); 0 over the rest of the record."""
    threshold = np.zeros(len(r))
    for start in range(0, len(r) - block + 2, block):
        values = r[start : start + block]
        threshold[start : start + block] = gamma.reference_shrinking_threshold(values, percentile, min_over)
    return threshold


RULES: dict[str, Callable[[Floats, float, tuple[float, float], Any], Runs]] = {"ste": ste, "mni": mni, "hil": hilbert}
