"""A continuous recording of any format, read lazily in microvolts."""

import glob
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from omni_bench.data.brainvision import data_file, readable_header
from omni_bench.data.edf import edf_channels, read_edf_header
from omni_bench.data.fif import check_fif
from omni_bench.data.gdf import check_gdf
from omni_bench.data.matlab import check_elements
from omni_bench.data.units import volts
from omni_bench.errors import BenchError, reader_said

READERS = {
    ".edf": "read_raw_edf",
    ".rec": "read_raw_edf",
    ".bdf": "read_raw_bdf",
    ".gdf": "read_raw_gdf",
    ".vhdr": "read_raw_brainvision",
    ".fif": "read_raw_fif",
    ".set": "read_raw_eeglab",
    ".cnt": "read_raw_cnt",
}
EDF_SUFFIXES = (".edf", ".rec", ".bdf")
"""Formats whose headers we check ourselves; ``.rec`` is EDF under the name that some sleep laboratories give it."""
READER_OPTIONS: dict[str, dict[str, Any]] = {
    **{key: {"exclude_after_unique": True, "infer_types": False, "stim_channel": False} for key in EDF_SUFFIXES},
    ".cnt": {"data_format": "int32"},
    ".fif": {"allow_maxshield": True},
}

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
        Factors ``(n_channels,)`` from what the format's reader returns to µV.
    pieces
        First samples of the gapless pieces that the recording is made of, such as trials that were stored one by one;
        no filter runs across their borders.
    """

    path: Path
    sfreq: float
    ch_names: list[str]
    n_times: int
    bads: list[str]
    scale: NDArray[np.float64]
    _raw: Any = field(repr=False)
    pieces: tuple[int, ...] = (0,)

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return self.n_times / self.sfreq

    def read(
        self, start: int = 0, stop: int | None = None, ch_names: Sequence[str] | None = None
    ) -> NDArray[np.float32]:
        """Samples ``[start, stop)`` of all or some channels, µV, float32, ``(n_channels, n_times)``.

        Raises
        ------
        BenchError
            The file ends before its header says.
        """
        picks = [self.ch_names.index(name) for name in (self.ch_names if ch_names is None else ch_names)]
        stop = self.n_times if stop is None else min(stop, self.n_times)
        if start >= stop:
            return np.empty((len(picks), 0), np.float32)
        try:
            data = self._raw.get_data(picks=picks, start=start, stop=stop)
        except Exception as error:  # MNE's readers fail in many ways on a broken file
            raise BenchError(
                f"{self.path}: cannot be read to its end ({reader_said(error)}): copy the file again"
            ) from error
        data *= self.scale[picks, None]
        return data.astype(np.float32)


def open_recording(path: Path | str, ch_names: Sequence[str] | None = None, unit: str | None = None) -> Recording:
    """Open a recording without reading its samples.

    Parameters
    ----------
    path
        EDF (also as ``.rec``), BDF, GDF, BrainVision (``.vhdr``), FIF, EEGLAB (``.set``) or CNT.
    ch_names
        Channels to open, in this order; by default all that hold a voltage. Only these are ever read or decoded.
    unit
        What the numbers are that the file calls volts: ``"µV"`` for one that opens a million times too large, or names no
        unit.

    Raises
    ------
    BenchError
        No such file, an unknown format, a broken header, no samples, an EDF+D with gaps, channels of different rates among
        those asked for, an unknown unit, or a channel that is not in the file.
    """
    path = Path(path)
    _check_format(path)
    volt = 1.0 if unit is None else volts(unit)
    if volt is None:
        raise BenchError(f"dataset.unit={unit}: unknown unit, expected V, mV, µV or nV")
    raw, factors = _read_raw(path, ch_names, unit)
    names = list(factors if ch_names is None else ch_names)
    absent = [name for name in names if name not in factors]
    if absent:
        has = ", ".join(list(factors)[:8])
        raise BenchError(f"{path}: no channel {', '.join(absent)} with a voltage in the file (it has {has}, ...)")
    try:
        raw.pick(names)
    except ValueError as error:
        raise BenchError(f"{path}: cannot be read by its header ({reader_said(error)}): copy the file again") from error
    if not raw.n_times:
        raise BenchError(f"{path}: no samples: copy the file again")
    # a sample has a byte or more, but for MATLAB's files, which may be compressed
    if path.suffix.lower() != ".set" and raw.n_times > sum(file.stat().st_size for file in recording_files(path)):
        raise BenchError(f"{path}: its header announces {raw.n_times} samples, more than it holds: copy the file again")
    scale = np.array([factors[name] for name in names]) * volt * 1e6
    return Recording(path, float(raw.info["sfreq"]), names, int(raw.n_times), list(raw.info["bads"]), scale, raw)


def channel_names(path: Path) -> list[str]:
    """Names of all channels in a recording, whatever their unit and rate.

    Raises
    ------
    BenchError
        As `open_recording`.
    """
    _check_format(path)
    if path.suffix.lower() in EDF_SUFFIXES:
        return read_edf_header(path).labels
    return list(_open_mne(path).ch_names)


def recording_files(path: Path) -> list[Path]:
    """The files that hold a recording: itself, BrainVision's data file, EEGLAB's ``.fdt``, the parts of a split FIF.

    Raises
    ------
    BenchError
        One of them is not there.
    """
    if not path.is_file():
        raise BenchError(f"{path}: no such recording")
    suffix = path.suffix.lower()
    if suffix == ".vhdr":
        return [path, data_file(path)]
    if suffix == ".fif":
        name = glob.escape(path.name)
        patterns = (name.replace("_split-01_", "_split-*_"), f"{glob.escape(path.stem)}-[0-9]*.fif")
        return sorted(file for pattern in patterns for file in path.parent.glob(pattern))
    fdt = path.with_suffix(".fdt")
    return [path, fdt] if suffix == ".set" and fdt.is_file() else [path]


def _check_format(path: Path) -> None:
    recording_files(path)
    if path.suffix.lower() not in READERS:
        raise BenchError(f"{path}: unknown format {path.suffix!r}, known: {', '.join(READERS)}")


def _read_raw(path: Path, ch_names: Sequence[str] | None, unit: str | None) -> tuple[Any, dict[str, float]]:
    """MNE's lazy object, and its voltage channels with the factors that make volts of what it returns."""
    from mne.io.constants import FIFF

    if path.suffix.lower() in EDF_SUFFIXES:
        factors = edf_channels(path, ch_names, unit)
        return _open_mne(path, include=list(factors)), factors
    raw = _open_mne(path)
    factors = {channel["ch_name"]: 1.0 for channel in raw.info["chs"] if channel["unit"] == FIFF.FIFF_UNIT_V}
    if not factors:
        raise BenchError(f"{path}: no channel with a voltage (it has {', '.join(raw.ch_names[:8])})")
    return raw, factors


def _open_mne(path: Path, **options: Any) -> Any:
    import mne
    from mne.io.edf.edf import RawEDF

    suffix = path.suffix.lower()
    try:
        if suffix == ".set" and not h5py.is_hdf5(path):
            check_elements(path)
        if suffix == ".gdf":
            check_gdf(path)
        if suffix == ".fif":
            for file in recording_files(path):
                check_fif(file)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # MNE's function for EDF refuses the suffix, its class does not look at it
            read = RawEDF if suffix == ".rec" else getattr(mne.io, READERS[suffix])
            with readable_header(path) if suffix == ".vhdr" else nullcontext(path) as file:
                return read(file, preload=False, verbose="ERROR", **READER_OPTIONS.get(suffix, {}), **options)
    except BenchError:
        raise
    except Exception as error:
        raise BenchError(f"{path}: cannot be read as {suffix[1:].upper()} ({reader_said(error)})") from error


def broken_channels(signal: NDArray[np.float32], ch_names: Sequence[str]) -> dict[str, str]:
    """Channels without a usable signal, with the reason. ``signal`` is ``(n_channels, n_times)``."""
    broken = ~np.isfinite(signal)
    flat = np.ptp(np.where(broken, 0, signal), axis=1) == 0
    reasons = np.select([broken.any(axis=1), flat], ["NaN or infinite values", "flat"], "")
    return {name: str(reason) for name, reason in zip(ch_names, reasons, strict=True) if reason}


def check_amplitude(spreads: NDArray[np.float64], ch_names: Sequence[str], path: Path) -> None:
    """Raise BenchError where numbers that should be µV cannot be µV.

    ``spreads`` are the standard deviations of a recording's channels; those of 0 do not count.
    """
    low, high = PLAUSIBLE_UV
    moving = spreads[spreads > 0]
    if moving.size and not low <= np.median(moving) <= high:
        raise BenchError(
            f"{path}: median channel amplitude is {np.median(moving):.3g} µV (largest: {ch_names[int(spreads.argmax())]}), "
            f"expected {low:g} to {high:g}: the unit in its header is wrong, say dataset.unit=V, mV, µV or nV"
        )
