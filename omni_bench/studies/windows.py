"""The windows of a composed run, for studies that train nothing."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from omegaconf import DictConfig
from torch import Tensor

from omni_bench.data.dataset import WindowDataset
from omni_bench.data.samples import with_split
from omni_bench.run_split import split_of
from omni_bench.steps import data_of, open_data, samples_of


@dataclass(frozen=True)
class Windows:
    """Evaluation windows: ``table`` with ids, ``label`` and ``split``, and how their signals are read."""

    table: pd.DataFrame
    n_times: int
    sfreq: float

    def signals(self, rows: pd.Index) -> Tensor:
        """Float32 µV ``(n, n_chans, n_times)`` of some rows of the table."""
        dataset = WindowDataset(self.table.loc[rows], self.n_times)
        return torch.stack([dataset[i][0] for i in range(len(dataset))])


def windows_of(cfg: DictConfig, split: bool = True) -> Windows:
    """What a run of this configuration would evaluate, its training patients' windows included.

    Without ``split``, where nobody is trained on, every window is called a test window.
    """
    cohort, stored = open_data(cfg)
    units, windows = samples_of(cfg, cohort, stored)
    units["split"] = split_of(cfg, units, cohort.patients) if split else "test"
    windows = with_split(windows, units)
    data = data_of(cfg, windows, stored)
    table = windows[windows["use"] == "evaluate"].reset_index(drop=True)
    first = (table["start"] * data.sfreq).round().astype("int64")
    return Windows(table.assign(first=first), data.n_times, data.sfreq)


def drawn(table: pd.DataFrame, column: str, n: int, seed: int) -> pd.Index:
    """Up to ``n`` rows of each value of a column, drawn without replacement, in the table's order."""
    rng = np.random.default_rng(seed)
    chosen = [
        rng.choice(rows, min(n, len(rows)), replace=False) for _, rows in sorted(table.groupby(column).groups.items())
    ]
    return pd.Index(np.sort(np.concatenate(chosen)))
