"""Broken files of one kind, one after the other, in a process that is to be watched.

Running programs, connections and files written outside the folder count as wrong, as do long work and much memory.
"""

import os
import resource
import signal
import sys
import tempfile
import traceback
import zlib
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from omni_bench.errors import BenchError
from omni_bench.explain import explain
from tests.fuzz.corpus import mutated
from tests.fuzz.readers import KINDS, Kind

CASE_S = 20
"""CPU seconds that reading may take; a busy machine needs longer by the clock."""
MEMORY = 2 << 30
"""Bytes that reading may take on top of the libraries; no sample is larger than a few kB."""
FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "subprocess.Popen", "socket.connect")

forbidden: list[str] = []


def watch(folder: Path) -> None:
    allowed = tuple(f"{place}/" for place in (folder, "/proc", "/dev"))

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in FORBIDDEN:
            forbidden.append(f"{event} {arguments}"[:200])
        elif event == "open" and isinstance(arguments[0], str) and isinstance(arguments[1], str):
            writes = set(arguments[1]) & set("wax+")
            if writes and not os.path.abspath(arguments[0]).startswith(allowed):
                forbidden.append(f"writes {arguments[0]}")

    sys.addaudithook(hook)


def too_long(*_: object) -> None:
    raise TimeoutError(f"took more than {CASE_S} s of CPU")


def run_case(kind: Kind, folder: Path, original: dict[Path, bytes], rng: np.random.Generator, path: Path) -> str:
    """Break one of the files, and read; see `outcome_of`."""
    for file, content in original.items():
        file.write_bytes(content)
    broken = sorted(file for file in folder.glob(kind.broken) if file in original)
    target = broken[rng.integers(len(broken))]
    target.write_bytes(mutated(original[target], rng))
    signal.setitimer(signal.ITIMER_PROF, CASE_S)
    try:
        return outcome_of(kind, path)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def outcome_of(kind: Kind, path: Path) -> str:
    """``read``, or ``refused`` with one line; anything else raises."""
    forbidden.clear()
    try:
        kind.read(path)
        outcome = "read"
    except Exception as error:
        line = explain(error)
        if line is None or (not isinstance(error, BenchError) and "[Errno" in line):
            raise
        outcome = "refused"
        if "\n" in line.strip():
            raise AssertionError(f"more than one line: {line!r}") from error
    if forbidden:
        raise AssertionError(f"forbidden: {forbidden[0]}")
    return outcome


def run_cases(name: str, folder: Path, cases: range, report: Connection) -> None:
    """Send the number of each case before it starts, a line of text for one that goes wrong, and the counts at the end."""
    kind = KINDS[name]
    path = kind.write(folder)
    original = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        kind.read(path)  # what is whole is read, and what is imported late is there before the limits
        tempfile.tempdir = str(folder)
        watch(folder)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
        signal.signal(signal.SIGPROF, too_long)
        outcomes: Counter[str] = Counter()
        for case in cases:
            report.send(case)
            rng = np.random.default_rng([zlib.crc32(name.encode()), case])
            try:
                outcomes[run_case(kind, folder, original, rng, path)] += 1
            except Exception as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                report.send(f"{name} {case}: {type(error).__name__}: {error} ({where.filename}:{where.lineno})")
    report.send(outcomes)
