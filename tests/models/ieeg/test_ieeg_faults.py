"""Where the published networks are faulty: the default is sound, `compat="reference"` has the fault."""

import pytest
import torch
from torch import Tensor, nn

from omni_bench.models.ast import AST
from omni_bench.models.clap import CLAP
from omni_bench.models.seegnet import SEEGNet
from omni_bench.models.timesnet import EventTimesNet
from omni_bench.models.vit import EventViT
from tests.weights import golden_input

MINUTE = {"n_chans": 1, "n_outputs": 1, "n_times": 60_000, "sfreq": 1000.0}


def last_sample_seen(net: SEEGNet, branch: int) -> int:
    net.feature_extractor.se_block = nn.Identity()
    x = golden_input(0, (1, 1, 60_000)).requires_grad_()
    net.eval().feature_extractor(x)[:, 128 * branch : 128 * branch + 128].square().sum().backward()
    assert x.grad is not None
    return int(x.grad[0, 0].nonzero().max())


@pytest.mark.parametrize(("branch", "seen"), [(0, 60_000), (1, 30_000), (2, 12_000)])
def test_seegnet_branches_see_the_whole_minute(branch: int, seen: int) -> None:
    assert last_sample_seen(SEEGNet(**MINUTE), branch) > 59_900
    assert abs(last_sample_seen(SEEGNet(**MINUTE, compat="reference"), branch) - seen) < 200


def test_timesnet_takes_each_samples_own_periods() -> None:
    event = {"n_chans": 1, "n_outputs": 3, "n_times": 2000, "sfreq": 1000.0, "n_blocks": 1}
    sound, published = EventTimesNet(**event).eval(), EventTimesNet(**event, compat="reference").eval()
    published.load_state_dict(sound.state_dict())
    x = 3 * golden_input(0, (3, 1, 2000))
    alone = torch.cat([sound(sample) for sample in x.split(1)])
    torch.testing.assert_close(sound(x), alone, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(published(x[:1]), alone[:1], atol=1e-4, rtol=1e-4)
    assert (published(x) - alone).abs().max() > 1e-2


def sine(frequency: float) -> Tensor:
    return torch.sin(2 * torch.pi * frequency * torch.arange(60_000) / 1000)[None, None]


@pytest.mark.parametrize("frequency", [30.0, 100.0, 240.0, 420.0])
def test_clap_filters_stand_at_the_frequencies_of_the_signal(frequency: float) -> None:
    """Below 1000 Hz the Slaney scale is linear: 64 filters every 500/65 Hz."""
    tiny = {"depths": [1, 1], "num_attention_heads": [2, 2], "patch_embeds_hidden_size": 16, "hidden_size": 32}
    tiny |= {"projection_dim": 16, "num_hidden_layers": 2}
    strongest = CLAP(**MINUTE, config=tiny).features(sine(frequency)).mean(dim=(0, 1, 2)).argmax()
    assert abs((int(strongest) + 1) * 500 / 65 - frequency) <= 500 / 65
    published = CLAP(**MINUTE, compat="reference", config=tiny).features(sine(frequency)).mean(dim=(0, 1, 2)).argmax()
    assert abs((int(published) + 1) * 500 / 65 - frequency) > 500 / 65 or frequency == 240


def test_ast_sees_the_whole_minute() -> None:
    quiet = golden_input(0, (1, 1, 60_000))
    changed = quiet.clone()
    changed[..., 50_000:] *= 10
    sound, published = (AST(**MINUTE, n_blocks=1, compat=compat) for compat in (None, "reference"))
    difference = (sound.images(changed) - sound.images(quiet)).abs().amax(dim=(0, 1, 2))
    assert difference[:840].max() < 1e-4
    assert difference[870:].min() > 0.1
    assert torch.equal(published.images(changed), published.images(quiet))
    assert published.images(quiet).shape == sound.images(quiet).shape == (1, 1, 128, 1024)


def test_event_vit_centres_images() -> None:
    event = {"n_chans": 1, "n_outputs": 3, "n_times": 2000, "sfreq": 1000.0, "n_blocks": 1}
    sound, published = EventViT(**event).eval(), EventViT(**event, compat="reference").eval()
    published.load_state_dict(sound.state_dict())
    images = 255 * torch.rand(2, 1, 224, 224)
    torch.testing.assert_close(sound.forward_images(images), published.forward_images(images / 127.5 - 1))
