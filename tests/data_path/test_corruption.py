"""Corruption: what it does to a window, by name and seed alone, and whom it spares."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from omni_bench import api
from omni_bench.data.corruption import (
    ChannelMasking,
    Corruption,
    Drift,
    Gain,
    Noise,
    RegionMasking,
    TimeShift,
    region_of,
)
from omni_bench.data.datamodule import WindowDataModule
from omni_bench.data.store import write_store
from omni_bench.errors import BenchError
from omni_bench.steps import corruption_of

NAMES = ("Fp1", "F3", "Cz", "T7", "P3", "O1", "O2", "F4", "C4", "P4")
KINDS: list[Corruption] = [
    ChannelMasking(seed=0, ch_names=NAMES, sfreq=100.0, p=0.4),
    RegionMasking(seed=0, ch_names=NAMES, sfreq=100.0, regions=("occipital",)),
    Gain(seed=0, ch_names=NAMES, sfreq=100.0, max_db=6),
    Noise(seed=0, ch_names=NAMES, sfreq=100.0, snr_db=0),
    Drift(seed=0, ch_names=NAMES, sfreq=100.0, uv_per_s=50),
    TimeShift(seed=0, ch_names=NAMES, sfreq=100.0, max_s=0.5),
]
X = torch.from_numpy(np.random.default_rng(0).normal(0, 10, (10, 400)).astype(np.float32))


def masking(p: float, n: int, seed: int = 0) -> ChannelMasking:
    return ChannelMasking(seed=seed, ch_names=tuple(f"C{i}" for i in range(n)), sfreq=100.0, p=p)


@pytest.mark.parametrize("corruption", KINDS, ids=lambda kind: type(kind).__name__)
def test_name_and_seed_decide_and_the_window_is_left(corruption: Corruption) -> None:
    before = X.clone()
    one = corruption(X, "r/1@0.000")
    assert torch.equal(X, before)
    assert (one.shape, one.dtype) == (X.shape, torch.float32)
    assert torch.equal(one, replace(corruption)(X, "r/1@0.000"))
    assert not torch.equal(one, X)
    if not isinstance(corruption, RegionMasking):
        assert not torch.equal(one, corruption(X, "r/2@0.000"))
        assert not torch.equal(one, replace(corruption, seed=1)(X, "r/1@0.000"))
        assert corruption.sha256(["a", "b"]) != replace(corruption, seed=1).sha256(["a", "b"])
    assert corruption.sha256(["a", "b"]) == replace(corruption, sfreq=250.0).sha256(["b", "a", "b"])
    assert corruption.identity()["kind"] == type(corruption).__name__


@settings(deadline=None)
@given(n=st.integers(2, 64), p=st.sampled_from([0.01, 0.2, 0.29, 0.4, 0.6, 0.8]), name=st.text(max_size=8))
def test_the_papers_number_of_channels_is_lost(n: int, p: float, name: str) -> None:
    expected = max(1, int(round(100 * p) * n // 100))
    x = torch.ones(n, 3)
    assert (masking(p, n)(x, name) == 0).all(dim=1).sum() == expected
    assert (masking(p, n)(x, name) == 1).all(dim=1).sum() == n - expected


def test_more_lost_channels_hold_the_fewer_and_all_are_lost_alike() -> None:
    drawn = np.array([[masking(p, 10).draw(str(i)) for i in range(2000)] for p in (0.2, 0.4, 0.8)])
    assert (np.diff(drawn, axis=0) >= 0).all()
    counts = drawn[0].sum(axis=0)
    assert ((counts - 400) ** 2 / 400).sum() < 27.9  # 0.1 % quantile of chi-square with 9 degrees of freedom


def test_reference_masks_lose_the_same_channels_everywhere() -> None:
    fixed = replace(masking(0.4, 10, seed=42), compat="reference")
    expected = np.random.RandomState(42).choice(10, 4, replace=False)
    for name in ("a", "b"):
        assert set(np.flatnonzero(fixed.draw(name))) == set(expected)
    assert fixed.splits == ("train", "val", "test")


def test_regions_go_by_electrode_names() -> None:
    assert [region_of(name) for name in ("EEG FP1-REF", "AFz", "FCz", "T3", "T5", "TP9", "PO7", "Iz", "ECG", "A1")] == [
        *("frontal", "frontal", "central", "temporal", "parietal", "temporal", "occipital", "occipital", None, None)
    ]
    assert [name for name, lost in zip(NAMES, KINDS[1].draw("any"), strict=True) if lost] == ["O1", "O2"]


def test_gain_noise_drift_and_shift_are_as_large_as_said() -> None:
    gain, noise, drift, shift = KINDS[2:]
    factors = 20 * torch.log10((gain(X, "a") / X).median(dim=1).values)
    assert 3 < factors.abs().max() <= 6
    np.testing.assert_allclose(factors.numpy(), 6 * gain.draw("a"), atol=1e-3)
    added = noise(X, "a") - X
    np.testing.assert_allclose((added.std(dim=1) / X.std(dim=1)).numpy(), 1, atol=0.15)
    slope = drift(X, "a") - X
    np.testing.assert_allclose(slope.mean(dim=1).numpy(), 0, atol=1e-4)
    np.testing.assert_allclose((slope[:, -1] - slope[:, 0]).numpy(), 3.99 * 50 * drift.draw("a"), rtol=1e-3)
    steps = [s for s in range(-50, 51) if torch.equal(shift(X, "a"), X.roll(s, dims=1))]
    assert steps == [round(float(shift.draw("a")[0]) * 50)]


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (lambda: masking(0.5, 1), "p=0.5 would blank all 1 channels"),
        (lambda: masking(1.0, 8), "p=1, expected above 0 and below 1"),
        (lambda: replace(KINDS[1], regions=("left",)), "regions=left: expected among frontal"),
        (lambda: replace(KINDS[1], ch_names=("Cz", "Pz"), regions=("frontal",)), "no channel there"),
        (lambda: replace(KINDS[1], ch_names=("O1", "O2")), "would blank all 2 channels"),
        (lambda: replace(KINDS[2], max_db=0), "max_db=0, expected a number above 0"),
        (lambda: replace(KINDS[2], splits=("tset",)), "expected one or more of train, val, test"),
    ],
)
def test_what_cannot_be_is_refused(make: object, line: str) -> None:
    with pytest.raises(BenchError, match=line):
        make()  # type: ignore[operator]


@pytest.mark.parametrize("splits", [("test",), ("train", "val", "test")])
def test_only_windows_of_its_splits_are_corrupted(tmp_path: Path, splits: tuple[str, ...]) -> None:
    write_store(tmp_path / "r.h5", [np.ones((10, 1200), np.float32)], list(NAMES), 100.0, {})
    windows = pd.DataFrame(
        [
            {"sample_id": f"{split}{i}", "unit_id": split, "split": split, "use": use, "start": 2.0 * i, "label": i % 2}
            for split in ("train", "val", "test")
            for use in ("train", "evaluate")
            for i in range(6)
        ]
    ).assign(path=str(tmp_path / "r.h5"), row=-1, duration=2.0)
    corruption = replace(KINDS[0], splits=splits)
    settings = {"batch_size": 4, "eval_batch_size": 4, "windows_per_unit": None, "seed": 0}
    data = WindowDataModule(windows, 200, 100.0, **settings, corruption=corruption)  # type: ignore[arg-type]
    for split, table in (("train", data.train_windows), ("val", data.val_windows), ("test", data.test_windows)):
        dataset = data.dataset(table)
        for i, name in enumerate(table["sample_id"]):
            lost = (dataset[i][0] == 0).all(dim=1).numpy()
            np.testing.assert_array_equal(lost, corruption.draw(name) if split in splits else np.zeros(10))


@pytest.mark.parametrize("card", ["channel_masking", "region_masking", "gain", "noise", "drift", "time_shift"])
def test_cards_name_a_corruption(card: str) -> None:
    cfg = api.compose_config(["task=demo_hands", f"protocol={card}", "seed=7"])
    corruption = corruption_of(cfg, NAMES, 100.0)
    assert corruption is not None
    assert (corruption.seed, corruption.splits, corruption.sfreq) == (7, ("test",), 100.0)
    assert (cfg.protocol.name, cfg.protocol.split.max_per_class) == (card, 40)
    with pytest.raises(BenchError, match=r"corruption.splits=\['x'\]"):
        corruption_of(
            api.compose_config([*["task=demo_hands", f"protocol={card}"], "protocol.corruption.splits=[x]"]), NAMES, 1
        )
