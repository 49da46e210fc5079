"""Cohort counts beside the published ones."""

from pathlib import Path

import pandas as pd
import pytest

from omni_bench.data.cohort import Cohort
from omni_bench.datasets.omni_ieeg import read_omni_ieeg
from omni_bench.results.cohort_tables import cohort_tables, published_counts


def lookup(table: pd.DataFrame, column: str) -> dict[tuple[str, str, str, str], float]:
    return table.set_index(["table", "split", "source", "quantity"])[column].dropna().to_dict()


def test_published_totals_are_sums_of_their_parts() -> None:
    published = lookup(published_counts(), "published")
    sources = ("openieeg", "zurich", "hup", "sourcesink")
    summed = {
        "1": ["subjects", "selected", "surgery", "seizure_free"],
        "2": ["subjects", "total_events", "artifact", "real_hfo"],
        "3": ["valid_subjects", "normal_channels", "seizure_free", "non_free"],
    }
    for table, quantity in [(table, quantity) for table, quantities in summed.items() for quantity in quantities]:
        parts = [published[table, split, source, quantity] for split in ("train", "test") for source in sources]
        assert sum(parts) == published[table, "all", "all", quantity]
        for source in sources:
            both = published[table, "train", source, quantity] + published[table, "test", source, quantity]
            assert published[table, "all", source, quantity] == both
    assert published["1", "all", "openieeg", "longest_min"] == 120
    assert published["1", "all", "zurich", "shortest_min"] == 1
    assert ("3", "all", "zurich", "pathological_channels") not in published
    assert published["anatomy", "all", "all", "channels"] == 18517


def test_counts_by_hand() -> None:
    """Two patients: train, seizure-free, 1000 Hz; test, not free, one fast interictal, one slow and one ictal recording."""
    patients = pd.DataFrame(
        {
            "subject": ["a", "b", "c"],
            "person": ["a", "b", "c"],
            "source": ["hup", "hup", "zurich"],
            "outcome": [True, False, pd.NA],
            "split": ["val", "test", "train"],
        }
    )
    recordings = pd.DataFrame(
        [
            ("a1", "a", 1000, 120, False, None), ("b1", "b", 1024, 300, False, "awake"), ("b2", "b", 1024, 90, True, None),
            ("b3", "b", 256, 600, False, "asleep"), ("c1", "c", 500, 100, False, None), ("a2", "a", 999.41, 61, False, None),
        ],
        columns=["recording", "subject", "sfreq", "duration", "ictal", "state"],
    ).assign(path="x")  # fmt: skip
    rows = [
        ("a1", "A1", True, False, False, "insula"), ("a1", "A2", True, True, False, None), ("a1", "A3", True, True, True, None),
        ("a1", "A4", False, False, False, None), ("a2", "A1", True, False, False, None), ("b1", "A1", True, True, None, None),
        ("b1", "A2", True, False, None, None), ("b2", "A1", True, True, None, None), ("b3", "A1", True, True, None, None),
        ("c1", "A1", True, None, None, "insula"),
    ]  # fmt: skip
    channels = pd.DataFrame(rows, columns=["recording", "channel", "good", "soz", "resected", "anatomical"])
    channels["raw_name"] = channels["channel"]
    ours = lookup(cohort_tables(Cohort("x", Path("nowhere"), patients, recordings, channels)), "ours")
    one = {
        q: ours["1", "train", "hup", q]
        for q in ("subjects", "selected", "surgery", "seizure_free", "shortest_min", "longest_min")
    }
    assert one == pytest.approx(
        {"subjects": 1, "selected": 1, "surgery": 1, "seizure_free": 1, "shortest_min": 61 / 60, "longest_min": 2}
    )
    assert ours["1", "all", "all", "subjects"] == 3
    assert ours["1", "all", "all", "selected"] == 2
    assert ours["1", "all", "zurich", "selected"] == 0
    # a1: A1 normal; A2 is preserved SOZ, normal; A3 resected SOZ; A4 bad; a2 is too short for a window. b1: A1.
    assert (ours["3", "train", "hup", "normal_channels"], ours["3", "train", "hup", "pathological_channels"]) == (2, 1)
    assert (ours["3", "test", "hup", "normal_channels"], ours["3", "test", "hup", "pathological_channels"]) == (0, 1)
    assert (ours["3", "all", "hup", "seizure_free"], ours["3", "all", "hup", "non_free"]) == (1, 1)
    assert (ours["3", "all", "all", "anatomical_subjects"], ours["3", "all", "all", "valid_subjects"]) == (2, 2)
    assert (ours["ictal", "all", "all", "positive"], ours["ictal", "all", "all", "negative"]) == (1, 5)
    assert (
        ours["sleep", "all", "all", "positive"],
        ours["sleep", "all", "all", "negative"],
        ours["sleep", "all", "all", "subjects"],
    ) == (1, 1, 1)
    # channels of a subject count once over its recordings
    assert ours["ictal", "test", "hup", "channels"] == 2
    assert (ours["anatomy", "all", "all", "channels"], ours["anatomy", "all", "all", "subjects"]) == (2, 2)
    assert not any(table == "2" for table, *_ in ours)


def test_lists_and_annotations_of_the_release(demo_root: Path) -> None:
    cohort = read_omni_ieeg(demo_root)
    ours = lookup(cohort_tables(cohort), "ours")
    lists = {
        task: pd.read_csv(demo_root / "derivatives" / "datasplit" / f"{task}_split_cross.csv")
        for task in ("ictal", "sleep")
    }
    for task, positive in (("ictal", "ictal"), ("sleep", "sleep")):
        for split, part in lists[task].groupby("split"):
            assert ours[task, split, "all", "recordings"] == len(part)
            assert ours[task, split, "all", "positive"] == (part["label"] == positive).sum()
            assert ours[task, split, "all", "subjects"] == part["patient"].nunique()
    files = sorted(demo_root.glob("derivatives/hfo_annotation/*/*.parquet"))
    events = pd.concat(pd.read_parquet(file) for file in files)
    assert ours["2", "all", "all", "total_events"] == len(events)
    assert ours["2", "all", "all", "artifact"] == (events["artifact"] == 0).sum()
    assert ours["2", "all", "all", "spkhfo"] == ((events["artifact"] == 1) & (events["spike"] == 1)).sum()
    assert ours["2", "all", "all", "subjects"] == cohort.patients["annotated"].sum()
