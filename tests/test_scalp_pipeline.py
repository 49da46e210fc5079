"""Whole runs on a small scalp cohort."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from lightning.pytorch.utilities.exceptions import MisconfigurationException

from omni_bench import api
from omni_bench.datasets.demo_eeg import write_demo_eeg
from omni_bench.errors import BenchError
from omni_bench.explain import explain
from omni_bench.locate import card_root
from omni_bench.models.build import build
from omni_bench.together import Together

SCALP = sorted(f.stem for f in (card_root() / "conf" / "model").glob("*.yaml") if "family: scalp" in f.read_text())
NETWORKS = [name for name in SCALP if name not in ("band_power", "tangent_space")]


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Overrides that put data, cache and outputs into temporary folders."""
    folder = tmp_path_factory.mktemp("scalp")
    write_demo_eeg(folder / "demo_eeg", n_persons=10)
    paths = [f"paths.cache={folder}/cache", f"paths.output_dir={folder}/outputs"]
    return [f"dataset.root={folder}/demo_eeg", *paths, "trainer.progress=false", "n_boot=20"]


def run(*overrides: str) -> tuple[dict[str, Any], Path]:
    result = api.run(overrides)
    cfg = api.compose_config(overrides)
    return result, Path(cfg.paths.output_dir) / cfg.run_name


def test_hands_are_told_apart_in_unseen_persons(workplace: list[str]) -> None:
    result, folder = run("task=demo_hands", *workplace)
    assert result["metrics"]["balanced_accuracy"]["value"] > 0.65
    assert result["metrics"]["auc"]["value"] > 0.7
    assert result["counts"]["test"]["per_class"] == {"left_hand": 20, "right_hand": 20}
    assert (result["protocol"], result["adaptation"], result["synthetic"]) == ("cross_subject", "classical", True)
    units = pd.read_parquet(folder / "units.parquet")
    assert units.groupby("person")["split"].nunique().max() == 1
    assert units.groupby("split")["person"].nunique().to_dict() == {"test": 1, "train": 8, "val": 1}


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model.optimizer.lr=-1", "the optimizer of the model's or adaptation's card: Invalid learning rate: -1"),
        ("task.classes=[left_hand]", r"label 1 has no name: task.classes=\['left_hand'\] names too few"),
        pytest.param(
            "trainer.accelerator=gpu",
            "torch finds no GPU: say trainer=cpu",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU"),
        ),
    ],
)
def test_what_only_the_run_can_tell_is_one_clear_line(workplace: list[str], override: str, message: str) -> None:
    with pytest.raises(BenchError, match=message):
        run("task=demo_hands", "model=eegnet", *workplace, override)


def test_a_monitor_that_nothing_logs_is_explained_in_one_line(workplace: list[str]) -> None:
    with pytest.raises(MisconfigurationException) as error:
        run("task=demo_hands", "model=eegnet", *workplace, "trainer.max_epochs=1", "task.monitor=val/f2")
    line = explain(error.value)
    assert line is not None
    assert re.search(r"val/f2.*'val/macro_f1'", line)
    assert "\n" not in line


def test_trials_of_a_person_are_split_by_multi_subject(workplace: list[str]) -> None:
    result, folder = run("task=demo_hands", "protocol=multi_subject", *workplace)
    assert result["metrics"]["balanced_accuracy"]["value"] > 0.65
    units = pd.read_parquet(folder / "units.parquet")
    counts = units.groupby(["split", "person"]).size()
    assert {split: set(counts[split]) for split in counts.index.levels[0]} == {"train": {32}, "val": {4}, "test": {4}}


def test_stored_signals_are_preprocessed_at_the_models_rate(workplace: list[str]) -> None:
    from omni_bench.data.store import map_signal, open_store

    run("task=demo_hands", *workplace)
    cache = Path(next(item for item in workplace if item.startswith("paths.cache=")).partition("=")[2])
    file = sorted((cache / "store" / "demo_eeg").glob("*.h5"))[0]
    stored, signal = open_store(file), map_signal(file)
    assert stored.sfreq == 200
    np.testing.assert_allclose(signal.mean(axis=0), 0, atol=1e-2)  # average reference
    spectrum = np.abs(np.fft.rfft(signal[0]))
    freqs = np.fft.rfftfreq(signal.shape[1], 1 / 200)
    at_line = spectrum[np.abs(freqs - 50) < 0.3].max()
    assert at_line < spectrum[(freqs > 40) & (freqs < 48)].max()
    assert spectrum[freqs > 90].max() < 0.05 * spectrum[(freqs > 8) & (freqs < 12)].max()


@pytest.mark.slow
def test_vigilance_is_predicted_in_unseen_persons(workplace: list[str]) -> None:
    result, folder = run("task=demo_vigilance", "trainer.max_epochs=25", *workplace)
    assert result["metrics"]["pearson"]["value"] > 0.4
    predictions, units = (pd.read_parquet(folder / f"{name}.parquet") for name in ("predictions", "units"))
    test = predictions[predictions["split"] == "test"].merge(units[["unit_id", "target"]], on="unit_id")
    expected = np.corrcoef(test["prediction"], test["target"])[0, 1]
    assert result["metrics"]["pearson"]["value"] == pytest.approx(expected)
    assert (folder / "report.html").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("model", NETWORKS)
def test_linear_probe_of_every_model(workplace: list[str], model: str) -> None:
    few = ["protocol=few_shot", "protocol.split.fraction=0.05", "trainer.max_epochs=2"]
    result, folder = run("task=demo_hands", f"model={model}", "adaptation=linear_probe", *few, *workplace)
    assert result["status"] == "completed"
    assert result["weights"]["source"] == "random"
    assert result["counts"]["train"]["per_class"] == {"left_hand": 8, "right_hand": 8}
    predictions = pd.read_parquet(folder / "predictions.parquet")
    assert np.isfinite(predictions[["prob_left_hand", "prob_right_hand"]]).all(axis=None)
    assert predictions["prob_right_hand"].std() > 0  # the windows are not all one to the network
    assert (predictions["split"] == "test").sum() == 40


def test_zero_shot(workplace: list[str]) -> None:
    result, folder = run("task=demo_hands", "model=eegnet", "adaptation=zero_shot", *workplace)
    predictions = pd.read_parquet(folder / "predictions.parquet")
    assert set(predictions["prob_left_hand"]) == {0.0, 1.0}
    assert 0.2 < result["metrics"]["balanced_accuracy"]["value"] < 0.8


SHARED = ("task=demo_hands", "model=eegnet", "adaptation=linear_probe", "trainer.max_epochs=4")
SWEEP = [
    ("protocol=cross_subject", "seed=0"),
    ("protocol=few_shot", "seed=0", "protocol.split.fraction=0.1"),
    ("protocol=multi_subject", "seed=0", "trainer.batch_size=50"),
    ("protocol=few_shot", "seed=0", "protocol.split.fraction=2"),
]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Weights of a file, so that runs of all seeds have one backbone."""
    torch.manual_seed(0)
    file = tmp_path_factory.mktemp("weights") / "eegnet.pt"
    torch.save(build("eegnet", 19, 1, 400, 200.0).state_dict(), file)
    return f"model.weights={file}"


@pytest.mark.slow
def test_probes_fitted_together_are_those_fitted_alone(workplace: list[str], weights: str, tmp_path: Path) -> None:
    paths = [f"paths.cache={tmp_path}/cache", f"paths.output_dir={tmp_path}/outputs"]
    runs = [(*SHARED, *own, weights, *workplace, *paths) for own in SWEEP]
    cfgs = [api.compose_config(overrides) for overrides in runs]
    together = Together()
    for number, cfg in enumerate(cfgs[:3]):
        together.begin(number, cfg)
    with pytest.raises(BenchError, match=r"protocol\.split\.fraction=2"):
        together.begin(3, cfgs[3])
    together.fit()
    # all three read the embeddings that the first of them kept
    assert len(list((tmp_path / "cache" / "embeddings" / "eegnet").glob("*/*.h5"))) == 1
    for number, (cfg, overrides) in enumerate(zip(cfgs[:3], runs[:3], strict=True)):
        result = together.finish(number)
        alone, folder = run(*overrides, f"paths.output_dir={tmp_path}/alone")
        other = tmp_path / "outputs" / cfg.run_name
        assert result.keys() == alone.keys()
        assert result["status"] == "completed"
        assert result["counts"] == alone["counts"]
        for name, metric in alone["metrics"].items():
            assert result["metrics"][name]["value"] == pytest.approx(metric["value"], abs=1e-3)
        left = [{file.relative_to(base) for file in base.rglob("*")} for base in (folder, other)]
        assert left[0] - left[1] == {Path("checkpoints/last.ckpt")}
        assert left[1] <= left[0]
        ours, theirs = (pd.read_parquet(base / "predictions.parquet") for base in (other, folder))
        pd.testing.assert_frame_equal(ours, theirs, atol=1e-4)


@pytest.mark.slow
def test_a_linear_probe_is_taken_up_by_its_checkpoint(workplace: list[str], weights: str) -> None:
    trained, folder = run(*SHARED, "seed=3", weights, *workplace)
    given = f"checkpoint={folder}"
    again, _ = run(*SHARED, "seed=3", weights, given, "protocol.name=again", *workplace)
    assert again["weights"]["head"].startswith(str(folder))
    for name, metric in trained["metrics"].items():
        assert again["metrics"][name]["value"] == metric["value"]
    with pytest.raises(BenchError, match="head of a linear probe on another backbone"):
        run(*SHARED, "seed=3", given, *workplace)
    with pytest.raises(BenchError, match="another backbone"):
        run("task=demo_hands", "model=eegconformer", "adaptation=linear_probe", "seed=3", given, *workplace)


@pytest.mark.slow
def test_a_sweep_of_the_command_line_fits_probes_together(workplace: list[str], weights: str, tmp_path: Path) -> None:
    sweep = ["protocol=cross_subject,few_shot", "seed=0,1", "trainer.max_epochs=2"]
    paths = [f"paths.output_dir={tmp_path}"]
    command = [sys.executable, "-m", "omni_bench", "-m", *SHARED, *sweep, weights, *workplace, *paths]
    first = subprocess.run(command, capture_output=True, text=True, check=True)
    files = sorted(tmp_path.rglob("result.json"))
    records = [json.loads(file.read_text()) for file in files]
    assert [(record["protocol"], record["seed"]) for record in records] == [
        ("cross_subject", 0),
        ("cross_subject", 1),
        ("few_shot", 0),
        ("few_shot", 1),
    ]
    assert {record["status"] for record in records} == {"completed"}
    assert "already done" not in first.stdout
    written = [file.stat().st_mtime_ns for file in files]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.count("already done") == 4
    assert [file.stat().st_mtime_ns for file in files] == written
