"""Fast convolution of long real signals with long kernels, one channel at a time.

A transform of 10^5 points no longer fits the fastest cache. Laid out as a matrix it becomes many short transforms,
which the library computes side by side in vector registers (Bailey's four steps): 2 to 3 times faster here than one
long transform of 120,000 points.
"""

import threading
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy import fft

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]


class MatrixFFT:
    """Complex FFT of ``rows * columns`` points; spectra are matrices, entry ``[i, j]`` is frequency ``i + rows j``."""

    def __init__(self, rows: int, columns: int) -> None:
        self.shape = rows, columns
        turns = np.outer(np.arange(rows), np.arange(columns)) / (rows * columns)
        self._twiddle = np.exp(-2j * np.pi * turns)
        self._untwiddle = self._twiddle.conj()

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]

    def forward(self, z: Complexes) -> Complexes:
        """Spectrum of ``z`` (size), in the memory of ``z``."""
        matrix = fft.fft(z.reshape(self.shape), axis=0, overwrite_x=True)
        matrix *= self._twiddle
        return fft.fft(matrix, axis=1, overwrite_x=True)

    def inverse(self, spectrum: Complexes) -> Complexes:
        """Signal (size) of ``spectrum``, in its memory."""
        matrix = fft.ifft(spectrum, axis=1, overwrite_x=True)
        matrix *= self._untwiddle
        return fft.ifft(matrix, axis=0, overwrite_x=True).ravel()


def transform_of_at_least(size: int) -> MatrixFFT:
    """The cheapest nearly square transform of ``size`` points or a few more, with small prime factors only."""
    shapes = []
    rows = fft.next_fast_len(ceil(sqrt(size) / 2), real=True)
    while rows <= 2 * sqrt(size):
        shapes.append((rows, fft.next_fast_len(ceil(size / rows), real=True)))
        rows = fft.next_fast_len(rows + 1, real=True)
    return MatrixFFT(*min(shapes, key=lambda shape: shape[0] * shape[1] * (_passes(shape[0]) + _passes(shape[1]))))


def _passes(length: int) -> float:
    """Passes over memory of a transform, in units of one by 4: the library takes factors of 4 first."""
    cost = 0.0
    for factor, weight in ((4, 1.0), (2, 0.7), (3, 0.95), (5, 1.45)):
        while length % factor == 0:
            length //= factor
            cost += weight
    return cost


class Convolver:
    """Convolution of real signals with real kernels that wraps around, its sign changed, after `length` samples.

    A real signal is folded to half as many complex points, turned by up to 90 degrees along its length: that is what
    changes the sign. All work is done in one array per thread: to ask the system for megabytes anew, step by step,
    takes as long as to transform them.
    """

    def __init__(self, length: int) -> None:
        # glibc hands freed memory back beyond twice the largest block that it saw freed. Having seen 30 MB, it keeps the
        # arrays of one channel for the next: 450 page faults, a third of a channel-minute's time, fewer.
        np.empty(30_000_000, dtype=np.uint8)
        self._fft = transform_of_at_least(ceil(length / 2))
        self._half = self._fft.size
        self._turn = np.exp(0.5j * np.pi * np.arange(self._half) / self._half)
        self._unturn = self._turn.conj()
        self._thread = threading.local()

    @property
    def length(self) -> int:
        """Samples before the convolution wraps around: as many as were asked for, or a few more."""
        return 2 * self._half

    def response(self, kernel: Floats) -> Complexes:
        """Spectrum of a ``kernel`` of up to `length` samples, for `apply`."""
        return self._spectrum(kernel).copy()

    def apply(self, response: Complexes, x: Floats, out: Floats, first: int = 0) -> None:
        """Fill ``out`` from sample ``first`` on of ``x`` convolved with the kernel whose spectrum is ``response``."""
        spectrum = self._spectrum(x)
        spectrum *= response
        z = self._fft.inverse(spectrum)
        z *= self._unturn
        head = z.real[first : first + len(out)]
        out[: len(head)] = head
        start = max(first - self._half, 0)
        out[len(head) :] = z.imag[start : start + len(out) - len(head)]

    def _spectrum(self, x: Floats) -> Complexes:
        if not hasattr(self._thread, "work"):
            self._thread.work = np.empty(self._half, dtype=complex)
        work = self._thread.work
        for part, values in ((work.real, x[: self._half]), (work.imag, x[self._half :])):
            part[: len(values)] = values
            part[len(values) :] = 0
        work *= self._turn
        return self._fft.forward(work)
