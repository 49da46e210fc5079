"""A small network, windows of two channels that it can tell apart, and learners on them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from omni_bench.data.datamodule import WindowDataModule
from omni_bench.data.store import write_store
from omni_bench.modules.embed import Embedder

N_UNITS, N_TIMES, SFREQ = 60, 50, 100.0
TRAINER: dict[str, Any] = {
    "accelerator": "cpu",
    "devices": 1,
    "precision": "32-true",
    "max_epochs": 40,
    "gradient_clip": None,
    "time_reversal": 0.0,
    "checkpoint_every": 1000,
    "progress": False,
}


class Spread(nn.Module):
    """Embeds a window as its channels' standard deviations, times a trainable scale, behind dropout."""

    head_name = "head"

    def __init__(self, n_outputs: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(2))
        self.dropout = nn.Dropout(0.5)
        self.head = nn.Linear(2, n_outputs)
        self.embedded = 0

    def embed(self, x: Tensor) -> Tensor:
        self.embedded += len(x)
        return self.dropout(x.std(-1) * self.scale)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.embed(x))


def two_channels(folder: Path, label: np.ndarray | None = None, **settings: Any) -> WindowDataModule:
    """Units 2 i and 2 i + 1: channel 0 is louder in class 1, channel 1 in class 0."""
    rng = np.random.default_rng(0)
    parity = np.arange(N_UNITS) % 2
    gain = np.stack([1 + parity, 2 - parity])
    signal = (rng.standard_normal((2, N_UNITS * N_TIMES)) * gain.repeat(N_TIMES, axis=1)).astype("float32")
    stored = write_store(folder / "x.h5", [signal], ["FP1", "FP2"], SFREQ, {})
    windows = pd.DataFrame(
        {
            "unit_id": [f"u{i:02d}" for i in range(N_UNITS)],
            "path": str(stored.path),
            "row": -1,
            "label": pd.array(parity if label is None else label),
            "split": np.repeat(["train", "val", "test"], [36, 12, 12]),
            "start": np.arange(N_UNITS) * N_TIMES / SFREQ,
            "duration": N_TIMES / SFREQ,
        }
    )
    windows["sample_id"] = windows["unit_id"] + "@0"
    windows = pd.concat([windows.assign(use=use) for use in ("train", "evaluate")], ignore_index=True)
    common: dict[str, Any] = {"batch_size": 12, "eval_batch_size": 16, "windows_per_unit": None, "seed": 0}
    return WindowDataModule(windows, N_TIMES, SFREQ, **common | settings)


def learner_of(cls: Any, net: nn.Module, folder: Path, kind: str = "binary", **settings: Any) -> Any:
    embedder = Embedder(net, {"net": "spread"}, folder / "embeddings", TRAINER["precision"])
    common = {"optimizer": adam, "folder": folder, "monitor": "val/loss", "seed": 0, "trainer": TRAINER, "loggers": []}
    return cls(net, kind=kind, **{"classes": ["quiet", "loud"], "embedder": embedder} | common | settings)


def adam(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.Adam(parameters, lr=0.05)
