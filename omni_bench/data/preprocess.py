"""Raw recording to the signal that is stored: notch, band-pass, reference, resample, in float64."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omni_bench.data.recording import Recording, broken_channels, check_amplitude
from omni_bench.errors import BenchError

NOTCH_WIDTH_HZ = 2.0
MAX_RATIO_TERM = 10_000
"""Largest up- or down-sampling factor: 999.4121 Hz becomes 1000 Hz to within 1e-8 of the right clock."""


@dataclass(frozen=True)
class Preprocessing:
    """What is done to every recording; see `omni_bench.config.PreprocessingConf` for the fields."""

    sfreq: float | None = None
    min_sfreq: float = 0.0
    notch: bool = True
    low: float | None = None
    high: float | None = None
    reference: str | None = None

    @classmethod
    def from_card(cls, card: Mapping[str, Any]) -> "Preprocessing":
        return cls(**card)

    def identity(self) -> dict[str, Any]:
        """What keys a store."""
        return asdict(self)


def preprocess(
    recording: Recording,
    steps: Preprocessing,
    line_freq: float | None,
    memory_mb: int = 2048,
    broken: dict[str, str] | None = None,
) -> Iterator[NDArray[np.float32]]:
    """Preprocessed blocks of channels, float32 µV ``(n_block, n_times)``, in the recording's channel order.

    Channels are filtered over their whole length, as many at a time as fit ``memory_mb``.

    Parameters
    ----------
    broken
        Receives flat channels and those with values that are not numbers, with the reason; they come out as zeros.
        Without it such a channel is an error.

    Raises
    ------
    BenchError
        The rate is too low, the unit implausible, or a channel is broken.
    """
    if recording.sfreq < steps.min_sfreq:
        raise BenchError(f"{recording.path}: {recording.sfreq:g} Hz, the task needs {steps.min_sfreq:g} Hz or more")
    # a block is held as float64 by the reader and twice by a filter, and once as float32
    per_channel_mb = recording.n_times * 8 * 4 / 2**20
    size = max(1, int(memory_mb / per_channel_mb))
    names = recording.ch_names
    blocks = [names[i : i + size] for i in range(0, len(names), size)]
    average = _average(recording, blocks) if steps.reference == "average" else None
    for chosen in blocks:
        signal = recording.read(ch_names=chosen)
        found = broken_channels(signal, chosen)
        if found and broken is None:
            name, reason = next(iter(found.items()))
            raise BenchError(f"{recording.path}: channel {name}: {reason}: mark it bad in channels.tsv, or say on_error=skip")
        signal[[name in found for name in chosen]] = 0
        if broken is not None:
            broken.update(found)
        check_amplitude(signal, chosen, recording.path)
        yield _filter(signal.astype(np.float64), recording.sfreq, steps, line_freq, average)


def _average(recording: Recording, blocks: list[list[str]]) -> NDArray[np.float64]:
    total = np.zeros(recording.n_times)
    for chosen in blocks:
        total += recording.read(ch_names=chosen).sum(axis=0, dtype=np.float64)
    return total / len(recording.ch_names)


def _filter(
    signal: NDArray[np.float64],
    sfreq: float,
    steps: Preprocessing,
    line_freq: float | None,
    average: NDArray[np.float64] | None,
) -> NDArray[np.float32]:
    import mne

    if average is not None:
        signal = signal - average
    nyquist = sfreq / 2
    if steps.notch and line_freq and line_freq + NOTCH_WIDTH_HZ < nyquist:
        signal = mne.filter.notch_filter(signal, sfreq, line_freq, notch_widths=NOTCH_WIDTH_HZ, verbose="ERROR")
    high = None if steps.high is None or steps.high >= nyquist else steps.high
    if steps.low is not None or high is not None:
        signal = mne.filter.filter_data(signal, sfreq, steps.low, high, verbose="ERROR")
    if steps.sfreq is not None and steps.sfreq != sfreq:
        from scipy.signal import resample_poly

        ratio = Fraction(steps.sfreq / sfreq).limit_denominator(MAX_RATIO_TERM)
        signal = resample_poly(signal, ratio.numerator, ratio.denominator, axis=-1)
    return signal.astype(np.float32)
