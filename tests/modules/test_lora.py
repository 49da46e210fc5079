"""Adapters train in a frozen backbone, and a run with them can be used again."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hydra.utils import instantiate
from torch import nn

from omni_bench import api
from omni_bench.datasets.demo_eeg import CH_NAMES, write_demo_eeg
from omni_bench.errors import BenchError
from omni_bench.models.build import build, build_net
from omni_bench.models.foundation import FoundationModel
from omni_bench.modules.classifier import Classifier
from omni_bench.modules.embed import Embedder
from omni_bench.modules.lora import add_lora
from omni_bench.steps import plain
from tests.probing import two_channels

N_CHANS = len(CH_NAMES)
SMALL = ["biot", "labram", "cbramod", "eegconformer"]
LARGE = ["eegmamba", "bendr", "reve", "femba", "neurogpt", "neurolm", "brainomni"]
MODELS = [*SMALL, *(pytest.param(name, marks=pytest.mark.slow) for name in LARGE)]


def changed(module: nn.Module, before: dict[str, torch.Tensor]) -> set[str]:
    return {name for name, value in module.state_dict().items() if not torch.equal(value, before[name])}


def state_of(module: nn.Module) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in module.state_dict().items()}


@pytest.mark.parametrize("name", MODELS)
def test_one_step_changes_the_adapters_and_the_head_alone(name: str) -> None:
    cfg = api.compose_config([f"model={name}", "task=demo_hands", "adaptation=lora"])
    torch.manual_seed(0)
    n_times = round(2 * cfg.model.sfreq)
    net = build_net(plain(cfg.model.net), N_CHANS, 1, n_times, cfg.model.sfreq, CH_NAMES)
    x = 20 * torch.randn(4, N_CHANS, n_times)
    with torch.no_grad():
        original = net.eval().embed(x)
    net.train()
    instantiate(cfg.adaptation.adapt)(net, x[:1])
    adapters = {key for key, _ in net.named_parameters() if ".lora_" in key}
    assert adapters
    with torch.no_grad():
        torch.testing.assert_close(net.eval().embed(x), original, rtol=1e-4, atol=1e-5)  # B starts at zero
        for key, value in net.named_parameters():
            if ".lora_B" in key:
                value.normal_(std=0.02)
        adapted = net.embed(x)
    assert not torch.allclose(adapted, original, rtol=1e-3)
    # no shortcut that looks at the wrapped weights alone where gradients are off
    torch.testing.assert_close(net.embed(x).detach(), adapted, rtol=1e-3, atol=1e-4)

    module = Classifier(net, 2, instantiate(cfg.model.optimizer), 0, head_lr=cfg.adaptation.learner.head_lr)
    optimizer = module.configure_optimizers()
    assert {group["lr"] for group in optimizer.param_groups} == {5e-4}
    before = state_of(net)
    for group in optimizer.param_groups:
        group["weight_decay"] = 0  # so that what changes got a gradient
    module.loss(net(x), torch.tensor([0.0, 1.0, 1.0, 0.0])).backward()
    optimizer.step()
    assert changed(net, before) == adapters | {"head.weight", "head.bias"}


class Normed(FoundationModel):
    """Two linear layers, one of them not trained, around batch norm."""

    def __init__(self) -> None:
        backbone = nn.Sequential(nn.Linear(50, 4), nn.BatchNorm1d(2), nn.Linear(4, 4), nn.Linear(4, 4))
        super().__init__(backbone, 8, 1, untrained=("2.",))

    def prepare(self, x: torch.Tensor) -> torch.Tensor:
        return x

    def pool(self, prepared: torch.Tensor) -> torch.Tensor:
        return self.backbone[:3](prepared).flatten(1)


def adapted() -> Normed:
    torch.manual_seed(0)
    net = Normed().train()
    add_lora(net, torch.zeros(1, 2, 50), rank=2, alpha=4, dropout=0.0)
    return net


def test_adapters_sit_beside_what_is_called_and_may_train() -> None:
    net = adapted()
    trains = {name for name, value in net.named_parameters() if value.requires_grad}
    layers = {f"backbone.0.lora_{part}.default.weight" for part in "AB"}
    assert trains == layers | {"head.weight", "head.bias"}
    assert net.backbone[0].training
    assert not net.backbone[1].training
    a, b = (net.state_dict()[f"backbone.0.lora_{part}.default.weight"] for part in "AB")
    assert (a.shape, b.shape) == ((2, 50), (4, 2))
    b[:] = torch.randn(4, 2)
    x = torch.randn(3, 2, 50)
    base = net.backbone[0].base_layer
    torch.testing.assert_close(net.backbone[0](x), base(x) + 2 * x @ a.T @ b.T)


def test_embeddings_of_adapters_are_not_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data, net = two_channels(tmp_path), adapted().eval()
    found = Embedder(net, {}, tmp_path / "embeddings", "32-true")(data, data.val_windows, torch.device("cpu"))
    assert found[np.arange(12)].shape == (12, 8)
    assert not (tmp_path / "embeddings").exists()
    assert "not kept: 2 parameters train outside the head" in caplog.text


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    net = build("eegnet", 3, 1, 400, 200)
    with pytest.raises(BenchError, match="EEGNet has no linear layer to adapt: say full_finetune"):
        add_lora(net, torch.zeros(1, 3, 400), rank=2, alpha=4, dropout=0.0)
    assert all(value.requires_grad for value in net.parameters())
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(BenchError, match=r"^adaptation=lora needs peft: pip install 'omni_bench\[foundation\]'$"):
        add_lora(adapted(), torch.zeros(1, 2, 50), rank=2, alpha=4, dropout=0.0)


@pytest.mark.slow
def test_a_run_and_its_checkpoint(tmp_path: Path) -> None:
    write_demo_eeg(tmp_path / "demo_eeg", n_persons=4)
    common = [
        *("task=demo_hands", "model=eegconformer", "adaptation=lora", "protocol=few_shot", "trainer.progress=false"),
        *("protocol.split.fraction=0.1", f"dataset.root={tmp_path}/demo_eeg", f"paths.cache={tmp_path}/cache"),
        *(f"paths.output_dir={tmp_path}/outputs", "trainer.max_epochs=2", "n_boot=10"),
    ]
    first = api.run(common)
    folder = next((tmp_path / "outputs").rglob("best.ckpt")).parents[1]
    assert not (tmp_path / "cache" / "embeddings").exists()
    state = torch.load(folder / "checkpoints" / "best.ckpt", weights_only=True)["state_dict"]
    start = build("eegconformer", N_CHANS, 1, 400, 200, CH_NAMES)
    assert len(state) - len(start.state_dict()) == sum(".lora_" in name for name in state) > 0
    assert any(value.any() for name, value in state.items() if ".lora_B" in name)
    again = api.run([*common, f"checkpoint={folder}"])
    assert again["metrics"]["auc"]["value"] == first["metrics"]["auc"]["value"]
    tables = [
        pd.read_parquet(file.parent / "predictions.parquet") for file in (tmp_path / "outputs").rglob("result.json")
    ]
    tests = [table[table["split"] == "test"].set_index("sample_id")["prob_left_hand"] for table in tables]
    pd.testing.assert_series_equal(*tests, check_exact=True)
