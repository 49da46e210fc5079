"""Raw recording to the signal that is stored: reference, notch, band-pass, resample, channels; filters in float64."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omni_bench.data.recording import Recording, broken_channels, check_amplitude
from omni_bench.errors import BenchError
from omni_bench.signal.montage import channel_matrix

NOTCH_WIDTH_HZ = 2.0
NOTCH_LENGTH_S = 6.6
"""Of MNE's finite notch filter: 3.3 over its transition band of 1 Hz."""
HIGH_PASS_CYCLES = 3.3
"""Length of MNE's finite high-pass filter below 2 Hz, in periods of its edge."""
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
    channels: tuple[str, ...] = ()
    channel_policy: str | None = None
    base_sfreq: float | None = None

    def __post_init__(self) -> None:
        if self.channels and self.channel_policy is None:
            raise BenchError("task.preprocessing.channels without a channel_policy: say how they are made")
        if not self.channels and self.channel_policy not in (None, "intersection"):
            raise BenchError(
                f"task.preprocessing.channel_policy={self.channel_policy}: of which channels? name them in "
                "task.preprocessing.channels, or say intersection"
            )

    @classmethod
    def from_card(cls, card: Mapping[str, Any]) -> "Preprocessing":
        return cls(**{**card, "channels": tuple(card.get("channels", ()))})

    def without_filters(self) -> "Preprocessing":
        """Rate and channels only, for signals that are filtered and referenced already."""
        return replace(self, notch=False, low=None, high=None, reference=None)

    def base(self, sfreq: float) -> "Preprocessing | None":
        """What makes the store that those of other rates and channels derive from, of a recording at ``sfreq``.

        None where none is wanted, nothing is filtered, the rate that is asked for is higher, or nothing would be left to do.
        """
        filters = self.notch or self.low is not None or self.high is not None or self.reference is not None
        if self.base_sfreq is None or not filters or self.sfreq is None or self.sfreq > self.base_sfreq:
            return None
        if self.sfreq == sfreq and not self.channels:
            return None
        rate = None if sfreq <= self.base_sfreq else self.base_sfreq
        return replace(self, sfreq=rate, channels=(), channel_policy=None, base_sfreq=None)

    def from_base(self) -> "Preprocessing":
        """What is left to do to a base store."""
        return replace(self.without_filters(), min_sfreq=0.0, base_sfreq=None)

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

    Channels are filtered over their whole length, as many at a time as fit ``memory_mb``. With ``steps.channels`` there is
    one block, of those channels: weighted sums of filtered channels are the filtered sums.

    Parameters
    ----------
    broken
        Receives flat channels and those with values that are not numbers, with the reason, unless it has one; they come
        out as zeros, and no wanted channel is made of them. Without it such a channel is an error.

    Raises
    ------
    BenchError
        The rate is too low, a channel is broken, the wanted channels cannot be made, or (after the last block, since all
        channels have a say) the unit implausible.
    """
    if recording.sfreq < steps.min_sfreq:
        raise BenchError(f"{recording.path}: {recording.sfreq:g} Hz, the task needs {steps.min_sfreq:g} Hz or more")
    # measured with tracemalloc: between five and six copies of a block in float64, while a filter runs
    per_channel_mb = recording.n_times * 8 * 6 / 2**20
    size = max(1, int(memory_mb / per_channel_mb))
    names = recording.ch_names
    average = _average(recording, _in_blocks(names, size)) if steps.reference == "average" else 0.0
    spreads: list[float] = []

    def filtered(names: list[str]) -> Iterator[NDArray[np.float32]]:
        for chosen in _in_blocks(names, size):
            signal, found = _read_usable(recording, chosen)
            if found and broken is None:
                name, reason = next(iter(found.items()))
                raise BenchError(
                    f"{recording.path}: channel {name}: {reason}: mark it bad in channels.tsv, or say on_error=skip"
                )
            if broken is not None:
                broken.update(found | broken)
            spreads.extend(signal.std(axis=1).tolist())
            signal -= average
            block = _filter_pieces(signal, recording, steps, line_freq)
            block[[name in found for name in chosen]] = 0
            yield block

    if not steps.channels:
        yield from filtered(names)
    else:
        if broken is not None:
            for chosen in _in_blocks(names, size):
                broken.update(_read_usable(recording, chosen)[1] | broken)
        names, weights = _sources(recording, steps, broken or {})
        yield _weighted_sum(filtered(names), weights)
    check_amplitude(np.array(spreads), names, recording.path)


def _in_blocks(names: list[str], size: int) -> list[list[str]]:
    return [names[i : i + size] for i in range(0, len(names), size)]


def _sources(
    recording: Recording, steps: Preprocessing, broken: Mapping[str, str]
) -> tuple[list[str], NDArray[np.float64]]:
    """Usable channels that the wanted ones are made of, and their weights ``(n_wanted, n_sources)``."""
    assert steps.channel_policy is not None
    usable = [name for name in recording.ch_names if name not in broken]
    try:
        weights, _ = channel_matrix(usable, steps.channels, steps.channel_policy)
    except BenchError as error:
        raise BenchError(f"{recording.path}: {error}") from error
    used = np.flatnonzero(weights.any(axis=0))
    return [usable[i] for i in used], weights[:, used]


def _weighted_sum(blocks: Iterator[NDArray[np.float32]], weights: NDArray[np.float64]) -> NDArray[np.float32]:
    """Wanted channels ``(n_wanted, n_times)``; channel by channel, so that sums do not depend on the blocks."""
    total = np.empty(0, np.float32)
    column = iter(weights.T.astype(np.float32))
    for block in blocks:
        if not total.size:
            total = np.zeros((len(weights), block.shape[1]), np.float32)
        for channel, weight in zip(block, column, strict=False):
            for row in np.flatnonzero(weight):
                total[row] += weight[row] * channel
    return total


def _read_usable(recording: Recording, ch_names: list[str]) -> tuple[NDArray[np.float64], dict[str, str]]:
    """Signal with zeros for broken channels, and the reasons."""
    signal = recording.read(ch_names=ch_names)
    found = broken_channels(signal, ch_names)
    signal[[name in found for name in ch_names]] = 0
    return signal.astype(np.float64), found


def _average(recording: Recording, blocks: list[list[str]]) -> NDArray[np.float64]:
    """Mean over the usable channels ``(n_times,)``."""
    total, n = np.zeros(recording.n_times), 0
    for chosen in blocks:
        signal, found = _read_usable(recording, chosen)
        for channel in signal:  # one by one, so that the sum does not depend on the blocks
            total += channel
        n += len(chosen) - len(found)
    return total / max(n, 1)


def _filter_pieces(
    signal: NDArray[np.float64], recording: Recording, steps: Preprocessing, line_freq: float | None
) -> NDArray[np.float32]:
    """Every piece filtered by itself; resampled, each starts at the sample nearest to its time in the recording."""
    if len(recording.pieces) == 1:
        return _filter(signal, recording.sfreq, steps, line_freq)
    bounds = np.array([*recording.pieces, recording.n_times])
    starts = starts_at(steps.sfreq, bounds, recording.sfreq)
    out = np.empty((len(signal), starts[-1]), np.float32)
    for i, n in enumerate(np.diff(starts)):
        piece = _filter(signal[:, bounds[i] : bounds[i + 1]], recording.sfreq, steps, line_freq)
        piece = np.pad(piece, ((0, 0), (0, max(0, n - piece.shape[1]))), mode="edge")
        out[:, starts[i] : starts[i + 1]] = piece[:, :n]
    return out


def starts_at(sfreq: float | None, starts: Sequence[int] | NDArray[np.int64], of: float) -> NDArray[np.int64]:
    """Samples at another rate that are nearest to samples at the rate ``of``; None is the same rate."""
    return np.rint(np.asarray(starts) * (1.0 if sfreq is None else sfreq / of)).astype(np.int64)


def _filter(
    signal: NDArray[np.float64], sfreq: float, steps: Preprocessing, line_freq: float | None
) -> NDArray[np.float32]:
    """A piece too short for a filter of finite length gets an IIR notch, and its mean removed instead of a high-pass."""
    import mne

    nyquist, duration = sfreq / 2, signal.shape[1] / sfreq
    if steps.notch and line_freq and line_freq + NOTCH_WIDTH_HZ < nyquist:
        method = "fir" if duration >= NOTCH_LENGTH_S else "iir"
        signal = mne.filter.notch_filter(
            signal, sfreq, line_freq, notch_widths=NOTCH_WIDTH_HZ, method=method, verbose="ERROR"
        )
    low, high = steps.low, None if steps.high is None or steps.high >= nyquist else steps.high
    if low is not None and duration < HIGH_PASS_CYCLES / low:
        signal, low = signal - signal.mean(axis=1, keepdims=True), None
    if low is not None or high is not None:
        signal = mne.filter.filter_data(signal, sfreq, low, high, verbose="ERROR")
    if steps.sfreq is not None and steps.sfreq != sfreq:
        from scipy.signal import resample_poly

        ratio = Fraction(steps.sfreq / sfreq).limit_denominator(MAX_RATIO_TERM)
        signal = resample_poly(signal, ratio.numerator, ratio.denominator, axis=-1)
    return signal.astype(np.float32)
