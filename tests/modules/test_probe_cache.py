"""Embeddings are computed once per window and backbone, and a hit changes no number."""

import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

from omni_bench.data.corruption import ChannelMasking
from omni_bench.data.datamodule import WindowDataModule
from omni_bench.data.embeddings import EmbeddingStore
from omni_bench.errors import BenchError
from omni_bench.modules import embed
from omni_bench.modules.embed import Embedder
from omni_bench.modules.probe import LinearProbe, load_trained
from omni_bench.modules.zero_shot import ZeroShot
from tests.probing import N_UNITS, TRAINER, Spread, adam, learner_of, two_channels

CPU = torch.device("cpu")


@pytest.fixture
def data(tmp_path: Path) -> WindowDataModule:
    return two_channels(tmp_path)


def frozen(scale: float = 1.0) -> Spread:
    torch.manual_seed(0)
    net = Spread(1)
    net.scale.data *= scale
    return net.eval().requires_grad_(False)


def embedder_of(net: Spread, folder: Path, precision: str = "32-true", **card: Any) -> Embedder:
    return Embedder(net, {"net": "spread", **card}, folder / "embeddings", precision)


def all_windows(data: WindowDataModule) -> pd.DataFrame:
    return pd.concat([data.train_windows, data.val_windows, data.test_windows], ignore_index=True)


def embedded(data: WindowDataModule, windows: pd.DataFrame, embedder: Embedder) -> Tensor:
    found = embedder(data, windows, CPU)
    return found[np.arange(len(found))]


def signals(data: WindowDataModule, windows: pd.DataFrame) -> Tensor:
    dataset = data.dataset(windows)
    return torch.stack([dataset[i][0] for i in range(len(windows))])


def test_predictions_are_the_same_with_an_empty_and_a_filled_cache(data: WindowDataModule, tmp_path: Path) -> None:
    tables = []
    for run, new in (("first", N_UNITS), ("second", 0)):
        net = frozen()
        learner = learner_of(LinearProbe, net, tmp_path / run, head_optimizer=adam, embedder=embedder_of(net, tmp_path))
        learner.fit(data)
        tables.append(learner.predict(data))
        assert net.embedded == new
    pd.testing.assert_frame_equal(*tables, check_exact=True)
    net = frozen()
    zero_shot = learner_of(ZeroShot, net, tmp_path, embedder=embedder_of(net, tmp_path))
    zero_shot.fit(data)
    zero_shot.predict(data)
    assert net.embedded == 0


def test_only_what_is_missing_is_embedded_whatever_the_split(data: WindowDataModule, tmp_path: Path) -> None:
    windows, net = all_windows(data), frozen()
    embedded(data, windows.iloc[::2], embedder_of(net, tmp_path))
    assert net.embedded == N_UNITS // 2
    shuffled = windows.assign(split="train").sample(frac=1, random_state=0)
    found = embedded(data, shuffled, embedder_of(net, tmp_path))
    assert net.embedded == N_UNITS
    torch.testing.assert_close(found, signals(data, shuffled).std(-1))


@pytest.mark.parametrize("what", ["weights", "card", "precision", "ch_names", "sfreq", "n_times"])
def test_another_backbone_or_input_is_embedded_anew(data: WindowDataModule, tmp_path: Path, what: str) -> None:
    windows = all_windows(data)
    embedded(data, windows, embedder_of(frozen(), tmp_path))
    net = frozen(scale=2.0 if what == "weights" else 1.0)
    other = {"card": {"compat": "paper"}, "precision": {"precision": "bf16-mixed"}}.get(what, {})
    if what in ("ch_names", "sfreq", "n_times"):
        setattr(data, what, {"ch_names": ["C3", "C4"], "sfreq": 50.0, "n_times": 40}[what])
    found = embedded(data, windows, embedder_of(net, tmp_path, **other))
    assert net.embedded == N_UNITS
    torch.testing.assert_close(found, signals(data, windows).std(-1) * net.scale)
    assert len(list((tmp_path / "embeddings").iterdir())) == 2


def test_the_head_is_no_part_of_the_backbone(data: WindowDataModule, tmp_path: Path) -> None:
    windows, net = all_windows(data), frozen()
    embedded(data, windows, embedder_of(net, tmp_path))
    net.head.weight.data += 1
    embedded(data, windows, embedder_of(net, tmp_path))
    assert net.embedded == N_UNITS


def test_corruption_costs_the_windows_that_it_acts_on(tmp_path: Path) -> None:
    clean = two_channels(tmp_path)
    masking = ChannelMasking(seed=0, ch_names=("FP1", "FP2"), sfreq=100.0, p=0.5)
    masked = two_channels(tmp_path, corruption=masking)
    windows, net = all_windows(clean), frozen()
    embedded(clean, windows, embedder_of(net, tmp_path))
    for _ in range(2):
        found = embedded(masked, windows, embedder_of(net, tmp_path))
        assert net.embedded == N_UNITS + 12
        torch.testing.assert_close(found, signals(masked, windows).std(-1))
    test = (windows["split"] == "test").to_numpy()
    assert ((found == 0).sum(1).numpy() == test).all()
    # the same windows under other names are masked in other places
    renamed = windows[test].assign(sample_id="another " + windows["sample_id"])
    other = embedded(masked, renamed, embedder_of(net, tmp_path))
    torch.testing.assert_close(other, signals(masked, renamed).std(-1))
    assert (other != found[test]).any()


class Killed(Spread):
    def embed(self, x: Tensor) -> Tensor:
        if self.embedded >= 32:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().embed(x)


def _embed_until_killed(folder: Path) -> None:
    embed.CHUNK_WINDOWS = 16
    torch.set_num_threads(1)
    data = two_channels(folder)
    embedder = embedder_of(Killed(1).eval().requires_grad_(False), folder)
    embedder.code_sha256 = "of both"  # type: ignore[misc]
    embedded(data, all_windows(data), embedder)


def test_a_killed_run_loses_one_chunk_at_most(data: WindowDataModule, tmp_path: Path) -> None:
    process = multiprocessing.get_context("fork").Process(target=_embed_until_killed, args=(tmp_path,))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    net, windows = frozen(), all_windows(data)
    embedder = embedder_of(net, tmp_path)
    embedder.code_sha256 = "of both"  # type: ignore[misc]
    found = embedded(data, windows, embedder)
    assert net.embedded == N_UNITS - 32
    torch.testing.assert_close(found, signals(data, windows).std(-1))


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty"])
def test_a_damaged_chunk_is_computed_again(
    data: WindowDataModule, tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    windows, net = all_windows(data), frozen()
    expected = embedded(data, windows, embedder_of(net, tmp_path))
    (chunk,) = (tmp_path / "embeddings").glob("*/*.h5")
    content = bytearray(chunk.read_bytes())
    if damage == "flipped":
        with h5py.File(chunk) as file:
            content[file["embeddings"].id.get_offset() + 5] ^= 1
    chunk.write_bytes({"truncated": content[:-100], "flipped": content, "empty": b""}[damage])
    found = embedded(data, windows, embedder_of(net, tmp_path))
    torch.testing.assert_close(found, expected, rtol=0, atol=0)
    assert net.embedded == 2 * N_UNITS
    assert str(chunk) in caplog.text
    assert "embedded again" in caplog.text


def test_a_backbone_that_trains_is_not_kept(
    data: WindowDataModule, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    windows, net = all_windows(data), frozen()
    net.scale.requires_grad_(True)
    found = embedded(data, windows, embedder_of(net, tmp_path))
    torch.testing.assert_close(found, signals(data, windows).std(-1))
    assert not (tmp_path / "embeddings").exists()
    assert "not kept: 1 parameters train outside the head (scale)" in caplog.text


def test_chunks_are_published_once(tmp_path: Path) -> None:
    keys = pd.DataFrame({"file": ["a.h5", "b.h5", "a.h5"], "row": [-1, -1, 3], "first": [0, 0, 5]})
    values = np.arange(6, dtype="float32").reshape(3, 2)
    first, second = EmbeddingStore(tmp_path), EmbeddingStore(tmp_path)
    first.add(keys, values)
    second.add(keys, values + 1)  # another process was faster
    store = EmbeddingStore(tmp_path)
    assert len(list(tmp_path.glob("*.h5"))) == 1
    wanted = pd.DataFrame({"file": ["a.h5", "a.h5", "c.h5"], "row": [3, -1, 0], "first": [5, 0, 0]})
    assert store.missing(wanted).tolist() == [False, False, True]
    assert store.find(wanted[:2])[np.array([0, 1])].tolist() == [[4, 5], [0, 1]]


def test_a_probes_checkpoint_asks_for_its_backbone(data: WindowDataModule, tmp_path: Path) -> None:
    net = frozen(scale=2.0)
    weights = tmp_path / "weights.pt"
    torch.save(net.state_dict(), weights)
    learner = learner_of(LinearProbe, net, tmp_path / "run", head_optimizer=adam, embedder=embedder_of(net, tmp_path))
    learner.fit(data)
    card = {"name": "spread", "weights": str(weights)}
    again = frozen()
    report = load_trained(again, card, learner.best)
    for name, value in net.state_dict().items():
        torch.testing.assert_close(again.state_dict()[name], value, rtol=0, atol=0)
    assert report["source"] == str(weights)
    assert report["head"] == str(learner.best)
    with pytest.raises(BenchError, match=r"best\.ckpt: the head of a linear probe on another backbone"):
        load_trained(frozen(), card | {"weights": "random"}, learner.best)


def test_windows_that_run_backwards_are_refused(tmp_path: Path) -> None:
    net = frozen()
    with pytest.raises(BenchError, match=r"trainer\.time_reversal"):
        learner_of(LinearProbe, net, tmp_path, head_optimizer=adam, trainer=TRAINER | {"time_reversal": 0.5})
