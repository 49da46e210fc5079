"""How long training steps take."""

import time
from typing import Any

import lightning as L
from lightning.pytorch.callbacks import Callback


class StepClock(Callback):
    """Adds up the time of training steps: from a batch on the device to weights that are changed, without reading data.

    A resumed run counts the steps that it took itself.
    """

    def __init__(self) -> None:
        self.seconds, self.n_steps, self.start = 0.0, 0, 0.0

    def on_train_batch_start(self, trainer: L.Trainer, module: L.LightningModule, batch: Any, batch_idx: int) -> None:
        self.start = time.perf_counter()

    def on_train_batch_end(
        self, trainer: L.Trainer, module: L.LightningModule, out: Any, batch: Any, batch_idx: int
    ) -> None:
        self.seconds += time.perf_counter() - self.start
        self.n_steps += 1
