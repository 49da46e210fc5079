"""Model cards of intracranial networks: published sizes, starting weights, one step of training from a composed run."""

from pathlib import Path
from typing import Any

import pytest
import torch
from hydra.utils import instantiate
from safetensors.torch import save_file

from omni_bench.api import compose_config
from omni_bench.cards import cards
from omni_bench.errors import BenchError
from omni_bench.locate import card_root
from omni_bench.models.build import build, build_net
from omni_bench.models.resnet import ResNet18
from omni_bench.models.weights import load_starting_weights
from omni_bench.modules.classifier import Classifier
from omni_bench.steps import plain
from tests.small import EVENT_MODELS, SEGMENT_MODELS, small
from tests.weights import fill_by_name

PUBLISHED = {
    "pyhfo_omni": 11_188_451,
    "lstm_attention": 14_908_035,
    "patchtst": 11_085_187,
    "timesnet": 1_836_675,
    "vit_event": 85_430_723,
    "pyhfo_artifact": 11_188_417,
    "pyhfo_spike": 11_191_553,
    "ehfo": 11_194_689,
    "timeconv_cnn": 11_302_241,
    "seegnet": 1_195_744,
    "clap": 28_271_305,
    "ast": 85_651_969,
    "vit_segment": 21_233_665,
    "lstm_segment": 4_125_953,
    "handcrafted": 22,
}
"""Parameters of the published networks; TimesNet's calendar tables count there."""


@pytest.mark.parametrize("name", PUBLISHED)
def test_cards_have_the_published_sizes(name: str) -> None:
    legacy = name in ("pyhfo_artifact", "pyhfo_spike", "ehfo")
    events = name in EVENT_MODELS
    n_outputs = 3 if events and not legacy else 1
    net = build(name, 1, n_outputs, 2000 if events else 60_000, 1000.0)
    assert sum(p.numel() for p in net.parameters()) == PUBLISHED[name]


def test_every_event_model_scores_regions_by_its_events() -> None:
    files = (card_root() / "conf" / "event_scoring").glob("region_*.yaml")
    assert {file.stem.removeprefix("region_") for file in files} == EVENT_MODELS.keys()
    reads = {
        name
        for name in cards("model")
        if "window_s: 2\n" in (card_root() / "conf" / "model" / f"{name}.yaml").read_text()
    }
    assert reads == EVENT_MODELS.keys()


@pytest.mark.parametrize("name", SEGMENT_MODELS | EVENT_MODELS)
def test_one_step_from_a_composed_run_changes_every_trained_parameter(name: str) -> None:
    cfg = compose_config(
        [*small(name), "task=events", "task.window_s=4" if name in SEGMENT_MODELS else "task.window_s=2"]
    )
    n_times = round(cfg.task.window_s * 1000)
    torch.manual_seed(0)
    net = build_net(plain(cfg.model.net), 1, len(cfg.task.classes), n_times, 1000.0)
    module = Classifier(net, 3, instantiate(cfg.model.optimizer), seed=0)
    module.log = lambda *args, **kwargs: None  # type: ignore[method-assign]
    before = {key: value.detach().clone() for key, value in net.named_parameters() if value.requires_grad}
    optimizer = module.configure_optimizers()
    x = torch.randn(4, 1, n_times).cumsum(-1)
    batch = (x, torch.tensor([0.0, 1.0, 2.0, 0.0]), torch.arange(4))
    logits = net.eval()(x)
    assert logits.shape == (4, 3)
    expected = torch.nn.functional.cross_entropy(logits, torch.tensor([0, 1, 2, 0]))
    torch.testing.assert_close(module.training_step(batch, 0), expected)
    net.train()
    module.training_step(batch, 0).backward()
    optimizer.step()
    same = [key for key, value in net.named_parameters() if key in before and torch.equal(value, before[key])]
    assert not same
    steps = [
        float((value.detach() - before[key]).abs().max()) for key, value in net.named_parameters() if key in before
    ]
    assert max(steps) == pytest.approx(3e-4, rel=0.05)  # Adam's first step is the learning rate


def test_networks_with_a_source_have_it_in_their_card() -> None:
    for name in (*SEGMENT_MODELS, *EVENT_MODELS):
        cfg = compose_config([*small(name), "task=events", "task.window_s=2"])
        net = build_net(plain(cfg.model.net), 1, 3, 2000, 1000.0)
        repo = cfg.model.pretrained.repo if cfg.model.pretrained else None
        source = getattr(net, "pretrained_source", None)
        assert repo == (source.hub_id if source else None), name


def imagenet_file(folder: Path) -> tuple[Path, dict[str, torch.Tensor]]:
    """A file under torchvision's names, as `timm/resnet18.tv_in1k` has it."""
    hub = {key.replace("fc.0.", "fc."): value for key, value in fill_by_name(ResNet18(3, 1000)).state_dict().items()}
    file = folder / "model.safetensors"
    save_file(hub, file)
    return file, hub


def event_card(**changes: Any) -> dict[str, Any]:
    return plain(compose_config(["task=events", "model=pyhfo_omni"]).model) | changes


def test_a_file_under_the_hubs_names_fills_the_trunk(tmp_path: Path) -> None:
    file, hub = imagenet_file(tmp_path)
    net = build("pyhfo_omni", 1, 3, 2000, 1000.0)
    stem = net.cnn.conv1.weight.clone()  # type: ignore[union-attr]
    report = load_starting_weights(net, event_card(weights=str(file)))
    assert (report["matched"], report["unexpected"], report["mismatched"]) == (119, [], [])
    assert {"cnn.conv1.weight", "fc_out.weight", "bn1.weight"} <= set(report["missing"])
    state = net.state_dict()
    assert torch.equal(state["cnn.layer3.0.conv1.weight"], hub["layer3.0.conv1.weight"])
    assert torch.equal(state["cnn.bn1.running_var"], hub["bn1.running_var"])
    assert torch.equal(state["cnn.conv1.weight"], stem)


def test_a_file_under_our_own_names_loads_as_it_is(tmp_path: Path) -> None:
    ours = fill_by_name(build("pyhfo_omni", 1, 3, 2000, 1000.0)).state_dict()
    save_file(ours, tmp_path / "own.safetensors")
    net = build("pyhfo_omni", 1, 3, 2000, 1000.0)
    report = load_starting_weights(net, event_card(weights=str(tmp_path / "own.safetensors")))
    assert (report["matched"], report["missing"]) == (len(ours), [])
    assert torch.equal(net.state_dict()["fc_out.weight"], ours["fc_out.weight"])


def test_pretrained_comes_from_the_cache_of_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    snapshot = tmp_path / "models--timm--resnet18.tv_in1k" / "snapshots" / "0123456789abcdef"
    snapshot.mkdir(parents=True)
    _, hub = imagenet_file(snapshot)
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text("0123456789abcdef")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    source = {"repo": "timm/resnet18.tv_in1k", "file": "model.safetensors"}
    for weights in ("pretrained", "published"):
        net = build("pyhfo_omni", 1, 3, 2000, 1000.0)
        report = load_starting_weights(net, event_card(weights=weights, pretrained=source), offline=True)
        assert (report["source"], report["pretrained"]) == ("hf://timm/resnet18.tv_in1k", True)
        assert report["revision"] == "0123456789abcdef"
        assert torch.equal(net.state_dict()["cnn.layer1.0.conv1.weight"], hub["layer1.0.conv1.weight"])
    pinned = event_card(weights="pretrained", pretrained=source | {"sha256": 64 * "0"})
    with pytest.raises(BenchError, match="SHA-256 differs"):
        load_starting_weights(net, pinned, offline=True)


def test_offline_without_the_file_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(BenchError, match=r"model\.weights=random") as error:
        load_starting_weights(build("pyhfo_omni", 1, 3, 2000, 1000.0), event_card(weights="pretrained"), offline=True)
    assert "\n" not in str(error.value)


def test_published_weights_of_a_network_without_a_source_are_random() -> None:
    card = plain(compose_config(["model=seegnet", "model.weights=published"]).model)
    report = load_starting_weights(build("seegnet", 1, 1, 4000, 1000.0), card)
    assert (report["source"], report["pretrained"]) == ("random", False)
