"""The Lightning module of classification tasks."""

from collections.abc import Callable, Iterable

import lightning as L
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from omni_bench.evaluation import macro_f1
from omni_bench.modules.augment import time_reversed


class Classifier(L.LightningModule):
    """Trains a network on window labels; two classes use one logit.

    Parameters
    ----------
    net
        Windows ``(batch, n_chans, n_times)`` → logits ``(batch, 1)`` or ``(batch, n_classes)``.
    n_classes
        Classes of the task.
    optimizer
        Trainable parameters → optimizer.
    seed
        Of everything random in training; see `on_train_batch_start`.
    time_reversal
        Share of training windows that run backwards.
    """

    def __init__(
        self,
        net: nn.Module,
        n_classes: int,
        optimizer: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer],
        seed: int,
        time_reversal: float = 0.0,
    ) -> None:
        super().__init__()
        self.net, self.n_classes, self.optimizer, self.seed = net, n_classes, optimizer, seed
        self.time_reversal = time_reversal
        self._validation: list[tuple[Tensor, Tensor]] = []

    def probabilities(self, logits: Tensor) -> Tensor:
        """Class probabilities ``(batch, n_classes)``."""
        if self.n_classes == 2:
            positive = torch.sigmoid(logits.float())
            return torch.cat([1 - positive, positive], dim=1)
        return torch.softmax(logits.float(), dim=1)

    def loss(self, logits: Tensor, y: Tensor) -> Tensor:
        """Cross-entropy, binary for two classes."""
        if self.n_classes == 2:
            return functional.binary_cross_entropy_with_logits(logits[:, 0], y)
        return functional.cross_entropy(logits, y.long())

    def on_train_batch_start(self, batch: object, batch_idx: int) -> None:
        # Dropout draws depend on the place in training alone, so that a resumed run repeats them.
        place = np.random.SeedSequence([self.seed, self.current_epoch, batch_idx, self.global_rank])
        torch.manual_seed(int(place.generate_state(1, np.uint64)[0] >> 1))

    def training_step(self, batch: tuple[Tensor, Tensor, Tensor], batch_idx: int) -> Tensor:
        x, y, i = batch
        if self.time_reversal:
            x = time_reversed(x, i, self.time_reversal, self.seed, self.current_epoch)
        loss = self.loss(self.net(x), y)
        self.log("train/loss", loss, on_step=False, on_epoch=True, prog_bar=True, batch_size=len(y))
        return loss

    def validation_step(self, batch: tuple[Tensor, Tensor, Tensor], batch_idx: int) -> None:
        x, y, _ = batch
        self._validation.append((self.net(x).detach().cpu(), y.cpu()))

    def on_validation_epoch_end(self) -> None:
        logits, y = (torch.cat(parts) for parts in zip(*self._validation, strict=True))
        self._validation.clear()
        self.log("val/loss", self.loss(logits, y))
        self.log("val/macro_f1", float(macro_f1(self.probabilities(logits).numpy(), y.long().numpy())), prog_bar=True)

    def predict_step(self, batch: tuple[Tensor, Tensor, Tensor], batch_idx: int) -> tuple[Tensor, Tensor]:
        x, _, i = batch
        return i.cpu(), self.probabilities(self.net(x)).cpu()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return self.optimizer([p for p in self.parameters() if p.requires_grad])
