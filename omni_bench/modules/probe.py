"""Linear probe: a frozen backbone embeds every window once, then only the final layer trains."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import lightning as L
import numpy as np
import pandas as pd
import torch
from lightning.pytorch.callbacks import Callback
from torch import Tensor, nn
from torch.utils.data import Dataset

from omni_bench.data.datamodule import WindowDataModule
from omni_bench.data.embeddings import Embeddings
from omni_bench.errors import BenchError
from omni_bench.models.build import head_of
from omni_bench.models.weights import load_starting_weights
from omni_bench.modules.embed import Embedder, backbone_sha256
from omni_bench.modules.learner import LightningLearner, load_network, read_checkpoint

BACKBONE = "backbone_sha256"
"""Where a linear probe's checkpoint says what its head was trained on."""


class LinearProbe(LightningLearner):
    """Trains the final layer of a network on the embeddings of windows; the backbone never trains, and is in eval mode.

    Parameters
    ----------
    net
        With ``embed`` and ``head_name``; see `omni_bench.models.build`.
    head_optimizer
        Parameters → optimizer; takes the place of the model card's.
    embedder
        Of ``net``.
    **settings
        As of `LightningLearner`.

    Raises
    ------
    BenchError
        The trainer turns windows round, which their embeddings cannot follow.
    """

    def __init__(
        self, net: nn.Module, *, head_optimizer: Any, optimizer: Any, embedder: Embedder, **settings: Any
    ) -> None:
        if settings["trainer"]["time_reversal"]:
            raise BenchError(
                "trainer.time_reversal changes windows that adaptation=linear_probe embeds once: set it to 0"
            )
        net.eval().requires_grad_(False)
        self.embedder: Embedder | None = embedder
        self.embedded_data: EmbeddedDataModule | None = None
        self.backbone_sha256 = embedder.backbone_sha256
        super().__init__(_head_alone(net), optimizer=head_optimizer, **settings)
        self.trainer.callbacks.append(_NamesBackbone(self.backbone_sha256))  # type: ignore[attr-defined]

    def fit(self, data: WindowDataModule) -> None:
        """Embed, then train as `LightningLearner.fit`."""
        super().fit(self.embedded(data))

    def predict(self, data: WindowDataModule) -> pd.DataFrame:
        """See `LightningLearner.predict`."""
        return super().predict(self.embedded(data))

    def embedded(self, data: WindowDataModule) -> "EmbeddedDataModule":
        """The same windows as embeddings; the backbone is let go of, since nothing else needs it."""
        if self.embedded_data is None:
            assert self.embedder is not None
            self.embedded_data = EmbeddedDataModule(data, self.embedder, self.trainer.strategy.root_device)
            self.embedder = None
        return self.embedded_data


class EmbeddedDataModule(WindowDataModule):
    """The windows of another data module, as what a network's ``embed`` makes of them.

    Items are ``(embedding, y, i)`` with float32 embeddings ``(d,)``.
    """

    def __init__(self, data: WindowDataModule, embedder: Embedder, device: torch.device) -> None:
        super(WindowDataModule, self).__init__()
        vars(self).update({name: value for name, value in vars(data).items() if name not in vars(self)})
        self.num_workers = 0
        windows = pd.concat([self.train_windows, self.evaluate_windows]).drop_duplicates("sample_id", ignore_index=True)
        self.embeddings = embedder(data, windows, device)
        self.rows = pd.Series(range(len(windows)), index=windows["sample_id"])

    def dataset(self, windows: pd.DataFrame) -> "EmbeddedWindows":
        rows = self.rows[windows["sample_id"]].to_numpy("int64")
        labels = windows["label"].astype("Float64").to_numpy("float32", na_value=float("nan"))
        return EmbeddedWindows(self.embeddings.take(rows), torch.from_numpy(labels))


class EmbeddedWindows(Dataset[tuple[Tensor, Tensor, int]]):
    """Embeddings and labels of a table's rows."""

    def __init__(self, embeddings: Embeddings, labels: Tensor) -> None:
        self.embeddings, self.labels = embeddings, labels

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, i: int) -> tuple[Tensor, Tensor, int]:
        return self.embeddings[np.array([i])][0], self.labels[i], i

    def __getitems__(self, positions: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
        return self.embeddings[np.asarray(positions)], self.labels[positions], torch.tensor(positions)


def load_trained(net: nn.Module, card: Mapping[str, Any], checkpoint: Path, offline: bool = False) -> dict[str, Any]:
    """Fill a network from a run's checkpoint; that of a linear probe has the head, and the card gives the backbone.

    Returns
    -------
    A load report as `omni_bench.models.weights` makes it; of a linear probe that of the backbone, and where the ``head``
    came from.

    Raises
    ------
    BenchError
        The checkpoint is of another network, or its head was trained on another backbone.
    """
    trained_on = read_checkpoint(checkpoint).get(BACKBONE)
    if trained_on is None:
        return load_network(net, checkpoint)
    report = load_starting_weights(net, card, offline)
    if backbone_sha256(net) != trained_on:
        raise BenchError(
            f"checkpoint={checkpoint}: the head of a linear probe on another backbone than model={card['name']} with "
            f"model.weights={card['weights']} and this seed: give model, model.weights and seed of that run"
        )
    load_network(_head_alone(net), checkpoint)
    return report | {"head": str(checkpoint)}


class _NamesBackbone(Callback):
    """Says in every checkpoint which backbone the head belongs to."""

    def __init__(self, sha256: str) -> None:
        self.sha256 = sha256

    def on_save_checkpoint(self, trainer: L.Trainer, module: L.LightningModule, checkpoint: dict[str, Any]) -> None:
        checkpoint[BACKBONE] = self.sha256


def _head_alone(net: nn.Module) -> nn.Module:
    """The final layer under the name that it has in its network, so that a checkpoint says whose it is."""
    head = head_of(net).requires_grad_(True)
    for name in reversed(str(net.head_name).split(".")):
        head = nn.Sequential(OrderedDict([(name, head)]))
    head.head_name = net.head_name
    return head.train()
