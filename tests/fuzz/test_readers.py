"""Broken files of every kind are read or refused in one line: no other error, crash, hang, large memory or foreign code.

OMNI_BENCH_FUZZ_CASES sets the number of cases per kind of the slow test. Cases are the same in every run.
"""

import os
import sys
from collections import Counter
from multiprocessing import get_context
from pathlib import Path

import pytest

from tests.fuzz.readers import KINDS
from tests.fuzz.worker import CASE_S, run_cases

FEW = 6
MANY = int(os.environ.get("OMNI_BENCH_FUZZ_CASES", "220"))
SLOW_KINDS = {"override": 10, "config": 3}
"""Kinds whose cases take longer get that many times fewer."""
SILENT = ("embeddings",)
"""Broken ones are deleted with a warning, and computed again."""

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="memory is limited, and processes forked, as Linux does"
)


def fuzz(name: str, folder: Path, cases: range) -> Counter[str]:
    """Outcomes of the cases; fails where one crashed, hung or went wrong."""
    ours, theirs = get_context("fork").Pipe(duplex=False)
    process = get_context("fork").Process(target=run_cases, args=(name, folder, cases, theirs))
    process.start()
    theirs.close()
    case, wrong = "its beginning", list[str]()
    try:
        while True:
            # far more than the worker gives a case: code in C does not let its alarm through, and a machine may be busy
            assert ours.poll(10 * CASE_S), f"{name} {case}: hangs"
            told = ours.recv()
            if isinstance(told, int):
                case = f"case {told}"
            elif isinstance(told, str):
                wrong.append(told)
            else:
                assert not wrong, f"{len(wrong)} of {len(cases)} cases: " + "\n".join(wrong[:10])
                return told
    except EOFError:
        process.join()
        pytest.fail(f"{name} {case}: the process ended with status {process.exitcode}")
    finally:
        process.kill()
        process.join()


@pytest.mark.parametrize("name", KINDS)
def test_a_few_broken_files(name: str, tmp_path: Path) -> None:
    n = max(1, FEW // SLOW_KINDS.get(name, 1))
    assert fuzz(name, tmp_path, range(n)).total() == n


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_many_broken_files(name: str, tmp_path: Path) -> None:
    n = max(1, MANY // SLOW_KINDS.get(name, 1))
    outcomes = fuzz(name, tmp_path, range(FEW, FEW + n))
    assert outcomes.total() == n
    assert outcomes["refused"] > 0 or name in SILENT
