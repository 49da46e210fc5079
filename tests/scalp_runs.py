"""One-epoch linear probes on tiny trees in the raw layout of a scalp dataset."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from omni_bench import api
from omni_bench.data.cohort import Cohort
from omni_bench.steps import open_cohort

SMALL = ("model=eegnet", "adaptation=linear_probe", "trainer.max_epochs=1", "trainer.progress=false", "n_boot=10")


@dataclass(frozen=True)
class ScalpRun:
    """What a run made: its result, the cohort as read, its units and its windows' store."""

    result: dict[str, Any]
    cohort: Cohort
    units: pd.DataFrame
    store: Path


def probe(task: str, root: Path, folder: Path, *overrides: str) -> ScalpRun:
    """Prepare, split, train and evaluate a task on the tree below ``root``; everything written goes below ``folder``."""
    paths = (f"dataset.root={root}", f"paths.cache={folder}/cache", f"paths.output_dir={folder}/outputs")
    chosen = (f"task={task}", *SMALL, *paths, *overrides)
    cfg = api.compose_config(chosen)
    result = api.run(chosen)
    assert result["status"] == "completed"
    units = pd.read_parquet(Path(cfg.paths.output_dir) / cfg.run_name / "units.parquet")
    return ScalpRun(result, open_cohort(cfg), units, Path(cfg.paths.cache) / "store" / cfg.dataset.name)
