"""Stored signals: exact bytes, one writer wins, damage is seen."""

import mmap
import multiprocessing
import os
import subprocess
import time
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest

from omni_bench.data import store
from omni_bench.data.dataset import WindowDataset
from omni_bench.data.store import (
    map_signal,
    open_store,
    read_json,
    source_fingerprint,
    store_file,
    verify_store,
    write_store,
)
from omni_bench.errors import BenchError
from omni_bench.explain import explain
from omni_bench.files import part_of, sweep_parts

STATM = Path("/proc/self/statm")
SIGNAL = np.random.default_rng(0).normal(0, 50, (5, 1013)).astype(np.float32)
NAMES = ["A1", "Ä 2", "B'3", 'C"4', "POL D5-Ref"]


def write(path: Path, signal: np.ndarray = SIGNAL, **provenance: str) -> None:
    write_store(path, [signal[:2], signal[2:]], NAMES, 999.41, {"B'3": "flat"}, **provenance)


@pytest.mark.parametrize("provenance", [{}, {"source": "Ünï cöde.edf"}, {"a" * 300: "b" * 5000}])
def test_mapped_read_is_what_was_written(tmp_path: Path, provenance: dict[str, str]) -> None:
    path = tmp_path / "sub-Ä 01's_run-1-0.h5"
    write(path, **provenance)
    mapped = map_signal(path)
    assert (mapped.dtype, mapped.shape, mapped.flags.c_contiguous, mapped.flags.writeable) == (
        np.float32,
        (5, 1013),
        True,
        False,
    )
    assert mapped.tobytes() == SIGNAL.tobytes()
    with h5py.File(path) as file:
        assert file["signal"].chunks is None
        np.testing.assert_array_equal(file["signal"][:], mapped)
        assert read_json(file, "about").items() >= provenance.items()
    stored = open_store(path)
    assert (stored.sfreq, stored.ch_names, stored.n_times, stored.broken) == (
        999.41,
        tuple(NAMES),
        1013,
        {"B'3": "flat"},
    )
    assert stored.duration == 1013 / 999.41
    verify_store(path)


@pytest.mark.skipif(not STATM.is_file(), reason="only Linux tells a process's pages of files")
@pytest.mark.parametrize("n_times", [250, 60_000])
def test_pages_of_what_was_read_are_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_times: int) -> None:
    def mapped_mb() -> float:
        return int(STATM.read_text().split()[2]) * mmap.PAGESIZE / 2**20

    monkeypatch.setattr(store, "KEPT_BYTES", 8 << 20)
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((16, 1 << 20), np.float32)
    path = write_store(tmp_path / "a.h5", [noise], [*"abcdefghijklmnop"], 1000.0, {}).path
    n = 1000
    places = {"row": rng.integers(16, size=n), "first": rng.integers((1 << 20) - n_times, size=n), "label": 0}
    dataset = WindowDataset(pd.DataFrame({"path": str(path), **places}), n_times)
    dataset[0]
    before, peak = mapped_mb(), 0.0
    for i in range(n):
        dataset[i]
        peak = max(peak, mapped_mb())
    assert peak < before + 16  # of 64 MB
    np.testing.assert_array_equal(map_signal(path), noise)


def test_flipped_byte_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    write(path)
    with h5py.File(path) as file:
        offset = file["signal"].id.get_offset()
    content = bytearray(path.read_bytes())
    content[offset + 4 * 1013 * 3 + 17] ^= 1
    path.write_bytes(content)
    with pytest.raises(
        BenchError, match=r"a\.h5: its content changed since it was written: delete it and prepare again"
    ):
        verify_store(path)


@pytest.mark.parametrize("content", [b"", b"garbage" * 1000])
def test_damaged_store_is_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.h5"
    path.write_bytes(content)
    with pytest.raises(BenchError, match=r"a\.h5: damaged store .*: delete it and prepare again"):
        open_store(path)


def _race(path: Path, value: int, barrier: "multiprocessing.synchronize.Barrier") -> None:  # type: ignore[name-defined]
    signal = np.full((5, 20_000), value, np.float32)
    barrier.wait()
    write_store(path, iter(signal[:, None]), NAMES, 1000.0, {})


def test_four_writers_publish_once(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(4)
    processes = [context.Process(target=_race, args=(path, value, barrier)) for value in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    assert len(np.unique(map_signal(path))) == 1
    verify_store(path)
    assert list(tmp_path.iterdir()) == [path]


def test_published_file_is_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    write(path)
    inode = path.stat().st_ino
    write(path, SIGNAL + 1)
    assert path.stat().st_ino == inode
    verify_store(path)


def test_store_is_readable_by_colleagues(tmp_path: Path) -> None:
    old = os.umask(0o022)
    try:
        write(tmp_path / "a.h5")
    finally:
        os.umask(old)
    assert (tmp_path / "a.h5").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("error", [BenchError("broken"), KeyboardInterrupt(), MemoryError()])
def test_interrupted_writing_leaves_nothing(tmp_path: Path, error: BaseException) -> None:
    def blocks():  # type: ignore[no-untyped-def]
        yield SIGNAL[:2]
        raise error

    with pytest.raises(type(error)):
        write_store(tmp_path / "a.h5", blocks(), NAMES, 1000.0, {})
    assert not list(tmp_path.iterdir())


def _write_slowly(path: Path, started: "multiprocessing.synchronize.Event") -> None:  # type: ignore[name-defined]
    def blocks():  # type: ignore[no-untyped-def]
        yield SIGNAL[:2]
        started.set()
        time.sleep(60)

    write_store(path, blocks(), NAMES, 1000.0, {})


def test_killed_writer_leaves_no_final_file_and_stops_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    context = multiprocessing.get_context("fork")
    started = context.Event()
    process = context.Process(target=_write_slowly, args=(path, started))
    process.start()
    assert started.wait(30)
    process.kill()
    process.join()
    assert [file.suffix for file in tmp_path.iterdir()] == [".part"]
    write(path)
    assert map_signal(path).tobytes() == SIGNAL.tobytes()


def test_leftovers_go_once_their_writer_ended_or_after_a_day(tmp_path: Path) -> None:
    ours = part_of(tmp_path / "a.h5")
    process = multiprocessing.get_context("fork").Process(target=int)
    process.start()
    process.join()
    ended = Path(str(ours).replace(f"-{os.getpid()}-", f"-{process.pid}-"))
    elsewhere, old, whole = (tmp_path / name for name in (".a-othernode-1-0f.part", ".a-othernode-2-0f.part", "a.h5"))
    for file in (ours, ended, elsewhere, old, whole):
        file.write_bytes(b"x")
    for file in (old, whole):
        os.utime(file, (0, 0))
    sweep_parts(tmp_path)
    assert {ours, elsewhere, whole} <= set(tmp_path.iterdir())
    assert not {ended, old} & set(tmp_path.iterdir())


def test_key_names_everything_that_changes_the_signal(tmp_path: Path) -> None:
    keys = [
        ["fingerprint", ["A1", "A2"], 50.0, None, {"sfreq": 1000.0}],
        ["fingerprinT", ["A1", "A2"], 50.0, None, {"sfreq": 1000.0}],
        ["fingerprint", ["A2", "A1"], 50.0, None, {"sfreq": 1000.0}],
        ["fingerprint", ["A1"], 50.0, None, {"sfreq": 1000.0}],
        ["fingerprint", ["A1", "A2"], 60.0, None, {"sfreq": 1000.0}],
        ["fingerprint", ["A1", "A2"], 50.0, "µV", {"sfreq": 1000.0}],
        ["fingerprint", ["A1", "A2"], 50.0, None, {"sfreq": 500.0}],
    ]
    assert len({store_file(tmp_path, "a", key) for key in keys}) == len(keys)
    assert store_file(tmp_path, "a", {"x": 1, "y": 2}) == store_file(tmp_path, "a", {"y": 2, "x": 1})
    assert store_file(tmp_path, "a", keys[0]) != store_file(tmp_path, "b", keys[0])


def test_fingerprint_sees_either_end_of_every_file(tmp_path: Path) -> None:
    head, data = tmp_path / "a.vhdr", tmp_path / "a.eeg"
    head.write_bytes(b"header")
    content = os.urandom(300_000)
    data.write_bytes(content)
    seen = {source_fingerprint([head, data]), source_fingerprint([head]), source_fingerprint([data])}
    for changed in (b"x" + content[1:], content[:-1] + b"x", content + b"x"):
        data.write_bytes(changed)
        seen.add(source_fingerprint([head, data]))
    assert len(seen) == 6
    data.write_bytes(content)
    assert source_fingerprint([head, data]) in seen


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a file system of 100 kB")
def test_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", str(tmp_path)], check=False).returncode:
        pytest.skip("this machine does not let root mount")
    try:
        with pytest.raises(OSError, match="No space left") as error:
            write_store(tmp_path / "a.h5", [np.ones((1, 200_000), np.float32)], ["A1"], 1000.0, {})
        line = explain(error.value)
        assert line is not None
        assert line.startswith("disk full")
        assert not list(tmp_path.iterdir())
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
