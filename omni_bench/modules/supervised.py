"""What the Lightning modules of all tasks share: one network, one label per window."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import lightning as L
import numpy as np
import torch
from torch import Tensor, nn

from omni_bench.errors import BenchError
from omni_bench.modules.augment import time_reversed
from omni_bench.modules.parameters import parameter_groups


class Supervised(L.LightningModule, ABC):
    """Trains a network on window labels.

    Parameters
    ----------
    net
        Windows ``(batch, n_chans, n_times)`` → ``(batch, n_outputs)``.
    optimizer
        Groups of trainable parameters → optimizer.
    seed
        Of everything random in training; see `on_train_batch_start`.
    time_reversal
        Share of training windows that run backwards.
    head_lr
        See `parameter_groups`.
    """

    def __init__(
        self,
        net: nn.Module,
        optimizer: Callable[..., torch.optim.Optimizer],
        seed: int,
        time_reversal: float = 0.0,
        head_lr: float | None = None,
    ) -> None:
        super().__init__()
        self.net, self.optimizer, self.seed = net, optimizer, seed
        self.time_reversal, self.head_lr = time_reversal, head_lr
        self._validation: list[tuple[Tensor, Tensor]] = []
        self._train_loss = [0.0, 0.0]  # sum over the epoch's windows, and their number

    @abstractmethod
    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """Mean loss of a batch."""

    @abstractmethod
    def predictions(self, outputs: Tensor) -> Tensor:
        """What the predictions table holds, ``(batch, n_columns)``."""

    @abstractmethod
    def validation_metrics(self, outputs: Tensor, y: Tensor) -> dict[str, float]:
        """Name → value over all validation windows."""

    def on_train_batch_start(self, batch: object, batch_idx: int) -> None:
        # Dropout draws depend on the place in training alone, so that a resumed run repeats them.
        place = np.random.SeedSequence([self.seed, self.current_epoch, batch_idx, self.global_rank])
        torch.manual_seed(int(place.generate_state(1, np.uint64)[0] >> 1))

    def training_step(self, batch: tuple[Tensor, Tensor, Tensor], batch_idx: int) -> Tensor:
        x, y, i = batch
        if self.time_reversal:
            x = time_reversed(x, i, self.time_reversal, self.seed, self.current_epoch)
        loss = self.loss(self.net(x), y)
        self._train_loss[0] += float(loss.detach()) * len(y)
        self._train_loss[1] += len(y)
        return loss

    # Lightning forgets its own means when an epoch is broken off
    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["train_loss"] = self._train_loss

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self._train_loss = list(checkpoint["train_loss"])

    def validation_step(self, batch: tuple[Tensor, Tensor, Tensor], batch_idx: int) -> None:
        x, y, _ = batch
        self._validation.append((self.net(x).detach().cpu(), y.cpu()))

    def on_validation_epoch_end(self) -> None:
        outputs, y = (torch.cat(parts) for parts in zip(*self._validation, strict=True))
        self._validation.clear()
        self.log("val/loss", self.loss(outputs, y))
        for name, value in self.validation_metrics(outputs, y).items():
            self.log(f"val/{name}", value, prog_bar=True)
        # here, since what is logged at the end of an epoch is written after the checkpoint, and a kill could lose it
        total, n_windows = self._train_loss
        self._train_loss = [0.0, 0.0]
        self.log("train/loss", total / n_windows, prog_bar=True)

    def predict_step(self, batch: tuple[Tensor, Tensor, Tensor], batch_idx: int) -> tuple[Tensor, Tensor]:
        x, _, i = batch
        return i.cpu(), self.predictions(self.net(x)).cpu()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        try:
            return self.optimizer(parameter_groups(self.net, self.head_lr))
        except (TypeError, ValueError) as error:
            raise BenchError(f"the optimizer of the model's or adaptation's card: {error}") from error
