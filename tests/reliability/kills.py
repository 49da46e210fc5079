"""Work that is killed at a chosen point, and what must be true of the folder afterwards."""

import hashlib
import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import h5py
import pandas as pd
import torch

Work = Callable[[], object]
CHANGES = ("os.rename", "os.link", "os.remove", "os.mkdir")
VOLATILE = ("started", "finished", "timing", "memory", "run_id")
"""Fields of a record that no two runs share."""


def started(work: Work, folder: Path, at: int | None = None, told: Any = None) -> BaseProcess:
    """Work in a forked process, which kills itself just before its ``at``-th change below ``folder``.

    A change is a file that is opened for writing, renamed, linked or removed, or a new folder.
    """
    process = get_context("fork").Process(target=_work, args=(work, folder, at, told))
    process.start()
    return process


def changes(work: Work, folder: Path) -> int:
    """Do the work in a process of its own, and count its changes."""
    ours, theirs = get_context("fork").Pipe(duplex=False)
    process = started(work, folder, told=theirs)
    process.join()
    assert process.exitcode == 0
    return ours.recv()


def is_killed(work: Work, folder: Path, at: int) -> bool:
    """Do the work until it is killed; False where it ended before."""
    process = started(work, folder, at)
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


def _work(work: Work, folder: Path, at: int | None, told: Any) -> None:
    os.setsid()
    torch.set_num_threads(1)  # a forked process has lost OpenMP's threads
    count = 0

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
        if (writes or event in CHANGES) and str(arguments[0]).startswith(str(folder)):
            if count == at:
                os.killpg(0, signal.SIGKILL)
            count += 1

    sys.addaudithook(hook)
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        work()
    if told is not None:
        told.send(count)
    os._exit(0)


def contents(folder: Path) -> dict[str, str]:
    """What every file below a folder holds, times and paths aside; hidden files and pictures of pages left out."""
    files = (file for file in sorted(folder.rglob("*")) if file.is_file() and not file.name.startswith("."))
    return {file.relative_to(folder).as_posix(): _content(file, folder) for file in files}


def _content(file: Path, folder: Path) -> str:
    match file.suffix:
        case ".parquet":
            return pd.read_parquet(file).to_json()
        case ".ckpt":
            content = torch.load(file, weights_only=True)
            return str(
                {name: value.tolist() for name, value in content["state_dict"].items()} | {"n": content["global_step"]}
            )
        case ".h5":
            with h5py.File(file) as stored:
                return str({name: item[()].tolist() for name, item in stored.items()} | dict(stored.attrs))
        case ".json":
            told = json.loads(file.read_text())
            kept = {key: value for key, value in told.items() if key not in VOLATILE}
            return json.dumps(kept).replace(str(folder), "")
        case ".html" | ".yaml" | ".log":
            return "text" if file.read_text().strip() else "empty"
    return hashlib.sha256(file.read_bytes()).hexdigest()


def finished_files(folder: Path) -> list[Path]:
    """Files that no later start may write again: of the cache, of completed runs, and tables of events with their sidecar."""
    kept = [file for file in folder.rglob("*.h5") if not file.name.startswith(".")]
    for record in folder.rglob("result.json"):
        if json.loads(record.read_text())["status"] == "completed":
            kept += [record, *record.parent.glob("*.parquet"), *record.parent.glob("checkpoints/*.ckpt")]
    for sidecar in folder.rglob("*_events.json"):
        kept += [sidecar, sidecar.with_suffix(".tsv")]
    return kept


def leftovers(folder: Path) -> list[Path]:
    """Temporary files."""
    return sorted(folder.rglob("*.part*"))
