"""From masks, block by block, to whole events with their band-passed signal."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from omni_bench.hfo.runs import runs
from omni_bench.hfo.stream import Block

Floats = NDArray[np.float64]


@dataclass
class _Run:
    """A run above threshold with its signal, which goes on for up to the merge gap after ``stop``."""

    start: int
    stop: int
    pieces: list[tuple[int, Floats]] = field(default_factory=list)


@dataclass(frozen=True)
class Candidate:
    """A merged event ``[start, stop)`` of row ``channel`` with its band-passed signal ``x`` in µV."""

    channel: int
    start: int
    stop: int
    x: Floats


class CandidateBuilder:
    """Joins runs over block borders, drops the short ones, merges near neighbours; holds only what is unfinished.

    ``min_length`` and ``gap`` in samples: runs of at least ``min_length`` stay, gaps below ``gap`` close.
    """

    def __init__(self, n_channels: int, min_length: float, gap: float) -> None:
        self._min_length, self._gap = min_length, gap
        self._tail = int(np.ceil(gap))
        self._open: list[list[_Run]] = [[] for _ in range(n_channels)]

    def add(self, block: Block, above: NDArray[np.bool_], final: bool) -> Iterator[Candidate]:
        """Candidates that are complete once ``block`` is known, ordered by channel, then time."""
        found = runs(above).shift(block.start)
        at_border = (found.start == block.start) | (found.stop == block.stop)
        found = found.keep(at_border | (found.stop - found.start >= self._min_length))
        origin = block.start - block.margin
        for channel, start, stop in zip(*(column.tolist() for column in found), strict=True):
            piece = block.x[channel, start - origin : stop + self._tail - origin].real.copy()
            queue = self._open[channel]
            if queue and queue[-1].stop == start == block.start:
                queue[-1].stop = stop
                queue[-1].pieces.append((start, piece))
            else:
                queue.append(_Run(start, stop, [(start, piece)]))
        for channel in range(len(self._open)):
            yield from self._close(channel, None if final else block.stop)

    def _close(self, channel: int, horizon: int | None) -> Iterator[Candidate]:
        kept = [
            run
            for run in self._open[channel]
            if run.stop - run.start >= self._min_length or (horizon is not None and run.stop == horizon)
        ]
        groups: list[list[_Run]] = []
        for run in kept:
            if groups and run.start - groups[-1][-1].stop < self._gap:
                groups[-1].append(run)
            else:
                groups.append([run])
        self._open[channel] = []
        if groups and horizon is not None and horizon - groups[-1][-1].stop < max(self._gap, 1):
            self._open[channel] = groups.pop()
        for group in groups:
            yield _candidate(channel, group)


def _candidate(channel: int, group: list[_Run]) -> Candidate:
    start, stop = group[0].start, group[-1].stop
    x = np.empty(stop - start)
    for run in group:
        for first, piece in run.pieces:
            part = piece[: stop - first]
            x[first - start : first - start + len(part)] = part
    return Candidate(channel, start, stop, x)
