"""Heads that train together end where each would end alone."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from omni_bench.data.datamodule import WindowDataModule
from omni_bench.errors import BenchError
from omni_bench.modules import heads
from omni_bench.modules.embed import Embedder
from omni_bench.modules.heads import fit_together
from omni_bench.modules.loggers import CSVTable
from omni_bench.modules.probe import LinearProbe
from tests.probing import N_UNITS, TRAINER, Spread, learner_of, two_channels

HEADS: list[dict[str, Any]] = [
    {"seed": 0, "lr": 0.05, "batch_size": 12},
    {"seed": 1, "lr": 0.05, "batch_size": 12},
    {"seed": 0, "lr": 0.5, "batch_size": 5, "clip": 0.1},  # 36 windows: the last batch of one joins the one before
    {"seed": 2, "lr": 0.01, "batch_size": 12, "n_train": 7, "epochs": 3},  # one short batch an epoch
]
LABELS = {
    "binary": np.arange(N_UNITS) % 2,
    "multiclass": np.arange(N_UNITS) % 3,
    "regression": np.sin(np.arange(N_UNITS)),
}


def learners(kind: str, folder: Path, monitor: str) -> list[tuple[LinearProbe, WindowDataModule]]:
    """One linear probe for each of `HEADS`, in float64."""
    made = []
    for n, head in enumerate(HEADS):
        data = two_channels(folder, LABELS[kind], batch_size=head["batch_size"], seed=head["seed"])
        data.balanced = kind != "regression"
        data.train_windows = data.train_windows[: head.get("n_train", 36)]
        torch.manual_seed(head["seed"])
        net = Spread(3 if kind == "multiclass" else 1)
        card = {"max_epochs": head.get("epochs", 8), "gradient_clip": head.get("clip"), "precision": "64-true"}
        run = folder / str(n)
        run.mkdir(parents=True)
        learner = learner_of(
            LinearProbe,
            net,
            run,
            kind=kind,
            classes=["a", "b", "c"][: 3 if kind == "multiclass" else 2],
            seed=head["seed"],
            monitor=monitor,
            head_optimizer=lambda groups, lr=head["lr"]: torch.optim.AdamW(groups, lr=lr, weight_decay=0.1),
            trainer=TRAINER | card | {"batch_size": head["batch_size"]},
            embedder=Embedder(net, {}, folder / "embeddings", "64-true"),
            loggers=[CSVTable(run / "metrics.csv")],
        )
        made.append((learner, data))
    return made


@pytest.mark.parametrize(
    ("kind", "monitor"),
    [("binary", "val/balanced_accuracy"), ("multiclass", "val/loss"), ("regression", "val/r2")],
)
def test_heads_trained_together_equal_heads_trained_alone(
    kind: str, monitor: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone, together, in_turns = (learners(kind, tmp_path / name, monitor) for name in ("alone", "together", "turns"))
    for learner, data in alone:
        learner.fit(data)
    for group in (together, in_turns):
        for learner, data in group:
            learner.embedded(data)
        fit_together([learner for learner, _ in group])
        monkeypatch.setattr(heads, "BATCH_BYTES", 1)
    for (one, data), *others in zip(alone, together, in_turns, strict=True):
        expected = torch.load(one.best, weights_only=True)
        weights = expected["state_dict"]["net.head.weight"]
        assert weights.dtype == torch.float64
        for other, _ in others:
            found = torch.load(other.best, weights_only=True)
            assert found["epoch"] == expected["epoch"]
            assert found["global_step"] == expected["global_step"]
            assert found["backbone_sha256"] == expected["backbone_sha256"]
            for name, value in expected["state_dict"].items():
                torch.testing.assert_close(found["state_dict"][name], value, rtol=1e-6, atol=1e-9)
            pd.testing.assert_frame_equal(
                pd.read_csv(other.folder / "metrics.csv"), pd.read_csv(one.folder / "metrics.csv"), rtol=1e-6
            )
            pd.testing.assert_frame_equal(other.predict(data), one.predict(data), rtol=1e-6)


def test_a_head_without_validation_labels_is_refused(tmp_path: Path) -> None:
    (learner, data), *_ = learners("binary", tmp_path, "val/loss")
    windows = data.evaluate_windows
    data.evaluate_windows = windows.assign(label=windows["label"].mask(windows["split"] == "val"))
    learner.embedded(data)
    with pytest.raises(BenchError, match="no labelled validation windows"):
        fit_together([learner])
