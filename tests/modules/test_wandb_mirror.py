"""W&B as a mirror: what a run writes offline, and that a broken mirror breaks no run."""

import json
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from omni_bench import api
from omni_bench.datasets.demo_eeg import write_demo_eeg
from omni_bench.modules.wandb_mirror import offline_runs, run_id, sampled_predictions


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("wandb")
    write_demo_eeg(folder / "demo_eeg", n_persons=5)
    paths = [f"dataset.root={folder}/demo_eeg", f"paths.cache={folder}/cache", f"paths.output_dir={folder}/out"]
    return ["task=demo_hands", "model=eegnet", "trainer.max_epochs=1", "trainer.progress=false", "n_boot=10", *paths]


def folder_of(overrides: list[str]) -> Path:
    cfg = api.compose_config(overrides)
    return Path(cfg.paths.output_dir) / cfg.run_name


def records(run: Path) -> list[Any]:
    """What an offline run holds: W&B's records in the block format of LevelDB's log, after a header of 7 bytes."""
    from wandb.proto.wandb_internal_pb2 import Record

    (file,) = run.glob("*.wandb")
    content, position, message, found = file.read_bytes(), 7, b"", []
    while position + 7 <= len(content):
        left = 32768 - position % 32768
        if left < 7:
            position += left
            continue
        _, length, kind = struct.unpack_from("<IHB", content, position)
        message += content[position + 7 : position + 7 + length]
        position += 7 + length
        if kind in (1, 4):  # whole, or last part
            record = Record()
            record.ParseFromString(message)
            found.append(record)
            message = b""
    return found


@pytest.mark.slow
def test_an_offline_run_holds_curves_result_and_artifact(settings: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    overrides = [*settings, "logger=wandb", "logger.wandb.mode=offline"]
    result = api.run(overrides)
    folder = folder_of(overrides)
    (run,) = offline_runs(folder)
    found = records(run)
    (started,) = [record.run for record in found if record.WhichOneof("record_type") == "run"][:1]
    assert started.run_id == run_id(api.compose_config(overrides).run_name)
    assert list(started.tags) == ["demo_hands", "eegnet", "cross_subject"]
    keys = {item.key or "/".join(item.nested_key) for record in found for item in record.history.item}
    assert {"train/loss", "val/balanced_accuracy"} <= keys
    assert any(key.startswith("predictions/") for key in keys)
    summary = {
        item.key or "/".join(item.nested_key): json.loads(item.value_json)
        for record in found
        for item in record.summary.update
    }
    assert summary["test/balanced_accuracy"] == pytest.approx(result["metrics"]["balanced_accuracy"]["value"])
    assert summary["status"] == "completed"
    artifacts = [record.request.log_artifact.artifact for record in found if record.request.HasField("log_artifact")]
    artifacts += [record.artifact for record in found if record.WhichOneof("record_type") == "artifact"]
    (kept,) = [artifact for artifact in artifacts if artifact.type == "result"]
    assert {entry.path for entry in kept.manifest.contents} == {"result.json"}
    assert not {"subject", "person"} & set(sampled_predictions(folder).columns)


@pytest.mark.slow
def test_a_run_survives_a_server_that_is_not_there(settings: list[str]) -> None:
    broken = {"WANDB_MODE": "online", "WANDB_BASE_URL": "http://127.0.0.1:9", "WANDB_API_KEY": "0" * 40}
    command = [sys.executable, "-m", "omni_bench", *settings, "logger=wandb", "seed=1"]
    environment = os.environ | broken | {"WANDB_INIT_TIMEOUT": "3"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert "logger wandb left out" in done.stdout + done.stderr
    result = json.loads((folder_of([*settings, "seed=1"]).parent.glob("seed-1-*/result.json").__next__()).read_text())
    assert result["status"] == "completed"


def test_the_dashboard_names_metrics_that_runs_send() -> None:
    pytest.importorskip("wandb_workspaces")
    from omni_bench.modules.wandb_mirror import dashboard

    workspace = dashboard("lab", "omni_bench")
    assert (workspace.entity, workspace.project) == ("lab", "omni_bench")
    metrics = {metric for panel in workspace.sections[0].panels for metric in panel.metrics}
    assert {getattr(metric, "name", metric) for metric in metrics} >= {"test/balanced_accuracy", "test/outcome_auc"}
