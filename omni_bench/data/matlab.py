"""Variables of MATLAB files, up to version 7.2 and from 7.3 on, as plain Python values."""

import struct
import warnings
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from omni_bench.errors import BenchError

HEADER_BYTES = 128
"""Of a version 5 file; the last two say its byte order."""


def mat_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Variables and their shapes, without their content.

    Raises
    ------
    BenchError
        The file is broken or no MATLAB file.
    """
    from scipy.io import whosmat

    try:
        if h5py.is_hdf5(path):
            with h5py.File(path) as file:
                named = {name: item for name, item in file.items() if not name.startswith("#")}
                return {name: tuple(reversed(getattr(item, "shape", (1, 1)))) for name, item in named.items()}
        _check_whole(path)
        return {name: shape for name, shape, _ in whosmat(path)}
    except BenchError:
        raise
    except Exception as error:  # scipy and h5py fail in many ways on a broken stream
        raise _broken(path, error) from error


def read_mat(path: Path, name: str) -> Any:
    """One variable: an array of two dimensions at least, a dict for a struct, a list for a cell or several structs.

    Dimensions are in MATLAB's order whatever the version. Text is a string.

    Raises
    ------
    BenchError
        The file is broken or no MATLAB file.
    """
    from scipy.io import loadmat

    try:
        if h5py.is_hdf5(path):
            with h5py.File(path) as file:
                return _of_hdf5(file, file[name])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _plain(loadmat(path, variable_names=[name], struct_as_record=False, chars_as_strings=True)[name])
    except Exception as error:  # scipy and h5py fail in many ways on a broken stream
        raise _broken(path, error) from error


def _check_whole(path: Path) -> None:
    """Raise where a version 5 file ends before its last variable does, which scipy takes for its end."""
    size = path.stat().st_size
    with path.open("rb") as file:
        order = {b"IM": "<", b"MI": ">"}.get(file.read(HEADER_BYTES)[-2:])
        while order and 0 < file.tell() < size:
            tag = file.read(8)
            n_bytes = struct.unpack(f"{order}4xI", tag)[0] if len(tag) == 8 else size
            if file.seek(n_bytes, 1) > size:
                raise BenchError(f"{path}: cannot be read as a MATLAB file (it ends early): copy the file again")


def _broken(path: Path, error: Exception) -> BenchError:
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return BenchError(f"{path}: cannot be read as a MATLAB file ({text}): copy the file again")


def _plain(value: Any) -> Any:
    """scipy's structs, cells and characters as dicts, lists and strings."""
    if hasattr(value, "_fieldnames"):
        return {field: _plain(getattr(value, field)) for field in value._fieldnames}
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype == object:
        items = [_plain(item) for item in value.ravel(order="F")]
        return items[0] if len(items) == 1 and isinstance(items[0], dict) else items
    if value.dtype.kind == "U":
        rows = [str(row) for row in value.ravel()]
        return rows[0] if len(rows) == 1 else rows
    return value


def _of_hdf5(file: h5py.File, item: Any) -> Any:
    if isinstance(item, h5py.Group):
        return {name: _of_hdf5(file, child) for name, child in item.items()}
    if item.attrs.get("MATLAB_empty", 0):
        return np.empty((0, 0))
    if item.dtype == h5py.ref_dtype:
        return [_of_hdf5(file, file[reference]) for reference in item[()].ravel()]
    data = item[()].T
    if item.attrs.get("MATLAB_class") == b"char":
        return "".join(chr(code) for code in data.ravel())
    return data
