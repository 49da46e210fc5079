"""The Lightning module of classification tasks."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from omni_bench.evaluation import balanced_accuracy, macro_f1
from omni_bench.modules.supervised import Supervised


class Classifier(Supervised):
    """Trains a network on classes of windows; two classes use one logit.

    Parameters
    ----------
    net
        Windows ``(batch, n_chans, n_times)`` → logits ``(batch, 1)`` or ``(batch, n_classes)``.
    n_classes
        Classes of the task.
    optimizer, seed, time_reversal, head_lr
        See `Supervised`.
    """

    def __init__(
        self,
        net: nn.Module,
        n_classes: int,
        optimizer: Callable[..., torch.optim.Optimizer],
        seed: int,
        time_reversal: float = 0.0,
        head_lr: float | None = None,
    ) -> None:
        super().__init__(net, optimizer, seed, time_reversal, head_lr)
        self.n_classes = n_classes

    def predictions(self, outputs: Tensor) -> Tensor:
        """Class probabilities ``(batch, n_classes)``."""
        if self.n_classes == 2:
            positive = torch.sigmoid(outputs.float())
            return torch.cat([1 - positive, positive], dim=1)
        return torch.softmax(outputs.float(), dim=1)

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Cross-entropy, binary for two classes."""
        if self.n_classes == 2:
            return functional.binary_cross_entropy_with_logits(outputs[:, 0], y)
        return functional.cross_entropy(outputs, y.long())

    def validation_metrics(self, outputs: Tensor, y: Tensor) -> dict[str, float]:
        probabilities, labels = self.predictions(outputs).numpy(), y.long().numpy()
        return {
            "macro_f1": macro_f1(probabilities, labels),
            "balanced_accuracy": balanced_accuracy(probabilities, labels),
        }
