"""Weights and inputs by formula, so that golden outputs need no stored weights.

Every floating-point parameter and every BatchNorm statistic is drawn from a generator seeded by the CRC-32 of its name.
"""

import math
import zlib
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

Net = TypeVar("Net", bound=nn.Module)


def formula_weight(name: str, shape: Sequence[int]) -> np.ndarray:
    """Float32 array of `shape` that the formula gives to the state-dict entry `name`."""
    drawn = np.random.default_rng(zlib.crc32(name.encode())).standard_normal(tuple(shape))
    x = np.asarray(drawn, dtype=np.float32)
    if name.endswith("running_var"):
        return 1 + np.float32(0.1) * np.abs(x)
    if name.endswith("running_mean"):
        return np.float32(0.1) * x
    if len(shape) == 1 and name.endswith(("weight", "gamma")):
        return 1 + np.float32(0.1) * x
    if len(shape) >= 2:
        return x / np.float32(math.sqrt(math.prod(shape[1:])))
    return np.float32(0.02) * x


@torch.no_grad()
def fill_by_name(module: Net) -> Net:
    """Set all parameters and BatchNorm statistics of `module` by the formula; other buffers stay. Eval mode."""
    drawn = {name for name, _ in module.named_parameters()}
    drawn |= {name for name, _ in module.named_buffers() if name.endswith(("running_mean", "running_var"))}
    for name, tensor in module.state_dict(keep_vars=True).items():
        if name in drawn:
            tensor.copy_(torch.from_numpy(formula_weight(name, tensor.shape)))
    return module.eval()


def golden_input(seed: int, shape: Sequence[int], kind: str = "normal") -> Tensor:
    """Float32 standard normal noise; `image01` stretches the whole array to 0..255 first."""
    x = np.random.default_rng(seed).standard_normal(tuple(shape))
    if kind == "image01":
        x = 255 * (x - x.min()) / (x.max() - x.min())
    return torch.from_numpy(x.astype(np.float32))
