"""What sets the threshold detectors apart: the feature, its threshold, and which candidates stay."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from omni_bench.hfo.envelopes import line_length, moving_rms, odd_window
from omni_bench.hfo.parameters import RMS, STE, Hilbert, LineLength
from omni_bench.hfo.stream import Block

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Rule:
    """Lengths in samples, thresholds in standard deviations above the epoch's mean."""

    feature: Callable[[Block], Floats]
    deviations: float
    epoch: float
    min_length: float
    max_length: float = np.inf
    gap: float = 0
    reach: int = 0
    """Samples beside a sample that its feature depends on."""
    min_peaks: int = 0
    peak_deviations: float = 0
    background: bool = False
    """Whether mean and deviation leave out the samples above a first threshold."""


def rule(p: STE | Hilbert | RMS | LineLength, sfreq: float) -> Rule:
    """The rule of a detector at ``sfreq``."""
    if isinstance(p, Hilbert):
        return Rule(
            feature=lambda block: block.inner(np.abs(block.x)),
            deviations=p.sd_thres,
            epoch=p.epoch_len * sfreq,
            min_length=p.min_window * sfreq,
        )
    if isinstance(p, LineLength):
        width, deviations = round(p.window * sfreq), p.length_thres
        envelope = line_length
    else:
        width, deviations = odd_window(p.rms_window, sfreq), p.rms_thres
        envelope = moving_rms
    return Rule(
        feature=lambda block: block.inner(envelope(block.x, width), lost=width // 2),
        deviations=deviations,
        epoch=p.epoch_len * sfreq,
        min_length=p.min_window * sfreq,
        max_length=np.inf if isinstance(p, STE) else p.max_window * sfreq,
        gap=p.min_gap * sfreq,
        reach=width,
        min_peaks=p.min_osc if isinstance(p, STE) else 1,
        peak_deviations=p.peak_thres,
        background=not isinstance(p, STE),
    )
