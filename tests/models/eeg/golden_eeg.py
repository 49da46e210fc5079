"""Reads the compact golden figures of an EEG foundation model and compares with them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from tests.weights import fill_by_name, formula_weight, golden_input


class Golden:
    """Cases, state-dict list and arrays of one model.

    An array is stored whole, or as the rows `<array>__at` of the array reshaped to (-1, last axis).
    """

    def __init__(self, folder: Path) -> None:
        self.spec: dict[str, Any] = json.loads((folder / "spec.json").read_text())
        self.cases: dict[str, dict[str, Any]] = {case["id"]: case for case in self.spec["cases"]}
        with np.load(folder / "vectors.npz") as arrays:
            self.arrays = dict(arrays)

    def input(self, case: str) -> Tensor:
        drawn = self.cases[case]["input"]
        return golden_input(drawn["seed"], drawn["shape"]) * np.float32(drawn["scale"])

    def assert_close(self, case: str, array: str, actual: Tensor, tolerance: float) -> None:
        """Largest difference within `tolerance` of the largest stored value."""
        key = f"{case}/{array}"
        got = actual.detach().numpy()
        if key in self.arrays:
            expected = self.arrays[key]
            assert got.shape == expected.shape
        else:
            expected = self.arrays[f"{key}__rows"]
            got = got.reshape(-1, got.shape[-1])[self.arrays[f"{key}__at"]]
        error = np.abs(got - expected).max() / np.abs(expected).max()
        assert error <= tolerance, f"{key}: {error:.1e} of the largest value"


def filled(network: nn.Module) -> nn.Module:
    """Formula weights, those of code books included; eval mode."""
    for name, buffer in network.named_buffers():
        if name.endswith("_codebook.embed"):
            buffer.copy_(torch.from_numpy(formula_weight(name, buffer.shape)))
    return fill_by_name(network)


def shapes(network: nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}


def listed(state_dict: list[tuple[str, list[int]]]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(shape) for name, shape in state_dict}


def assert_gradients(model: nn.Module, x: Tensor) -> None:
    """Every parameter that asks for a gradient gets a finite one; those of `untrained` prefixes ask for none."""
    model.train()
    logits = model(x)
    assert logits.shape == (len(x), model.head.out_features)
    logits.square().sum().backward()
    for name, parameter in model.backbone.named_parameters():
        assert parameter.requires_grad != name.startswith(model.untrained), name
        if parameter.requires_grad:
            assert parameter.grad is not None, name
            assert torch.isfinite(parameter.grad).all(), name
    assert model.head.weight.grad.abs().sum() > 0
