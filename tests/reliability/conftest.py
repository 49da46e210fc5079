"""Raw data and records that the work starts from."""

from itertools import product
from pathlib import Path

import pytest

from omni_bench.datasets.demo_eeg import write_demo_eeg
from tests.records import finished, write_records


@pytest.fixture(scope="session")
def raw(demo_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("raw")
    write_demo_eeg(folder / "demo_eeg", n_persons=5)
    (folder / "demo_ieeg").symlink_to(demo_root)
    cells = product(range(2), range(2), range(3))
    records = [finished(f"task{t}", f"model{m}", 0.5 + t / 10 + m / 50, seed=s) for t, m, s in cells]
    write_records(folder / "records", records)
    return folder
