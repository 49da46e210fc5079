"""A network without batch normalisation or dropout, whose training depends on nothing but the global batch."""

from typing import Any

import torch
from torch import Tensor, nn


class Perceptron(nn.Module):
    """Two layers on the logarithm of channel power."""

    head_name = "head"

    def __init__(self, n_chans: int, n_outputs: int, n_times: int, sfreq: float, compat: str | None = None, **_: Any):
        super().__init__()
        self.hidden = nn.Linear(n_chans, 16)
        self.head = nn.Linear(16, n_outputs)

    def embed(self, x: Tensor) -> Tensor:
        return torch.tanh(self.hidden(x.var(dim=2).clamp(min=1e-6).log()))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.embed(x))
