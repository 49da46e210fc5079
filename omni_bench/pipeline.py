"""The story of one run."""

from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from omni_bench.data.splits import check_leaks
from omni_bench.errors import BenchError
from omni_bench.evaluation import evaluate
from omni_bench.files import write_atomically, write_table
from omni_bench.results.console import finished_result, print_result
from omni_bench.results.record import Record
from omni_bench.results.report import write_report
from omni_bench.steps import (
    baseline_metrics,
    counts_of,
    data_of,
    evaluation_overrides,
    examples_of,
    identity_of,
    learner_of,
    metrics_of,
    open_data,
    samples_of,
    split_of,
)


def run(cfg: DictConfig) -> dict[str, Any]:
    """Run what a composed configuration says, or recognise that it is done.

    Returns
    -------
    The content of ``result.json``.

    Raises
    ------
    BenchError
        Something that the user can mend; the record then says ``failed`` and why.
    """
    if (finished := finished_result(cfg)) is not None:
        return finished
    folder = Path(cfg.paths.output_dir).expanduser() / cfg.run_name
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "config.yaml", OmegaConf.to_yaml(cfg, resolve=True))
    record = Record(folder, **identity_of(cfg))
    try:
        result = _run(cfg, folder, record)
    except BenchError as error:
        record.finish("failed", error=str(error))
        raise
    except Exception as error:
        record.finish("failed", error=f"{type(error).__name__}: {error}")
        raise
    print_result(result, folder)
    return result


def _run(cfg: DictConfig, folder: Path, record: Record) -> dict[str, Any]:
    with record.timed("prepare"):
        cohort, stored = open_data(cfg)
        units, windows = samples_of(cfg, cohort, stored)
        units["split"] = split_of(cfg, units, cohort.patients)
        check_leaks(units, cfg.protocol.group)
        windows = windows.merge(units[["unit_id", "split"]], on="unit_id")
    write_table(folder / "units.parquet", units)
    write_table(
        folder / "split.parquet", windows[["sample_id", "unit_id", "subject", "person", "source", "use", "split"]]
    )
    record.note(counts=counts_of(units, cfg.task.classes), excluded=cohort.excluded)

    data = data_of(cfg, windows, stored)
    with learner_of(cfg, data, folder, record) as learner:
        if cfg.checkpoint is None:
            with record.timed("fit"):
                learner.fit(data)
        with record.timed("predict"):
            predictions = learner.predict(data)
    write_table(folder / "predictions.parquet", predictions)
    record.throughput(len(predictions))

    with record.timed("evaluate"):
        evaluation = evaluate(predictions, units, cfg.task, **evaluation_overrides(cfg))
        write_table(folder / "scores.parquet", evaluation.scores)
        if evaluation.patients is not None:
            write_table(folder / "patients.parquet", evaluation.patients)
        metrics = metrics_of(evaluation) | baseline_metrics(cfg, data, units)
    examples_of(data, evaluation.scores, folder / "examples.npz")
    for note in evaluation.notes:
        record.warn(note)
    result = record.finish("completed", metrics=metrics, threshold=evaluation.threshold)
    write_report(folder)
    return result
