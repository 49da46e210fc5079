"""SIGKILL at seeded points: what is there is whole, a restart ends as an unbroken run, and repeats nothing that was done."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.reliability.kills import changes, contents, finished_files, is_killed, leftovers
from tests.reliability.work import detect, embed, leaderboard, prepare, sweep, train

GROWING = ("result.json", "last.ckpt", "best.ckpt", "metrics.csv")
"""Files of a run that say other things while it goes on; read whole all the same."""


def check(make: Callable[[Path, Path], None], raw: Path, folder: Path, n_kills: int, reach: float) -> None:
    """Kill the work ``n_kills`` times, each time in the first ``reach`` of its changes, and go on from what is there.

    Whenever it ends before it is killed, what there is must equal work that was never killed; then it begins anew.
    """
    unbroken, counted, broken = (folder / name for name in ("unbroken", "counted", "broken"))
    for place in (unbroken, counted, broken):
        place.mkdir()
    make(raw, unbroken)
    whole = contents(unbroken)
    n = changes(partial(make, raw, counted), counted)
    rng, killed, ended = np.random.default_rng(n_kills), 0, False
    while not ended or killed < n_kills:
        if ended:
            shutil.rmtree(broken)
            broken.mkdir()
        at = int(rng.integers(0, max(1, reach * n))) if killed < n_kills else n
        done = {file: file.stat().st_mtime_ns for file in finished_files(broken)}
        ended = not is_killed(partial(make, raw, broken), broken, at)
        if not ended:
            killed += 1
            for name, content in contents(broken).items():
                assert content == whole[name] or Path(name).name in GROWING, f"{name} after a kill at {at} of {n}"
        else:
            assert contents(broken) == whole
            assert leftovers(broken) == []
        assert {file: file.stat().st_mtime_ns for file in done} == done


def test_prepare(raw: Path, tmp_path: Path) -> None:
    check(prepare, raw, tmp_path, n_kills=12, reach=0.2)


def test_leaderboard(raw: Path, tmp_path: Path) -> None:
    check(leaderboard, raw, tmp_path, n_kills=12, reach=1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "n_kills", "reach"), [(detect, 8, 0.3), (train, 6, 0.6), (embed, 6, 0.6), (sweep, 8, 0.4)]
)
def test_longer_work(make: Callable[[Path, Path], None], n_kills: int, reach: float, raw: Path, tmp_path: Path) -> None:
    check(make, raw, tmp_path, n_kills, reach)
