"""Variables of MATLAB files, up to version 7.2 and from 7.3 on, as plain Python values."""

import math
import struct
import warnings
from collections.abc import Iterator
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from omni_bench.errors import BenchError

HEADER_BYTES = 128
"""Of a version 5 file; the last two say its byte order."""
ELEMENTS = {1, 2, 3, 4, 5, 6, 7, 9, 12, 13, 14, 15, 16, 17, 18}
MATRIX, COMPRESSED = 14, 15
CELL, STRUCT, OBJECT, SPARSE, LAST_NUMERIC, FUNCTION, OPAQUE = 1, 2, 3, 5, 15, 16, 17


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
        check_elements(path)
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
        check_elements(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _plain(loadmat(path, variable_names=[name], struct_as_record=False, chars_as_strings=True)[name])
    except BenchError:
        raise
    except Exception as error:  # scipy and h5py fail in many ways on a broken stream
        raise _broken(path, error) from error


def check_elements(path: Path) -> None:
    """Raise BenchError where the elements of a version 5 file do not nest, or are fewer or others than their headers say.

    scipy takes a file that ends between two variables for a whole one, and crashes the process over an unknown type or
    an array without its numbers. Compressed variables are left to their own checksum. (MathWorks: MAT-File Format.)
    """
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        order = {b"IM": "<", b"MI": ">"}.get(content[HEADER_BYTES - 2 : HEADER_BYTES])
        if order is None:
            return
        try:
            for kind, first, end in _elements(content, order, HEADER_BYTES, len(content)):
                if kind == MATRIX:
                    _check_matrix(content, order, first, end)
        except (struct.error, LookupError, ValueError, ZeroDivisionError, RecursionError) as error:
            raise _broken(path, f"it ends early or was changed: {error}") from error


def _elements(content: mmap, order: str, at: int, stop: int) -> Iterator[tuple[int, int, int]]:
    """Type, first byte and end of the elements that lie one after the other."""
    while at < stop:
        kind, n_bytes = struct.unpack_from(f"{order}II", content, at)
        first = at + 8
        if kind >> 16:  # up to four bytes stand in the tag itself
            kind, n_bytes, first = kind & 0xFFFF, kind >> 16, at + 4
        end = first + n_bytes
        if end > stop or kind not in ELEMENTS:
            raise ValueError(f"element of type {kind} with {n_bytes} bytes")
        yield kind, first, end
        at = end if kind == COMPRESSED else end + -end % 8


def _check_matrix(content: mmap, order: str, first: int, stop: int) -> None:
    parts = list(_elements(content, order, first, stop))
    if not parts:
        return
    (word,) = struct.unpack_from(f"{order}I", content, parts[0][1])
    kind, is_complex = word & 0xFF, word >> 11 & 1
    if kind not in (FUNCTION, OPAQUE):
        _, at, end = parts[1]
        n = math.prod(struct.unpack(f"{order}{(end - at) // 4}i", content[at:end]))
        if len(parts) < _n_parts(content, order, parts, kind, n) + is_complex:
            raise ValueError(f"array of class {kind} with {len(parts)} parts")
    for part, at, end in parts:
        if part == COMPRESSED:
            raise ValueError("compressed part of a variable")
        if part == MATRIX:
            _check_matrix(content, order, at, end)


def _n_parts(content: mmap, order: str, parts: list[tuple[int, int, int]], kind: int, n: int) -> int:
    """How many elements an array of ``n`` items has at least: flags, dimensions, name, and what its class asks for."""
    if kind == CELL:
        return 3 + n
    if kind in (STRUCT, OBJECT):
        length, names = parts[3 + (kind == OBJECT) :][:2]
        (width,) = struct.unpack_from(f"{order}i", content, length[1])
        return 5 + (kind == OBJECT) + n * ((names[2] - names[1]) // width)
    if kind == SPARSE:
        return 6
    if not kind <= LAST_NUMERIC:
        raise ValueError(f"array of unknown class {kind}")
    return 4


def _broken(path: Path, error: Exception | str) -> BenchError:
    text = error if isinstance(error, str) else " ".join(f"{type(error).__name__}: {error}".split())
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
