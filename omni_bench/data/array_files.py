"""Files of named arrays (MATLAB, NumPy, pickles, CSV), and the recordings that lie in them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from omni_bench.data.arrays import array_recording
from omni_bench.data.matlab import mat_shapes, read_mat
from omni_bench.data.pickles import read_npy, read_npz, read_pickle
from omni_bench.data.recording import Recording
from omni_bench.errors import BenchError
from omni_bench.signal.electrode_names import electrode_names

SIGNAL_AXES = ("channel", "time")


class ArrayFile:
    """One file's named values, read when they are asked for.

    A name is a variable or key, with ``.field`` for what a struct or dict holds, and empty for a file that is one array.

    Parameters
    ----------
    shapes_only
        Large arrays of pickles come out as zeros of their shape.
    """

    def __init__(self, path: Path, shapes_only: bool = False) -> None:
        self.path, self.shapes_only = path, shapes_only
        if not path.is_file():
            raise BenchError(f"{path}: no such file")

    @cached_property
    def _content(self) -> Any:
        suffix = self.path.suffix.lower()
        if suffix == ".mat":
            return {}
        if suffix == ".npy":
            return read_npy(self.path, self.shapes_only)
        if suffix == ".npz":
            return read_npz(self.path)
        if suffix == ".csv":
            return _read_csv(self.path)
        return read_pickle(self.path, self.shapes_only)

    @cached_property
    def _variables(self) -> dict[str, tuple[int, ...]]:
        """MATLAB's variables and their shapes, without their content."""
        return mat_shapes(self.path)

    @property
    def names(self) -> list[str]:
        """Variables or keys; empty for a file that is one array."""
        if self.path.suffix.lower() == ".mat":
            return list(self._variables)
        return [name for name in self._content if isinstance(name, str)] if isinstance(self._content, dict) else []

    def value(self, name: str) -> Any:
        """What stands under a name; MATLAB's arrays have two dimensions at least.

        Raises
        ------
        BenchError
            No such variable or field, or the file is broken.
        """
        head, *fields = name.split(".")
        if self.path.suffix.lower() == ".mat" and head in self._variables and head not in self._content:
            self._content[head] = read_mat(self.path, head)
        value = self._content
        for part in [head, *fields] if name else []:
            if not isinstance(value, dict) or part not in value:
                known = list(value) if isinstance(value, dict) else []
                known = self.names if part == head else known
                raise BenchError(
                    f"{self.path}: no variable {_shown(name)} (found: {', '.join(map(_shown, known[:8])) or 'one array'}): "
                    "another release of the dataset?"
                )
            value = value[part]
        return value

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of an array, without reading it where the format allows that."""
        if self.path.suffix.lower() == ".mat" and name in self._variables:
            return self._variables[name]
        return regular(self.path, self.value(name)).shape


@dataclass(frozen=True)
class ArrayLayout:
    """Where in a dataset's files the signal stands; as an opener, it makes a recording of a file.

    Attributes
    ----------
    axes
        What the array's dimensions are: ``channel``, ``time``, and any others, which tell pieces of the recording apart.
    sfreq
        Of the signal, in Hz, or the name of the value that says it.
    channels
        Names along the channel axis, or the name of the value that holds them.
    variable
        Regular expression of the variable that holds the signal. Several variables are pieces of one recording, in the
        order of the number that its group matches. Empty: the file is one array, or has one with as many channels.
    field
        Of the variable, where that is a struct; of a list of structs, each is a piece. ``sfreq``, ``channels`` and
        ``names_at`` are then fields of it too.
    scale
        What the numbers are multiplied by.
    shapes
        ``(pattern of the file's path, shape)`` where the shape would cost reading the file; the first that matches holds.
    names_at
        Name of the value that repeats ``channels``, to be compared when the signal is read.
    """

    axes: tuple[str, ...]
    sfreq: float | str
    channels: tuple[str, ...] | str
    variable: str = ""
    field: str = ""
    scale: float = 1.0
    shapes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    names_at: str = ""

    def __call__(
        self, path: Path, ch_names: Sequence[str] | None = None, unit: str | None = None, part: str | None = None
    ) -> Recording:
        file = ArrayFile(path)
        names = self.names_in(file)
        found = texts(self._beside(file, self.names_at)) if self.names_at else names
        if electrode_names(found) != electrode_names(names):
            raise BenchError(
                f"{path}: channels {', '.join(found[:6])}, ..., expected {', '.join(names[:6])}, ...: "
                "correct dataset.read.channels"
            )
        pieces = [piece for array in self._arrays(file) for piece in self._split(path, array)]
        if self.scale != 1:
            pieces = [piece * self.scale for piece in pieces]
        return array_recording(path, pieces, names, self.rate_in(file), ch_names, unit)

    def names_in(self, file: ArrayFile) -> list[str]:
        """Names along the channel axis."""
        return texts(self._beside(file, self.channels)) if isinstance(self.channels, str) else list(self.channels)

    def rate_in(self, file: ArrayFile) -> float:
        """Rate in Hz."""
        return float(np.ravel(self._beside(file, self.sfreq))[0]) if isinstance(self.sfreq, str) else float(self.sfreq)

    def pieces_in(self, file: ArrayFile) -> pd.DataFrame:
        """One row per piece of the recording, in its order: ``n_times``, and one column of numbers from 0 per further axis.

        Pieces of several variables, or structs of a list, are told apart by ``piece``.
        """
        tables = []
        for number, shape in enumerate(self._shapes(file)):
            shape = self._padded(file.path, shape)
            others = [n for axis, n in zip(self.axes, shape, strict=True) if axis not in SIGNAL_AXES]
            names = [axis for axis in self.axes if axis not in SIGNAL_AXES]
            index = np.indices(others).reshape(len(others), -1) if others else np.zeros((0, 1), int)
            table = pd.DataFrame(dict(zip(names, index, strict=True)), index=range(index.shape[1]))
            tables.append(table.assign(n_times=shape[self.axes.index("time")], piece=number))
        return pd.concat(tables, ignore_index=True)

    def variables_in(self, file: ArrayFile) -> list[str]:
        """The variables that hold the signal, in order.

        Raises
        ------
        BenchError
            There is none, or one of their numbers is missing.
        """
        if not self.variable:
            fits = [name for name in file.names if self._n_channels(file.shape(name)) == len(self.channels)]
            if file.names and len(fits) != 1:
                raise BenchError(f"{file.path}: {len(fits)} variables with {len(self.channels)} channels, expected one")
            return fits or [""]
        found = [match for name in file.names if (match := re.fullmatch(self.variable, name))]
        if found and found[0].re.groups:
            numbered = {int(match[1]): match[0] for match in found}
            if sorted(numbered) != list(range(1, len(found) + 1)):
                raise BenchError(
                    f"{file.path}: variables {self.variable} numbered {sorted(numbered)}, expected 1, 2, ..."
                )
            return [numbered[number] for number in sorted(numbered)]
        if len(found) != 1:
            has = ", ".join(file.names[:8])
            raise BenchError(f"{file.path}: {len(found)} variables {self.variable}, expected one (it has {has})")
        return [found[0][0]]

    def _beside(self, file: ArrayFile, name: str) -> Any:
        return file.value(f"{self.variables_in(file)[0]}.{name}" if self.field else name)

    def _n_channels(self, shape: tuple[int, ...]) -> int | None:
        return shape[self.axes.index("channel")] if len(shape) == len(self.axes) else None

    def _shapes(self, file: ArrayFile) -> Iterator[tuple[int, ...]]:
        known = self._known_shape(file.path)
        if known:
            yield known
            return
        for name in self.variables_in(file):
            if not self.field:
                yield file.shape(name)
                continue
            value = file.value(name)
            yield from (regular(file.path, array).shape for array in self._fields(file.path, name, value))

    def _arrays(self, file: ArrayFile) -> Iterator[NDArray[Any]]:
        known = self._known_shape(file.path)
        for name in self.variables_in(file):
            value = file.value(name)
            for found in self._fields(file.path, name, value) if self.field else [value]:
                array = regular(file.path, found)
                if known and self._padded(file.path, array.shape) != known:
                    raise BenchError(
                        f"{file.path}: an array of shape {array.shape}, expected {known}: "
                        "another release? Correct dataset.read.shapes"
                    )
                yield array

    def _fields(self, path: Path, name: str, value: Any) -> list[Any]:
        structs = value if isinstance(value, list) else [value]
        lacking = next((s for s in structs if not isinstance(s, dict) or self.field not in s), None)
        if lacking is not None:
            found = ", ".join(lacking) if isinstance(lacking, dict) else type(lacking).__name__
            raise BenchError(f"{path}: {name} has no field {self.field} (found: {found}): another release?")
        return [struct[self.field] for struct in structs]

    def _known_shape(self, path: Path) -> tuple[int, ...] | None:
        return next((shape for pattern, shape in self.shapes if re.search(pattern, path.as_posix())), None)

    def _padded(self, path: Path, shape: tuple[int, ...]) -> tuple[int, ...]:
        """MATLAB drops last dimensions of one."""
        full = (*shape, *(1 for _ in range(len(self.axes) - len(shape))))
        if len(full) != len(self.axes) or not np.prod(full):
            raise BenchError(f"{path}: an array of shape {shape}, expected ({', '.join(self.axes)}): another release?")
        return full

    def _split(self, path: Path, array: NDArray[Any]) -> Iterator[NDArray[Any]]:
        array = array.reshape(self._padded(path, array.shape))
        others = [axis for axis in self.axes if axis not in SIGNAL_AXES]
        array = array.transpose([self.axes.index(axis) for axis in (*others, *SIGNAL_AXES)])
        yield from array.reshape(-1, *array.shape[-2:])


def _read_csv(path: Path) -> NDArray[np.float64]:
    """Numbers below one line of names."""
    try:
        return pd.read_csv(path).to_numpy(np.float64)
    except ValueError as error:  # also of pandas' own parser
        raise BenchError(f"{path}: not a regular table of numbers ({error}): copy the file again") from error


def _shown(name: object) -> str:
    """A name on one line; those of a damaged file may hold anything."""
    return "".join(sign if sign.isprintable() else "?" for sign in str(name)[:60])


def regular(path: Path, value: Any) -> NDArray[Any]:
    """Nested lists as an array.

    Raises
    ------
    BenchError
        Their rows are of different lengths.
    """
    try:
        return np.asarray(value)
    except ValueError as error:
        raise BenchError(f"{path}: not a regular array of numbers: copy the file again") from error


def texts(value: Any) -> list[str]:
    """Names of a MATLAB cell, a row of characters per name, or a list."""
    return [str(name).strip() for name in np.ravel(np.asarray(value, dtype=object))]
