"""Building blocks of the synthetic cohorts: seeded noise and waveforms in microvolts."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.signal import chirp
from scipy.signal.windows import tukey

Signal = npt.NDArray[np.float64]

LOWEST_HZ = 0.5  # the recordings' high-pass; below it a 1/f background would drift without bound
SPIKE_S, SPIKE_PEAK_S = 0.33, 0.05
ARTIFACT_S = 0.02


def stream(seed: int, *names: str) -> np.random.Generator:
    """Random generator of one named thing, independent of every other name and of the order of creation."""
    return np.random.default_rng(np.random.SeedSequence([seed, *"/".join(names).encode()]))


def background(rng: np.random.Generator, n_times: int, sfreq: float, rms: float, exponent: float) -> Signal:
    """Noise whose power falls as ``1 / f**exponent`` above 0.5 Hz, scaled to ``rms`` µV."""
    freqs = np.fft.rfftfreq(n_times, 1 / sfreq)
    weights = np.where(freqs >= LOWEST_HZ, np.maximum(freqs, LOWEST_HZ) ** (-exponent / 2), 0.0)
    spectrum = weights * (rng.standard_normal(freqs.size) + 1j * rng.standard_normal(freqs.size))
    noise = np.fft.irfft(spectrum, n_times)
    return noise * (rms / noise.std())


def band_noise(rng: np.random.Generator, n_times: int, sfreq: float, rms: float, low: float, high: float) -> Signal:
    """White noise confined to ``low``–``high`` Hz, scaled to ``rms`` µV."""
    freqs = np.fft.rfftfreq(n_times, 1 / sfreq)
    inside = (freqs >= low) & (freqs <= high)
    spectrum = inside * (rng.standard_normal(freqs.size) + 1j * rng.standard_normal(freqs.size))
    noise = np.fft.irfft(spectrum, n_times)
    return noise * (rms / noise.std())


def band_rms(signal: Signal, sfreq: float, low: float, high: float) -> float:
    """Root mean square (µV) of the part of ``signal`` (n_times,) between ``low`` and ``high`` Hz."""
    freqs = np.fft.rfftfreq(signal.size, 1 / sfreq)
    spectrum = np.fft.rfft(signal)[(freqs >= low) & (freqs <= high)]
    return float(np.sqrt(2 * np.sum(np.abs(spectrum) ** 2)) / signal.size)


def line_noise(n_times: int, sfreq: float, frequency: float, amplitude: float, phase: float) -> Signal:
    """Mains sine of ``amplitude`` µV with a third harmonic of 5 %."""
    angle = 2 * np.pi * frequency * np.arange(n_times) / sfreq + phase
    return amplitude * (np.sin(angle) + 0.05 * np.sin(3 * angle))


def spike(sfreq: float, amplitude: float) -> Signal:
    """Epileptic spike of ``amplitude`` µV: a negative sharp wave of 30 ms, then a positive slow wave.

    Both are Gaussian, so that next to nothing of the spike itself reaches the ripple band, while the sharp wave has
    power up to 60 Hz: a Morlet map of 3 cycles cannot tell when a slower wave happened. It peaks `SPIKE_PEAK_S`
    after the first sample.
    """
    times = np.arange(0, SPIKE_S, 1 / sfreq)
    sharp = np.exp(-0.5 * ((times - SPIKE_PEAK_S) / 0.005) ** 2)
    slow = np.exp(-0.5 * ((times - SPIKE_PEAK_S - 0.13) / 0.045) ** 2)
    return amplitude * (0.35 * slow - sharp)


def oscillation(sfreq: float, frequency: float, duration: float, amplitude: float, phase: float) -> Signal:
    """Tapered sine burst: a ripple (80–250 Hz) or fast ripple (> 250 Hz) of ``duration`` s and ``amplitude`` µV."""
    n_times = round(duration * sfreq)
    return amplitude * _taper(n_times) * np.sin(2 * np.pi * frequency * np.arange(n_times) / sfreq + phase)


@lru_cache(maxsize=512)
def _taper(n_times: int) -> Signal:
    return tukey(n_times, 0.5)


def artifact(sfreq: float, amplitude: float) -> Signal:
    """Sharp broadband transient of ``amplitude`` µV: one sample up, a step down, an exponential return within 20 ms."""
    times = np.arange(0, ARTIFACT_S, 1 / sfreq)
    wave = -np.exp(-times / 0.004)
    wave[0] = 1.0
    return amplitude * wave


def seizure(sfreq: float, duration: float, amplitude: float) -> Signal:
    """Ictal discharge slowing from 25 to 4 Hz while it grows to ``amplitude`` µV, with an abrupt end."""
    times = np.arange(0, duration, 1 / sfreq)
    growth = np.minimum(1.0, 0.2 + times / (0.6 * duration))
    return amplitude * growth * chirp(times, 25.0, duration, 4.0, method="logarithmic")


def add(signal: Signal, waveform: Signal, onset: float, sfreq: float) -> None:
    """Add ``waveform`` to ``signal`` in place from ``onset`` s on; the part beyond the end is dropped."""
    start = round(onset * sfreq)
    stop = min(start + waveform.size, signal.size)
    signal[start:stop] += waveform[: stop - start]
