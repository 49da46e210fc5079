"""Hyperparameter search: chosen on validation, the test touched once."""

from pathlib import Path

import pandas as pd
import pytest

from omni_bench.api import compose_config, sweep_jobs
from omni_bench.datasets.demo_eeg import write_demo_eeg
from omni_bench.errors import BenchError
from omni_bench.results.record import read_record
from omni_bench.search import search


def test_the_experiment_is_a_grid() -> None:
    jobs = sweep_jobs(["+experiment=omni_eegbench/search", "task=demo_hands", "model=labram"])
    assert len(jobs) == 9
    cfg = compose_config(jobs[0])
    assert (cfg.model.optimizer.lr, cfg.adaptation.learner.head_lr, cfg.adaptation.name) == (
        1e-5,
        1e-4,
        "full_finetune",
    )


def test_what_is_compared_must_be_one_thing() -> None:
    with pytest.raises(BenchError, match="seed is swept, so candidates cannot be compared"):
        search(["task=demo_hands", "model=eegnet", "seed=0,1"])


@pytest.mark.slow
def test_the_best_on_validation_is_run_once(tmp_path: Path) -> None:
    write_demo_eeg(tmp_path / "demo_eeg", n_persons=6)
    places = [f"dataset.root={tmp_path}/demo_eeg", f"paths.cache={tmp_path}/cache", f"paths.output_dir={tmp_path}/out"]
    net = [
        "task=demo_hands",
        "model=eegnet",
        "model.net._target_=tests.perceptron.Perceptron",
        "trainer.progress=false",
    ]
    chosen = [
        *net,
        *places,
        "model.optimizer.lr=1e-8,3e-3",
        "trainer.max_epochs=12",
        "n_boot=10",
        "task.monitor=val/loss",
    ]
    table, result = search(chosen)
    assert table["chosen"].tolist() == [False, True]  # a rate of 1e-8 does not learn
    assert table["score"].is_monotonic_decreasing
    (record,) = (tmp_path / "out").rglob("result.json")
    assert read_record(record.parent) is not None
    pd.testing.assert_frame_equal(pd.read_csv(record.parent / "search.csv"), table)
    curves = pd.read_csv(record.parent / "metrics.csv")
    refitted = curves.loc[curves["metric"] == "val/loss", "value"].min()
    assert refitted == pytest.approx(table.loc[1, "score"])  # the same training again
    for candidate in (tmp_path / "out" / "search").rglob("score.txt"):
        assert not (candidate.parent / "predictions.parquet").exists()
    stamps = {file: file.stat().st_mtime_ns for file in (tmp_path / "out").rglob("*.ckpt")}
    assert search(chosen)[0].equals(table)
    assert {file: file.stat().st_mtime_ns for file in stamps} == stamps  # nothing is trained again
    assert result["status"] == "completed"
