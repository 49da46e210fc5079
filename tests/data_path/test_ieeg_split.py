"""Splits by person: balanced, and leave-one-dataset-out."""

from itertools import pairwise

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omni_bench.data.ieeg_split import balanced_split, few_shot_patients, leave_one_dataset_out
from omni_bench.data.splits import check_leaks, official_split
from omni_bench.errors import BenchError

SOURCES = ["hup", "zurich", "openieeg"]

person = st.fixed_dictionaries(
    {
        "sources": st.lists(st.sampled_from(SOURCES), min_size=1, max_size=2, unique=True),
        "outcome": st.sampled_from([True, False, pd.NA]),
        "modality": st.sampled_from(["ECOG", "SEEG", None]),
        "n_channels": st.integers(1, 6),
    }
)


def tables(people: list[dict]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Units and patients; a person of two sources is two subjects."""
    patients, units = [], []
    for i, row in enumerate(people):
        for source in row["sources"]:
            subject = {"subject": f"{source}-{i}", "person": f"p{i:03}", "source": source, "outcome": row["outcome"]}
            patients.append(subject)
            units += [subject | {"channel": f"A{c}", "modality": row["modality"]} for c in range(row["n_channels"])]
    table = pd.DataFrame(patients)
    return pd.DataFrame(units), table.astype({"outcome": "boolean"})


@settings(max_examples=8, deadline=None)
@given(st.lists(person, min_size=3, max_size=25), st.integers(0, 2**31))
def test_balanced_split_keeps_persons_whole(people: list[dict], seed: int) -> None:
    units, patients = tables(people)
    split = balanced_split(units, patients, seed=seed)
    assert set(split) == {"train", "val", "test"}
    check_leaks(units.assign(split=split), "person")
    n_test = units.loc[split == "test", "person"].nunique()
    assert n_test == min(max(1, round(0.4 * len(people))), len(people) - 2)
    shuffled = units.sample(frac=1, random_state=0)
    again = balanced_split(shuffled, patients.iloc[::-1], seed=seed)
    pd.testing.assert_series_equal(again.sort_index(), split.sort_index(), check_names=False)


@settings(max_examples=40, deadline=None)
@given(st.lists(person, min_size=3, max_size=25), st.sampled_from(SOURCES), st.integers(0, 2**31))
def test_leave_one_dataset_out(people: list[dict], held_out: str, seed: int) -> None:
    units, patients = tables(people)
    tested = set(units.loc[units["source"] == held_out, "person"])
    n_left = len(people) - len(tested)
    if not tested or n_left < 2:
        with pytest.raises(BenchError, match="held_out"):
            leave_one_dataset_out(units, patients, seed=seed, held_out=held_out)
        return
    split = leave_one_dataset_out(units, patients, seed=seed, held_out=held_out)
    check_leaks(units.assign(split=split), "person")
    assert ((split == "test") == (units["source"] == held_out)).all()
    assert set(units.loc[split.isna(), "person"]) <= tested
    assert not set(units.loc[split.isin(["train", "val"]), "person"]) & tested
    assert units.loc[split == "val", "person"].nunique() == min(max(1, round(0.2 * n_left)), n_left - 1)


def test_balance_beats_chance() -> None:
    people = [
        {"sources": [source], "outcome": free, "modality": modality, "n_channels": 1 + (i % 6)}
        for source, free, modality, n in [
            ("hup", True, "ECOG", 8),
            ("hup", False, "SEEG", 12),
            ("zurich", True, "SEEG", 10),
        ]
        for i in range(n)
    ]
    units, patients = tables(people)
    for seed in range(3):
        split = balanced_split(units, patients, seed=seed)
        test = units[split == "test"].drop_duplicates("person")
        assert len(test) == 12
        # source and outcome are strata: each gives 40 % to within one person
        counts = test.groupby(["source", "outcome"]).size()
        assert abs(counts["hup", True] - 3.2) < 1
        assert abs(counts["hup", False] - 4.8) < 1
        assert abs(counts["zurich", True] - 4) < 1
        sizes = units.groupby("person")["channel"].nunique()
        assert abs(sizes[test["person"]].mean() - sizes.mean()) < 0.4
    parts = [tuple(balanced_split(units, patients, seed=seed)) for seed in range(3)]
    assert len(set(parts)) == 3


def test_errors() -> None:
    units, patients = tables([{"sources": ["hup"], "outcome": True, "modality": None, "n_channels": 1}] * 2)
    with pytest.raises(BenchError, match="2 persons cannot be split"):
        balanced_split(units, patients, seed=0)
    with pytest.raises(BenchError, match=r"held_out=zurich: no such source in the data \(it has hup\)"):
        leave_one_dataset_out(units, patients, seed=0, held_out="zurich")
    units, patients = tables([{"sources": ["hup"], "outcome": True, "modality": None, "n_channels": 1}] * 4)
    with pytest.raises(BenchError, match=r"test_fraction=1\.5"):
        balanced_split(units, patients, seed=0, test_fraction=1.5)


def test_few_patients_are_among_more_and_hold_every_class() -> None:
    patients = pd.DataFrame({"subject": [f"s{i:02d}" for i in range(20)], "source": "hup", "outcome": True})
    patients = patients.assign(person=patients["subject"], split=["train"] * 15 + ["test"] * 5)
    units = patients.loc[patients.index.repeat(2), ["subject", "person"]].reset_index(names="number")
    units["label"] = pd.array([i % 2 if n in (0, 3, 6, 16) else 0 for i, n in enumerate(units["number"])], "Int64")
    whole = official_split(units, patients, seed=4)
    trained: list[set[str]] = []
    for n_persons in (1, 2, 5, 12):
        split = few_shot_patients(units, patients, seed=4, n_persons=n_persons)
        pd.testing.assert_series_equal(split[whole != "train"], whole[whole != "train"])
        trained.append(set(units.loc[split == "train", "person"]))
        assert len(trained[-1]) == n_persons
        assert set(units.loc[split == "train", "label"]) == {0, 1}
    assert all(fewer < more for fewer, more in pairwise(trained))
    shuffled = few_shot_patients(units.sample(frac=1, random_state=0), patients, seed=4, n_persons=2)
    assert set(shuffled.index[shuffled == "train"]) == set(units.index[units["person"].isin(trained[1])])
    with pytest.raises(BenchError, match="n_persons=13, expected 1 to 12, the training persons with a label"):
        few_shot_patients(units, patients, seed=4, n_persons=13)
