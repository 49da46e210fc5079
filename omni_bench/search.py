"""`python -m omni_bench.search`: hyperparameters chosen on validation, then one run that touches the test once."""

from pathlib import Path
from typing import Any

import pandas as pd
from omegaconf import DictConfig, OmegaConf

from omni_bench.api import compose_config, compose_jobs, sweep_jobs
from omni_bench.cli import main_of_sweep
from omni_bench.errors import BenchError
from omni_bench.files import write_atomically, write_table

USAGE = """
python -m omni_bench.search +experiment=omni_eegbench/search task=demo_hands      learning rates of a fine-tuning
python -m omni_bench.search task=demo_hands model=eegnet model.optimizer.lr=1e-4,1e-3,1e-2
"""


def search(overrides: list[str]) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Train a candidate for every combination of swept values, without test data, and run the best one as usual.

    The best has the highest value that the task's monitor reached in any epoch (a loss: the lowest). Scored candidates are
    kept below ``search`` in the outputs, so a broken search goes on where it was.

    Returns
    -------
    The table of candidates, which also lies beside the result as ``search.csv``: their overrides, ``score``, ``chosen``.
    And the content of ``result.json``.

    Raises
    ------
    BenchError
        Candidates differ in what is compared, or one has no validation scores.
    """
    from omni_bench.modules.checkpoints import falls
    from omni_bench.pipeline import run

    jobs = sweep_jobs(overrides)
    candidates = list(compose_jobs(jobs))
    for key in ("dataset", "task", "protocol", "seed", "split_seed"):
        if any(cfg[key] != candidates[0][key] for cfg in candidates):
            raise BenchError(f"{key} is swept, so candidates cannot be compared: start one search for each")
    monitor = str(candidates[0].task.monitor)
    table = pd.DataFrame({"overrides": [" ".join(job) for job in jobs]})
    table["score"] = [score_of(cfg) for cfg in candidates]
    best = int(table["score"].idxmin() if falls(monitor) else table["score"].idxmax())
    table["monitor"], table["chosen"] = monitor, table.index == best
    cfg = compose_config(jobs[best])
    result = run(cfg)
    write_atomically(Path(cfg.paths.output_dir).expanduser() / cfg.run_name / "search.csv", table.to_csv(index=False))
    return table, result


def score_of(cfg: DictConfig) -> float:
    """Best validation value of a candidate, trained on data from which the test part is left out."""
    from omni_bench.data.samples import with_split
    from omni_bench.modules.checkpoints import falls
    from omni_bench.run_split import split_of
    from omni_bench.steps import data_of, learner_of, open_data, samples_of

    folder = Path(cfg.paths.output_dir).expanduser() / "search" / cfg.run_name
    kept = folder / "score.txt"
    if kept.is_file():
        return float(kept.read_text())
    folder.mkdir(parents=True, exist_ok=True)
    cohort, stored = open_data(cfg)
    units, windows = samples_of(cfg, cohort, stored)
    split = split_of(cfg, units, cohort.patients)
    units["split"] = split.mask(split == "test")
    write_atomically(folder / "config.yaml", OmegaConf.to_yaml(cfg, resolve=True))
    write_table(folder / "units.parquet", units)
    data = data_of(cfg, with_split(windows, units), stored)
    with learner_of(cfg, data, folder) as learner:
        learner.fit(data)
    monitor = str(cfg.task.monitor)
    log = folder / "metrics.csv"
    curves = pd.read_csv(log) if log.is_file() else pd.DataFrame({"metric": [], "value": []})
    values = curves.loc[curves["metric"] == monitor, "value"]
    if values.empty:
        raise BenchError(f"adaptation={cfg.adaptation.name} has no epochs, so nothing to choose by {monitor}")
    score = float(values.min() if falls(monitor) else values.max())
    write_atomically(kept, repr(score))
    return score


def _search(overrides: list[str]) -> None:
    print(search(overrides)[0].to_string(index=False))


main = main_of_sweep(_search, USAGE)

if __name__ == "__main__":
    main()
