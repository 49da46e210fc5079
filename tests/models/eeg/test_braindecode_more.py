"""Adapters of braindecode's further foundation models: input, positions, weights under braindecode's names, refusals."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from golden_eeg import assert_gradients

from omni_bench.errors import BenchError
from omni_bench.models.braindecode_more import CodeBrain, EegDino, Eegpt, Luna, SignalJepa, SteegFormer
from omni_bench.models.braindecode_nets import BENDR_CHANNELS
from omni_bench.models.build import build
from omni_bench.models.electrodes import standard_positions
from omni_bench.models.foundation import FoundationModel
from omni_bench.models.weights import load_starting_weights

NAMES = ["EEG C3-REF", "nowhere", "T5", "Oz"]
SLOW = ("eegpt", "codebrain")
RATES = {"eegpt": 256, "codebrain": 200, "luna": 256, "signaljepa": 128, "eegdino": 200}

MODELS = [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in RATES]


def net_of(name: str, n_outputs: int = 2, ch_names: list[str] = NAMES) -> Any:
    torch.manual_seed(0)
    return build(name, len(ch_names), n_outputs, 2 * RATES[name], RATES[name], ch_names).eval()


@pytest.mark.parametrize("name", MODELS)
@torch.no_grad()
def test_shapes_and_head(name: str) -> None:
    net, x = net_of(name), 20 * torch.randn(3, 4, 2 * RATES[name], generator=torch.Generator().manual_seed(0))
    embedding = net.embed(x)
    assert embedding.shape == (3, net.embed_dim)
    assert (embedding[0] - embedding[1]).abs().max() > 1e-3
    torch.testing.assert_close(net(x), embedding @ net.head.weight.T + net.head.bias)
    torch.testing.assert_close(net.embed(x[:1]), embedding[:1], rtol=1e-3, atol=1e-4)


@torch.no_grad()
def test_what_networks_take_in() -> None:
    x = torch.arange(4.0)[None, :, None].expand(1, 4, 512) + 1
    eegpt = net_of("eegpt")
    torch.testing.assert_close(eegpt.prepare(x)[0, :, 0], torch.tensor([0.001, 0.003, 0.004]))
    torch.testing.assert_close(net_of("codebrain").prepare(x), x / 100)
    torch.testing.assert_close(net_of("signaljepa").prepare(x), x[:, [0, 2, 3]])
    dino = net_of("eegdino").prepare(x)
    places = [BENDR_CHANNELS.index("C3"), BENDR_CHANNELS.index("P7")]
    torch.testing.assert_close(dino[0, places, 0], torch.tensor([0.01, 0.03]))
    assert dino.count_nonzero() == 2 * 512


def test_luna_has_the_templates_positions() -> None:
    net = net_of("luna")
    assert net.kept == [0, 2, 3]
    for position, name in zip(net.positions, ("C3", "T5", "OZ"), strict=True):
        torch.testing.assert_close(
            position.double(), torch.from_numpy(standard_positions()[name]), rtol=1e-6, atol=1e-6
        )
    assert net.prepare(torch.randn(2, 4, 512)).shape == (2, 3, 480)


@pytest.mark.parametrize(("network", "sfreq"), [(CodeBrain, 200), (Luna, 256), (SignalJepa, 128), (EegDino, 200)])
def test_gradients(network: type[FoundationModel], sfreq: int) -> None:
    x = 20 * torch.randn(2, 19, 2 * sfreq, generator=torch.Generator().manual_seed(0))
    names = () if network is CodeBrain else (BENDR_CHANNELS,)
    assert_gradients(network(19, 2, 2 * sfreq, sfreq, *names), x)


@pytest.mark.parametrize("name", MODELS)
def test_braindecodes_names_fit(name: str, tmp_path: Path) -> None:
    first, second = net_of(name), net_of(name, ch_names=["Cz", *NAMES[1:]])
    for value in first.parameters():
        torch.nn.init.normal_(value, std=0.1)
    state = first.backbone.state_dict()
    torch.save(state, tmp_path / "own.pth")
    channels = None if name != "eegpt" else second.backbone.chans_id.clone()
    report = load_starting_weights(second, {"name": name, "weights": str(tmp_path / "own.pth")})
    assert set(report["missing"]) - {"backbone.chans_id"} == {"head.bias", "head.weight"}
    if channels is not None:
        assert torch.equal(second.backbone.chans_id, channels)
    for key, value in first.backbone.named_parameters():
        assert torch.equal(second.backbone.get_parameter(key), value), key


@pytest.mark.parametrize(
    ("network", "n_times", "sfreq"),
    [(Eegpt, 63, 256), (Luna, 39, 256), (SignalJepa, 151, 128), (SteegFormer, 15, 128)],
)
def test_short_windows_are_refused(network: type[Any], n_times: int, sfreq: int) -> None:
    with pytest.raises(BenchError, match=f"n_times={n_times} samples, expected at least {n_times + 1}"):
        network(1, 1, n_times, sfreq, ["Cz"])
    network(1, 1, n_times + 1, sfreq, ["Cz"])


@pytest.mark.parametrize("name", RATES)
def test_refusals(name: str) -> None:
    with pytest.raises(BenchError, match=f"sfreq=100 Hz, the model takes {RATES[name]} Hz"):
        build(name, 1, 1, 1000, 100, ["Cz"])
    if name != "codebrain":
        with pytest.raises(BenchError, match=r"none of (X1|the channels)"):
            net_of(name, ch_names=["X1", "X2"])
    if name in ("codebrain", "eegdino"):
        with pytest.raises(BenchError, match="multiples of 200 samples"):
            build(name, 1, 1, 500, 200, ["Cz"])


def steegformer(ch_names: list[str], n_times: int = 256, **settings: Any) -> SteegFormer:
    torch.manual_seed(0)
    return SteegFormer(len(ch_names), 2, n_times, 128, ch_names, **settings).eval()


@torch.no_grad()
def test_steegformer_finds_its_channels_when_weights_are_loaded(tmp_path: Path) -> None:
    listed = tmp_path / "steegformer_channels.json"
    listed.write_text(json.dumps(["Cz", "P7", "C3", "Oz"]))
    state = steegformer(["A", "B"]).backbone.state_dict()
    torch.nn.init.normal_(state["channel_pos.embedding.weight"])
    torch.save({k: v for k, v in state.items() if k != "channel_indices"}, tmp_path / "own.pth")
    card = {"name": "steegformer", "weights": str(tmp_path / "own.pth")}
    nets = []
    for ch_names in (["EEG C3-REF", "T5"], ["P7", "C3"]):
        nets.append(steegformer(ch_names, vocabulary=str(listed)))
        assert load_starting_weights(nets[-1], card)["missing"] == ["head.bias", "head.weight"]
    assert nets[0].backbone.channel_indices.tolist() == [2, 1]
    x = torch.randn(2, 2, 256, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(nets[0].embed(x), nets[1].embed(x.flip(1)), rtol=1e-4, atol=1e-5)
    assert (nets[0].embed(x) - nets[1].embed(x)).abs().max() > 1e-3
    # a run's checkpoint needs no list
    restored = steegformer(["EEG C3-REF", "T5"])
    restored.load_state_dict(nets[0].state_dict())
    torch.testing.assert_close(restored.embed(x), nets[0].embed(x))
    with pytest.raises(BenchError, match="X1 not in its vocabulary"):
        load_starting_weights(steegformer(["X1", "C3"], vocabulary=str(listed)), card)
    with pytest.raises(BenchError, match=r"nowhere.json could not be read .* give model.net.vocabulary=<file>"):
        load_starting_weights(steegformer(["C3"], vocabulary=str(tmp_path / "nowhere.json")), card)


@torch.no_grad()
def test_steegformer_averages_equal_parts_of_long_windows() -> None:
    x = torch.randn(3, 2, 1300, generator=torch.Generator().manual_seed(0))
    whole, part = steegformer(["C3", "Cz"], 1300), steegformer(["C3", "Cz"], 640)
    expected = (part.embed(x[..., :640]) + part.embed(x[..., 640:1280])) / 2
    torch.testing.assert_close(whole.embed(x), expected, rtol=1e-4, atol=1e-5)
