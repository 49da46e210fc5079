"""Runs of true samples in masks, and peaks inside intervals, for all channels at once."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.intp]


class Runs(NamedTuple):
    """Half-open intervals ``[start, stop)`` in samples of the row ``channel``, ordered by channel, then time."""

    channel: Ints
    start: Ints
    stop: Ints

    def keep(self, mask: NDArray[np.bool_]) -> "Runs":
        return Runs(self.channel[mask], self.start[mask], self.stop[mask])

    def shift(self, offset: int) -> "Runs":
        return Runs(self.channel, self.start + offset, self.stop + offset)


def runs(mask: NDArray[np.bool_]) -> Runs:
    """Maximal runs of true in each row of ``mask`` (n_channels, n_times)."""
    n_channels, n_times = mask.shape
    walled = np.zeros((n_channels, n_times + 1), dtype=bool)
    walled[:, :-1] = mask
    flat = walled.ravel()
    change = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    if flat[0]:
        change = np.concatenate([[0], change])
    start, stop = change[::2], change[1::2]
    channel = start // (n_times + 1)
    return Runs(channel, start - channel * (n_times + 1), stop - channel * (n_times + 1))


def merge(found: Runs, max_gap: float) -> Runs:
    """Join neighbours of one channel, transitively, whose gap ``start - previous stop`` is below ``max_gap``."""
    if not len(found.start):
        return found
    new = np.ones(len(found.start), dtype=bool)
    new[1:] = (found.channel[1:] != found.channel[:-1]) | (found.start[1:] - found.stop[:-1] >= max_gap)
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(new)) - 1
    return Runs(found.channel[first], found.start[first], found.stop[last])


def count_peaks(values: NDArray[np.float64], found: Runs, height: NDArray[np.float64]) -> Ints:
    """Local maxima of ``values`` inside each interval that reach ``height`` (one per interval).

    End samples never count, and a plateau counts once.
    """
    length = found.stop - found.start
    interval = np.repeat(np.arange(len(length)), length)
    if not len(interval):
        return np.zeros(len(length), dtype=np.intp)
    offset = np.arange(len(interval)) - np.repeat(np.cumsum(length) - length, length)
    inside = values[found.channel[interval], found.start[interval] + offset]
    # a sample equal to its predecessor is the rest of a plateau: without it, the strict test is enough
    fresh = np.ones(len(inside), dtype=bool)
    fresh[1:] = (inside[1:] != inside[:-1]) | (interval[1:] != interval[:-1])
    inside, interval = inside[fresh], interval[fresh]
    peak = (inside[1:-1] > inside[:-2]) & (inside[1:-1] > inside[2:])
    peak &= (interval[:-2] == interval[1:-1]) & (interval[2:] == interval[1:-1])
    peak &= inside[1:-1] >= height[interval[1:-1]]
    return np.bincount(interval[1:-1][peak], minlength=len(length))
