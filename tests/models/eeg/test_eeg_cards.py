"""Cards of scalp networks: what they state is what is built, and every trainable parameter trains."""

from typing import Any

import pytest
import torch
import yaml
from hydra.utils import instantiate

from omni_bench.api import compose_config
from omni_bench.datasets.demo_eeg import CH_NAMES
from omni_bench.locate import card_root
from omni_bench.models.build import build, build_net
from omni_bench.modules.classifier import Classifier
from omni_bench.steps import plain

SMALL = ["eegnet", "eegconformer", "biot", "labram", "cbramod", "eegmamba"]
MORE = ["eegpt", "codebrain", "luna", "signaljepa", "eegdino", "steegformer"]
LARGE = ["bendr", "reve", "femba", "neurogpt", "neurolm", "brainomni"]
MODELS = [*SMALL, *(pytest.param(name, marks=pytest.mark.slow) for name in MORE + LARGE)]
N_CHANS = len(CH_NAMES)


def card_of(name: str) -> dict[str, Any]:
    card: dict[str, Any] = yaml.safe_load((card_root() / "conf" / "model" / f"{name}.yaml").read_text())
    return card


def test_every_scalp_card_is_tested() -> None:
    files = (card_root() / "conf" / "model").glob("*.yaml")
    known = {*SMALL, *MORE, *LARGE, "band_power", "tangent_space"}
    assert {file.stem for file in files if "family: scalp" in file.read_text()} == known


@pytest.mark.parametrize("name", MODELS)
def test_card_states_what_is_built(name: str) -> None:
    card = card_of(name)
    net = build(name, N_CHANS, 2, round(10 * card["sfreq"]), card["sfreq"], CH_NAMES)
    assert sum(p.numel() for p in net.backbone.parameters()) == card["facts"]["parameters"]
    assert net.embed_dim == (card["facts"].get("embed_dim") or net.head.in_features)
    assert compose_config([f"model={name}", "task=demo_hands"]).task.preprocessing.sfreq == card["sfreq"]


@pytest.mark.parametrize("name", MODELS)
def test_one_step_of_fine_tuning_changes_every_trainable_parameter(name: str) -> None:
    cfg = compose_config([f"model={name}", "task=demo_hands", "adaptation=full_finetune"])
    torch.manual_seed(0)
    n_times = round(2 * cfg.model.sfreq)
    net = build_net(plain(cfg.model.net), N_CHANS, 1, n_times, cfg.model.sfreq, CH_NAMES).train()
    module = Classifier(net, 2, instantiate(cfg.model.optimizer), 0, head_lr=cfg.adaptation.learner.head_lr)
    before = {name: value.detach().clone() for name, value in net.named_parameters()}
    x = 20 * torch.randn(4, N_CHANS, n_times)
    optimizer = module.configure_optimizers()
    module.loss(net(x), torch.tensor([0.0, 1.0, 1.0, 0.0])).backward()
    optimizer.step()
    for name_, value in net.named_parameters():
        frozen = bool(net.untrained) and name_.startswith(tuple(f"backbone.{prefix}" for prefix in net.untrained))
        assert torch.equal(value, before[name_]) == frozen, name_
    rates = {group["lr"] for group in optimizer.param_groups}
    assert rates == {cfg.model.optimizer.lr, 5e-4}
