"""Checkpoints that a killed run can always continue from."""

from pathlib import Path
from typing import Any

import lightning as L
import torch
from lightning.pytorch.callbacks import Checkpoint, ModelCheckpoint
from lightning.pytorch.plugins.io import TorchCheckpointIO

from omni_bench.files import renamed


class AtomicCheckpointIO(TorchCheckpointIO):
    """Writes beside the target and renames.

    Lightning's own way through the system's temporary folder is a copy when that is another file system, and a kill in the
    middle of it leaves a broken checkpoint.
    """

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any | None = None) -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        # through a stream of ours, since torch's own hides why it cannot write
        with renamed(Path(path)) as part, part.open("wb") as stream:
            torch.save(checkpoint, stream)


class LastCheckpoint(Checkpoint):
    """Saves the state of training at the end of every epoch and every few batches inside it.

    Never at an epoch's last batch: Lightning would skip that epoch's validation on resuming.

    Parameters
    ----------
    path
        The one file that is overwritten.
    every
        Batches between saves; 0 saves at epoch ends only.
    """

    def __init__(self, path: Path, every: int) -> None:
        self.path, self.every = path, every

    def on_train_batch_end(
        self, trainer: L.Trainer, module: L.LightningModule, out: Any, batch: Any, batch_idx: int
    ) -> None:
        if self.every and (batch_idx + 1) % self.every == 0 and not trainer.is_last_batch:
            trainer.save_checkpoint(self.path, weights_only=False)

    def on_train_epoch_end(self, trainer: L.Trainer, module: L.LightningModule) -> None:
        trainer.save_checkpoint(self.path, weights_only=False)


def falls(monitor: str) -> bool:
    """Whether a monitored value is better when it is smaller."""
    return monitor.endswith(("loss", "rmse", "mae"))


def best_checkpoint(folder: Path, monitor: str) -> ModelCheckpoint:
    """Keeps ``best.ckpt``, the epoch with the largest ``monitor`` (a loss is monitored as its smallest)."""
    mode = "min" if falls(monitor) else "max"
    return ModelCheckpoint(
        folder, "best", monitor=monitor, mode=mode, enable_version_counter=False, auto_insert_metric_name=False
    )
