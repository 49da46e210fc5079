"""Linear probe: a frozen backbone embeds every window once, then only the final layer trains."""

from collections import OrderedDict
from typing import Any

import pandas as pd
import torch
from rich.progress import track
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from omni_bench.data.datamodule import WindowDataModule
from omni_bench.data.dataset import WindowDataset
from omni_bench.models.build import head_of
from omni_bench.modules.learner import LightningLearner


class LinearProbe(LightningLearner):
    """Trains the final layer of a network on the embeddings of windows; the backbone never trains, and is in eval mode.

    Parameters
    ----------
    net
        With ``embed`` and ``head_name``; see `omni_bench.models.build`.
    head_optimizer
        Parameters → optimizer; takes the place of the model card's.
    **settings
        As of `LightningLearner`.
    """

    def __init__(self, net: nn.Module, *, head_optimizer: Any, optimizer: Any, **settings: Any) -> None:
        self.backbone = net.eval().requires_grad_(False)
        self.embedded_data: EmbeddedDataModule | None = None
        super().__init__(_head_alone(net), optimizer=head_optimizer, **settings)

    def fit(self, data: WindowDataModule) -> None:
        """Embed, then train as `LightningLearner.fit`."""
        super().fit(self.embedded(data))

    def predict(self, data: WindowDataModule) -> pd.DataFrame:
        """See `LightningLearner.predict`."""
        return super().predict(self.embedded(data))

    def embedded(self, data: WindowDataModule) -> "EmbeddedDataModule":
        """The same windows as embeddings, computed once."""
        if self.embedded_data is None:
            device = self.trainer.strategy.root_device
            self.embedded_data = EmbeddedDataModule(data, self.backbone.to(device), device)
            self.backbone.cpu()
        return self.embedded_data


class EmbeddedDataModule(WindowDataModule):
    """The windows of another data module, as what a network's ``embed`` makes of them.

    Items are ``(embedding, y, i)`` with float32 embeddings ``(d,)``.
    """

    def __init__(self, data: WindowDataModule, net: nn.Module, device: torch.device) -> None:
        super(WindowDataModule, self).__init__()
        vars(self).update({name: value for name, value in vars(data).items() if name not in vars(self)})
        tables = (self.train_windows, self.val_windows, self.test_windows)
        windows = pd.concat(tables).drop_duplicates("sample_id")
        self.embeddings = embed_all(net, data, windows, device)
        self.rows = pd.Series(range(len(windows)), index=windows["sample_id"])

    def dataset(self, windows: pd.DataFrame) -> Dataset[tuple[Tensor, Tensor, int]]:
        rows = torch.from_numpy(self.rows[windows["sample_id"]].to_numpy(copy=True))
        labels = windows["label"].astype("Float64").to_numpy("float32", na_value=float("nan"))
        return _Rows(self.embeddings[rows], torch.from_numpy(labels))


class _Rows(Dataset[tuple[Tensor, Tensor, int]]):
    def __init__(self, embeddings: Tensor, labels: Tensor) -> None:
        self.embeddings, self.labels = embeddings, labels

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, i: int) -> tuple[Tensor, Tensor, int]:
        return self.embeddings[i], self.labels[i], i


@torch.no_grad()
def embed_all(net: nn.Module, data: WindowDataModule, windows: pd.DataFrame, device: torch.device) -> Tensor:
    """Embeddings ``(len(windows), d)`` of rows of a data module's tables, on the CPU."""
    batches = DataLoader(
        WindowDataset(windows, data.n_times), batch_size=data.eval_batch_size, num_workers=data.num_workers
    )
    parts = [net.embed(x.to(device)).float().cpu() for x, _, _ in track(batches, "embedding windows")]  # type: ignore[operator]
    return torch.cat(parts)


def _head_alone(net: nn.Module) -> nn.Module:
    """The final layer under the name that it has in its network, so that a checkpoint says whose it is."""
    head = nn.Sequential(OrderedDict([(net.head_name, head_of(net).requires_grad_(True))]))  # type: ignore[list-item]
    head.head_name = net.head_name
    return head.train()
