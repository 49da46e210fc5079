"""Synthetic intracranial signals: the recipe of the golden events, 1/f noise, planted oscillations."""

import numpy as np
from numpy.typing import NDArray
from scipy import signal

FS = 2000


def one_over_f(rng: np.random.Generator, n_times: int, sfreq: float) -> NDArray[np.float64]:
    """Noise with amplitude 1/f above 0.5 Hz, 30 µV."""
    gain = 1 / np.maximum(np.fft.rfftfreq(n_times, 1 / sfreq), 0.5)
    gain[0] = 0
    x = np.fft.irfft(np.fft.rfft(rng.standard_normal(n_times)) * gain, n_times)
    return x * (30 / x.std())


def burst(frequency: float, cycles: int, amplitude: float, phase: float, sfreq: float) -> NDArray[np.float64]:
    length = round(cycles / frequency * sfreq)
    sine = np.sin(2 * np.pi * frequency * np.arange(length) / sfreq + phase)
    return amplitude * sine * signal.windows.tukey(length, 0.5)


def golden_recording(name: str) -> NDArray[np.float64]:
    """Signals behind the golden events at 2000 Hz: ``synth_a`` (2 x 66 s) or ``synth_b`` (1 x 125 s), in µV."""
    seed, seconds, n_channels = {"synth_a": (11, 66, 2), "synth_b": (22, 125, 1)}[name]
    return np.stack([_golden_channel(seed, channel, seconds) for channel in range(n_channels)])


def _golden_channel(seed: int, channel: int, seconds: int) -> NDArray[np.float64]:
    n = FS * seconds
    rng = np.random.default_rng([seed, channel])
    x = one_over_f(rng, n, FS)
    x += 0.8 * rng.standard_normal(n)
    for slot in range(seconds // 4):
        onset = 4 * slot + rng.uniform(0.4, 3.2)
        frequency, cycles = rng.uniform(80, 250), int(rng.integers(4, 11))
        amplitude, phase = rng.uniform(8, 40), rng.uniform(0, 2 * np.pi)
        wave, start = burst(frequency, cycles, amplitude, phase, FS), round(onset * FS)
        x[start : start + len(wave)] += wave
        if slot % 4 == 1:
            peak, height = start - round(0.005 * FS), rng.uniform(100, 300)
            r = np.arange(round(-0.03 * FS), round(0.15 * FS)) / FS
            spike = np.exp(-0.5 * (r / 0.008) ** 2) - 0.4 * np.exp(-0.5 * ((r - 0.06) / 0.025) ** 2)
            x[peak + round(-0.03 * FS) : peak + round(0.15 * FS)] += height * spike
        if slot % 6 == 3:
            height = rng.uniform(80, 200) * rng.choice([-1, 1])
            start, decay = round((4 * slot + 3.7) * FS), np.arange(round(0.02 * FS)) / FS
            x[start : start + len(decay)] += height * np.exp(-decay / 0.004)
    for _ in range(2):
        start, length = int(rng.integers(2 * FS, n - 3 * FS)), round(0.4 * FS)
        muscle = np.diff(rng.standard_normal(length + 1)) / np.sqrt(2)
        x[start : start + length] += 4 * muscle * signal.windows.tukey(length, 0.2)
    if seed == 11 and channel == 1:
        t = np.arange(n) / FS
        x += 10 * np.sin(2 * np.pi * 120 * t) * ((t >= 8) & (t < 30))
    return np.round(x * 16) / 16


def planted(rng: np.random.Generator, seconds: float, sfreq: float, amplitude: tuple[float, float]):
    """1/f noise with a burst every 3 s: signal (n_times,) in µV and the bursts' borders in samples."""
    x = one_over_f(rng, round(seconds * sfreq), sfreq) + 0.8 * rng.standard_normal(round(seconds * sfreq))
    borders = []
    for second in np.arange(1, seconds - 2, 3):
        start = round((second + rng.uniform(0, 1)) * sfreq)
        phase = rng.uniform(0, 2 * np.pi)
        wave = burst(rng.uniform(90, 250), int(rng.integers(5, 11)), rng.uniform(*amplitude), phase, sfreq)
        x[start : start + len(wave)] += wave
        borders.append((start, start + len(wave)))
    return x, borders
