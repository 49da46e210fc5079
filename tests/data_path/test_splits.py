"""Splits: no person on two sides, whatever the rows' order."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omni_bench.data.splits import check_leaks, official_split, stratified_choice
from omni_bench.errors import BenchError


@st.composite
def patient_tables(draw: st.DrawFn) -> pd.DataFrame:
    """Persons with one or two subjects, in a train or test split, from three sources."""
    n = draw(st.integers(2, 40))
    persons = [f"p{i}" for i in range(n)]
    table = pd.DataFrame(
        {
            "person": persons,
            "split": draw(st.lists(st.sampled_from(["train", "test"]), min_size=n, max_size=n)),
            "source": draw(st.lists(st.sampled_from(["hup", "zurich", "openieeg"]), min_size=n, max_size=n)),
            "outcome": pd.array(
                draw(st.lists(st.sampled_from([True, False, None]), min_size=n, max_size=n)), dtype="boolean"
            ),
        }
    )
    twice = table[draw(st.lists(st.booleans(), min_size=n, max_size=n))].assign(source="sourcesink", outcome=pd.NA)
    table = pd.concat([table, twice], ignore_index=True)
    return table.assign(subject=[f"s{i}" for i in range(len(table))])


def units_of(patients: pd.DataFrame) -> pd.DataFrame:
    """Three units per subject: of class 0, of class 1, unlabelled; every third subject has class 0 only."""
    units = patients.loc[patients.index.repeat(3), ["subject", "person"]].reset_index()
    labels = np.where(units["index"] % 3 == 0, [0] * len(units), np.arange(len(units)) % 3)
    return units.assign(label=pd.array(labels, dtype="Int64")).replace({"label": {2: pd.NA}})


def persons_in(units: pd.DataFrame, split: pd.Series) -> dict[str, set[str]]:
    return {part: set(units.loc[split == part, "person"]) for part in ("train", "val", "test")}


@settings(max_examples=40, deadline=None)
@given(patients=patient_tables(), seed=st.integers(0, 1000), fraction=st.sampled_from([0.1, 0.2, 0.5]))
def test_official_split(patients: pd.DataFrame, seed: int, fraction: float) -> None:
    units = units_of(patients)
    split = official_split(units, patients, seed=seed, val_fraction=fraction)
    assert split.notna().all()
    check_leaks(units.assign(split=split), "person")
    parts = persons_in(units, split)
    official = patients.groupby("person")["split"].first()
    assert parts["test"] == set(official.index[official == "test"])
    n_train = int((official == "train").sum())
    assert len(parts["val"]) == (max(1, min(round(fraction * n_train), n_train - 1)) if n_train > 1 else 0)
    complete = units.groupby("person")["label"].nunique() == units["label"].nunique()
    if parts["val"] and complete[official[official == "train"].index].any():
        assert complete[list(parts["val"])].any()
    # neither the rows' order nor a second call changes anybody's part
    again = persons_in(
        units, official_split(units, patients.sample(frac=1, random_state=seed), seed=seed, val_fraction=fraction)
    )
    assert again == parts


def test_seed_draws_other_validation_persons_but_not_other_test_persons() -> None:
    patients = pd.DataFrame(
        {
            "subject": [f"s{i}" for i in range(40)],
            "split": ["train"] * 30 + ["test"] * 10,
            "source": "x",
            "outcome": True,
        }
    )
    patients["person"] = patients["subject"]
    parts = [
        persons_in(units_of(patients), official_split(units_of(patients), patients, seed=seed)) for seed in range(5)
    ]
    assert len({frozenset(part["val"]) for part in parts}) == 5
    assert len({frozenset(part["test"]) for part in parts}) == 1


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=5), fraction=st.floats(0.05, 0.5), seed=st.integers(0, 1000)
)
def test_every_stratum_gives_its_share_to_within_one_person(sizes: list[int], fraction: float, seed: int) -> None:
    strata = pd.Series([f"stratum{i}" for i, size in enumerate(sizes) for _ in range(size)])
    strata.index = pd.Index([f"p{i}" for i in np.random.default_rng(seed).permutation(len(strata))])
    chosen = stratified_choice(strata, fraction, seed)
    assert chosen.is_unique
    assert len(chosen) == max(1, min(round(fraction * len(strata)), len(strata) - 1))
    for stratum, size in strata.value_counts().items():
        assert abs((strata[chosen] == stratum).sum() - size * len(chosen) / len(strata)) < 1 + 1e-9
    assert set(stratified_choice(strata.sample(frac=1, random_state=1), fraction, seed)) == set(chosen)


def test_every_person_may_be_chosen() -> None:
    strata = pd.Series(["a"] * 7 + ["b"] * 5, index=[f"p{i}" for i in range(12)])
    counts = pd.Series([name for seed in range(600) for name in stratified_choice(strata, 0.25, seed)]).value_counts()
    assert len(counts) == 12
    assert counts.min() > 100  # 150 are expected, with a standard deviation of 11


def test_official_validation_persons_are_kept() -> None:
    patients = pd.DataFrame(
        {
            "subject": list("abcd"),
            "person": list("abcd"),
            "split": ["train", "train", "val", "test"],
            "source": "x",
            "outcome": True,
        }
    )
    split = official_split(units_of(patients), patients, seed=3)
    assert persons_in(units_of(patients), split) == {"train": {"a", "b"}, "val": {"c"}, "test": {"d"}}


def test_without_an_official_split_all_is_test() -> None:
    patients = pd.DataFrame(
        {"subject": list("ab"), "person": list("ab"), "split": pd.NA, "source": "x", "outcome": True}
    )
    assert (official_split(units_of(patients), patients, seed=0) == "test").all()


def test_torn_and_forgotten_persons() -> None:
    patients = pd.DataFrame(
        {
            "subject": list("abc"),
            "person": ["p", "p", "q"],
            "split": ["train", "test", "test"],
            "source": "x",
            "outcome": True,
        }
    )
    with pytest.raises(BenchError, match="person p stands in 2 splits: correct the split file"):
        official_split(units_of(patients), patients, seed=0)
    forgotten = patients.assign(split=["train", "train", pd.NA])
    with pytest.raises(BenchError, match="person q stands in no split, but others do"):
        official_split(units_of(forgotten), forgotten, seed=0)


def test_leak_check() -> None:
    units = pd.DataFrame({"person": ["p", "p", "q"], "subject": ["a", "b", "c"], "split": ["train", "test", "test"]})
    check_leaks(units, "subject")
    with pytest.raises(BenchError, match="leak: person p stands in 2 splits; nothing was trained"):
        check_leaks(units, "person")


def test_short_recordings_can_be_left_out_of_the_test() -> None:
    patients = pd.DataFrame({"subject": list("abcd"), "split": ["train", "train", "train", "test"]})
    patients = patients.assign(person=patients["subject"], source="s", outcome=pd.array([True] * 4, "boolean"))
    units = pd.DataFrame({"person": list("abcddd"), "label": [0, 1, 0, 1, 0, 1], "duration": [5.0, 5, 5, 5, 120, 119]})
    split = official_split(units, patients, seed=0, min_test_s=120)
    assert split.isna().tolist() == [False, False, False, True, False, True]
    assert split[4] == "test"
    assert official_split(units, patients, seed=0).notna().all()
