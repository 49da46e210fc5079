"""Preprocessed signals on disk: one HDF5 file per recording, channels × time, contiguous, read through a memory map."""

import hashlib
import json
import math
import mmap
import os
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from omni_bench.errors import BenchError
from omni_bench.files import part_of

FORMAT = 2
PROBE_BYTES = 1 << 16
KEPT_BYTES = 1 << 28


@dataclass(frozen=True)
class Stored:
    """One file of a store.

    Attributes
    ----------
    sfreq
        Rate of the stored signal in Hz.
    ch_names
        Raw names, in the order of the rows.
    broken
        Channels stored as zeros, with the reason.
    """

    path: Path
    sfreq: float
    ch_names: tuple[str, ...]
    n_times: int
    broken: dict[str, str]

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return self.n_times / self.sfreq


def source_fingerprint(files: Iterable[Path]) -> str:
    """Hash of the size, first and last 64 kB of a recording's files: enough to see an exchange without reading it all."""
    digest = hashlib.sha256()
    for path in files:
        size = path.stat().st_size
        with path.open("rb") as file:
            digest.update(size.to_bytes(8) + file.read(PROBE_BYTES))
            file.seek(max(0, size - PROBE_BYTES))
            digest.update(file.read(PROBE_BYTES))
    return digest.hexdigest()


def store_file(folder: Path, recording: str, key: object) -> Path:
    """Where a recording lies that was preprocessed as ``key`` (anything that JSON can spell) says."""
    text = json.dumps([FORMAT, key], sort_keys=True)
    return folder / f"{recording}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.h5"


def write_store(
    path: Path,
    blocks: Iterable[NDArray[np.float32]],
    ch_names: list[str],
    sfreq: float,
    broken: dict[str, str],
    pieces: Sequence[int] = (0,),
    **provenance: str,
) -> Stored:
    """Write blocks of channels under a temporary name and publish them whole; an existing file is never replaced.

    Parameters
    ----------
    blocks
        Float32 µV ``(n_block, n_times)``, in the order of ``ch_names``.
    broken
        As `preprocess` fills it while ``blocks`` are drawn.
    pieces
        First samples of the gapless pieces.
    **provenance
        Kept beside.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = part_of(path)
    try:
        digest = hashlib.sha256()
        with h5py.File(part, "x") as file:
            signal = None
            row = 0
            for block in blocks:
                if signal is None:
                    signal = file.create_dataset("signal", (len(ch_names), block.shape[1]), "<f4")
                signal[row : row + len(block)] = block
                digest.update(np.ascontiguousarray(block).tobytes())
                row += len(block)
            if signal is None:
                raise BenchError(f"{path.stem}: no channel to store")
            about = {"sfreq": sfreq, "ch_names": list(ch_names), "broken": broken, "sha256": digest.hexdigest()}
            write_json(file, "about", about | {"pieces": [int(first) for first in pieces]} | provenance)
        publish(part, path)
    finally:
        part.unlink(missing_ok=True)
    return open_store(path)


def write_json(file: h5py.File, name: str, value: Any) -> None:
    """Keep a value as bytes of JSON: of a damaged heap of strings HDF5 never comes back."""
    file[name] = np.frombuffer(json.dumps(value).encode(), np.uint8)


def read_json(file: h5py.File, name: str) -> Any:
    """What `write_json` kept."""
    return json.loads(file[name][()].tobytes())


def publish(part: Path, path: Path) -> None:
    """Give a whole file its name, unless another process was first; renames where the disk knows no hard links."""
    try:
        os.link(part, path)
    except FileExistsError:
        return
    except OSError:
        os.replace(part, path)


def open_store(path: Path) -> Stored:
    """Description of a stored recording.

    Raises
    ------
    BenchError
        The file is no store, or a damaged one.
    """
    try:
        with h5py.File(path, "r") as file:
            signal = file["signal"]
            if signal.dtype != "<f4" or signal.ndim != 2 or signal.id.get_offset() is None:
                raise ValueError("its signal is no contiguous table of 32-bit numbers")
            about = read_json(file, "about")
            if not {"sfreq", "ch_names", "broken", "sha256", "pieces"} <= about.keys():
                raise ValueError("its description is not whole")
            names, n_times = tuple(about["ch_names"]), int(signal.shape[1])
            return Stored(path, float(about["sfreq"]), names, n_times, dict(about["broken"]))
    except (OSError, KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise BenchError(f"{path}: damaged store ({error}): delete it and prepare again") from error


def verify_store(path: Path) -> None:
    """Raise BenchError unless the signal is the one that was written."""
    with h5py.File(path, "r") as file:
        expected = read_json(file, "about")["sha256"]
    if hashlib.sha256(np.ascontiguousarray(map_signal(path)).tobytes()).hexdigest() != expected:
        raise BenchError(f"{path}: its content changed since it was written: delete it and prepare again")


_maps: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()
_floor = math.inf


@lru_cache(maxsize=512)
def map_signal(path: Path) -> NDArray[np.float32]:
    """Read-only memory map ``(n_channels, n_times)`` of a stored signal; opened once per process."""
    with h5py.File(path, "r") as content:
        signal = content["signal"]
        offset, shape = signal.id.get_offset(), signal.shape
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    _maps.add(mapped)
    # not NumPy's memmap, of which every slice runs code of its class
    return np.frombuffer(mapped, "<f4", math.prod(shape), offset).reshape(shape)


def let_go() -> None:
    """Let the pages of mapped signals go if they have grown by more than ``KEPT_BYTES``; for readers to call.

    Reading only ever adds to them, by what was read and what the system maps around it. They stay in the system's cache of
    files, so reading them again costs little; but they would count as this process's memory, and batch systems end jobs by
    that count. Only Linux tells how many there are.
    """
    global _floor
    mapped = _mapped_bytes()
    _floor = min(_floor, mapped)
    if mapped > _floor + KEPT_BYTES:
        for signal in _maps:
            signal.madvise(mmap.MADV_DONTNEED)
        _floor = _mapped_bytes()


def _mapped_bytes() -> int:
    """Pages of files in this process's memory, those of libraries among them; 0 where the system does not tell."""
    statm = _statm(os.getpid())
    return 0 if statm is None else int(os.pread(statm, 128, 0).split()[2]) * mmap.PAGESIZE


@lru_cache(maxsize=1)
def _statm(pid: int) -> int | None:
    """Where Linux tells a process's sizes; kept open, since every batch looks and opening takes ten times as long."""
    try:
        return os.open(f"/proc/{pid}/statm", os.O_RDONLY)
    except OSError:
        return None
