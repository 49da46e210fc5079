"""Embeddings of stored windows on disk: chunks that are published once, found by stored file, row and first sample."""

import json
import logging
import zlib
from collections.abc import Sequence
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from omni_bench.data.store import publish, read_json, write_json
from omni_bench.files import part_of, sweep_parts

log = logging.getLogger(__name__)
KEY = ["file", "row", "first"]
"""What names a window: its stored file (whose name ends in a hash of its content), its channel, its first sample."""


class Chunk(NamedTuple):
    """A published file; its time tells it from one that was computed again."""

    path: Path
    mtime_ns: int

    @classmethod
    def at(cls, path: Path) -> "Chunk":
        return cls(path, path.stat().st_mtime_ns)


class Embeddings:
    """Embeddings of a table's rows, in the table's order, read from memory maps when they are asked for.

    Parameters
    ----------
    chunks
        Published files, or float32 ``(n, d)`` in memory.
    chunk, offset
        Of each row: the chunk that holds it, and its place there.
    """

    def __init__(
        self, chunks: Sequence[Chunk | NDArray[np.float32]], chunk: NDArray[np.int64], offset: NDArray[np.int64]
    ) -> None:
        self.chunks, self.chunk, self.offset = list(chunks), chunk, offset

    def __len__(self) -> int:
        return len(self.chunk)

    @property
    def dim(self) -> int:
        """Size of an embedding."""
        return self._values(0).shape[1]

    def __getitem__(self, rows: NDArray[np.int64]) -> Tensor:
        """Float32 ``(len(rows), d)``, a copy."""
        chunk, offset = self.chunk[rows], self.offset[rows]
        numbers = np.unique(chunk)
        if len(numbers) == 1:
            return torch.from_numpy(self._values(numbers[0])[offset])
        found = np.empty((len(rows), self.dim), "float32")
        for number in numbers:
            here = chunk == number
            found[here] = self._values(number)[offset[here]]
        return torch.from_numpy(found)

    def _values(self, number: int) -> NDArray[np.float32]:
        chunk = self.chunks[number]
        return _map(chunk) if isinstance(chunk, Chunk) else chunk

    def take(self, rows: NDArray[np.int64]) -> "Embeddings":
        """Some of the rows, in that order."""
        return Embeddings(self.chunks, self.chunk[rows], self.offset[rows])

    def followed_by(self, other: "Embeddings") -> "Embeddings":
        """These rows, then the other's."""
        chunk = np.concatenate([self.chunk, other.chunk + len(self.chunks)])
        return Embeddings(self.chunks + other.chunks, chunk, np.concatenate([self.offset, other.offset]))


class EmbeddingStore:
    """What one backbone made of windows, as it was when the store was opened; a folder to which whole chunks are added.

    A chunk that cannot be read, or whose content is not what was written, is deleted with a warning: its windows are
    then missing, and embedded again.

    Parameters
    ----------
    folder
        Made where it is absent.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        sweep_parts(folder)
        self.chunks: list[Chunk] = []
        tables = [_table([], np.empty((0, 3), "int64"))]
        for path in sorted(folder.glob("*.h5")):
            try:
                tables.append(_checked(Chunk.at(path)).assign(chunk=len(self.chunks)))
                self.chunks.append(Chunk.at(path))
            except (OSError, KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
                log.warning("%s: damaged (%s): its windows are embedded again", path, error)
                path.unlink(missing_ok=True)
        self.index = pd.concat(tables, ignore_index=True).drop_duplicates(KEY)

    def missing(self, keys: pd.DataFrame) -> NDArray[np.bool_]:
        """Which rows, with the columns `KEY`, are not there."""
        return self._places(keys)["chunk"].isna().to_numpy()

    def add(self, keys: pd.DataFrame, embeddings: NDArray[np.float32]) -> None:
        """Publish a chunk: float32 ``(len(keys), d)``."""
        names, codes = np.unique(keys["file"].to_numpy(str), return_inverse=True)
        rows = np.stack([codes, keys["row"], keys["first"]], axis=1).astype("<i8")
        content = np.ascontiguousarray(embeddings, "<f4")
        name = sha256(json.dumps(names.tolist()).encode() + rows.tobytes()).hexdigest()[:16]
        path = self.folder / f"{name}.h5"
        part = part_of(path)
        try:
            with h5py.File(part, "x") as file:
                file["embeddings"] = content
                file["rows"] = rows
                write_json(file, "names", names.tolist())
                file.attrs["crc32"] = _checksum(content, rows)
            publish(part, path)
        finally:
            part.unlink(missing_ok=True)

    def find(self, keys: pd.DataFrame) -> Embeddings:
        """Embeddings of rows with the columns `KEY`, all of which are there."""
        places = self._places(keys)
        return Embeddings(self.chunks, places["chunk"].to_numpy("int64"), places["offset"].to_numpy("int64"))

    def _places(self, keys: pd.DataFrame) -> pd.DataFrame:
        return keys[KEY].merge(self.index, on=KEY, how="left")


@lru_cache(maxsize=256)
def _map(chunk: Chunk) -> NDArray[np.float32]:
    """Read-only memory map ``(n, d)``."""
    with h5py.File(chunk.path, "r") as file:
        offset, shape = file["embeddings"].id.get_offset(), file["embeddings"].shape
    return np.memmap(chunk.path, "<f4", "r", offset, shape).view(np.ndarray)


@cache
def _checked(chunk: Chunk) -> pd.DataFrame:
    """`KEY` and ``offset`` of what a chunk holds, after its content was compared with its checksum, once per process."""
    with h5py.File(chunk.path, "r") as file:
        rows, names = file["rows"][()], read_json(file, "names")
        expected = file.attrs["crc32"]
    if _checksum(_map(chunk), rows) != expected:
        raise ValueError("its checksum differs")
    return _table(names, rows)


def _table(names: list[str], rows: NDArray[np.int64]) -> pd.DataFrame:
    """`KEY` and ``offset`` of windows given as number of the file's name, channel and first sample."""
    file = pd.array(np.array(names, object)[rows[:, 0]], "str")
    table = pd.DataFrame({"file": file, "row": rows[:, 1], "first": rows[:, 2]})
    return table.assign(chunk=0, offset=np.arange(len(rows)))


def _checksum(embeddings: NDArray[np.float32], rows: NDArray[np.int64]) -> int:
    return zlib.crc32(rows.tobytes(), zlib.crc32(embeddings.data))
