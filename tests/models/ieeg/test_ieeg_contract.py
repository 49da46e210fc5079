"""What every intracranial network promises: shapes, head, gradients, sizes that adapt, clear refusals."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from omni_bench.errors import BenchError
from omni_bench.models.ast import AST
from omni_bench.models.clap import CLAP
from omni_bench.models.eegnet_1ch import EEGNet1ch, LongConv1d
from omni_bench.models.handcrafted import Handcrafted, handcrafted_features
from omni_bench.models.mel import LogMel
from omni_bench.models.patch_transformer import PatchTransformer
from omni_bench.models.pyhfo import EHFO, PyHFO, PyHFOOmni
from omni_bench.models.recurrent import EventLSTM, SegmentLSTM
from omni_bench.models.seegnet import SEEGNet
from omni_bench.models.timesnet import EventTimesNet, SegmentTimesNet
from omni_bench.models.vit import EventViT, SegmentViT

TINY_TOWER = {
    "spec_size": 256,
    "patch_embeds_hidden_size": 16,
    "depths": [1, 1],
    "num_attention_heads": [2, 2],
    "hidden_size": 32,
    "projection_dim": 16,
    "num_hidden_layers": 2,
}

EVENTS: dict[str, tuple[type[nn.Module], dict]] = {
    "pyhfo_omni": (PyHFOOmni, {}),
    "pyhfo": (PyHFO, {"n_planes": 2}),
    "ehfo": (EHFO, {}),
    "lstm_attention": (EventLSTM, {"hidden_size": 16}),
    "patchtst": (PatchTransformer, {"n_layers": 2}),
    "timesnet": (EventTimesNet, {"n_blocks": 1}),
    "vit_event": (EventViT, {"n_blocks": 1}),
}
SEGMENTS: dict[str, tuple[type[nn.Module], dict]] = {
    "seegnet": (SEEGNet, {}),
    "lstm_segment": (SegmentLSTM, {"hidden_size": 16}),
    "timesnet_segment": (SegmentTimesNet, {"n_blocks": 1, "d_model": 8, "d_ff": 8}),
    "vit_segment": (SegmentViT, {"n_layers": 1, "fmax": 150, "n_freqs": 32}),
    "clap": (CLAP, {"config": TINY_TOWER}),
    "ast": (AST, {"n_blocks": 1}),
    "eegnet_1ch": (EEGNet1ch, {}),
    "handcrafted": (Handcrafted, {}),
}
SHORTEST = {
    "seegnet": 830,
    "lstm_segment": 215,
    "timesnet_segment": 16,
    "vit_segment": 500,
    "clap": 1024,
    "ast": 512,
    "eegnet_1ch": 248,
    "handcrafted": 2000,
}


def make(name: str, n_outputs: int = 3, n_times: int | None = None, sfreq: float = 1000.0, **more: object) -> nn.Module:
    net, kwargs = (EVENTS | SEGMENTS)[name]
    if n_times is None:
        n_times = 2000 if name in EVENTS else 4000
    return net(1, n_outputs, n_times, sfreq, **kwargs, **more)


def noise(batch: int, n_times: int, seed: int = 0) -> Tensor:
    """Brownian µV with the spectrum of a recording."""
    return torch.randn(batch, 1, n_times, generator=torch.Generator().manual_seed(seed)).cumsum(-1)


@pytest.mark.parametrize("name", EVENTS | SEGMENTS)
def test_forward_is_head_of_embedding(name: str) -> None:
    net = make(name).eval()
    x = noise(2, 2000 if name in EVENTS else 4000)
    logits = net(x)
    assert logits.shape == (2, 3)
    assert logits.dtype == torch.float32
    torch.testing.assert_close(net.get_submodule(net.head_name)(net.embed(x)), logits)
    assert (logits[0] != logits[1]).any()


@pytest.mark.parametrize("name", EVENTS | SEGMENTS)
def test_every_trained_parameter_and_the_signal_get_finite_gradients(name: str) -> None:
    torch.manual_seed(0)
    net = make(name).train()
    x = noise(4, 2000 if name in EVENTS else 4000).requires_grad_()
    net(x).square().sum().backward()
    for parameter_name, parameter in net.named_parameters():
        if parameter.requires_grad:
            assert parameter.grad is not None, parameter_name
            assert torch.isfinite(parameter.grad).all(), parameter_name
    assert x.grad is not None
    assert torch.isfinite(x.grad).all()
    assert x.grad.abs().sum() > 0


@pytest.mark.parametrize("name", EVENTS | SEGMENTS)
def test_a_sample_does_not_depend_on_its_batch_mates(name: str) -> None:
    net = make(name).eval()
    x = noise(3, 2000 if name in EVENTS else 4000)
    torch.testing.assert_close(net(x)[:1], net(x[:1]), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("seconds", "sfreq"), [(10, 1000.0), (30, 1000.0), (120, 1000.0), (60, 500.0)])
@pytest.mark.parametrize("name", [name for name in SEGMENTS if name != "timesnet_segment"])
@torch.no_grad()
def test_segment_networks_take_other_lengths_and_rates(name: str, seconds: int, sfreq: float) -> None:
    n_times = int(seconds * sfreq)
    logits = make(name, n_times=n_times, sfreq=sfreq).eval()(noise(1, n_times))
    assert torch.isfinite(logits).all()


@pytest.mark.parametrize("name", SHORTEST)
@torch.no_grad()
def test_shortest_window(name: str) -> None:
    shortest = SHORTEST[name]
    assert torch.isfinite(make(name, n_times=shortest).eval()(noise(1, shortest))).all()
    with pytest.raises(BenchError, match=f"{name}: n_times={shortest - 1} samples, expected at least {shortest}"):
        make(name, n_times=shortest - 1)


@pytest.mark.parametrize("name", EVENTS | SEGMENTS)
def test_two_channels_are_refused(name: str) -> None:
    net, kwargs = (EVENTS | SEGMENTS)[name]
    with pytest.raises(BenchError, match=f"{name}: n_chans=2, expected 1"):
        net(2, 1, 2000, 1000.0, **kwargs)


@pytest.mark.parametrize(
    ("name", "sfreq"), [("pyhfo_omni", 500.0), ("pyhfo", 900.0), ("ehfo", 900.0), ("vit_event", 500.0)]
)
def test_rate_too_low_for_the_image_is_refused(name: str, sfreq: float) -> None:
    with pytest.raises(BenchError, match=f"{name}: sfreq={sfreq:g} Hz, expected at least"):
        make(name, n_times=2000, sfreq=sfreq)


@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float16])
def test_features_keep_full_precision_under_autocast(precision: torch.dtype) -> None:
    x = 1e3 * noise(1, 4000)
    features = LogMel(1000.0, 512, 100, 64), partial(handcrafted_features, sfreq=1000.0)
    full = [function(x[:, 0]) for function in features]
    with torch.autocast("cpu", precision):
        torch.testing.assert_close([function(x[:, 0]) for function in features], full)


def test_fft_convolution_equals_the_direct_one() -> None:
    conv = LongConv1d(1, 3, 51, padding="same", bias=False)
    x = noise(2, 400)
    direct = nn.functional.conv1d(x, conv.weight, padding="same")
    torch.testing.assert_close(conv(x), direct, atol=1e-5 * float(direct.detach().abs().max()), rtol=0)


def test_lstm_layers_of_paper_and_code() -> None:
    def n_layers(build: Callable[..., nn.Module], compat: str | None) -> int:
        return build(1, 1, 2000, 1000.0, hidden_size=4, compat=compat).lstm.num_layers

    for build in (EventLSTM, SegmentLSTM):
        assert [n_layers(build, compat) for compat in (None, "paper", "reference")] == [3, 2, 3]
