"""Zurich: a tiny tree in its dialect, and all real sidecars against an independent count."""

from pathlib import Path

import pandas as pd
import pytest

from omni_bench.datasets.zurich import hfo_events, read_zurich
from omni_bench.errors import BenchError
from tests.data.raw_counts import noted, raw_durations, raw_participants, raw_tables, real_source
from tests.data.zurich import write_events, write_zurich


def test_tiny_tree(tmp_path: Path) -> None:
    cohort = read_zurich(write_zurich(tmp_path))
    assert cohort.patients["outcome"].tolist() == [True, False]
    assert cohort.patients["person"].tolist() == ["sub-zurich01", "sub-zurich02"]
    assert cohort.recordings["duration"].tolist() == [2, 299.9995]
    assert cohort.recordings[["task", "modality"]].isna().all(axis=None)
    assert cohort.recordings[["state", "line_freq"]].drop_duplicates().to_numpy().tolist() == [["asleep", 50]]
    # PR is a posterior electrode here, no pulse rate
    assert cohort.channels["channel"].tolist()[:3] == ["PR1", "PR2", "PR3"]
    assert cohort.channels["good"].all()
    assert cohort.channels[["soz", "resected", "anatomical"]].isna().all(axis=None)
    assert cohort.open("sub-01_ses-interictalsleep_run-08").read().std() == pytest.approx(50, rel=0.05)


def test_events_get_the_names_of_channels(tmp_path: Path) -> None:
    cohort = read_zurich(write_zurich(tmp_path))
    path = cohort.root / cohort.recordings["path"].iloc[1]
    events = hfo_events(path)
    assert events["channel"].tolist() == ["AHL1-AHL2", "ECL1-ECL2", "AL1-AL2"]
    assert events["kind"].tolist() == ["ripple", "fr", "frandr"]
    assert events["onset"].tolist() == [0.05, 0.06, 0.06]
    write_events(path.with_name(path.name.replace("_ieeg.vhdr", "_events.tsv")), ["0.05 0.07 ripple_ZZ1-2 1 100"])
    with pytest.raises(BenchError, match="electrode ZZ that has no channel"):
        hfo_events(path)


def test_header_without_its_data_file_counts_as_absent(tmp_path: Path) -> None:
    root = write_zurich(tmp_path)
    next(root.rglob("*.eeg")).unlink()
    cohort = read_zurich(root)
    assert cohort.recordings["duration"].tolist() == [299.9995, 299.9995]
    with pytest.raises(BenchError, match=r"data file .* is missing"):
        cohort.open(cohort.recordings["recording"].iloc[0])


def test_real_sidecars(shared: Path) -> None:
    folder = real_source(shared, "ds003498")
    raw, people, lengths = raw_tables(folder), raw_participants(folder), raw_durations(folder)
    cohort = read_zurich(folder)
    assert (
        (len(cohort.patients), len(cohort.recordings), len(cohort.channels))
        == (len(people), raw["file"].nunique(), len(raw))
        == (20, 20, 1038)
    )
    assert cohort.channels["good"].sum() == (raw["status"] == "good").sum() == 1038
    assert cohort.channels[["soz", "resected"]].isna().all(axis=None)
    assert cohort.patients["outcome"].sum() == (people["outcome"] == "S").sum() == 13
    assert cohort.recordings["sfreq"].unique().tolist() == [2000]
    assert cohort.recordings.set_index("recording")["duration"].to_dict() == lengths
    assert noted(cohort.excluded, "units column says V") == (raw["units"] == "V").sum() == 1038
    assert (
        noted(cohort.excluded, "ILAE") == ((people["outcome"] == "S") != (people["ilae"].astype(int) <= 2)).sum() == 0
    )


def test_real_events(shared: Path) -> None:
    folder = real_source(shared, "ds003498")
    cohort = read_zurich(folder)
    raw = raw_tables(folder, "events.tsv")
    names = cohort.channels.groupby("recording")["channel"].agg(set)
    paths = cohort.recordings.set_index("recording")["path"]
    events = {f.name.removesuffix("_events.tsv"): None for f in folder.rglob("*_events.tsv")}
    events = {recording: hfo_events(folder / paths[recording]) for recording in events}
    together = pd.concat(events, names=["recording"]).reset_index(level=0)
    assert len(together) == len(raw) == 27382
    assert together["kind"].value_counts().to_dict() == raw["trial_type"].str.split("_").str[0].value_counts().to_dict()
    for recording, table in together.groupby("recording"):
        assert set(table["channel"].str.split("-").explode()) <= names[recording]
    renamed = (
        together["channel"].str.split("-").str[0].str.rstrip("0123456789")
        != together["raw"].str.extract(r"_([A-Za-z]+)")[0]
    )
    assert sorted(together.loc[renamed, "recording"].str[:6].unique()) == [
        "sub-02",
        "sub-05",
        "sub-06",
        "sub-07",
        "sub-08",
    ]
