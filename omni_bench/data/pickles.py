"""Pickled arrays of strangers: numbers, text and their containers come out, and nothing else is built or called."""

import pickle
import struct
from collections.abc import Callable
from io import BufferedReader
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from omni_bench.errors import BenchError

SKIPPED_BYTES = 1 << 20
"""Arrays above this size are not read where only their shapes are asked for."""
PLAIN_KINDS = "biufcSUO"


def read_pickle(path: Path, shapes_only: bool = False) -> Any:
    """Content of a pickle made of arrays, dicts, lists, tuples, strings and numbers.

    Parameters
    ----------
    shapes_only
        Arrays of more than 1 MB come out as zeros of their shape, without memory; their bytes are skipped.

    Raises
    ------
    BenchError
        The file asks for anything else, is truncated, or is no pickle.
    """
    with path.open("rb") as file:
        return _load(path, file, shapes_only)


def read_npy(path: Path, shapes_only: bool = False) -> Any:
    """A ``.npy`` file: a memory map of numbers, or the content of a pickled object array.

    Raises
    ------
    BenchError
        As `read_pickle`, or the file is no ``.npy``.
    """
    try:
        with path.open("rb") as file:
            version = np.lib.format.read_magic(file)
            header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            _, _, dtype = header(file)
            if dtype.hasobject:
                content = _load(path, file, shapes_only)
                return content.item() if np.ndim(content) == 0 else content
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except BenchError:
        raise
    except Exception as error:  # NumPy's header is Python's text, which can be broken in any way
        raise BenchError(f"{path}: cannot be read as NPY ({error}): copy the file again") from error


def read_npz(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a ``.npz`` file, none of them pickled.

    Raises
    ------
    BenchError
        The file is broken, or one of its arrays is an object.
    """
    try:
        with np.load(path, allow_pickle=False) as content:
            return {name: content[name] for name in content.files}
    except Exception as error:  # a broken archive can fail in any way
        raise BenchError(f"{path}: cannot be read as NPZ ({_said(error)}): copy the file again") from error


def _said(error: Exception) -> str:
    """On one line: what a pickle asks for may have any name."""
    return " ".join(str(error).split()) or "it ends early"


def _load(path: Path, file: BufferedReader, shapes_only: bool) -> Any:
    try:
        return _Numbers(file, shapes_only).load()
    except BenchError:
        raise
    except Exception as error:  # a broken stream can fail in any way
        raise BenchError(
            f"{path}: not a whole pickle of arrays, dicts, lists, strings and numbers ({_said(error)}): "
            "nothing in it was run; get the file from its source again"
        ) from error


class _Skipped:
    """Bytes of an array that were not read."""


class _Numbers(pickle._Unpickler):
    """Python 2's text is read as Latin-1, in which its arrays' bytes are spelled too."""

    dispatch: ClassVar[dict[int, Callable[..., None]]] = dict(pickle._Unpickler.dispatch)
    stack: list[Any]
    append: Callable[[Any], None]
    read: Callable[[int], bytes]
    _unframer: Any

    def __init__(self, file: BufferedReader, shapes_only: bool) -> None:
        super().__init__(file, encoding="latin1")
        self._source, self._shapes_only = file, shapes_only

    def find_class(self, module: str, name: str) -> Any:
        known = (module.replace("numpy._core", "numpy.core"), name)
        if known not in CONSTRUCTORS:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return CONSTRUCTORS[known]

    def load_build(self) -> None:
        instance, state = self.stack[-2], self.stack[-1]
        if isinstance(instance, np.dtype):
            _check_dtype(instance, state)
        elif type(instance) is np.ndarray:
            _, shape, dtype, _, data = state
            _check_dtype(dtype)
            if isinstance(data, _Skipped):
                self.stack[-2:] = [np.broadcast_to(np.zeros((), dtype), shape)]
                return
        else:
            raise pickle.UnpicklingError(f"it sets the state of a {type(instance).__name__}")
        super().load_build()  # type: ignore[misc]

    def load_long_bytes(self) -> None:
        self.append(self._bytes(*struct.unpack("<Q", self.read(8))))

    def load_bytes(self) -> None:
        self.append(self._bytes(*struct.unpack("<I", self.read(4))))

    def load_long_bytearray(self) -> None:
        data = self._bytes(*struct.unpack("<Q", self.read(8)))
        self.append(data if isinstance(data, _Skipped) else bytearray(data))

    def load_python2_bytes(self) -> None:
        data = self._bytes(*struct.unpack("<I", self.read(4)))
        self.append(data.decode("latin1") if isinstance(data, bytes) else data)

    def load_text(self) -> None:
        data = self._bytes(*struct.unpack("<I", self.read(4)))
        self.append(str(data, "utf-8", "surrogatepass") if isinstance(data, bytes) else data)

    def _bytes(self, n: int) -> bytes | _Skipped:
        # bytes inside a protocol 4 frame have been read already
        if self._shapes_only and n > SKIPPED_BYTES and not self._unframer.current_frame:
            self._source.seek(n, 1)
            return _Skipped()
        return self.read(n)

    dispatch[pickle.BUILD[0]] = load_build
    dispatch[pickle.BINBYTES[0]] = load_bytes
    dispatch[pickle.BINBYTES8[0]] = load_long_bytes
    dispatch[pickle.BYTEARRAY8[0]] = load_long_bytearray
    dispatch[pickle.BINSTRING[0]] = load_python2_bytes
    dispatch[pickle.BINUNICODE[0]] = load_text


def _check_dtype(dtype: Any, state: tuple[Any, ...] | None = None) -> None:
    """Raise unless a dtype is plain, and a state gives it no more than its byte order.

    NumPy believes a pickled dtype's word on which bytes are object pointers.
    """
    plain = isinstance(dtype, np.dtype) and dtype.kind in PLAIN_KINDS
    if plain and state is not None:
        _, _, *structure, itemsize, _, flags = state[:8]
        plain = structure == [None, None, None] and itemsize in (-1, dtype.itemsize) and flags == dtype.flags
    if not plain:
        raise pickle.UnpicklingError("it has an array that is not of plain numbers or text")


def _dtype(code: str, align: bool = False, copy: bool = False) -> np.dtype:
    dtype = np.dtype(str(code), copy=True)
    _check_dtype(dtype)
    return dtype


def _empty_array(kind: object, shape: object, code: object) -> NDArray[Any]:
    return np.ndarray.__new__(np.ndarray, (0,), "b")


def _scalar(dtype: np.dtype, data: bytes | str) -> Any:
    _check_dtype(dtype)
    raw = data.encode("latin1") if isinstance(data, str) else data
    return np.frombuffer(raw, dtype)[0] if dtype.itemsize else dtype.type()


def _from_buffer(buffer: Any, dtype: np.dtype, shape: tuple[int, ...], order: Literal["C", "F"]) -> NDArray[Any]:
    _check_dtype(dtype)
    if isinstance(buffer, _Skipped):
        return np.broadcast_to(np.zeros((), dtype), shape)
    return np.frombuffer(buffer, dtype).reshape(shape, order=order)


def _no_bytes() -> bytes:
    return b""


def _latin1(text: Any, encoding: str) -> Any:
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"it encodes text as {encoding}")
    return text if isinstance(text, _Skipped) else text.encode("latin1")


CONSTRUCTORS: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): None,  # only named, as the kind of what is reconstructed
    ("numpy", "dtype"): _dtype,
    ("numpy.core.multiarray", "_reconstruct"): _empty_array,
    ("numpy.core.multiarray", "scalar"): _scalar,
    ("numpy.core.numeric", "_frombuffer"): _from_buffer,
    ("_codecs", "encode"): _latin1,
    ("__builtin__", "bytes"): _no_bytes,  # of Python 3 at Python 2's protocols
}
"""All that a pickle may call."""
