"""Two processes that do the same work in the same folders at the same time."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.reliability.kills import contents, leftovers, started
from tests.reliability.work import embed, leaderboard, prepare, train


def check(make: Callable[[Path, Path], None], raw: Path, folder: Path) -> None:
    alone, shared = folder / "alone", folder / "shared"
    for place in (alone, shared):
        place.mkdir()
    make(raw, alone)
    processes = [started(partial(make, raw, shared), shared) for _ in range(2)]
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    assert contents(shared) == contents(alone)
    assert leftovers(shared) == []


@pytest.mark.parametrize("make", [prepare, leaderboard])
def test_short_work(make: Callable[[Path, Path], None], raw: Path, tmp_path: Path) -> None:
    check(make, raw, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("make", [train, embed])
def test_one_run_twice(make: Callable[[Path, Path], None], raw: Path, tmp_path: Path) -> None:
    check(make, raw, tmp_path)
