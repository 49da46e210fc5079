"""What each detector may be told: one frozen data class per detector, with its published defaults."""

from dataclasses import dataclass, fields
from typing import Any

from omni_bench.errors import BenchError
from omni_bench.explain import near

HIGHEST_EDGE = 0.95
"""Largest upper band edge as a fraction of the Nyquist rate: above it the 0.5 Hz transition no longer fits."""


@dataclass(frozen=True)
class STE:
    """Short-time energy (Staba et al. 2002): RMS threshold, then a count of rectified peaks.

    Durations in seconds, thresholds in standard deviations above the epoch's mean.
    """

    rms_window: float = 0.003
    min_window: float = 0.006
    min_gap: float = 0.010
    epoch_len: float = 600
    min_osc: int = 6
    rms_thres: float = 5
    peak_thres: float = 3


@dataclass(frozen=True)
class Hilbert:
    """Hilbert envelope (Crépon et al. 2010)."""

    sd_thres: float = 5
    min_window: float = 0.010
    epoch_len: float = 3600


@dataclass(frozen=True)
class MNI:
    """Montreal detector (Zelmann et al. 2010): gamma percentile of the RMS of entropy-selected baseline.

    ``epoch_time`` is read under ``compat="reference"`` only; the default fits once per ``epo_CHF`` seconds.
    ``base_min`` is in seconds of baseline per minute; ``seed`` draws the noise of the maximum entropy.
    """

    epoch_time: float = 10
    epo_CHF: float = 60
    per_CHF: float = 0.95
    min_win: float = 0.010
    min_gap: float = 0.010
    thrd_perc: float = 0.999999
    base_seg: float = 0.125
    base_shift: float = 0.5
    base_thrd: float = 0.67
    base_min: float = 5
    seed: int = 0

    @property
    def rms_window(self) -> float:
        """Length of the RMS window in seconds (fixed in the published method)."""
        return 0.002


@dataclass(frozen=True)
class RMS:
    """RMS envelope with a duration range (application defaults of PyHFO).

    The mean and deviation are those of the background: samples above a first threshold are left out.
    """

    rms_window: float = 0.003
    min_window: float = 0.006
    max_window: float = 0.200
    min_gap: float = 0.010
    epoch_len: float = 600
    rms_thres: float = 5
    peak_thres: float = 3


@dataclass(frozen=True)
class LineLength:
    """Line length (Gardner et al. 2007) in a 10 ms window (application defaults of PyHFO).

    The mean and deviation are those of the background, as for `RMS`.
    """

    window: float = 0.010
    min_window: float = 0.006
    max_window: float = 0.200
    min_gap: float = 0.010
    epoch_len: float = 600
    length_thres: float = 5
    peak_thres: float = 3


Parameters = STE | Hilbert | MNI | RMS | LineLength
DETECTORS: dict[str, type[Parameters]] = {"ste": STE, "mni": MNI, "hil": Hilbert, "rms": RMS, "linelength": LineLength}


def parameters(detector: str, given: dict[str, Any]) -> Parameters:
    """Defaults of ``detector`` with the ``given`` values in place; unknown names raise `BenchError`."""
    if detector not in DETECTORS:
        raise BenchError(f"detector={detector!r} is unknown{near(detector, DETECTORS)}")
    kind = DETECTORS[detector]
    known = [field.name for field in fields(kind)]
    for name, value in given.items():
        if name not in known:
            raise BenchError(f"detector {detector} has no parameter {name!r}{near(name, known)}")
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise BenchError(f"detector {detector}: {name}={value!r} is not a number")
    return kind(**given)


def default_band(sfreq: float, compat: str | None) -> tuple[float, float]:
    """Pass band in Hz: 80-500 where it fits below 0.95 Nyquist, else 80-300.

    The reference takes 300 Hz at a rate of exactly 1000 Hz and 500 Hz at every other.
    """
    if compat == "reference":
        return (80.0, 300.0) if sfreq == 1000 else (80.0, 500.0)
    return (80.0, 500.0) if HIGHEST_EDGE * sfreq / 2 >= 500 else (80.0, 300.0)


def check_band(band: tuple[float, float], sfreq: float) -> None:
    """Refuse a band that the rate cannot carry."""
    low, high = band
    if not 1 <= low < high:
        raise BenchError(f"band={low:g}-{high:g} Hz is not a band: give 1 <= low < high")
    limit = HIGHEST_EDGE * sfreq / 2
    if high > limit:
        raise BenchError(
            f"sfreq={sfreq:g} Hz is too low for the band {low:g}-{high:g} Hz: the upper edge may be at most "
            f"{limit:g} Hz (0.95 Nyquist); use a recording of at least {2 * high / HIGHEST_EDGE:.0f} Hz "
            "or lower the band"
        )
