"""The published networks: state dicts, parameter counts and outputs under formula weights."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from omni_bench.models.ast import AST
from omni_bench.models.clap import CLAP
from omni_bench.models.patch_transformer import PatchTransformer
from omni_bench.models.pyhfo import EHFO, PyHFO, PyHFOOmni
from omni_bench.models.recurrent import EventLSTM, SegmentLSTM
from omni_bench.models.seegnet import SEEGNet
from omni_bench.models.timesnet import EventTimesNet, SegmentTimesNet
from omni_bench.models.vit import EventViT, SegmentViT
from tests.weights import fill_by_name, golden_input

EVENT = {"n_chans": 1, "n_times": 2000, "sfreq": 1000.0, "compat": "reference"}
MINUTE = {"n_chans": 1, "n_times": 60_000, "sfreq": 1000.0, "compat": "reference"}


def on_images(net: nn.Module, x: Tensor) -> Tensor:
    return net.forward_images(x)


def on_centre(net: nn.Module, x: Tensor) -> Tensor:
    """570 samples in the middle of a context of 2000 that must not matter."""
    return net(nn.functional.pad(x, (715, 715), value=1e4)[:, None])


def on_windows(net: nn.Module, x: Tensor) -> Tensor:
    return net(x[:, None])


NETWORKS: dict[str, tuple[Callable[[], nn.Module], Callable[[nn.Module, Tensor], Tensor]]] = {
    "pyhfo_omni_3class": (lambda: PyHFOOmni(n_outputs=3, **EVENT), on_images),
    "omni_legacy_pyhfo_cnn_1ch": (lambda: PyHFO(n_outputs=1, **EVENT), on_images),
    "pyhfo_neuralcnn_artifact_1ch": (lambda: PyHFO(n_outputs=1, **EVENT), on_images),
    "pyhfo_neuralcnn_spike_2ch": (lambda: PyHFO(n_outputs=1, n_planes=2, **EVENT), on_images),
    "pyhfo_neuralcnn_ehfo_3ch": (lambda: EHFO(n_outputs=1, **EVENT), on_images),
    "omni_ehfo_cnn": (lambda: EHFO(n_outputs=1, **EVENT), on_images),
    "event_lstm_attention": (lambda: EventLSTM(n_outputs=3, **EVENT), on_centre),
    "event_patch_transformer": (lambda: PatchTransformer(n_outputs=3, **EVENT), on_centre),
    "event_timesnet": (lambda: EventTimesNet(n_outputs=3, **EVENT), on_centre),
    "seegnet": (lambda: SEEGNet(n_outputs=1, **MINUTE), on_windows),
    "channel_lstm_attention": (lambda: SegmentLSTM(n_outputs=1, **MINUTE), on_windows),
    "channel_timesnet_18000": (lambda: SegmentTimesNet(1, 1, 18_000, 300.0, compat="reference"), on_windows),
    "clap_head": (lambda: CLAP(n_outputs=1, **MINUTE), on_windows),
}


@pytest.mark.parametrize("name", NETWORKS)
@torch.no_grad()
def test_published_network(name: str, golden: Path) -> None:
    make, apply = NETWORKS[name]
    folder = golden / "models" / name
    spec = json.loads((folder / "spec.json").read_text())
    vectors = np.load(folder / "vectors.npz")
    net = fill_by_name(make())

    assert {key: list(tensor.shape) for key, tensor in net.state_dict().items()} == spec["state_dict"]
    assert sum(parameter.numel() for parameter in net.parameters()) == spec["n_parameters"]
    for case in spec["cases"]:
        logits = apply(net, golden_input(case["seed"], case["shape"], case["input"])).numpy()
        expected = vectors.get(f"{case['key']}_presigmoid", vectors[case["key"]])
        absolute = 1e-4 if case["input"] == "normal" else 1e-4 * np.abs(expected).max()
        np.testing.assert_allclose(logits, expected, rtol=1e-4, atol=absolute)


@torch.no_grad()
def test_clap_features_and_embedding(golden: Path) -> None:
    vectors = np.load(golden / "models/clap_head/vectors.npz")
    key = "normal_seed7_2x60000"
    net = fill_by_name(CLAP(n_outputs=1, **MINUTE))
    x = golden_input(7, (2, 60_000))[:, None]
    features = net.features(x)
    assert features.shape == (2, 1, 601, 64)
    np.testing.assert_allclose(features[:, 0, ::50, ::4], vectors[f"{key}_features_slice"], atol=1e-3)
    np.testing.assert_allclose(net.audio_embedding(x)[:, :16], vectors[f"{key}_embed_first16"], atol=1e-4)


@pytest.mark.parametrize(
    ("make", "published"),
    [
        (lambda: EventViT(n_outputs=3, **EVENT), 85_430_723),
        (lambda: SegmentViT(n_outputs=1, **MINUTE), 21_233_665),
        (lambda: AST(n_outputs=1, **MINUTE), 85_651_969),
    ],
    ids=["vit_event", "vit_segment", "ast"],
)
def test_published_number_of_parameters(make: Callable[[], nn.Module], published: int) -> None:
    """No outputs are published for these; the segment ViT's count is without the layers that its code never uses."""
    assert sum(parameter.numel() for parameter in make().parameters()) == published


@pytest.mark.parametrize(
    ("make", "table"),
    [
        (lambda: PatchTransformer(n_outputs=3, **EVENT), "pos_encoder.pe"),
        (lambda: EventTimesNet(n_outputs=3, **EVENT), "enc_embedding.position_embedding.pe"),
    ],
    ids=["patchtst", "timesnet"],
)
def test_checkpoint_with_position_table_loads(make: Callable[[], nn.Module], table: str) -> None:
    source, target = make(), make()
    target.load_state_dict(source.state_dict() | {table: torch.zeros(3)}, strict=True)
    torch.testing.assert_close(dict(target.named_parameters()), dict(source.named_parameters()))
