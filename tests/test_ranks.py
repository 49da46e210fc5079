"""Runs in two processes on the CPU give what one process gives."""

import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

from omni_bench import api
from omni_bench.data.datamodule import WindowDataModule
from omni_bench.datasets.demo_eeg import write_demo_eeg
from omni_bench.errors import BenchError
from omni_bench.modules.ranks import Ranks, run_ranks, world_size

TWO = ["trainer=ddp", "trainer.accelerator=cpu", "trainer.num_workers=0"]


def run(*overrides: str) -> tuple[dict[str, Any], Path]:
    result = api.run(overrides)
    cfg = api.compose_config(overrides)
    return result, Path(cfg.paths.output_dir) / cfg.run_name


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return torch.load(folder / "checkpoints" / "best.ckpt", weights_only=True)["state_dict"]


@pytest.mark.slow
def test_two_processes_train_and_predict_as_one(tmp_path: Path) -> None:
    write_demo_eeg(tmp_path / "demo_eeg", n_persons=6)
    # an odd number of trials: a sampler that fills up the last share would predict one twice
    table = sorted((tmp_path / "demo_eeg").rglob("*_events.tsv"))[0]
    table.write_text("".join(table.read_text().splitlines(keepends=True)[:-1]))
    places = [f"dataset.root={tmp_path}/demo_eeg", f"paths.cache={tmp_path}/cache", "trainer.progress=false"]
    net = ["task=demo_hands", "model=eegnet", "model.net._target_=tests.perceptron.Perceptron", "n_boot=10"]
    base = [*net, *places, "adaptation=from_scratch", "protocol.split.max_per_class=16"]
    trained = [*base, "trainer.max_epochs=3", "trainer.batch_size=32"]

    one, alone = run(*trained, f"paths.output_dir={tmp_path}/one")
    two, shared = run(*trained, *TWO, f"paths.output_dir={tmp_path}/two")
    assert shared.name == alone.name  # how many processes is no part of a run's identity
    assert one["counts"]["train"]["units"] == 4 * 32
    assert weights(alone).keys() == weights(shared).keys()
    for name, value in weights(alone).items():
        torch.testing.assert_close(weights(shared)[name], value, rtol=1e-5, atol=1e-5)
    ours, theirs = (pd.read_parquet(folder / "predictions.parquet") for folder in (alone, shared))
    pd.testing.assert_frame_equal(ours, theirs, atol=1e-5)
    assert two["metrics"]["balanced_accuracy"]["n"] == one["metrics"]["balanced_accuracy"]["n"]
    assert two["weights"] == one["weights"]

    checked = [*base, "protocol.split.max_per_class=null", f"checkpoint={alone}"]
    _, alone = run(*checked, f"paths.output_dir={tmp_path}/one")
    _, shared = run(*checked, *TWO, f"paths.output_dir={tmp_path}/two")
    ours, theirs = (pd.read_parquet(folder / "predictions.parquet") for folder in (alone, shared))
    assert len(ours) == 6 * 40 - 1
    assert theirs["sample_id"].is_unique
    pd.testing.assert_frame_equal(ours, theirs, rtol=0, atol=1e-6)


@pytest.mark.parametrize("n", [1, 7, 8])
def test_ranks_predict_every_window_once(n: int) -> None:
    windows = pd.DataFrame({"path": "p", "row": -1, "first": range(n), "label": 0, "split": "test"})
    data = WindowDataModule.__new__(WindowDataModule)
    data.n_times, data.corruption, data.eval_batch_size, data.num_workers = 10, None, 3, 0
    shares = [list(data.sequential(windows, rank, 2).sampler) for rank in (0, 1)]
    assert sorted(shares[0] + shares[1]) == list(range(n))


def test_trainer_cards_and_what_they_cannot_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cards = {name: dict(api.compose_config([f"trainer={name}"]).trainer) for name in ("ddp", "ddp_multinode", "bf16")}
    assert [world_size(card) for card in cards.values()] == [2, 8, 1]
    hashes = {
        name: api.compose_config([f"trainer={name}"]).run_name for name in ("gpu", "ddp", "ddp_multinode", "bf16")
    }
    assert hashes["gpu"] == hashes["ddp"] == hashes["ddp_multinode"] != hashes["bf16"]
    debug = api.compose_config(["task=demo_hands", "trainer=debug"])
    assert (debug.reduced, debug.trainer.max_epochs) == (True, 1)
    with pytest.raises(BenchError, match="batch_size=33 cannot be shared by 2 processes"):
        Ranks(tmp_path, cards["ddp"] | {"batch_size": 33})
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    with pytest.raises(BenchError, match="set MASTER_ADDR to the first node"):
        run_ranks(tmp_path, cards["ddp_multinode"], "fit")
    assert "TORCHELASTIC_RUN_ID" not in os.environ
