"""`python -m omni_bench.worker FOLDER fit|predict`: one rank of a run, started by `omni_bench.modules.ranks`."""

import sys
from pathlib import Path

import pandas as pd
from omegaconf import DictConfig, OmegaConf

from omni_bench import config
from omni_bench.cli import one_line_errors
from omni_bench.data.samples import with_split
from omni_bench.files import write_table
from omni_bench.modules.learner import load_network
from omni_bench.modules.ranks import die_with_parent
from omni_bench.steps import data_of, learner_of, open_data, samples_of


def work(folder: Path, step: str) -> None:
    """Take part in a step of the run whose directory this is; the first rank writes what comes of it."""
    die_with_parent()
    config.register()
    cfg = OmegaConf.merge(OmegaConf.structured(config.Config), OmegaConf.load(folder / "config.yaml"))
    assert isinstance(cfg, DictConfig)
    cohort, stored = open_data(cfg)
    _, windows = samples_of(cfg, cohort, stored)
    units = pd.read_parquet(folder / "units.parquet", columns=["unit_id", "split"])
    data = data_of(cfg, with_split(windows, units), stored)
    with learner_of(cfg, data, folder) as learner:
        if step == "fit":
            learner.fit(data)
            return
        if cfg.checkpoint is None:
            load_network(learner.module.net, learner.best)
        predictions = learner.predict(data)
        if learner.trainer.is_global_zero:
            write_table(folder / "predictions.parquet", predictions)


if __name__ == "__main__":
    with one_line_errors():
        work(Path(sys.argv[1]), sys.argv[2])
