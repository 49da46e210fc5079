"""Published starting weights reach the right places. The files are made here, under the hub's names."""

from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import nn

from omni_bench.models.ast import AST
from omni_bench.models.clap import CLAP
from omni_bench.models.pyhfo import EHFO, PyHFOOmni
from omni_bench.models.resnet import ResNet18
from omni_bench.models.vit import Block, EventViT
from tests.weights import fill_by_name, golden_input

EVENT = {"n_chans": 1, "n_outputs": 3, "n_times": 2000, "sfreq": 1000.0}
MINUTE = {"n_chans": 1, "n_outputs": 2, "n_times": 60_000, "sfreq": 1000.0}


@torch.no_grad()
def test_ast_equals_transformers(tmp_path: Path) -> None:
    from transformers import ASTConfig, ASTForAudioClassification

    theirs = ASTForAudioClassification(
        ASTConfig(num_labels=2, time_stride=16, frequency_stride=16, num_hidden_layers=2)
    )
    fill_by_name(theirs).save_pretrained(tmp_path)
    ours = AST(**MINUTE, n_blocks=2).eval()
    weights = ours.pretrained_source.convert(load_file(tmp_path / "model.safetensors"))
    outcome = ours.load_state_dict(weights, strict=False)
    assert outcome.missing_keys == ["dense.weight", "dense.bias"]
    assert not outcome.unexpected_keys
    ours.dense.load_state_dict(theirs.classifier.dense.state_dict())
    features = golden_input(1, (2, 1, 128, 1024))
    torch.testing.assert_close(
        ours.dense(ours.embed_images(features)), theirs(features[:, 0].mT).logits, atol=1e-4, rtol=1e-4
    )


@torch.no_grad()
def test_clap_tower_equals_transformers(tmp_path: Path) -> None:
    from transformers import ClapAudioConfig, ClapConfig, ClapModel, ClapTextConfig

    tower = {"patch_embeds_hidden_size": 16, "depths": [1, 1], "num_attention_heads": [2, 2], "hidden_size": 32}
    tower |= {"projection_dim": 16, "num_hidden_layers": 2}
    text = ClapTextConfig(vocab_size=8, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8)
    audio = ClapAudioConfig(enable_fusion=True, **tower)
    theirs = ClapModel(ClapConfig(text_config=text.to_dict(), audio_config=audio.to_dict(), projection_dim=16))
    theirs.save_pretrained(tmp_path)
    ours = CLAP(**MINUTE, config=tower).eval()
    weights = ours.pretrained_source.convert(load_file(tmp_path / "model.safetensors"))
    outcome = ours.load_state_dict(weights, strict=False)
    assert {name.split(".")[0] for name in outcome.missing_keys} == {"classifier"}
    assert not outcome.unexpected_keys
    x = golden_input(2, (2, 1, 60_000))
    features, is_longer = ours.features(x), torch.zeros(2, 1, dtype=torch.bool)
    expected = theirs.eval().audio_projection(theirs.audio_model(features, is_longer=is_longer).pooler_output)
    torch.testing.assert_close(ours.audio_embedding(x), expected)


def test_imagenet_resnet_keeps_the_new_stem() -> None:
    hub = {
        name.replace("fc.0.", "fc."): weight for name, weight in fill_by_name(ResNet18(3, 1000)).state_dict().items()
    }
    net = PyHFOOmni(**EVENT)
    stem = net.cnn.conv1.weight.clone()
    outcome = net.load_state_dict(net.pretrained_source.convert(hub), strict=False)
    assert not outcome.unexpected_keys
    missing = {name for name in outcome.missing_keys if name.startswith("cnn.")}
    assert missing == {"cnn.conv1.weight", "cnn.fc.0.weight", "cnn.fc.0.bias"}
    assert torch.equal(net.cnn.conv1.weight, stem)
    assert torch.equal(net.cnn.layer4[1].conv2.weight, hub["layer4.1.conv2.weight"])


def test_imagenet_resnet_with_three_planes_takes_the_stem() -> None:
    hub = {name: weight for name, weight in ResNet18(3, 1000).state_dict().items() if not name.startswith("fc.")}
    net = EHFO(1, 1, 2000, 1000.0)
    outcome = net.load_state_dict(net.pretrained_source.convert(hub), strict=False)
    assert not outcome.unexpected_keys
    assert torch.equal(net.cnn.conv1.weight, hub["conv1.weight"])


def test_imagenet_vit_keeps_the_first_plane() -> None:
    net = EventViT(**EVENT, n_blocks=1)
    hub = {name.removeprefix("vit."): weight for name, weight in net.state_dict().items() if name.startswith("vit.")}
    hub = {name: torch.full_like(weight, 0.5) for name, weight in hub.items()}
    hub["patch_embed.proj.weight"] = golden_input(3, (768, 3, 16, 16))
    hub |= {"head.weight": torch.zeros(1000, 768), "head.bias": torch.zeros(1000)}
    outcome = net.load_state_dict(net.pretrained_source.convert(hub), strict=False)
    assert not outcome.unexpected_keys
    assert not [name for name in outcome.missing_keys if name.startswith("vit.")]
    assert torch.equal(net.vit.patch_embed["proj"].weight[:, 0], hub["patch_embed.proj.weight"][:, 0])


@torch.no_grad()
def test_block_equals_torch_encoder_layer() -> None:
    ours = fill_by_name(Block(32, 4, 64))
    theirs = nn.TransformerEncoderLayer(
        32, 4, 64, activation="gelu", layer_norm_eps=1e-6, batch_first=True, norm_first=True
    ).eval()
    names = {
        "attn.qkv.weight": "self_attn.in_proj_weight",
        "attn.qkv.bias": "self_attn.in_proj_bias",
        "attn.proj.weight": "self_attn.out_proj.weight",
        "attn.proj.bias": "self_attn.out_proj.bias",
        "mlp.fc1.weight": "linear1.weight",
        "mlp.fc1.bias": "linear1.bias",
        "mlp.fc2.weight": "linear2.weight",
        "mlp.fc2.bias": "linear2.bias",
    }
    theirs.load_state_dict({names.get(name, name): weight for name, weight in ours.state_dict().items()})
    x = golden_input(4, (2, 7, 32))
    torch.testing.assert_close(ours(x), theirs(x), atol=1e-5, rtol=1e-5)
