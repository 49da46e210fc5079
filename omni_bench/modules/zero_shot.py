"""Zero-shot classification: the class of the nearest labelled embedding."""

from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from omni_bench.data.datamodule import WindowDataModule
from omni_bench.errors import BenchError
from omni_bench.modules.embed import Embedder


class ZeroShot:
    """Gives a window the class of the validation window whose embedding is nearest by cosine (OmniEEG-Bench).

    A validation window does not see itself. Probabilities are 0 and 1.

    Parameters
    ----------
    net
        With ``embed``; see `omni_bench.models.build`.
    kind, classes
        Of the task.
    trainer
        The trainer card.
    embedder
        Of ``net``.
    **_
        What only learners that train ask for.
    """

    def __init__(
        self, net: nn.Module, *, kind: str, classes: list[str], trainer: dict[str, Any], embedder: Embedder, **_: Any
    ) -> None:
        if kind == "regression":
            raise BenchError("adaptation=zero_shot takes the class of a neighbour, the task has none: say linear_probe")
        self.device = torch.device("cuda" if trainer["accelerator"] == "gpu" else "cpu")
        net.eval().requires_grad_(False)
        self.embedder, self.classes = embedder, classes

    def fit(self, data: WindowDataModule) -> None:
        """Embed the labelled validation windows.

        Raises
        ------
        BenchError
            There are none.
        """
        self.gallery = data.val_windows[data.val_windows["label"].notna()].reset_index(drop=True)
        if self.gallery.empty:
            raise BenchError("adaptation=zero_shot: no labelled validation windows to compare with")
        self.embeddings = self._directions(data, self.gallery)

    def predict(self, data: WindowDataModule) -> pd.DataFrame:
        """Class probabilities of every evaluation window, in the order of ``data.evaluate_windows``."""
        windows = data.evaluate_windows
        similarity = self._directions(data, windows) @ self.embeddings.T
        own = windows["sample_id"].to_numpy()[:, None] == self.gallery["sample_id"].to_numpy()
        nearest = similarity.masked_fill(torch.from_numpy(own), -torch.inf).argmax(1).numpy()
        labels = self.gallery["label"].to_numpy("int64")[nearest]
        columns = pd.DataFrame(np.eye(len(self.classes))[labels], columns=[f"prob_{name}" for name in self.classes])
        return pd.concat([data.predicted, columns], axis=1)

    def _directions(self, data: WindowDataModule, windows: pd.DataFrame) -> Tensor:
        """Embeddings ``(len(windows), d)`` of length 1."""
        embeddings = self.embedder(data, windows, self.device)
        return normalize(embeddings[np.arange(len(windows))], dim=1)
