"""Protocols of the scalp benchmark: sizes, leaks, caps, shots."""

import hashlib
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from omni_bench.data.scalp_split import capped, cross_subject, few_shot, k_fold, multi_subject
from omni_bench.data.splits import (
    NotServed,
    SplitNote,
    absent_classes,
    check_leaks,
    check_overlap,
    overlap_blocks,
    sizes,
)
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


@st.composite
def trial_tables(draw: st.DrawFn) -> pd.DataFrame:
    """Trials of random length and place, overlapping or not, in one or two recordings per person; some persons have one class."""
    rows = []
    for person in range(draw(st.integers(1, 12))):
        classes = draw(st.sampled_from([(0,), (1,), (0, 1), (0, 1)]))
        for trial, (onset, lasts) in enumerate(
            draw(st.lists(st.tuples(st.integers(0, 40), st.sampled_from([1.0, 2.0, 5.0])), min_size=1, max_size=12))
        ):
            name = f"p{person:02d}"
            place = {"recording": f"{name}/{onset % 2}", "onset": float(onset), "duration": lasts}
            label = classes[trial % len(classes)]
            rows.append({"unit_id": f"{name}/{trial:02d}", "person": name, "source": "x", **place, "label": label})
    return pd.DataFrame(rows).astype({"label": "Int64"})


BY_PERSON = {
    "cross": cross_subject,
    "cross, reference": partial(cross_subject, compat="reference"),
    "few-shot": partial(few_shot, fraction=0.3),
    "folds": partial(k_fold, k=3, fold=1),
    "leave one out": partial(k_fold, k=None, fold=0),
}
BY_TRIAL = {
    "multi": multi_subject,
    "multi, reference": partial(multi_subject, compat="reference"),
    "few-shot within": partial(few_shot, fraction=0.3, within=True),
    "few-shot, reference": partial(few_shot, fraction=0.3, compat="reference"),
}


@pytest.mark.filterwarnings("ignore::omni_bench.data.splits.SplitNote")
@pytest.mark.parametrize("protocol", BY_PERSON | BY_TRIAL)
@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.filter_too_much])
@given(units=trial_tables(), seed=st.integers(0, 1000))
def test_no_person_trial_or_moment_is_on_two_sides(protocol: str, units: pd.DataFrame, seed: int) -> None:
    split_by = (BY_PERSON | BY_TRIAL)[protocol]
    try:
        split = split_by(units, NOBODY, seed=seed)  # type: ignore[operator]
    except BenchError:
        assume(False)
    assert set(split.dropna()) <= {"train", "val", "test"}
    parts = units.assign(split=split)
    check_leaks(parts, "person" if protocol in BY_PERSON else "unit_id")
    check_overlap(parts.assign(start=parts["onset"], sample_id=parts["unit_id"]))
    shuffled = split_by(units.sample(frac=1, random_state=1), NOBODY, seed=seed)  # type: ignore[operator]
    pd.testing.assert_series_equal(shuffled.sort_index(), split.sort_index(), check_names=False)
    if "reference" not in protocol:
        assert parts[split.notna()].groupby(["person", "label"]).size().max() <= 40


def test_overlapping_windows_of_two_splits_are_a_leak() -> None:
    windows = pd.DataFrame(
        {"recording": "r", "sample_id": list("abc"), "start": [0.0, 2.0, 3.5], "duration": 2.0, "unit_id": list("abc")}
    )
    check_overlap(windows.assign(split=["train", "test", "test"]))
    check_overlap(windows.assign(split=["train", "test", pd.NA]))
    with pytest.raises(BenchError, match="leak: window b overlaps one of another split"):
        check_overlap(windows.assign(split=["train", "test", "val"]))


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(4, 12), min_size=3, max_size=30), st.integers(0, 1000))
def test_cross_subject_has_the_papers_sizes(trials: list[int], seed: int) -> None:
    units = units_of(trials)
    units["label"] = pd.array([i % 2 for i in units["unit_id"].str[-4:].astype(int)], "Int64")
    persons = units.assign(split=cross_subject(units, NOBODY, seed=seed)).groupby("person")["split"].first()
    counts = persons.value_counts()
    assert (counts["train"], counts["val"], counts["test"]) == sizes(len(trials))


def test_cross_subject_spreads_persons_of_one_class() -> None:
    units = units_of([4] * 40)
    units["label"] = pd.array((units["person"].str[1:].astype(int) < 20).astype(int), "Int64")
    for seed in range(10):
        split = cross_subject(units, NOBODY, seed=seed)
        persons = units[split == "test"].groupby("person")["label"].first()
        assert persons.value_counts().to_dict() == {0: 2, 1: 2}


def test_cross_subject_needs_three_persons() -> None:
    with pytest.raises(NotServed, match="protocol=cross_subject needs 3 persons, the task has 2"):
        cross_subject(units_of([5, 5]), NOBODY, seed=0)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.sampled_from([1.0, 2.0, 3.0]), st.integers(0, 1000))
def test_multi_subject_keeps_overlapping_trials_together(trials: list[int], step: float, seed: int) -> None:
    units = units_of(trials, step=step)
    try:
        split = multi_subject(units, NOBODY, seed=seed)
    except BenchError:
        assert step < 2 or max(trials) < 3 or set(units["label"]) == {0, 1}
        assume(False)
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
            "unit_id": list("vwxyz"),
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
    with pytest.raises(BenchError, match="max_per_class=0, expected at least 1"):
        capped(units, 0, seed=0)
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


def classes_of_persons(holders: int, n_persons: int = 10) -> pd.DataFrame:
    """Four trials per person; the first ``holders`` persons have both classes, the others the first alone."""
    units = units_of([4] * n_persons)
    number, trial = units["person"].str[1:].astype(int), units["unit_id"].str[-4:].astype(int)
    return units.assign(label=pd.array(trial.mod(2).where(number < holders, 0), "Int64"))


def test_a_rare_class_is_in_training_and_in_test() -> None:
    units = classes_of_persons(2)
    for seed in range(20):
        split = cross_subject(units, NOBODY, seed=seed)
        assert units.loc[split == "train", "label"].nunique() == 2
        assert units.loc[split == "test", "label"].nunique() == 2
        assert absent_classes(units.assign(split=split), ["a", "b"]) == [
            "no val unit of class b: val metrics say nothing of it"
        ]


def test_a_class_of_one_person_is_refused_and_runs_as_reference() -> None:
    units = classes_of_persons(1)
    with pytest.raises(BenchError, match="every test unit is of one class"):
        cross_subject(units, NOBODY, seed=0)
    assert (cross_subject(units, NOBODY, seed=0, compat="reference") == "test").any()


def test_what_was_bent_is_said() -> None:
    with pytest.warns(SplitNote, match="9 persons: 8:1:1 becomes 7/1/1"):
        cross_subject(classes_of_persons(9, 9), NOBODY, seed=0)
    with pytest.warns(SplitNote, match="1 persons with fewer than 3 separate trials are trained on only"):
        multi_subject(units_of([20, 20, 2]), NOBODY, seed=0)
    with pytest.warns(SplitNote, match="fraction 0.001 is less than a training unit of 2 classes"):
        few_shot(classes_of_persons(10), NOBODY, seed=0, fraction=0.001)
    with pytest.raises(BenchError, match="a person with 3 separate trials, the task has none"):
        multi_subject(units_of([2, 2]), NOBODY, seed=0)


def test_folds_test_every_person_once() -> None:
    units = classes_of_persons(6, 12)
    tested = [set(units.loc[k_fold(units, NOBODY, seed=3, fold=f, k=4) == "test", "person"]) for f in range(4)]
    assert sorted(person for fold in tested for person in fold) == sorted(units["person"].unique())
    assert {len(fold) for fold in tested} == {3}
    holders = {f"p{i:02d}" for i in range(6)}
    assert {len(fold & holders) for fold in tested} <= {1, 2}  # spread over the sets of classes
    parts = k_fold(units, NOBODY, seed=3, fold=0, k=4)
    assert len(set(units.loc[parts == "val", "person"])) == 1
    alone = k_fold(classes_of_persons(12, 12), NOBODY, seed=3, fold=7, k=None)
    assert set(units.loc[alone == "test", "person"]) == {"p07"}
    for wrong, line in (({"k": 13}, "k=13, expected 2 to 12"), ({"k": 4, "fold": 4}, "fold=4, expected 0 to 3")):
        with pytest.raises(BenchError, match=line):
            k_fold(units, NOBODY, seed=0, **({"fold": 0} | wrong))  # type: ignore[arg-type]


def test_reference_splits_are_those_of_the_published_rules() -> None:
    units = units_of([100] * 10)
    split = cross_subject(units, NOBODY, seed=42, compat="reference")
    persons = np.array([f"p{i:02d}" for i in range(10)])
    np.random.default_rng(42).shuffle(persons)
    expected = dict(zip(persons, ["train"] * 8 + ["val", "test"], strict=True))
    assert (split.dropna() == units["person"].map(expected)[split.notna()]).all()
    # the cap holds in training alone
    sizes_of = units.assign(split=split).groupby(["split", "person", "label"]).size()
    whole = units.groupby(["person", "label"]).size()
    for split_name, person, label in sizes_of.index:
        n = whole[person, label]
        assert sizes_of[split_name, person, label] == (min(n, 40) if split_name == "train" else n)

    split = multi_subject(units, NOBODY, seed=5, max_per_class=None, compat="reference")
    own = units[units["person"] == "p03"].sort_values("unit_id")
    order = np.arange(100)
    seed = 5 + int.from_bytes(hashlib.sha1(b"p03").digest()) % 1_000_003
    np.random.default_rng(seed).shuffle(order)
    assert (split[own.index[order[:80]]] == "train").all()
    assert (split[own.index[order[90:]]] == "test").all()

    few = [few_shot(units, NOBODY, seed=s, fraction=0.02, compat="reference") for s in (0, 1)]
    assert few[0][few[0] != "train"].dropna().equals(few[1][few[1] != "train"].dropna())  # one split for all draws
    assert not few[0].equals(few[1])
    assert few[0].value_counts()["test"] == 200  # 6:2:2
    assert few[0].value_counts()["train"] == 12  # 2 % of about 300 trials of each class
