"""Many linear heads on kept embeddings, trained at once as one batched problem."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import Tensor, nn

from omni_bench.models.build import head_of
from omni_bench.modules.checkpoints import AtomicCheckpointIO
from omni_bench.modules.learner import load_network
from omni_bench.modules.probe import BACKBONE, EmbeddedDataModule, EmbeddedWindows, LinearProbe

DTYPES = {"32-true": torch.float32, "64-true": torch.float64}
"""Precisions of the trainer card in which heads train together."""
BATCH_BYTES = 64 * 2**20
"""Embeddings that one step may hold; more heads than that allows train in turns."""


def fit_together(learners: Sequence[LinearProbe]) -> None:
    """Train linear probes as `LinearProbe.fit` would train each, and leave what that would leave.

    Heads may differ in everything: seed, split, number of windows and of epochs, optimizer. Each keeps its own order of
    batches, optimizer state, gradient clipping and best epoch; one that is through its epochs takes no part in the steps of
    the others. In float64 the weights equal those of training one by one to 1e-6.

    Parameters
    ----------
    learners
        Whose windows are embedded (`LinearProbe.embedded`); their trainer has a precision of `DTYPES`.

    Raises
    ------
    BenchError
        A learner has no training or no validation windows.
    """
    heads = [_Head.of(learner) for learner in learners]
    for _, alike in groupby(sorted(heads, key=_Head.shape), key=_Head.shape):
        group = list(alike)
        together = max(1, BATCH_BYTES // max(head.batch_bytes for head in group))
        for first in range(0, len(group), together):
            _train(group[first : first + together])
    for head in heads:
        head.finish()


@dataclass
class _Head:
    """One head, its data and what is known of its training."""

    learner: LinearProbe
    linear: nn.Linear
    optimizer: torch.optim.Optimizer
    train: EmbeddedWindows
    val: EmbeddedWindows
    batches: Iterator[tuple[list[int], bool]]
    dtype: torch.dtype
    device: torch.device
    step: int = 0
    epoch: int = 0
    train_loss: float = 0.0
    n_windows: int = 0
    best_value: Tensor | None = None
    best: dict[str, object] | None = None

    @classmethod
    def of(cls, learner: LinearProbe) -> "_Head":
        data, module = learner.embedded_data, learner.module
        assert data is not None
        learner.check(data)
        dtype, device = DTYPES[learner.card["precision"]], learner.trainer.strategy.root_device
        module.to(device, dtype)
        linear = head_of(module.net)
        assert isinstance(linear, nn.Linear)
        train, val = data.train_dataloader().dataset, data.val_dataloader().dataset
        assert isinstance(train, EmbeddedWindows)
        assert isinstance(val, EmbeddedWindows)
        batches = _batches(data, learner.card["max_epochs"])
        return cls(learner, linear, module.configure_optimizers(), train, val, batches, dtype, device)

    def shape(self) -> tuple[str, ...]:
        """Heads of one shape fit into one batched product."""
        return (*(f"{n:09d}" for n in self.linear.weight.shape), str(self.dtype), str(self.device))

    @property
    def batch_bytes(self) -> int:
        """Size of a step's embeddings."""
        n_windows = min(self.learner.card["batch_size"] + 1, len(self.train))
        return n_windows * self.linear.in_features * self.linear.weight.element_size()

    def stepped(self, loss: float, n_windows: int, epoch_ends: bool) -> None:
        """Take a step of the optimizer, and validate where an epoch ends."""
        if clip := self.learner.card["gradient_clip"]:
            torch.nn.utils.clip_grad_norm_(self.linear.parameters(), clip)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.step += 1
        self.train_loss += loss * n_windows
        self.n_windows += n_windows
        if epoch_ends:
            self._end_epoch()

    @torch.no_grad()
    def _end_epoch(self) -> None:
        module, size = self.learner.module, self.learner.embedded_data.eval_batch_size  # type: ignore[union-attr]
        rows = np.arange(len(self.val))
        parts = [self.val.embeddings[rows[i : i + size]] for i in range(0, len(rows), size)]
        outputs = torch.cat([self.linear(x.to(self.device, self.dtype)).cpu() for x in parts])
        labels = self.val.labels.to(self.dtype)
        metrics = module.validation_metrics(outputs, labels)
        found = {"val/loss": module.loss(outputs, labels)} | {
            # Lightning keeps what is logged as float32, and best epochs are compared so
            f"val/{name}": torch.tensor(value, dtype=torch.float32)
            for name, value in metrics.items()
        }
        self._log({name: float(value) for name, value in found.items()})
        self._log({"train/loss": self.train_loss / self.n_windows})
        self._keep_best(found)
        self.train_loss, self.n_windows, self.epoch = 0.0, 0, self.epoch + 1

    def _log(self, metrics: dict[str, float]) -> None:
        for logger in self.learner.trainer.loggers:
            logger.log_metrics(metrics | {"epoch": self.epoch}, self.step - 1)

    def _keep_best(self, found: dict[str, Tensor]) -> None:
        rule = self.learner.trainer.checkpoint_callback
        assert isinstance(rule, ModelCheckpoint)
        value = found[str(rule.monitor)] * (1 if rule.mode == "max" else -1)
        value = torch.where(value.isnan(), -torch.inf, value)
        if self.best_value is None or value > self.best_value:
            state = {name: tensor.detach().clone() for name, tensor in self.learner.module.state_dict().items()}
            self.best_value = value
            self.best = {"state_dict": state, "epoch": self.epoch, "global_step": self.step}

    def finish(self) -> None:
        """Write the best epoch's checkpoint and load it."""
        assert self.best is not None
        checkpoint = self.best | {BACKBONE: self.learner.backbone_sha256}
        AtomicCheckpointIO().save_checkpoint(checkpoint, self.learner.best)
        load_network(self.learner.module.net, self.learner.best)


def _batches(data: EmbeddedDataModule, max_epochs: int) -> Iterator[tuple[list[int], bool]]:
    """The rows of every training batch of all epochs, and whether it is an epoch's last."""
    batches = data.train_dataloader().batch_sampler
    for epoch in range(max_epochs):
        batches.sampler.set_epoch(epoch)  # type: ignore[union-attr]
        drawn = list(batches)  # type: ignore[arg-type]
        yield from ((rows, n == len(drawn)) for n, rows in enumerate(drawn, 1))


def _train(heads: list[_Head]) -> None:
    """Step all heads together until the last is through its epochs."""
    while True:
        drawn = [(head, *batch) for head in heads if (batch := next(head.batches, None)) is not None]
        if not drawn:
            return
        first, size = drawn[0][0], max(len(rows) for _, rows, _ in drawn)
        x = torch.empty(len(drawn), size, first.linear.in_features, dtype=first.dtype)
        for part, (head, rows, _) in zip(x, drawn, strict=True):
            part[: len(rows)] = head.train.embeddings[np.array(rows)]
            part[len(rows) :] = 0
        weights = torch.stack([head.linear.weight for head, _, _ in drawn])
        biases = torch.stack([head.linear.bias for head, _, _ in drawn])
        outputs = torch.baddbmm(biases[:, None], x.to(first.device), weights.transpose(1, 2))
        parts = [
            head.learner.module.loss(own[: len(rows)], head.train.labels[rows].to(own))
            for own, (head, rows, _) in zip(outputs.unbind(), drawn, strict=True)
        ]
        losses = torch.stack(parts)
        losses.sum().backward()
        for loss, (head, rows, epoch_ends) in zip(losses.tolist(), drawn, strict=True):
            head.stepped(loss, len(rows), epoch_ends)
