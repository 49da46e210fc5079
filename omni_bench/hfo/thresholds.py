"""Thresholds of the default detectors: per epoch mean plus standard deviations, and MNI's gamma percentiles."""

import numpy as np
from numpy.typing import NDArray
from scipy import special

from omni_bench.hfo import gabor, gamma
from omni_bench.hfo.envelopes import moving_rms, odd_window
from omni_bench.hfo.parameters import MNI
from omni_bench.hfo.runs import runs
from omni_bench.hfo.stream import Block

Floats = NDArray[np.float64]


class EpochMoments:
    """Mean and population standard deviation of a feature per channel and epoch, gathered block by block."""

    def __init__(self, n_channels: int, edges: NDArray[np.intp]) -> None:
        self._edges = edges
        self._count, self._total, self._squares = np.zeros((3, n_channels, len(edges) - 1))

    def _parts(self, start: int, stop: int) -> list[tuple[int, slice]]:
        """Epochs that ``[start, stop)`` touches, each with its samples counted from ``start``."""
        first = int(np.searchsorted(self._edges, start, side="right")) - 1
        last = int(np.searchsorted(self._edges, stop, side="left"))
        return [
            (epoch, slice(max(self._edges[epoch], start) - start, min(self._edges[epoch + 1], stop) - start))
            for epoch in range(first, last)
        ]

    def add(self, start: int, values: Floats, left_out: NDArray[np.bool_] | None = None) -> None:
        """Count ``values``, which begin at sample ``start``, except where ``left_out``."""
        if left_out is not None:
            values = np.where(left_out, 0, values)
        for epoch, part in self._parts(start, start + values.shape[1]):
            self._count[:, epoch] += part.stop - part.start
            if left_out is not None:
                self._count[:, epoch] -= left_out[:, part].sum(1)
            self._total[:, epoch] += values[:, part].sum(1)
            self._squares[:, epoch] += np.square(values[:, part]).sum(1)

    def threshold(self, deviations: float) -> Floats:
        """``mean + deviations * sd`` (n_channels, n_epochs)."""
        mean = self._total / self._count
        return mean + deviations * np.sqrt(np.maximum(self._squares / self._count - mean**2, 0))

    def above(self, start: int, values: Floats, threshold: Floats) -> NDArray[np.bool_]:
        """Where ``values``, which begin at ``start``, exceed their epoch's ``threshold``."""
        mask = np.empty(values.shape, dtype=bool)
        for epoch, part in self._parts(start, start + values.shape[1]):
            mask[:, part] = values[:, part] > threshold[:, epoch, None]
        return mask


def mni_above(block: Block, sfreq: float, band: tuple[float, float], p: MNI) -> NDArray[np.bool_]:
    """Where the RMS of one epoch exceeds the epoch's own MNI threshold.

    Baseline is where the wavelet entropy is *high*, 0.67 of the maximum or more: an even spectrum without oscillation
    (Zelmann et al. 2010). With enough of it (``base_min`` seconds a minute), the threshold is the ``thrd_perc``
    percentile of a gamma distribution fitted to its RMS; otherwise `_continuous_threshold`. One threshold serves the
    whole epoch.
    """
    width = odd_window(p.rms_window, sfreq)
    rms = block.inner(moving_rms(block.x, width), lost=width // 2)
    length = round(p.base_seg * sfreq)
    hop = round(length * p.base_shift)
    limit = p.base_thrd * gabor.reference_maximum(length, sfreq, *band, p.seed)
    weights = gabor.bank(length, sfreq, *band)
    above = np.empty(rms.shape, dtype=bool)
    for channel, (x, r) in enumerate(zip(block.inner(block.x), rms, strict=True)):
        even = gabor.entropy(gabor.windows(x, length, hop), weights) >= limit
        baseline = gabor.cover(even, length, hop, len(r))
        if baseline.sum() >= p.base_min / 60 * len(r):
            threshold = _percentile(r[baseline], p.thrd_perc)
        else:
            threshold = _continuous_threshold(r, p.per_CHF, p.min_win * sfreq)
        above[channel] = r > threshold
    return above


def _percentile(values: Floats, percentile: float) -> float:
    values = values[values > 0]
    if not len(values) or values.min() == values.max():
        return np.inf
    shape, scale = gamma.fit(values.mean(), np.log(values).mean())
    return float(scale * special.gammaincinv(shape, percentile))


def _continuous_threshold(r: Floats, percentile: float, min_length: float) -> float:
    """Gamma percentile of what is left after the runs above it are taken out, until none is found."""
    left = np.ones(len(r), dtype=bool)
    while True:
        threshold = _percentile(r[left], percentile)
        found = runs((left & (r > threshold))[None])
        found = found.keep(found.stop - found.start >= min_length)
        if not len(found.start):
            return threshold
        for start, stop in zip(found.start, found.stop, strict=True):
            left[start:stop] = False
