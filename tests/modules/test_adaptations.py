"""Linear probe and zero-shot on stored windows of two channels, and how parameters are grouped."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn

from omni_bench.data.datamodule import WindowDataModule
from omni_bench.data.store import write_store
from omni_bench.errors import BenchError
from omni_bench.modules.learner import LightningLearner
from omni_bench.modules.parameters import parameter_groups
from omni_bench.modules.probe import LinearProbe
from omni_bench.modules.regressor import Regressor
from omni_bench.modules.zero_shot import ZeroShot

N_UNITS, N_TIMES, SFREQ = 60, 50, 100.0
TRAINER: dict[str, Any] = {
    "accelerator": "cpu",
    "devices": 1,
    "precision": "32-true",
    "max_epochs": 40,
    "gradient_clip": None,
    "time_reversal": 0.0,
    "checkpoint_every": 1000,
    "progress": False,
}


class Spread(nn.Module):
    """Embeds a window as its channels' standard deviations, times a trainable scale, behind dropout."""

    head_name = "head"

    def __init__(self, n_outputs: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(2))
        self.dropout = nn.Dropout(0.5)
        self.head = nn.Linear(2, n_outputs)
        self.embedded = 0

    def embed(self, x: Tensor) -> Tensor:
        self.embedded += len(x)
        return self.dropout(x.std(-1) * self.scale)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.embed(x))


@pytest.fixture
def data(tmp_path: Path) -> WindowDataModule:
    """Units 2 i and 2 i + 1: channel 0 is louder in class 1, channel 1 in class 0."""
    rng = np.random.default_rng(0)
    label = np.arange(N_UNITS) % 2
    gain = np.stack([1 + label, 2 - label])
    signal = (rng.standard_normal((2, N_UNITS * N_TIMES)) * gain.repeat(N_TIMES, axis=1)).astype("float32")
    stored = write_store(tmp_path / "x.h5", [signal], ["FP1", "FP2"], SFREQ, {})
    windows = pd.DataFrame(
        {
            "unit_id": [f"u{i:02d}" for i in range(N_UNITS)],
            "path": str(stored.path),
            "row": -1,
            "label": pd.array(label, "Int64"),
            "split": np.repeat(["train", "val", "test"], [36, 12, 12]),
            "start": np.arange(N_UNITS) * N_TIMES / SFREQ,
            "duration": N_TIMES / SFREQ,
        }
    )
    windows["sample_id"] = windows["unit_id"] + "@0"
    windows = pd.concat([windows.assign(use=use) for use in ("train", "evaluate")], ignore_index=True)
    return WindowDataModule(windows, N_TIMES, SFREQ, batch_size=12, eval_batch_size=16, windows_per_unit=None, seed=0)


def learner_of(cls: Any, net: nn.Module, folder: Path, kind: str = "binary", **settings: Any) -> Any:
    common = {"optimizer": _adam, "folder": folder, "monitor": "val/loss", "seed": 0, "trainer": TRAINER, "loggers": []}
    return cls(net, kind=kind, classes=["quiet", "loud"], **common, **settings)


def _adam(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.Adam(parameters, lr=0.05)


def test_linear_probe_embeds_once_and_trains_the_head_alone(data: WindowDataModule, tmp_path: Path) -> None:
    torch.manual_seed(0)
    net = Spread(1)
    before = net.head.weight.detach().clone()
    learner = learner_of(LinearProbe, net, tmp_path, head_optimizer=_adam)
    learner.fit(data)
    predictions = learner.predict(data)
    assert net.embedded == N_UNITS
    assert net.scale.tolist() == [1, 1]
    assert (net.head.weight != before).all()
    # the backbone is in eval mode: what was predicted is what the network says without dropout
    x = torch.stack([data.dataset(data.evaluate_windows)[i][0] for i in range(24)])
    expected = torch.sigmoid(net.eval()(x))[:, 0].detach().numpy()
    np.testing.assert_allclose(predictions["prob_loud"], expected, atol=1e-6)
    labels = data.evaluate_windows["label"].to_numpy(int)
    assert ((predictions["prob_loud"] > 0.5) == labels).mean() == 1
    assert predictions["unit_id"].tolist() == [f"u{i}" for i in range(36, 60)]
    weights = torch.load(tmp_path / "checkpoints" / "best.ckpt", weights_only=True)["state_dict"]
    assert set(weights) == {"net.head.weight", "net.head.bias"}


def test_linear_probe_is_training_with_a_frozen_backbone(data: WindowDataModule, tmp_path: Path) -> None:
    weights = []
    for cls, settings in ((LinearProbe, {"head_optimizer": _adam}), (LightningLearner, {})):
        torch.manual_seed(0)
        net = Spread(1)
        net.dropout.p = 0.0
        net.scale.requires_grad_(False)
        learner = learner_of(cls, net, tmp_path / cls.__name__, **settings)
        learner.fit(data)
        weights.append(net.head.weight.detach().clone())
    torch.testing.assert_close(weights[0], weights[1], rtol=1e-4, atol=1e-5)


def test_regression(data: WindowDataModule, tmp_path: Path) -> None:
    for table in (data.train_windows, data.val_windows, data.test_windows):
        table["label"] = table["label"].astype(float) * 3 - 1
    data.balanced = False
    torch.manual_seed(0)
    learner = learner_of(LinearProbe, Spread(1), tmp_path, kind="regression", head_optimizer=_adam)
    assert isinstance(learner.module, Regressor)
    learner.fit(data)
    predictions = learner.predict(data)
    assert list(predictions.columns)[-1] == "prediction"
    error = predictions["prediction"] - data.evaluate_windows["label"]
    assert np.sqrt((error**2).mean()) < 0.75  # half of what the mean of both targets would give


def test_regressor_reports_r2() -> None:
    module = Regressor(Spread(1), _adam, 0)
    y = torch.tensor([0.0, 1.0, 2.0])
    outputs = torch.tensor([[0.5], [1.0], [2.0]])
    assert module.validation_metrics(outputs, y)["r2"] == pytest.approx(1 - 0.25 / 2)
    assert np.isnan(module.validation_metrics(outputs, torch.ones(3))["r2"])
    assert float(module.loss(outputs, y)) == pytest.approx(0.25 / 3)


def test_zero_shot_takes_the_nearest_validation_window(data: WindowDataModule) -> None:
    net = Spread(1)
    learner = ZeroShot(net, kind="binary", classes=["quiet", "loud"], trainer=TRAINER)
    learner.fit(data)
    predictions = learner.predict(data)
    x = torch.stack([data.dataset(data.evaluate_windows)[i][0] for i in range(24)]).std(-1).numpy()
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    cosine = unit @ unit[:12].T
    cosine[np.arange(12), np.arange(12)] = -1
    expected = data.val_windows["label"].to_numpy(int)[cosine.argmax(axis=1)]
    np.testing.assert_array_equal(predictions["prob_loud"], expected)
    np.testing.assert_array_equal(predictions["prob_quiet"], 1 - expected)
    with pytest.raises(BenchError, match="say linear_probe"):
        ZeroShot(net, kind="regression", classes=["x"], trainer=TRAINER)


def test_no_weight_decay_on_vectors_and_an_own_rate_for_the_head() -> None:
    net = nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3), nn.Linear(3, 1))
    net.head_name = "2"
    net[0].bias.requires_grad_(False)
    optimizer = torch.optim.AdamW(parameter_groups(net, head_lr=0.5), lr=0.1, weight_decay=0.2)
    settings = {
        id(p): (group["lr"], group["weight_decay"]) for group in optimizer.param_groups for p in group["params"]
    }
    found = {name: settings.get(id(p)) for name, p in net.named_parameters()}
    assert found == {
        "0.weight": (0.1, 0.2),
        "0.bias": None,
        "1.weight": (0.1, 0.0),
        "1.bias": (0.1, 0.0),
        "2.weight": (0.5, 0.2),
        "2.bias": (0.5, 0.0),
    }
