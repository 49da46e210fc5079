"""A continuous recording of any format, read lazily in microvolts."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omni_bench.data.edf import check_edf
from omni_bench.errors import BenchError

READERS = {
    ".edf": "read_raw_edf",
    ".bdf": "read_raw_bdf",
    ".gdf": "read_raw_gdf",
    ".vhdr": "read_raw_brainvision",
    ".fif": "read_raw_fif",
    ".set": "read_raw_eeglab",
    ".cnt": "read_raw_cnt",
}
UNITS = {"V": 1e6, "mV": 1e3, "µV": 1.0, "uV": 1.0, "microV": 1.0, "μV": 1.0, "nV": 1e-3}
"""Spellings of a unit and its size in µV."""

PLAUSIBLE_UV = (1e-3, 2e4)
"""Median channel standard deviation of real recordings in µV; outside it the unit is wrong."""


@dataclass
class Recording:
    """One continuous file.

    Attributes
    ----------
    path
        The file.
    sfreq
        Sampling rate in Hz.
    ch_names
        Names as the file spells them.
    n_times
        Samples.
    bads
        Channels that the file itself marks as bad.
    scale
        Factor from what the format's reader returns to µV.
    """

    path: Path
    sfreq: float
    ch_names: list[str]
    n_times: int
    bads: list[str]
    scale: float
    _raw: Any = field(repr=False)

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return self.n_times / self.sfreq

    def read(self, start: int = 0, stop: int | None = None, ch_names: Sequence[str] | None = None) -> NDArray[np.float32]:
        """Samples ``[start, stop)`` of all or some channels, µV, float32, ``(n_channels, n_times)``.

        Raises
        ------
        BenchError
            The file ends before its header says, or has values that are not numbers.
        """
        picks = None if ch_names is None else [self.ch_names.index(name) for name in ch_names]
        try:
            data = self._raw.get_data(picks=picks, start=start, stop=stop)
        except (OSError, ValueError, IndexError) as error:
            raise BenchError(f"{self.path}: cannot be read to its end ({error}): copy the file again") from error
        return (data * self.scale).astype(np.float32)


def open_recording(path: Path | str, ch_names: Sequence[str] | None = None, unit: str | None = None) -> Recording:
    """Open a recording without reading its samples.

    Parameters
    ----------
    path
        EDF, BDF, GDF, BrainVision (``.vhdr``), FIF, EEGLAB (``.set``) or CNT.
    ch_names
        Channels to open, in this order; all by default. Only these are ever read or decoded.
    unit
        Unit of the stored numbers where the header is wrong about it, for instance ``"µV"``.

    Raises
    ------
    BenchError
        No such file, an unknown format, a broken header, a discontinuous EDF+, channels of different rates among those
        asked for, an unknown unit, or a channel that is not in the file.
    """
    path = Path(path)
    if not path.is_file():
        raise BenchError(f"{path}: no such recording")
    if path.suffix.lower() not in READERS:
        raise BenchError(f"{path}: unknown format {path.suffix!r}, known: {', '.join(READERS)}")
    if unit is not None and unit not in UNITS:
        raise BenchError(f"dataset.unit={unit}: unknown unit, known: {', '.join(UNITS)}")
    raw = _read_raw(path, ch_names)
    if ch_names is not None:
        absent = [name for name in ch_names if name not in raw.ch_names]
        if absent:
            raise BenchError(f"{path}: no channel {', '.join(absent)} in the file (it has {', '.join(raw.ch_names[:8])}, ...)")
        raw.reorder_channels(list(ch_names))
    scale = 1e6 if unit is None else UNITS[unit]
    return Recording(path, float(raw.info["sfreq"]), list(raw.ch_names), int(raw.n_times), list(raw.info["bads"]), scale, raw)


def _read_raw(path: Path, ch_names: Sequence[str] | None) -> Any:
    import mne

    suffix = path.suffix.lower()
    options: dict[str, Any] = {"verbose": "ERROR"}
    if suffix in (".edf", ".bdf"):
        options |= check_edf(path, ch_names) | {"infer_types": False, "stim_channel": False}
    if suffix == ".cnt":
        options["data_format"] = "int32"
    if suffix == ".fif":
        options["allow_maxshield"] = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(mne.io, READERS[suffix])(path, preload=False, **options)
    except BenchError:
        raise
    except Exception as error:
        raise BenchError(f"{path}: cannot be read as {suffix[1:].upper()} ({type(error).__name__}: {error})") from error


def broken_channels(signal: NDArray[np.float32], ch_names: Sequence[str]) -> dict[str, str]:
    """Channels without a usable signal, with the reason. ``signal`` is ``(n_channels, n_times)``."""
    finite = np.isfinite(signal).all(axis=1)
    moving = np.ptp(np.where(finite[:, None], signal, 0), axis=1) > 0
    return {
        name: "flat" if ok else "NaN or infinite values"
        for name, ok, moves in zip(ch_names, finite, moving, strict=True)
        if not (ok and moves)
    }


def check_amplitude(signal: NDArray[np.float32], ch_names: Sequence[str], path: Path) -> None:
    """Raise BenchError where numbers that should be µV cannot be µV. ``signal`` is ``(n_channels, n_times)``, finite."""
    spreads = signal.std(axis=1, dtype=np.float64)
    spreads, names = spreads[spreads > 0], np.asarray(ch_names)[spreads > 0]
    low, high = PLAUSIBLE_UV
    if spreads.size and not low <= np.median(spreads) <= high:
        raise BenchError(
            f"{path}: median channel amplitude is {np.median(spreads):.3g} µV (largest: {names[spreads.argmax()]}), expected "
            f"{low:g} to {high:g}: the unit in its header is wrong, say dataset.unit=V, mV, µV or nV"
        )
