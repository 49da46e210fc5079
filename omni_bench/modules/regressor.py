"""The Lightning module of tasks with a continuous target."""

import torch
from torch import Tensor
from torch.nn import functional

from omni_bench.modules.supervised import Supervised


class Regressor(Supervised):
    """Trains a network with one output on the squared error of windows' targets, in the target's own unit."""

    def predictions(self, outputs: Tensor) -> Tensor:
        """Predicted targets ``(batch, 1)``."""
        return outputs.float()

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Mean squared error."""
        return functional.mse_loss(outputs[:, 0], y)

    def validation_metrics(self, outputs: Tensor, y: Tensor) -> dict[str, float]:
        """R² about the mean of the validation targets; NaN where they are constant."""
        deviation = (y - y.mean()).square().sum()
        error = (y - outputs[:, 0].float()).square().sum()
        return {"r2": float(1 - error / deviation) if deviation > 0 else torch.nan}
