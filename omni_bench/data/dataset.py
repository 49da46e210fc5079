"""Windows of stored signals, one by one or a batch at a time.

Worker processes import this module and no trainer: Lightning takes longer to import than all the rest.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.utils.data import Dataset, get_worker_info

from omni_bench.data.corruption import Corruption
from omni_bench.data.store import let_go, map_signal


class _Column:
    """Values of which few are distinct, so that many windows travel to a worker process in few bytes."""

    def __init__(self, values: np.ndarray | pd.Series, kind: Callable[[Any], Any] | None = None) -> None:
        codes, distinct = pd.factorize(values, use_na_sentinel=False)
        self.distinct = np.asarray(distinct) if kind is None else np.array([kind(value) for value in distinct], object)
        self.codes = codes.astype(np.min_scalar_type(len(self.distinct)))

    def __getitem__(self, rows: Sequence[int]) -> np.ndarray:
        return self.distinct[self.codes[rows]]


class WindowDataset(Dataset[tuple[Tensor, Tensor, int]]):
    """Windows of stored signals.

    Items are ``(x, y, i)``: float32 µV ``(n_chans, n_times)``, the label (NaN where there is none), and the window's
    position. A loader draws whole batches, read straight into one array, and needs ``collate_fn=as_read``. Only paths and
    numbers are held, so a worker process opens files itself.

    Parameters
    ----------
    windows
        Rows with ``path, row, first, label``; ``first`` is a sample index, ``row`` -1 reads all channels.
    n_times
        Samples of a window.
    corruption
        What to do to windows of its splits; ``windows`` then has ``sample_id`` and ``split`` too.
    """

    def __init__(self, windows: pd.DataFrame, n_times: int, corruption: Corruption | None = None) -> None:
        # a Path is made once: making and hashing one takes as long as reading a window
        self._path = _Column(windows["path"], Path)
        self._row = _Column(windows["row"].to_numpy("int64"))
        self._first = _Column(windows["first"].to_numpy("int64"))
        self._label = _Column(windows["label"].astype("Float64").to_numpy("float32", na_value=np.nan))
        self._len = len(windows)
        self.n_times, self.corruption = n_times, corruption
        if corruption:
            self._corrupted = windows["split"].isin(corruption.splits).to_numpy()
            self._sample_id = windows["sample_id"].to_numpy(str)

    def __len__(self) -> int:
        return self._len

    def __getitem__(self, i: int) -> tuple[Tensor, Tensor, int]:
        x, y, _ = self.__getitems__([i])
        return x[0], y[0], i

    def __getitems__(self, positions: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
        """A batch of windows, their labels and positions; PyTorch's loader calls this where it is there."""
        windows = [
            map_signal(path)[slice(None) if row < 0 else slice(row, row + 1), first : first + self.n_times]
            for path, row, first in zip(
                self._path[positions], self._row[positions].tolist(), self._first[positions].tolist(), strict=True
            )
        ]
        x = torch.empty(len(windows), len(windows[0]), self.n_times)
        if get_worker_info():
            x.share_memory_()  # filled where the main process reads it
        np.concatenate(windows, out=x.view(-1, self.n_times).numpy())
        let_go()
        if self.corruption:
            for k in np.flatnonzero(self._corrupted[positions]).tolist():
                x[k] = self.corruption(x[k], str(self._sample_id[positions[k]]))
        return x, torch.from_numpy(self._label[positions]), torch.tensor(positions)


def as_read(batch: Any) -> Any:
    """What joins a loader's items to a batch, where `WindowDataset` has read one."""
    return batch
