"""How a network meets a task: trained by Lightning, then asked for predictions.

A learner has ``fit(data)`` and ``predict(data)``; cards of the adaptation group name one. `Lightning` never sees a test
label: its loops get training and validation windows only.
"""

import logging
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import lightning as L
import numpy as np
import pandas as pd
import torch
from lightning.pytorch.callbacks import Callback, EarlyStopping, TQDMProgressBar
from lightning.pytorch.loggers import Logger
from safetensors.torch import load_file
from torch import nn

from omni_bench.config import file_sha256
from omni_bench.data.datamodule import WindowDataModule
from omni_bench.errors import BenchError
from omni_bench.files import sweep_parts
from omni_bench.memory import return_large_blocks
from omni_bench.models.weights import LoadReport
from omni_bench.modules.checkpoints import AtomicCheckpointIO, LastCheckpoint, best_checkpoint
from omni_bench.modules.classifier import Classifier
from omni_bench.modules.clock import StepClock
from omni_bench.modules.ranks import in_rank
from omni_bench.modules.regressor import Regressor
from omni_bench.modules.supervised import Supervised


def quieten_lightning() -> None:
    """Keep Lightning's console lines to warnings; under Hydra each would come twice."""
    for name in ("lightning", "lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).handlers.clear()
        logging.getLogger(name).setLevel(logging.WARNING)
    for message in (
        ".*does not have many workers.*",
        ".*treespec.*",
        ".*dataloader is not resumable.*",
        ".*tensorboardX.*",
        ".*srun. command is available.*",
        ".*sync_dist=True.*",
        ".*in eval mode at the start of training.*",
    ):
        warnings.filterwarnings("ignore", message)


class LightningLearner:
    """Trains every parameter that asks for a gradient: from scratch, or from pretrained weights.

    Parameters
    ----------
    net
        See `omni_bench.models.build`.
    kind
        Of the task: ``regression`` has one continuous output, all others have classes.
    classes
        Of the task, in the order of labels.
    optimizer
        Trainable parameters → optimizer.
    head_lr
        Learning rate of the final layer, where it is not the optimizer's own.
    folder
        The run's directory: checkpoints and logs go there, a broken run continues from there.
    monitor
        Logged value that chooses the best epoch.
    trainer
        The trainer card.
    **_
        What only learners on embeddings ask for.
    """

    def __init__(
        self,
        net: nn.Module,
        *,
        kind: str,
        classes: list[str],
        optimizer: Any,
        folder: Path,
        monitor: str,
        seed: int,
        trainer: dict[str, Any],
        loggers: list[Logger],
        early_stopping: int | None = None,
        head_lr: float | None = None,
        **_: Any,
    ) -> None:
        quieten_lightning()
        return_large_blocks()
        self.module: Supervised
        if kind == "regression":
            self.module = Regressor(net, optimizer, seed, trainer["time_reversal"], head_lr)
            self.columns = ["prediction"]
        else:
            self.module = Classifier(net, len(classes), optimizer, seed, trainer["time_reversal"], head_lr)
            self.columns = [f"prob_{name}" for name in classes]
        self.folder, self.card = folder, trainer
        checkpoints = folder / "checkpoints"
        self.best, self.last = checkpoints / "best.ckpt", checkpoints / "last.ckpt"
        self.clock = StepClock()
        callbacks: list[Callback] = [
            self.clock,
            best_checkpoint(checkpoints, monitor),
            LastCheckpoint(self.last, trainer["checkpoint_every"]),
        ]
        if early_stopping:
            callbacks.insert(
                0, EarlyStopping(monitor, patience=early_stopping, mode="min" if "loss" in monitor else "max")
            )
        if trainer["progress"]:
            callbacks.append(TQDMProgressBar(leave=True))
        self.trainer = L.Trainer(
            accelerator=trainer["accelerator"],
            devices=trainer["devices"] if in_rank() else 1,
            num_nodes=trainer["num_nodes"] if in_rank() else 1,
            # a network may leave parameters out of its output
            strategy="ddp_find_unused_parameters_true" if in_rank() else "auto",
            precision=trainer["precision"],
            max_epochs=trainer["max_epochs"],
            gradient_clip_val=trainer["gradient_clip"],
            callbacks=callbacks,
            logger=loggers,
            plugins=[AtomicCheckpointIO()],
            use_distributed_sampler=False,
            enable_progress_bar=trainer["progress"],
            enable_model_summary=False,
            num_sanity_val_steps=0,
            log_every_n_steps=1,
        )

    def fit(self, data: WindowDataModule) -> None:
        """Train, from ``last.ckpt`` where a broken run left one.

        Raises
        ------
        BenchError
            No validation windows, or training took no step.
        """
        self.check(data)
        sweep_parts(self.last.parent)
        resume = self.last if self.last.is_file() else None
        self.trainer.fit(self.module, datamodule=data, ckpt_path=resume, weights_only=True)
        if self.trainer.global_step == 0:
            raise BenchError("training took no step: fewer training windows than a batch needs")
        load_network(self.module.net, self.best)

    def check(self, data: WindowDataModule) -> None:
        """Raise BenchError unless there are labelled validation windows."""
        if data.val_windows["label"].notna().sum() == 0:
            raise BenchError(
                "no labelled validation windows: the protocol needs at least two training persons with labels"
            )

    def predict(self, data: WindowDataModule) -> pd.DataFrame:
        """Class probabilities, or predictions, of every evaluation window, in the order of ``data.evaluate_windows``."""
        batches = self.trainer.predict(self.module, datamodule=data, return_predictions=True)
        assert batches is not None
        if in_rank():
            # each rank has its own windows; together they have every one once
            shares: list[Any] = [None] * self.trainer.world_size
            torch.distributed.all_gather_object(shares, batches)
            batches = [batch for share in shares for batch in share]
        positions = np.concatenate([i.numpy() for i, _ in batches])
        order = positions.argsort()
        columns = pd.DataFrame(np.concatenate([p.numpy() for _, p in batches])[order], columns=self.columns)
        windows = data.predicted.iloc[positions[order]]
        return pd.concat([windows.reset_index(drop=True), columns], axis=1)


def read_checkpoint(file: Path) -> dict[str, Any]:
    """Content of a training checkpoint, or of ``.safetensors`` as if it were one; no code in it is ever run.

    Raises
    ------
    BenchError
        The file is damaged, or no plain checkpoint.
    """
    try:
        if file.suffix == ".safetensors":
            return {"state_dict": {f"net.{name}": value for name, value in load_file(file).items()}}
        content = torch.load(file, map_location="cpu", weights_only=True)
        if not isinstance(content["state_dict"], dict):
            raise TypeError("its state_dict is none")
        return content
    except Exception as error:
        raise BenchError(
            f"checkpoint={file}: no checkpoint of plain tensors ({type(error).__name__}): give a run of omni_bench, or its export"
        ) from error


def load_network(net: nn.Module, checkpoint: Path) -> dict[str, Any]:
    """Load the network's part of a training checkpoint, or a whole network from ``.safetensors``.

    Returns
    -------
    A load report as `omni_bench.models.weights` makes it.

    Raises
    ------
    BenchError
        The file is damaged or no plain checkpoint, or it is of another network.
    """
    state = read_checkpoint(checkpoint)["state_dict"]
    weights = {name.removeprefix("net."): value for name, value in state.items() if name.startswith("net.")}
    wrong = set(weights) ^ set(net.state_dict())
    if wrong:
        raise BenchError(
            f"checkpoint={checkpoint}: weights of another network ({sorted(wrong)[0]} differs): choose the model of that run"
        )
    net.load_state_dict(weights)
    return asdict(LoadReport(str(checkpoint), pretrained=False, sha256=file_sha256(checkpoint), matched=len(weights)))
