"""Embeds every window once with a frozen backbone, and keeps the result on disk."""

import json
import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from filelock import FileLock
from numpy.typing import NDArray
from rich.progress import track
from torch import nn

from omni_bench.config import file_sha256
from omni_bench.data.datamodule import WindowDataModule
from omni_bench.data.embeddings import KEY, Embeddings, EmbeddingStore
from omni_bench.files import write_atomically

log = logging.getLogger(__name__)
FORMAT = 1
CHUNK_BYTES = 64 * 2**20
CHUNK_WINDOWS = 1024
MIXED = {"16-mixed": torch.float16, "bf16-mixed": torch.bfloat16}


class Embedder:
    """What a network's ``embed`` makes of windows, computed once per window and kept below ``folder``.

    Kept embeddings belong to the backbone's weights and code, the model card's network, channels, rate and length of
    windows, precision and corruption, not to a split: whatever run needs a window again finds it. A network that is to
    train is never kept.

    Parameters
    ----------
    net
        See `omni_bench.models.build`; in eval mode when it embeds.
    card
        What the network was built from, as plain values.
    folder
        Of this model's embeddings.
    precision
        Of the trainer card; a mixed one embeds in that type, all others in float32.
    """

    def __init__(self, net: nn.Module, card: Mapping[str, Any], folder: Path, precision: str) -> None:
        self.net, self.card, self.folder = net, card, folder
        self.dtype = MIXED.get(precision)

    def __call__(self, data: WindowDataModule, windows: pd.DataFrame, device: torch.device) -> Embeddings:
        """Embeddings of rows of a data module's tables.

        Windows that are missing are embedded and published chunk by chunk, so that a killed run goes on where it was.
        """
        files = windows["path"].map(lambda path: Path(path).name).astype("str")
        keys = windows[["row", "first"]].assign(file=files)
        if data.corruption is None:
            found = self._embedded(data, windows, keys, device, None)
        else:
            corrupted = windows["split"].isin(data.corruption.splits)
            # the draw goes by a sample's name, and tasks may name the same window differently
            keys.loc[corrupted, "file"] += "/" + windows["sample_id"].astype("str")
            parts = ((~corrupted, None), (corrupted, data.corruption.identity()))
            clean, worse = (self._embedded(data, windows[own], keys[own], device, what) for own, what in parts)
            place = np.argsort(np.concatenate([np.flatnonzero(~corrupted), np.flatnonzero(corrupted)]))
            found = clean.followed_by(worse).take(place)
        self.net.cpu()
        return found

    def key(self, data: WindowDataModule, corruption: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What an embedding depends on beside its window."""
        return {
            "format": FORMAT,
            "card": self.card,
            "weights": self.backbone_sha256,
            "code": self.code_sha256,
            "n_times": data.n_times,
            "sfreq": data.sfreq,
            "ch_names": data.ch_names,
            "precision": str(self.dtype or torch.float32),
            "corruption": corruption,
        }

    @cached_property
    def backbone_sha256(self) -> str:
        """See `backbone_sha256`."""
        return backbone_sha256(self.net)

    @cached_property
    def code_sha256(self) -> str:
        """Hash of the files that define the classes of the network's parts."""
        modules = {base.__module__ for part in self.net.modules() for base in type(part).__mro__}
        files = {getattr(sys.modules.get(name), "__file__", None) for name in modules}
        return sha256(json.dumps(sorted(file_sha256(Path(file)) for file in files if file)).encode()).hexdigest()

    def _embedded(
        self,
        data: WindowDataModule,
        windows: pd.DataFrame,
        keys: pd.DataFrame,
        device: torch.device,
        corruption: Mapping[str, Any] | None,
    ) -> Embeddings:
        if windows.empty:
            return Embeddings([], np.empty(0, "int64"), np.empty(0, "int64"))
        trains = [name for name, p in self.net.named_parameters() if p.requires_grad and not self._of_head(name)]
        if trains:
            log.warning("embeddings are not kept: %d parameters train outside the head (%s)", len(trains), trains[0])
            chunk = np.concatenate([part for _, part in self._chunks(data, windows, device)])
            return Embeddings([chunk], np.zeros(len(chunk), "int64"), np.arange(len(chunk)))
        key = json.dumps(self.key(data, corruption), sort_keys=True)
        folder = self.folder / sha256(key.encode()).hexdigest()[:16]
        folder.mkdir(parents=True, exist_ok=True)
        # runs that start together would else all embed the same windows
        with FileLock(folder / ".lock"):
            store = EmbeddingStore(folder)
            write_atomically(folder / "key.json", key)
            missing = np.flatnonzero(store.missing(keys))
            for rows, chunk in self._chunks(data, windows.iloc[missing], device):
                store.add(keys.iloc[missing[rows]][KEY], chunk)
            return (EmbeddingStore(folder) if len(missing) else store).find(keys)

    def _of_head(self, name: str) -> bool:
        return name.startswith(f"{self.net.head_name}.")

    @torch.no_grad()
    def _chunks(
        self, data: WindowDataModule, windows: pd.DataFrame, device: torch.device
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        """Rows of ``windows`` and their embeddings, a few batches at a time."""
        if windows.empty:
            return
        net, autocast = self.net.to(device), torch.autocast(device.type, self.dtype) if self.dtype else nullcontext()
        rows: list[NDArray[np.int64]] = []
        parts: list[NDArray[np.float32]] = []
        for x, _, i in track(data.sequential(windows), "embedding windows", transient=True):
            with autocast:
                parts.append(net.embed(x.to(device)).float().cpu().numpy())  # type: ignore[operator]
            rows.append(i.numpy())
            if sum(map(len, rows)) >= CHUNK_WINDOWS or sum(part.nbytes for part in parts) >= CHUNK_BYTES:
                yield np.concatenate(rows), np.concatenate(parts)
                rows, parts = [], []
        if rows:
            yield np.concatenate(rows), np.concatenate(parts)


def backbone_sha256(net: nn.Module) -> str:
    """Hash of a network's parameters and buffers, its final layer left out."""
    digest = sha256()
    for name, value in sorted(net.state_dict().items()):
        if not name.startswith(f"{net.head_name}."):
            digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
            digest.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()
