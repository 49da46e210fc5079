"""The story of one run."""

import traceback
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pandas as pd
from filelock import FileLock
from omegaconf import DictConfig, OmegaConf

from omni_bench.data.datamodule import WindowDataModule
from omni_bench.data.samples import with_split
from omni_bench.data.splits import check_overlap
from omni_bench.errors import BenchError
from omni_bench.evaluation import evaluate
from omni_bench.files import sweep_parts, write_atomically, write_table
from omni_bench.modules.ranks import node_rank, run_ranks
from omni_bench.modules.wandb_mirror import finish_wandb
from omni_bench.results.console import finished_result, print_result
from omni_bench.results.record import Record
from omni_bench.results.report import write_report
from omni_bench.run_split import split_of
from omni_bench.steps import (
    baseline_metrics,
    check_accelerator,
    corruption_note,
    counts_of,
    data_of,
    evaluation_overrides,
    examples_of,
    identity_of,
    keep_projection,
    learner_of,
    metrics_of,
    open_data,
    plain,
    samples_of,
)

Story = Generator[tuple[Any, WindowDataModule], float | None, dict[str, Any]]


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
    story = tell(cfg)
    try:
        next(story)
        next(story)
    except StopIteration as end:
        return end.value
    raise AssertionError("a story has one pause")


def tell(cfg: DictConfig, open_data: Callable[[DictConfig], Any] = open_data) -> Story:
    """`run`, pausing where the learner is to be fitted.

    Yields
    ------
    The learner and its data. Sent None, the learner is fitted alone; sent a number, it was fitted together with others, and
    that is its share of the seconds.

    Parameters
    ----------
    open_data
        As in `omni_bench.steps`.
    """
    if (finished := finished_result(cfg)) is not None:
        return finished
    folder = Path(cfg.paths.output_dir).expanduser() / cfg.run_name
    if cfg.trainer.num_nodes > 1 and node_rank() > 0:
        for step in ("fit", "predict") if cfg.checkpoint is None else ("predict",):
            run_ranks(folder, plain(cfg.trainer), step)
        return {}
    folder.mkdir(parents=True, exist_ok=True)
    # a second process waits for the first, to find the run done; runs that train together hold theirs together
    with FileLock(folder / ".lock", is_singleton=True):
        if (finished := finished_result(cfg)) is not None:
            return finished
        return (yield from _tell_alone(cfg, folder, open_data))


def _tell_alone(cfg: DictConfig, folder: Path, open_data: Callable[[DictConfig], Any]) -> Story:
    sweep_parts(folder)
    write_atomically(folder / "config.yaml", OmegaConf.to_yaml(cfg, resolve=True))
    record = Record(folder, **identity_of(cfg))
    try:
        result = yield from _run(cfg, folder, record, open_data)
    except BenchError as error:
        record.finish("failed", error=str(error), trace=traceback.format_exc())
        raise
    except Exception as error:
        record.finish("failed", error=f"{type(error).__name__}: {error}", trace=traceback.format_exc())
        raise
    finally:
        finish_wandb(folder)
    print_result(result, folder)
    return result


def _units_and_data(
    cfg: DictConfig, folder: Path, record: Record, open_data: Callable[[DictConfig], Any]
) -> tuple[pd.DataFrame, WindowDataModule]:
    with record.timed("prepare"):
        cohort, stored = open_data(cfg)
        units, windows = samples_of(cfg, cohort, stored)
        units["split"] = split_of(cfg, units, cohort.patients, record)
        windows = with_split(windows, units)
        check_overlap(windows)
    write_table(folder / "units.parquet", units)
    write_table(
        folder / "split.parquet", windows[["sample_id", "unit_id", "subject", "person", "source", "use", "split"]]
    )
    record.note(counts=counts_of(units, cfg.task.classes), excluded=cohort.excluded)

    data = data_of(cfg, windows, stored)
    record.note(
        corruption=corruption_note(data),
        window={"n_times": data.n_times, "sfreq": data.sfreq, "ch_names": data.ch_names},
    )
    return units, data


def _run(cfg: DictConfig, folder: Path, record: Record, open_data: Callable[[DictConfig], Any]) -> Story:
    check_accelerator(cfg.trainer.accelerator)
    units, data = _units_and_data(cfg, folder, record, open_data)
    with learner_of(cfg, data, folder, record) as learner:
        if cfg.checkpoint is None:
            share = yield learner, data
            if share is None:
                with record.timed("fit"):
                    learner.fit(data)
                record.step_time(learner)
            else:
                record.fields["timing"]["fit_s"] = round(share, 3)
        with record.timed("predict"):
            predictions = learner.predict(data)
        keep_projection(cfg, learner, folder)
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
