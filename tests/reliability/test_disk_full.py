"""No space left: one line says so, what was finished stays as it was, and no half file remains."""

import resource
import subprocess
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from omni_bench import api
from omni_bench.data.store import write_store
from omni_bench.explain import explain
from omni_bench.files import write_atomically, write_table
from omni_bench.modules.checkpoints import AtomicCheckpointIO
from tests.reliability.kills import contents, leftovers
from tests.reliability.work import EEG

NOISE = np.random.default_rng(0).standard_normal((4, 1 << 16)).astype("float32")
WRITERS: dict[str, Callable[[Path], object]] = {
    "a.txt": lambda file: write_atomically(file, "x" * (1 << 20)),
    "a.parquet": lambda file: write_table(file, pd.DataFrame(NOISE.T)),
    "a.ckpt": lambda file: AtomicCheckpointIO().save_checkpoint({"state_dict": {"w": torch.from_numpy(NOISE)}}, file),
    "b.h5": lambda file: write_store(file, [NOISE], list("abcd"), 100.0, {}),
}


def _beyond_the_limit(write: Callable[[Path], object], file: Path, told: object) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
    try:
        write(file)
    except Exception as error:
        told.send(explain(error))  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_above_the_limit_is_one_line_and_the_older_one_stays(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    if name != "b.h5":  # a store is never replaced
        file.write_bytes(b"older")
    ours, theirs = get_context("fork").Pipe(duplex=False)
    process = get_context("fork").Process(target=_beyond_the_limit, args=(WRITERS[name], file, theirs))
    process.start()
    process.join()
    assert "limit of a file's size reached while writing" in ours.recv()
    assert [one.read_bytes() for one in tmp_path.iterdir()] == ([] if name == "b.h5" else [b"older"])


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder of 40 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", place], capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"no small disk can be made here: {done.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


@pytest.mark.slow
def test_a_run_on_a_full_disk(raw: Path, small_disk: Path) -> None:
    base = [
        *EEG,
        f"dataset.root={raw}/demo_eeg",
        f"paths.cache={small_disk}/cache",
        f"paths.output_dir={small_disk}/outputs",
    ]
    assert api.run(base)["status"] == "completed"
    before = contents(small_disk)
    filler = small_disk / "filler"
    with pytest.raises(OSError, match="No space left"):
        filler.write_bytes(bytes(50 << 20))
    with filler.open("r+b") as file:
        file.truncate(filler.stat().st_size - (100 << 10))  # the record fits, the checkpoint does not
    with pytest.raises(Exception) as error:  # noqa: PT011 - whatever it is, its line counts
        api.run([*base, "seed=1"])
    line = explain(error.value)
    assert line is not None
    assert line.startswith("disk full while writing")
    after = contents(small_disk)
    assert {name: after[name] for name in before} == before
    assert leftovers(small_disk) == []
    filler.unlink()
    assert api.run([*base, "seed=1"])["status"] == "completed"
