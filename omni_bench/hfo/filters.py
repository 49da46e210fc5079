"""The detectors' band-pass: a steep Chebyshev-II filter, applied forward and backward, through the FFT."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import fft, signal

from omni_bench.hfo.convolution import Convolver

Floats = NDArray[np.float64]

TRANSITION_HZ = 0.5
PASS_LOSS_DB = 0.5
STOP_LOSS_DB = 93.0
MAX_STEP = 1_000_000
"""Samples that `zero_state` filters at once: bounds its work arrays, whatever the record's length."""
KERNEL_SECONDS = 2.0
"""Reach of the default's zero-phase kernel to either side (see `kernel`)."""


@lru_cache(maxsize=16)
def design(sfreq: float, low: float, high: float) -> Floats:
    """Second-order sections of the minimal Chebyshev-II band-pass (127 sections at 1000 Hz, 80-300 Hz)."""
    edges = [low - TRANSITION_HZ, high + TRANSITION_HZ]
    order, natural = signal.cheb2ord([low, high], edges, PASS_LOSS_DB, STOP_LOSS_DB, fs=sfreq)
    zpk = signal.cheby2(order, STOP_LOSS_DB, natural, btype="bandpass", output="zpk", fs=sfreq)
    return signal.zpk2sos(*zpk)


@lru_cache(maxsize=8)
def impulse_response(sfreq: float, low: float, high: float, n: int) -> Floats:
    """First ``n`` samples of the one-pass impulse response."""
    impulse = np.zeros(n)
    impulse[0] = 1
    return signal.sosfilt(design(sfreq, low, high), impulse)


@lru_cache(maxsize=16)
def _ringing(sfreq: float, low: float, high: float) -> int:
    """Samples after which the slowest mode has decayed below double precision (its time constant is seconds)."""
    sections = design(sfreq, low, high)
    radius = np.sqrt(sections[:, 5].max())  # conjugate pole pairs: a2 is the squared radius
    return int(np.ceil(np.log(np.finfo(float).eps) / np.log(radius)))


@lru_cache(maxsize=4)
def _causal(sfreq: float, low: float, high: float, n_times: int) -> tuple[Convolver, NDArray[np.complex128], int, int]:
    """Convolver and response for steps of some output samples that each need so many samples of the past."""
    response = impulse_response(sfreq, low, high, min(n_times, _ringing(sfreq, low, high)))
    step, past = min(n_times, MAX_STEP), len(response) - 1
    convolver = Convolver(step + past)
    return convolver, convolver.response(response), step, past


def zero_state(x: NDArray[np.floating], sfreq: float, band: tuple[float, float]) -> Floats:
    """Forward then backward pass of one channel ``x`` (n_times), each from zero state and without padding.

    Equal to running the recursion twice (the difference is about 1e-14 of the largest sample) because the impulse
    response is convolved over its whole length and the forward result is cut at the record's end.
    """
    convolver, response, step, past = _causal(sfreq, *band, len(x))
    filtered = x.astype(float)
    for view in (filtered, filtered[::-1]):
        for start in reversed(range(0, len(x), step)):  # in place: what is overwritten is no later step's past
            begin = max(start - past, 0)
            convolver.apply(response, view[begin : start + step], view[start : start + step], first=start - begin)
    return filtered


@lru_cache(maxsize=8)
def kernel(sfreq: float, low: float, high: float) -> Floats:
    """Zero-phase FIR kernel of the default: the two-pass response under a Hann window of ±2 s.

    The recursion rings for seconds at the band edges (time constant 5.6 s at 2000 Hz, 80-500 Hz), so one artefact
    lifts the band minutes away. The window bounds the reach at the price of a transition of about 1 Hz.
    """
    response = impulse_response(sfreq, low, high, round(30 * sfreq))
    two_pass = np.abs(fft.rfft(response, fft.next_fast_len(2 * len(response), real=True))) ** 2
    whole = fft.irfft(two_pass)
    half = round(KERNEL_SECONDS * sfreq)
    return np.concatenate([whole[-half:], whole[: half + 1]]) * signal.windows.hann(2 * half + 3)[1:-1]


@lru_cache(maxsize=8)
def quadrature(sfreq: float, low: float, high: float) -> Floats:
    """Hilbert transform of `kernel`, over the same reach: the imaginary part of the analytic signal."""
    taps = kernel(sfreq, low, high)
    spectrum = -1j * fft.rfft(taps, fft.next_fast_len(4 * len(taps), real=True))
    spectrum[0] = 0
    return fft.irfft(spectrum)[: len(taps)]


def zero_phase(x: Floats, sfreq: float, band: tuple[float, float]) -> Floats:
    """One channel through `kernel`, mirrored at its ends."""
    taps = kernel(sfreq, *band)
    return signal.fftconvolve(np.pad(x, len(taps) // 2, mode="reflect"), taps, mode="valid")
