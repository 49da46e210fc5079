"""What serves windows: drawing, batching, workers, size."""

import pickle
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch.utils.data import DataLoader

from omni_bench.data.datamodule import BalancedSampler, WholeBatches, WindowDataModule
from omni_bench.data.dataset import WindowDataset, as_read
from omni_bench.data.store import write_store
from omni_bench.errors import BenchError

N_ROWS, N_SAMPLES = 4, 5000


def ramp(recording: int) -> np.ndarray:
    """Every value tells its recording, row and sample."""
    return (1e6 * recording + 1e5 * np.arange(N_ROWS)[:, None] + np.arange(N_SAMPLES)).astype(np.float32)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("store")
    paths = [folder / f"r{i}.h5" for i in range(3)]
    for i, path in enumerate(paths):
        write_store(path, [ramp(i)], list("ABCD"), 100.0, {})
    return paths


@pytest.fixture(scope="module")
def windows(stored: list[Path]) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        [
            {"recording": i, "path": str(path), "row": row, "first": first, "label": label}
            for i, path in enumerate(stored)
            for row in range(-1, N_ROWS)
            for first, label in [(0, 0), (N_SAMPLES - 200, 1), (int(rng.integers(N_SAMPLES - 200)), pd.NA)]
        ]
    ).astype({"label": "Int64"})


def test_windows_are_the_samples_they_name(windows: pd.DataFrame) -> None:
    dataset = WindowDataset(windows, 200)
    assert len(dataset) == len(windows) == 45
    for i, window in enumerate(windows.itertuples()):
        x, y, position = dataset[i]
        rows = slice(None) if window.row < 0 else slice(window.row, window.row + 1)
        np.testing.assert_array_equal(x.numpy(), ramp(window.recording)[rows, window.first : window.first + 200])
        assert (x.dtype, position) == (torch.float32, i)
        assert torch.isnan(y) if pd.isna(window.label) else y == window.label
        x += 1  # a copy: neither the store nor another item changes
    np.testing.assert_array_equal(dataset[0][0].numpy(), ramp(0)[:, :200])


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_workers_deliver_the_same_bytes(windows: pd.DataFrame, method: str) -> None:
    single = windows[windows["row"] >= 0]
    dataset = WindowDataset(single, 200)
    dataset[0]  # a map that is open in the parent must not be shared wrongly
    options = {"batch_size": 7, "collate_fn": as_read}
    alone = list(DataLoader(dataset, **options))
    shared = list(DataLoader(dataset, num_workers=2, multiprocessing_context=method, **options))
    assert len(alone) == len(shared) == 6
    items = torch.cat([x for x, _, _ in alone])
    assert torch.equal(items, torch.stack([dataset[i][0] for i in range(len(single))]))
    assert torch.cat([i for _, _, i in alone]).tolist() == list(range(len(single)))
    for expected, found in zip(alone, shared, strict=True):
        assert all(torch.equal(e.nan_to_num(-1), f.nan_to_num(-1)) for e, f in zip(expected, found, strict=True))


def test_dataset_is_small_on_its_way_to_a_worker() -> None:
    n, rng = 100_000, np.random.default_rng(0)
    windows = pd.DataFrame(
        {
            "path": [
                f"/a/long/way/to/the/store/of/omni_ieeg/sub-{i % 1000}_ses-01_task-interictal_run-01-0123456789abcdef.h5"
                for i in range(n)
            ],
            "row": rng.integers(0, 200, n),
            "first": rng.integers(0, 200, n) * 30_000,
            "label": pd.array(rng.integers(0, 2, n), dtype="Int64"),
        }
    )
    assert len(pickle.dumps(WindowDataset(windows, 60_000))) < 1e6


def sampler(num_samples: int, **options: int) -> BalancedSampler:
    """Class 0 has 2 units with 5 and 1 windows, class 1 has 8 units with 1 to 8 windows."""
    sizes = {"a": 5, "b": 1} | {f"c{i}": i + 1 for i in range(8)}
    units = np.array([name for name, size in sizes.items() for _ in range(size)])
    classes = np.where(np.char.startswith(units, "c"), 1.0, 0.0)
    return BalancedSampler(classes, units, num_samples, **({"seed": 0} | options))


def test_classes_units_and_windows_are_drawn_evenly() -> None:
    n = 80_000
    drawn = np.bincount(list(sampler(n)), minlength=42)
    sizes = [5, 1, *range(1, 9)]
    per_unit = np.array([part.sum() for part in np.split(drawn, np.cumsum(sizes)[:-1])])
    expected = np.array([n / 4, n / 4] + [n / 16] * 8)
    assert (
        (per_unit - expected) ** 2 / expected
    ).sum() < 27.9  # 0.1 % quantile of chi-square with 9 degrees of freedom
    expected = np.concatenate([np.full(size, count / size) for size, count in zip(sizes, expected, strict=True)])
    assert ((drawn - expected) ** 2 / expected).sum() < 74.7  # with 41


def test_epochs_and_seeds_differ_and_repeat() -> None:
    one = sampler(500)
    first, again = list(one), list(one)
    assert first == again == list(sampler(500))
    one.set_epoch(1)
    assert list(one) != first
    assert list(sampler(500, seed=1)) != first


def test_start_skips_exactly_and_only_in_its_epoch() -> None:
    one = sampler(500)
    whole = list(one)
    one.start = 192
    assert list(one) == whole[192:]
    one.set_epoch(0)
    assert one.start == 192
    one.set_epoch(1)
    assert one.start == 0
    assert len(list(one)) == 500


@pytest.mark.parametrize("world", [2, 3, 4])
def test_ranks_share_one_draw(world: int) -> None:
    ranks = [sampler(500, rank=rank, world=world) for rank in range(world)]
    drawn = [list(rank) for rank in ranks]
    assert {len(part) for part in drawn} == {len(rank) for rank in ranks} == {-(-500 // world)}
    together = [i for turn in zip(*drawn, strict=True) for i in turn]
    assert together[:500] == list(sampler(-(-500 // world) * world))[:500]


@pytest.mark.parametrize("n", [1, 2, 32, 33, 63, 64, 65, 97, 100])
@pytest.mark.parametrize("world", [1, 2])
def test_every_rank_has_as_many_batches_and_none_of_one(n: int, world: int) -> None:
    batches = [WholeBatches(sampler(n, rank=rank, world=world), 32) for rank in range(world)]
    sizes = [[len(batch) for batch in rank] for rank in batches]
    assert len({len(rank) for rank in sizes}) == 1
    assert all(len(batch) == len(rank) for batch, rank in zip(batches, sizes, strict=True))
    per_rank = -(-n // world)
    for rank in sizes:
        assert sum(rank) == per_rank
        assert (
            rank == [32] * (per_rank // 32) + [per_rank % 32][: per_rank % 32 > 0]
            if per_rank % 32 != 1 or per_rank == 1
            else rank[-1] == 33
        )


def test_resumed_epoch_joins_the_same_last_batch() -> None:
    whole = list(WholeBatches(sampler(97), 32))
    resumed = sampler(97)
    resumed.start = 64
    assert list(WholeBatches(resumed, 32)) == whole[2:]
    assert [len(batch) for batch in whole] == [32, 32, 33]


@pytest.fixture
def table(stored: list[Path]) -> pd.DataFrame:
    """Three recordings for train, val and test; row 0 is class 0, rows 1 and 2 class 1, row 3 has no label."""
    rows = [
        {
            "sample_id": f"r{i}/{row}@{start}",
            "unit_id": f"r{i}/{row}",
            "path": str(stored[i]),
            "row": row,
            "start": start,
            "label": [0, 1, 1, pd.NA][row],
            "use": use,
            "split": split,
        }
        for i, split in enumerate(("train", "val", "test"))
        for row in range(N_ROWS)
        for use, step in (("train", 1.0), ("evaluate", 2.0))
        for start in np.arange(0, 48.1, step)
    ]
    return pd.DataFrame(rows).astype({"label": "Int64"})


def module(table: pd.DataFrame, **options: object) -> WindowDataModule:
    defaults = {"batch_size": 8, "eval_batch_size": 16, "windows_per_unit": None, "seed": 0}
    return WindowDataModule(table, 200, 100.0, **(defaults | options))  # type: ignore[arg-type]


def test_parts_of_the_module(table: pd.DataFrame) -> None:
    data = module(table)
    assert data.sample_shape == (1, 200)
    train = [(x, y, i) for x, y, i in data.train_dataloader()]
    assert sum(len(y) for _, y, _ in train) == data.epoch_size == 3 * 49
    for x, y, i in train:
        starts = data.train_windows["start"].to_numpy()[i.numpy()]
        np.testing.assert_array_equal(x[:, 0, 0].numpy() % 1e5, starts * 100)
        assert (x < 1e6).all()  # the training recording's values
        assert not y.isnan().any()
    labels = torch.cat([y for _, y, _ in train])
    assert 0.35 < labels.mean() < 0.65
    # validation has labels, prediction has all: validation, then test
    val = list(data.val_dataloader())
    assert sum(len(y) for _, y, _ in val) == 3 * 25
    assert all(((x >= 1e6) & (x < 2e6)).all() for x, *_ in val)
    predicted = torch.cat([i for *_, i in data.predict_dataloader()])
    assert predicted.tolist() == list(range(2 * 4 * 25))
    assert data.evaluate_windows["split"].tolist() == ["val"] * 100 + ["test"] * 100
    assert (data.evaluate_windows["use"] == "evaluate").all()


def test_windows_per_unit_caps_an_epoch(table: pd.DataFrame) -> None:
    data = module(table, windows_per_unit=5)
    assert data.epoch_size == 3 * 5
    drawn = Counter(i for *_, batch in data.train_dataloader() for i in batch.tolist())
    assert sum(drawn.values()) == 15
    some = data.epoch_windows
    assert some["unit_id"].value_counts().tolist() == [5, 5, 5]
    assert some.index.is_monotonic_increasing
    pd.testing.assert_frame_equal(some, data.train_windows.loc[some.index])
    assert not some.index.equals(module(table, windows_per_unit=5, seed=1).epoch_windows.index)
    assert len(module(table).epoch_windows) == 3 * 49


def test_all_channels_at_once(table: pd.DataFrame) -> None:
    assert module(table.assign(row=-1)).sample_shape == (N_ROWS, 200)


def test_no_labelled_training_windows(table: pd.DataFrame) -> None:
    with pytest.raises(BenchError, match="no labelled training windows"):
        module(table[table["split"] != "train"]).train_dataloader()
