"""A recording of any length as filtered blocks on a fixed grid, in bounded memory."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from omni_bench.errors import BenchError
from omni_bench.hfo import filters
from omni_bench.hfo.convolution import Convolver

Read = Callable[[int, int], NDArray[np.floating]]
BLOCK_SECONDS = 60.0


@dataclass(frozen=True)
class Block:
    """Samples ``[start, stop)`` of all channels, band-passed, with ``margin`` more samples on both sides.

    ``x`` is the filtered signal in µV (n_channels, stop - start + 2 margin); it is complex (analytic) where asked for.
    """

    start: int
    stop: int
    margin: int
    x: NDArray

    def inner(self, values: NDArray, lost: int = 0) -> NDArray:
        """The part of ``values`` (aligned with ``x`` after ``lost`` samples) that belongs to ``[start, stop)``."""
        first = self.margin - lost
        return values[:, first : first + self.stop - self.start]


def check_channels(ch_names: Sequence[str], bad: NDArray[np.bool_], what: str) -> None:
    """Refuse channels that no detector can use."""
    if bad.any():
        names = ", ".join(str(name) for name, is_bad in zip(ch_names, bad, strict=True) if is_bad)
        raise BenchError(f"channel {names}: {what}; leave it out (mark it bad) or repair it")


def even_edges(n_times: int, length: float) -> NDArray[np.intp]:
    """Borders of equal pieces as near to ``length`` samples as an integer count of them allows."""
    count = max(1, round(n_times / length))
    return np.round(np.linspace(0, n_times, count + 1)).astype(np.intp)


class RawWindow:
    """A forward-moving window over ``read(start, stop)``: every sample is read once, ``chunk`` samples a call."""

    def __init__(self, read: Read, n_times: int, chunk: int, ch_names: Sequence[str]) -> None:
        self._read, self._n_times, self._chunk, self._ch_names = read, n_times, chunk, ch_names
        self._first = 0
        self._held = np.empty((len(ch_names), 0), dtype=np.float32)
        self._lowest = np.full(len(ch_names), np.inf)
        self._highest = np.full(len(ch_names), -np.inf)

    def get(self, start: int, stop: int) -> NDArray:
        """Samples ``[start, stop)`` with the record mirrored at its ends; ``start`` never moves back."""
        index = np.abs(np.arange(start, stop)) % (2 * self._n_times - 2)
        index = np.where(index < self._n_times, index, 2 * self._n_times - 2 - index)
        self._advance(index.min(), index.max() + 1)
        return self._held[:, index - self._first]

    def _advance(self, start: int, stop: int) -> None:
        pieces = [self._held[:, start - self._first :]]
        end = self._first + self._held.shape[1]
        while end < stop:
            piece = self._read(end, min(end + self._chunk, self._n_times))
            expected = (len(self._ch_names), min(self._chunk, self._n_times - end))
            if piece.shape != expected:
                raise BenchError(f"read({end}, {end + expected[1]}) gave shape {piece.shape}, expected {expected}")
            check_channels(
                self._ch_names, np.logical_not(np.isfinite(piece).all(axis=1)), "holds NaN or infinite samples"
            )
            np.minimum(self._lowest, piece.min(1), out=self._lowest)
            np.maximum(self._highest, piece.max(1), out=self._highest)
            pieces.append(piece)
            end += piece.shape[1]
        self._held = np.concatenate(pieces, axis=1)
        self._first = start
        if end == self._n_times:
            check_channels(self._ch_names, self._lowest == self._highest, "is flat (one value throughout)")


@lru_cache(maxsize=4)
def _zero_phase(
    length: int, sfreq: float, band: tuple[float, float], analytic: bool
) -> tuple[Convolver, list[NDArray[np.complex128]]]:
    convolver = Convolver(length)
    kernels = [filters.kernel, filters.quadrature] if analytic else [filters.kernel]
    return convolver, [convolver.response(kernel(sfreq, *band)) for kernel in kernels]


def filtered_blocks(
    raw: RawWindow, edges: NDArray[np.intp], sfreq: float, band: tuple[float, float], margin: int, analytic: bool
) -> Iterator[Block]:
    """The record's blocks between ``edges``, in order.

    The edges follow from the record's length alone, so the size of the chunks that were read cannot matter.
    """
    half = len(filters.kernel(sfreq, *band)) // 2
    reach = half + margin
    convolver, responses = _zero_phase(int(np.diff(edges).max()) + 2 * reach, sfreq, band, analytic)
    for start, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        signal = raw.get(start - reach, stop + reach)
        x = np.empty((len(signal), stop - start + 2 * margin), dtype=complex if analytic else float)
        for row, channel in zip(x, signal, strict=True):
            for part, response in zip((row.real, row.imag), responses, strict=False):
                convolver.apply(response, channel, part, first=2 * half)
        yield Block(start, stop, margin, x)
