"""Fixed sine and cosine positions (Vaswani et al. 2017, section 3.5)."""

import math

import torch
from torch import Tensor


def sinusoidal_positions(n_positions: int, d: int) -> Tensor:
    """Table `(n_positions, d)`: sine in even columns, cosine in odd ones, base 10 000."""
    rates = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
    angles = torch.arange(n_positions)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
