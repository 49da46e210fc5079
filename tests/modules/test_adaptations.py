"""Linear probe and zero-shot on stored windows of two channels, and how parameters are grouped."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from omni_bench.data.datamodule import WindowDataModule
from omni_bench.errors import BenchError
from omni_bench.modules.learner import LightningLearner
from omni_bench.modules.parameters import parameter_groups
from omni_bench.modules.probe import LinearProbe
from omni_bench.modules.regressor import Regressor
from omni_bench.modules.zero_shot import ZeroShot
from tests.probing import N_UNITS, Spread, adam, learner_of, two_channels


@pytest.fixture
def data(tmp_path: Path) -> WindowDataModule:
    return two_channels(tmp_path)


def test_linear_probe_embeds_once_and_trains_the_head_alone(data: WindowDataModule, tmp_path: Path) -> None:
    torch.manual_seed(0)
    net = Spread(1)
    before = net.head.weight.detach().clone()
    learner = learner_of(LinearProbe, net, tmp_path, head_optimizer=adam)
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
    for cls, settings in ((LinearProbe, {"head_optimizer": adam}), (LightningLearner, {})):
        torch.manual_seed(0)
        net = Spread(1)
        net.dropout.p = 0.0
        net.scale.requires_grad_(False)
        learner = learner_of(cls, net, tmp_path / cls.__name__, **settings)
        learner.fit(data)
        weights.append(net.head.weight.detach().clone())
    torch.testing.assert_close(weights[0], weights[1], rtol=1e-4, atol=1e-5)


def test_regression(data: WindowDataModule, tmp_path: Path) -> None:
    for table in (data.train_windows, data.evaluate_windows):
        table["label"] = table["label"].astype(float) * 3 - 1
    data.balanced = False
    torch.manual_seed(0)
    learner = learner_of(LinearProbe, Spread(1), tmp_path, kind="regression", head_optimizer=adam)
    assert isinstance(learner.module, Regressor)
    learner.fit(data)
    predictions = learner.predict(data)
    assert list(predictions.columns)[-1] == "prediction"
    error = predictions["prediction"] - data.evaluate_windows["label"]
    assert np.sqrt((error**2).mean()) < 0.75  # half of what the mean of both targets would give


def test_regressor_reports_r2() -> None:
    module = Regressor(Spread(1), adam, 0)
    y = torch.tensor([0.0, 1.0, 2.0])
    outputs = torch.tensor([[0.5], [1.0], [2.0]])
    assert module.validation_metrics(outputs, y)["r2"] == pytest.approx(1 - 0.25 / 2)
    assert np.isnan(module.validation_metrics(outputs, torch.ones(3))["r2"])
    assert float(module.loss(outputs, y)) == pytest.approx(0.25 / 3)


def test_zero_shot_takes_the_nearest_validation_window(data: WindowDataModule, tmp_path: Path) -> None:
    net = Spread(1)
    learner = learner_of(ZeroShot, net, tmp_path)
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
        learner_of(ZeroShot, net, tmp_path, kind="regression")


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
