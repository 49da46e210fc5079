"""TimeConv-CNN against golden outputs and against the plain way of computing it."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from omni_bench.errors import BenchError
from omni_bench.models.resnet import ResNet18
from omni_bench.models.timeconv_cnn import TimeConvCNN
from omni_bench.signal import min_max
from tests.weights import fill_by_name, golden_input


def check_golden(folder: Path, keys: list[str]) -> None:
    """Logits of the published network under the weight formula."""
    spec = json.loads((folder / "spec.json").read_text())
    vectors = np.load(folder / "vectors.npz")
    net = fill_by_name(TimeConvCNN(1, 1, 60_000, 1000.0))
    assert [[name, list(t.shape)] for name, t in sorted(net.state_dict().items())] == sorted(spec["state_dict"])
    for case in spec["cases"]:
        if case["key"] in keys:
            with torch.no_grad():
                logits = net.forward_images(golden_input(case["seed"], case["shape"], case["input"]))
            np.testing.assert_allclose(logits.numpy(), vectors[case["key"]], rtol=1e-4, atol=1e-4, err_msg=case["key"])


def test_golden_logits(golden) -> None:
    check_golden(golden / "models" / "timeconv_cnn", ["normal_seed7_2x1x224x5000", "image01_seed8_2x1x224x5000"])


def test_golden_logits_of_a_minute(golden) -> None:
    check_golden(golden / "models" / "timeconv_cnn", ["normal_seed7_1x1x224x60000"])


def plain_logits(net: TimeConvCNN, x: torch.Tensor) -> torch.Tensor:
    """All maps first, then the network by its layers as they stand."""
    images = min_max(net.map(x))
    return net.fc_out(net.embed_trunk(net.feature_extractor(images)))


@pytest.mark.parametrize("n_times", [2000, 2730])
def test_gradients_equal_the_plain_way(n_times: int) -> None:
    torch.manual_seed(0)
    # float64, since batch normalisation over four windows magnifies rounding
    net = TimeConvCNN(1, 1, n_times, 1000.0, n_freqs=40).double()
    x = torch.randn(4, 1, n_times, dtype=torch.float64)
    y = torch.tensor([[0.0], [1.0], [1.0], [0.0]], dtype=torch.float64)
    loss = nn.BCEWithLogitsLoss()

    def gradients(logits: torch.Tensor) -> dict[str, torch.Tensor]:
        net.zero_grad()
        loss(logits, y).backward()
        return {name: p.grad.clone() for name, p in net.named_parameters() if p.grad is not None}

    expected = gradients(plain_logits(net, x))
    ours = gradients(net(x))
    assert ours.keys() == expected.keys()
    for name, gradient in expected.items():
        assert (ours[name] - gradient).abs().max() <= 1e-8 * gradient.abs().max() + 1e-12, name


def test_evaluation_equals_the_plain_way() -> None:
    net = fill_by_name(TimeConvCNN(1, 1, 2000, 1000.0))
    x = torch.randn(3, 1, 2000)
    with torch.no_grad():
        torch.testing.assert_close(net(x), plain_logits(net, x), rtol=1e-4, atol=1e-4)


def test_head_takes_the_embedding() -> None:
    net = TimeConvCNN(1, 5, 1000, 1000.0, n_freqs=32).eval()
    x = torch.randn(2, 1, 1000)
    assert net.embed(x).shape == (2, 16)
    torch.testing.assert_close(net(x), net.get_submodule(net.head_name)(net.embed(x)))


def test_paper_kernels_span_one_row() -> None:
    net = TimeConvCNN(1, 1, 1000, 1000.0, compat="paper", n_freqs=32)
    assert net.feature_extractor[0].weight.shape == (16, 1, 1, 25)
    assert net(torch.randn(2, 1, 1000)).shape == (2, 1)


def test_flat_window_gives_a_number() -> None:
    net = TimeConvCNN(1, 1, 1000, 1000.0, n_freqs=32).eval()
    assert torch.isfinite(net(torch.zeros(1, 1, 1000))).all()


@pytest.mark.parametrize(
    ("n_chans", "n_times", "sfreq", "message"),
    [(2, 60_000, 1000.0, "one channel"), (1, 100, 1000.0, "250 samples"), (1, 60_000, 500.0, "600 Hz")],
)
def test_refuses_what_it_cannot_read(n_chans: int, n_times: int, sfreq: float, message: str) -> None:
    with pytest.raises(BenchError, match=message):
        TimeConvCNN(n_chans, 1, n_times, sfreq)


def test_resnet_counts_its_parameters() -> None:
    # He et al. 2016 with torchvision's 1000 outputs have 11 689 512 parameters
    assert sum(p.numel() for p in ResNet18(3, 1000).parameters()) == 11_689_512
