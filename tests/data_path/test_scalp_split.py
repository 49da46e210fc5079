"""Protocols of the scalp benchmark: sizes, leaks, caps, shots."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omni_bench.data.scalp_split import capped, cross_subject, few_shot, multi_subject, overlap_blocks, sizes
from omni_bench.errors import BenchError

NOBODY = pd.DataFrame()


def units_of(trials: list[int], n_classes: int = 2, step: float = 2.0, seed: int = 0) -> pd.DataFrame:
    """Trials of two seconds, every ``step`` seconds, in one recording per person; ``trials`` is their number."""
    rng = np.random.default_rng(seed)
    rows = [
        {
            "unit_id": f"p{person:02d}/{trial:04d}",
            "person": f"p{person:02d}",
            "source": "x",
            "recording": f"p{person:02d}",
            "onset": trial * step,
            "duration": 2.0,
            "label": rng.integers(n_classes),
        }
        for person, n in enumerate(trials)
        for trial in range(n)
    ]
    return pd.DataFrame(rows).astype({"label": "Int64"}).sample(frac=1, random_state=seed)


@pytest.mark.parametrize(
    ("n", "expected"),
    [(4, (2, 1, 1)), (6, (4, 1, 1)), (10, (8, 1, 1)), (14, (11, 1, 2)), (15, (12, 2, 1)), (31, (25, 3, 3))],
)
def test_sizes_are_the_published_ones(n: int, expected: tuple[int, int, int]) -> None:
    assert sizes(n) == expected


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(1, 12), min_size=3, max_size=30), st.integers(0, 1000))
def test_cross_subject_never_splits_a_person(trials: list[int], seed: int) -> None:
    units = units_of(trials)
    split = cross_subject(units, NOBODY, seed=seed)
    of_person = split.groupby(units["person"]).agg(["nunique", "first"])
    assert (of_person["nunique"] == 1).all()
    counts = of_person["first"].value_counts()
    assert (counts["train"], counts["val"], counts["test"]) == sizes(len(trials))
    shuffled = cross_subject(units.sample(frac=1, random_state=1), NOBODY, seed=seed)
    pd.testing.assert_series_equal(shuffled.sort_index(), split.sort_index(), check_names=False)


def test_cross_subject_spreads_persons_of_one_class() -> None:
    units = units_of([4] * 40)
    units["label"] = pd.array((units["person"].str[1:].astype(int) < 20).astype(int), "Int64")
    for seed in range(10):
        split = cross_subject(units, NOBODY, seed=seed)
        persons = units[split == "test"].groupby("person")["label"].first()
        assert persons.value_counts().to_dict() == {0: 2, 1: 2}


def test_cross_subject_needs_three_persons() -> None:
    with pytest.raises(BenchError, match="needs 3 persons, the task has 2: say protocol=multi_subject"):
        cross_subject(units_of([5, 5]), NOBODY, seed=0)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.sampled_from([1.0, 2.0, 3.0]), st.integers(0, 1000))
def test_multi_subject_keeps_overlapping_trials_together(trials: list[int], step: float, seed: int) -> None:
    units = units_of(trials, step=step)
    split = multi_subject(units, NOBODY, seed=seed)
    assert split.notna().all()
    parts_of_block = split.groupby(overlap_blocks(units)).nunique()
    assert parts_of_block.max() == 1
    for person, own in split.groupby(units["person"]):
        n = int(person[1:])  # type: ignore[index]
        separate = trials[n] if step >= 2 else 1
        expected = sizes(trials[n]) if separate >= 3 else (trials[n], 0, 0)
        assert tuple((own == part).sum() for part in ("train", "val", "test")) == expected


def test_multi_subject_spreads_classes() -> None:
    units = units_of([40])
    units["label"] = pd.array(np.arange(40) % 2, "Int64")
    split = multi_subject(units, NOBODY, seed=3)
    assert units.loc[split == "test", "label"].value_counts().to_dict() == {0: 2, 1: 2}


def test_blocks_are_chains_of_overlap() -> None:
    units = pd.DataFrame(
        {
            "recording": ["a", "a", "a", "a", "b"],
            "onset": [4.0, 0.0, 1.0, 6.0, 0.5],
            "duration": [2.0, 5.0, 1.0, 1.0, 1.0],
        }
    )
    assert overlap_blocks(units).tolist() == [1, 1, 1, 2, 3]


def test_cap_is_per_person_and_class() -> None:
    units = units_of([100, 30])
    drawn = capped(units, 40, seed=0)
    counts = units[drawn].groupby(["person", "label"]).size()
    whole = units.groupby(["person", "label"]).size()
    assert (counts == whole.clip(upper=40)).all()
    assert not capped(units, 40, seed=1).equals(drawn)
    assert capped(units, None, seed=0).all()
    split = cross_subject(units_of([100] * 5), NOBODY, seed=0)
    assert split.notna().sum() == 5 * 2 * 40


@pytest.mark.parametrize(("fraction", "expected"), [(0.02, 6), (0.1, 32), (0.3, 96), (1.0, 320)])
def test_few_shot_takes_a_share_of_each_class(fraction: float, expected: int) -> None:
    units = units_of([80] * 10)
    units["label"] = pd.array([i % 2 for i in units["unit_id"].str[-4:].astype(int)], "Int64")
    whole = cross_subject(units, NOBODY, seed=0)
    split = few_shot(units, NOBODY, seed=0, fraction=fraction)
    train = units.loc[split == "train", "label"].value_counts()
    assert train.to_dict() == {0: expected, 1: expected}
    pd.testing.assert_series_equal(split[whole != "train"], whole[whole != "train"])


def test_fewer_shots_are_among_more_and_never_none() -> None:
    units = units_of([10] * 10)
    fewer, more = (few_shot(units, NOBODY, seed=0, fraction=f) == "train" for f in (0.001, 0.3))
    assert units.loc[fewer, "label"].value_counts().to_dict() == {0: 1, 1: 1}
    assert more[fewer].all()
    with pytest.raises(BenchError, match="expected above 0"):
        few_shot(units, NOBODY, seed=0, fraction=0)
