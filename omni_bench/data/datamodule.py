"""Serves stored windows to a trainer."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import lightning as L
import numpy as np
import pandas as pd
from torch import Tensor
from torch.utils.data import BatchSampler, DataLoader, Dataset, Sampler

from omni_bench.data.corruption import Corruption
from omni_bench.data.dataset import WindowDataset, as_read
from omni_bench.data.store import map_signal
from omni_bench.errors import BenchError


class BalancedSampler(Sampler[int]):
    """Draws with replacement: every class alike, every unit of a class alike, every window of a unit alike.

    The draw is a function of seed and epoch; ranks of a distributed run take every ``world``-th of the same draw, each
    equally many, since a rank with a batch more than others would wait for them for ever.

    Parameters
    ----------
    classes, units
        Of each window; a regression target may give one class to all.
    num_samples
        Windows of an epoch over all ranks; rounded up to a multiple of their number.

    Attributes
    ----------
    start
        Windows of this rank that a resumed epoch has already seen.
    """

    def __init__(
        self, classes: np.ndarray, units: np.ndarray, num_samples: int, seed: int, rank: int = 0, world: int = 1
    ) -> None:
        frame = pd.DataFrame({"class": classes, "unit": units})
        per_unit = frame.groupby(["class", "unit"])["unit"].transform("size")
        units_of_class = frame.groupby("class")["unit"].transform("nunique")
        weights = 1 / (per_unit * units_of_class * frame["class"].nunique())
        self.weights = weights.to_numpy("float64") / weights.sum()
        self.per_rank = math.ceil(num_samples / world)
        self.seed, self.rank, self.world = seed, rank, world
        self.epoch = self.start = 0

    def set_epoch(self, epoch: int) -> None:
        """Draw for ``epoch``. Lightning calls this before every epoch; ``start`` holds for the epoch it was set in."""
        if epoch != self.epoch:
            self.epoch, self.start = epoch, 0

    def __iter__(self) -> Iterator[int]:
        rng = np.random.default_rng([self.seed, self.epoch])
        drawn = rng.choice(len(self.weights), self.per_rank * self.world, p=self.weights)
        yield from drawn[self.rank :: self.world][self.start :].tolist()

    def __len__(self) -> int:
        # Lightning counts the batches of a resumed epoch from its beginning, so `start` does not shorten it
        return self.per_rank


class WindowDataModule(L.LightningDataModule):
    """Train, validation and evaluation windows of one run.

    Parameters
    ----------
    windows
        Table of `omni_bench.data.samples` with a column ``split`` and ``path`` of the stored file.
    n_times
        Samples of a window.
    sfreq
        Of the stored signals, in Hz.
    ch_names
        Of windows of all channels, in their order; None where a window is one channel.
    balanced
        Draw every class alike; False where labels are continuous.
    batch_size, eval_batch_size
        Windows of a training batch over all ranks; windows of a rank's evaluation batch.
    windows_per_unit
        Training windows drawn per labelled unit and epoch at most; None draws as many as there are.
    seed
        Of the training draw.
    corruption
        What windows of some splits suffer before a model sees them.

    Attributes
    ----------
    evaluate_windows
        Windows that are predicted, in that order: validation, then test; unlabelled ones included.
    """

    def __init__(
        self,
        windows: pd.DataFrame,
        n_times: int,
        sfreq: float,
        *,
        batch_size: int,
        eval_batch_size: int,
        windows_per_unit: int | None,
        seed: int,
        num_workers: int = 0,
        ch_names: Sequence[str] | None = None,
        balanced: bool = True,
        corruption: Corruption | None = None,
    ) -> None:
        super().__init__()
        windows = windows.assign(first=(windows["start"] * sfreq).round().astype("int64"))
        fit, evaluate = windows["use"] == "train", windows["use"] == "evaluate"
        self.train_windows = windows[fit & (windows["split"] == "train") & windows["label"].notna()].reset_index(
            drop=True
        )
        parts = [windows[evaluate & (windows["split"] == split)] for split in ("val", "test")]
        self.evaluate_windows = pd.concat(parts, ignore_index=True)
        self.n_times, self.sfreq, self.ch_names, self.balanced = n_times, sfreq, ch_names, balanced
        self.batch_size, self.eval_batch_size = batch_size, eval_batch_size
        self.windows_per_unit, self.seed, self.num_workers = windows_per_unit, seed, num_workers
        self.corruption = corruption

    @property
    def val_windows(self) -> pd.DataFrame:
        """Evaluation windows of the validation split."""
        return self.evaluate_windows[self.evaluate_windows["split"] == "val"]

    @property
    def test_windows(self) -> pd.DataFrame:
        """Evaluation windows of the test split."""
        return self.evaluate_windows[self.evaluate_windows["split"] == "test"].reset_index(drop=True)

    @property
    def sample_shape(self) -> tuple[int, int]:
        """Channels and samples of a window."""
        rows = self.evaluate_windows["row"]
        n_chans = 1 if (rows >= 0).all() else len(map_signal(Path(self.evaluate_windows["path"].iloc[0])))
        return n_chans, self.n_times

    @property
    def epoch_size(self) -> int:
        """Training windows of an epoch."""
        per_unit = self.train_windows.groupby("unit_id").size()
        return int(per_unit.clip(upper=self.windows_per_unit).sum() if self.windows_per_unit else per_unit.sum())

    @property
    def epoch_windows(self) -> pd.DataFrame:
        """As many training windows as an epoch has, drawn without replacement within each unit, in their order."""
        if not self.windows_per_unit:
            return self.train_windows
        drawn = self.train_windows.sample(frac=1, random_state=self.seed)
        return drawn.groupby("unit_id").head(self.windows_per_unit).sort_index()

    def train_dataloader(self) -> DataLoader[Any]:
        if self.train_windows.empty:
            raise BenchError(
                "no labelled training windows: the dataset has no training patients with labels for this task"
            )
        trainer = self.trainer
        rank, world = (trainer.global_rank, trainer.world_size) if trainer else (0, 1)
        labels = self.train_windows["label"].to_numpy("float64")
        sampler = BalancedSampler(
            labels if self.balanced else np.zeros(len(labels)),
            pd.factorize(self.train_windows["unit_id"])[0],
            self.epoch_size,
            self.seed,
            rank,
            world,
        )
        if trainer:
            # the loader is built for the epoch, and for the batch inside it, at which a broken run resumes
            progress = trainer.fit_loop.epoch_loop.batch_progress
            sampler.set_epoch(trainer.fit_loop.epoch_progress.current.processed)  # type: ignore[attr-defined]
            sampler.start = 0 if progress.is_last_batch else progress.current.ready * (self.batch_size // world)
        dataset = self.dataset(self.train_windows)
        batches = WholeBatches(sampler, self.batch_size // world)
        return DataLoader(dataset, batch_sampler=batches, num_workers=self.num_workers, collate_fn=as_read)

    def val_dataloader(self) -> DataLoader[Any]:
        return self.sequential(self.val_windows[self.val_windows["label"].notna()])

    def predict_dataloader(self) -> DataLoader[Any]:
        trainer = self.trainer
        rank, world = (trainer.global_rank, trainer.world_size) if trainer else (0, 1)
        return self.sequential(self.evaluate_windows, rank, world)

    @property
    def predicted(self) -> pd.DataFrame:
        """What names each prediction: ``sample_id, unit_id, start, duration, split`` of ``evaluate_windows``."""
        names = self.evaluate_windows[["sample_id", "unit_id", "start", "duration", "split"]]
        return names.astype({"unit_id": "str"})

    def sequential(self, windows: pd.DataFrame, rank: int = 0, world: int = 1) -> DataLoader[Any]:
        """Windows in their order; a rank takes every ``world``-th, none twice."""
        return DataLoader(
            self.dataset(windows),
            batch_size=self.eval_batch_size,
            sampler=range(rank, len(windows), world),
            num_workers=self.num_workers,
            collate_fn=as_read,
        )

    def dataset(self, windows: pd.DataFrame) -> Dataset[tuple[Tensor, Tensor, int]]:
        """What serves rows of one of the tables."""
        return WindowDataset(windows, self.n_times, self.corruption)


class WholeBatches(BatchSampler):
    """Batches of a sampler; a last batch of one joins the one before, since batch normalisation cannot train on it."""

    def __init__(self, sampler: BalancedSampler, batch_size: int) -> None:
        super().__init__(sampler, batch_size, drop_last=False)

    @property
    def _joins(self) -> bool:
        return len(self.sampler) % self.batch_size == 1 and len(self.sampler) > 1  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[list[int]]:
        batches = list(super().__iter__())
        if self._joins:
            last = batches.pop()
            batches[-1] = batches[-1] + last
        return iter(batches)

    def __len__(self) -> int:
        return super().__len__() - self._joins
