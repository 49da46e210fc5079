"""Windows of stored signals, one by one.

Worker processes import this module and no trainer: Lightning takes longer to import than all the rest.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.utils.data import Dataset

from omni_bench.data.corruption import Corruption
from omni_bench.data.store import map_signal


class _Column:
    """Values of which few are distinct, so that many windows travel to a worker process in few bytes."""

    def __init__(self, values: np.ndarray, kind: Callable[[Any], Any] | None = None) -> None:
        distinct, codes = np.unique(values, return_inverse=True)
        self.distinct: Any = distinct if kind is None else [kind(value) for value in distinct]
        self.codes = codes.astype(np.min_scalar_type(len(self.distinct)))

    def __getitem__(self, i: int) -> Any:
        return self.distinct[self.codes[i]]


class WindowDataset(Dataset[tuple[Tensor, Tensor, int]]):
    """Windows of stored signals.

    Items are ``(x, y, i)``: float32 µV ``(n_chans, n_times)``, the label (NaN where there is none), and the window's
    position. Only paths and numbers are held, so a worker process opens files itself.

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
        self._path = _Column(windows["path"].to_numpy(str), Path)
        self._row = _Column(windows["row"].to_numpy("int64"))
        self._first = _Column(windows["first"].to_numpy("int64"))
        self._label = _Column(windows["label"].astype("Float64").to_numpy("float64", na_value=np.nan))
        self._len = len(windows)
        self.n_times, self.corruption = n_times, corruption
        if corruption:
            self._corrupted = windows["split"].isin(corruption.splits).to_numpy()
            self._sample_id = windows["sample_id"].to_numpy(str)

    def __len__(self) -> int:
        return self._len

    def __getitem__(self, i: int) -> tuple[Tensor, Tensor, int]:
        signal = map_signal(self._path[i])
        row, first = self._row[i], self._first[i]
        rows = signal if row < 0 else signal[row : row + 1]
        x = torch.from_numpy(np.array(rows[:, first : first + self.n_times]))
        if self.corruption and self._corrupted[i]:
            x = self.corruption(x, str(self._sample_id[i]))
        return x, torch.tensor(self._label[i], dtype=torch.float32), i
