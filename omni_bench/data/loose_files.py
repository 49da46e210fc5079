"""Recordings in files that stand alone: any EEG format, or an array whose file says little about it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omni_bench.data.array_files import ArrayFile, texts
from omni_bench.data.arrays import array_recording
from omni_bench.data.recording import READERS, Recording, open_recording
from omni_bench.errors import BenchError

TABLES = (".txt", ".csv")
ARRAYS = (".mat", ".npz", ".npy", *TABLES)
SUFFIXES = (*READERS, *ARRAYS)
RATES, NAMES, UNITS = ("sfreq", "fs", "srate"), ("ch_names", "channels", "labels"), ("unit", "units")
"""Variables that are looked for where no option says a recording's rate, channels or unit."""


@dataclass(frozen=True)
class LooseFile:
    """Opens a recording that stands alone; the options are for arrays, which are read whole.

    The longer axis of an array is time. A table of numbers may have a first line of names.

    Attributes
    ----------
    sfreq
        In Hz, or the variable that holds it; None looks for one called as in `RATES`.
    variable
        That holds the signal; by default the largest.
    ch_names
        Names, or the variable that holds them; None looks for one called as in `NAMES`, and numbers the channels where there
        is none.
    """

    sfreq: float | str | None = None
    variable: str = ""
    ch_names: Sequence[str] | str | None = None

    def __post_init__(self) -> None:
        if self.ch_names is not None and not isinstance(self.ch_names, str):
            object.__setattr__(self, "ch_names", tuple(self.ch_names))

    def __call__(
        self, path: Path, ch_names: Sequence[str] | None = None, unit: str | None = None, part: str | None = None
    ) -> Recording:
        """See `omni_bench.data.open_recording`; an array must have a rate and a unit, its own or by option.

        Raises
        ------
        BenchError
            The file is broken or holds no signal, or nobody says its rate or unit.
        """
        if path.suffix.lower() not in ARRAYS:
            return open_recording(path, ch_names, unit)
        file = _Arrays(path)
        signal = self._signal(file)
        names = _beside(file, self.ch_names, NAMES)
        names = [f"CH{i + 1}" for i in range(min(signal.shape))] if names is None else texts(names)
        if len(names) != len(signal):
            signal = signal.T
        sfreq = _beside(file, self.sfreq, RATES)
        if sfreq is None:
            raise BenchError(
                f"{path}: no sampling rate in the file: say dataset.read.sfreq= in Hz, or the variable that holds it"
            )
        if unit is None and (said := _beside(file, None, UNITS)) is not None:
            unit = texts(said)[0]
        if unit is None:
            raise BenchError(f"{path}: no unit in the file: say dataset.unit=V, mV, µV or nV")
        return array_recording(path, [signal], names, _rate(path, sfreq), ch_names, unit)

    def _signal(self, file: "_Arrays") -> NDArray[Any]:
        sizes = {name: int(np.prod(file.shape(name))) for name in file.names}
        name = self.variable or max(sizes, key=lambda n: sizes[n], default="")
        signal = np.squeeze(np.asarray(file.value(name)))
        signal = signal[None] if signal.ndim == 1 else signal
        if signal.ndim != 2 or signal.dtype.kind not in "fiu":
            raise BenchError(
                f"{file.path}: {name or 'the array'} has shape {signal.shape} and type {signal.dtype}, expected numbers, "
                f"channels × samples: say dataset.read.variable= (it has {', '.join(file.names[:8]) or 'one array'})"
            )
        return signal if signal.shape[0] <= signal.shape[1] else signal.T


class _Arrays(ArrayFile):
    """An array file, or a table of numbers."""

    @cached_property
    def _content(self) -> Any:
        return _read_table(self.path) if self.path.suffix.lower() in TABLES else super()._content


def _beside(file: ArrayFile, option: Any, known: Sequence[str]) -> Any:
    """The option, the value of the variable that it names, or that of the first variable of a known name."""
    if option is None:
        return next((file.value(name) for name in known if name in file.names), None)
    return file.value(option) if isinstance(option, str) else option


def _rate(path: Path, value: Any) -> float:
    try:
        sfreq = float(np.ravel(value)[0])
    except (TypeError, ValueError, IndexError):
        sfreq = 0.0
    if not sfreq > 0:
        raise BenchError(f"{path}: sampling rate {value!r}, expected Hz: say dataset.read.sfreq=")
    return sfreq


def _read_table(path: Path) -> dict[str, Any]:
    """Numbers parted by blanks, commas or semicolons, and the names above them."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            head = file.readline().strip()
        sep = next((mark for mark in ";," if mark in head), None)
        cells = [cell.strip().strip('"') for cell in head.split(sep)]
        # pandas writes the numbers of columns without names
        named = not all(map(_is_number, cells)) or (len(cells) > 1 and cells == [str(i) for i in range(len(cells))])
        signal = np.loadtxt(path, delimiter=sep, skiprows=int(named), ndmin=2, encoding="utf-8-sig")
    except (ValueError, UnicodeDecodeError) as error:
        raise BenchError(
            f"{path}: no regular table of numbers ({error}): leave it out with dataset.read.files="
        ) from error
    return {"signal": signal} | ({"ch_names": cells} if named else {})


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", text) is not None
