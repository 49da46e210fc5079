"""Whole runs on a small demo cohort."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from omni_bench import api
from omni_bench.errors import BenchError

SMALL = [
    "model.net.n_freqs=16",
    "task.window_s=4",
    "trainer.max_epochs=2",
    "task.windows_per_unit=1",
    "trainer.progress=false",
    "n_boot=50",
]
"""A network and windows that train in seconds; everything else as a user has it."""


@pytest.fixture(scope="module")
def workplace(demo_root: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Overrides that put data, cache and outputs into temporary folders."""
    folder = tmp_path_factory.mktemp("runs")
    return [f"dataset.root={demo_root}", f"paths.cache={folder}/cache", f"paths.output_dir={folder}/outputs", *SMALL]


@pytest.fixture(scope="module")
def finished(workplace: list[str]) -> tuple[dict[str, Any], Path]:
    """A finished run and its directory."""
    result = api.run(workplace)
    return result, folder_of(workplace)


def folder_of(overrides: list[str]) -> Path:
    cfg = api.compose_config(overrides)
    return Path(cfg.paths.output_dir) / cfg.run_name


def test_run_directory_is_complete(finished: tuple[dict[str, Any], Path]) -> None:
    result, folder = finished
    expected = {"config.yaml", "units.parquet", "split.parquet", "predictions.parquet", "result.json", "report.html"}
    assert expected <= {file.name for file in folder.iterdir()}
    assert {file.name for file in (folder / "checkpoints").iterdir()} == {"best.ckpt", "last.ckpt"}
    assert json.loads((folder / "result.json").read_text(), parse_constant=float)["status"] == "completed"
    assert not list(folder.rglob("*.part"))
    assert (result["synthetic"], result["reduced"], result["weights"]["pretrained"]) == (True, True, False)
    assert result["threshold"]["rule"] == "youden_val"
    assert {"auc", "f1_macro", "specificity", "outcome_auc", "baseline_auc"} <= result["metrics"].keys()


def test_predictions_cover_every_evaluation_window_once(finished: tuple[dict[str, Any], Path]) -> None:
    _, folder = finished
    predictions, split = pd.read_parquet(folder / "predictions.parquet"), pd.read_parquet(folder / "split.parquet")
    expected = split[(split["use"] == "evaluate") & split["split"].isin(["val", "test"])]
    assert predictions["sample_id"].is_unique
    assert set(predictions["sample_id"]) == set(expected["sample_id"])
    np.testing.assert_allclose(predictions["prob_normal"] + predictions["prob_pathological"], 1, rtol=1e-6)


def test_no_person_in_two_splits(finished: tuple[dict[str, Any], Path]) -> None:
    _, folder = finished
    units = pd.read_parquet(folder / "units.parquet")
    assert units.groupby("person")["split"].nunique().max() == 1
    assert set(units["split"]) == {"train", "val", "test"}


def test_the_time_of_a_step_is_part_of_the_fit(finished: tuple[dict[str, Any], Path]) -> None:
    result, folder = finished
    n_steps = int(pd.read_csv(folder / "metrics.csv")["step"].max()) + 1
    assert 0 < n_steps * result["timing"]["step_s"] < result["timing"]["fit_s"]


def test_a_finished_run_is_not_done_again(finished: tuple[dict[str, Any], Path], workplace: list[str]) -> None:
    result, folder = finished
    before = {file: file.stat().st_mtime_ns for file in folder.rglob("*") if file.is_file()}
    assert api.run(workplace)["finished"] == result["finished"]
    assert {file: file.stat().st_mtime_ns for file in folder.rglob("*") if file.is_file()} == before


def test_same_seed_same_bits_and_workers_change_nothing(
    finished: tuple[dict[str, Any], Path], workplace: list[str]
) -> None:
    _, folder = finished
    again = [*workplace, f"paths.output_dir={folder}/again", "trainer.num_workers=2"]
    api.run(again)
    pd.testing.assert_frame_equal(
        pd.read_parquet(folder / "predictions.parquet"), pd.read_parquet(folder_of(again) / "predictions.parquet")
    )


def test_checkpoint_predicts_the_same_without_training(
    finished: tuple[dict[str, Any], Path], workplace: list[str]
) -> None:
    result, folder = finished
    reuse = [*workplace, f"checkpoint={folder}"]
    with pytest.raises(BenchError, match="was trained on"):
        api.run([*reuse, "protocol.split._target_=tests.protocols.everyone_is_tested"])
    second = api.run(reuse)
    assert second["metrics"]["auc"]["value"] == pytest.approx(result["metrics"]["auc"]["value"], abs=1e-6)
    assert "fit_s" not in second["timing"]
    assert second["weights"]["sha256"] is not None


def test_failure_is_recorded_and_retried(workplace: list[str], tmp_path: Path) -> None:
    overrides = [*workplace, f"paths.output_dir={tmp_path}", "task.window_s=120"]
    with pytest.raises(BenchError, match="shorter than a window"):
        api.run(overrides)
    record = json.loads((folder_of(overrides) / "result.json").read_text())
    assert record["status"] == "failed"
    assert "shorter than a window" in record["error"]


def test_missing_data_say_where_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(BenchError) as error:
        api.run(["dataset=omni_ieeg", f"paths.data={tmp_path}", f"paths.output_dir={tmp_path}/out"])
    message = str(error.value)
    assert str(tmp_path / "omni_ieeg") in message
    assert "omni_bench.prepare dataset=omni_ieeg" in message
    assert "dataset=demo_ieeg" in message
