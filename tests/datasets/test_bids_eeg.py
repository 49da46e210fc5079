"""Scalp BIDS trees into a cohort with events."""

from pathlib import Path

import pandas as pd
import pytest

from omni_bench.datasets.bids_eeg import read_bids_eeg
from omni_bench.errors import BenchError
from tests.data.bids_eeg import write_recording, write_tree

CHANNELS = {"name": ["EEG Fp1-REF", "C3", "ECG"], "type": ["EEG", "EEG", "ECG"], "status": ["good", "bad", "good"]}
EVENTS = {"onset": [1.5, 4.0], "duration": [2.0, "n/a"], "trial_type": ["left", "right"], "score": [0.25, "n/a"]}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = write_tree(tmp_path / "tree", ["sub-1", "sub-2"])
    for person in ("sub-1", "sub-2"):
        write_recording(root, person, CHANNELS, EVENTS)  # type: ignore[arg-type]
    return root


def test_tables(root: Path) -> None:
    cohort = read_bids_eeg(root, name="mine")
    assert cohort.patients[["subject", "person", "source", "sex"]].to_numpy().tolist() == [
        ["sub-1", "sub-1", "mine", "female"],
        ["sub-2", "sub-2", "mine", "female"],
    ]
    first = cohort.recordings.iloc[0]
    assert (first["recording"], first["sfreq"], first["duration"], first["line_freq"]) == (
        "sub-1_task-rest",
        200,
        10,
        50,
    )
    channels = cohort.channels[cohort.channels["recording"] == "sub-1_task-rest"]
    assert channels["channel"].tolist() == ["FP1", "C3"]
    assert channels["good"].tolist() == [True, False]
    assert {"what": "channels", "reason": "not of type EEG", "n": 2} in cohort.excluded
    assert cohort.open("sub-1_task-rest").ch_names == ["EEG Fp1-REF"]


def test_events(root: Path) -> None:
    events = read_bids_eeg(root).events
    assert events is not None
    own = events[events["recording"] == "sub-2_task-rest"]
    assert own["onset"].tolist() == [1.5, 4.0]
    assert own["duration"].isna().tolist() == [False, True]
    assert own["trial_type"].tolist() == ["left", "right"]
    assert own["score"].iloc[0] == "0.25"


def test_events_follow_their_recordings(root: Path) -> None:
    kept = read_bids_eeg(root).filter(subject="sub-2")
    assert kept.events is not None
    assert set(kept.events["recording"]) == {"sub-2_task-rest"}


@pytest.mark.parametrize(
    ("column", "value", "message"), [("onset", "soon", "'soon', expected a number"), ("duration", "-1", "duration")]
)
def test_broken_events(root: Path, column: str, value: str, message: str) -> None:
    tsv = root / "sub-1" / "eeg" / "sub-1_task-rest_events.tsv"
    table = pd.read_csv(tsv, sep="\t", dtype=str)
    table.loc[0, column] = value
    table.to_csv(tsv, sep="\t", index=False)
    with pytest.raises(BenchError, match=message):
        read_bids_eeg(root)


def test_no_scalp_channel(root: Path) -> None:
    tsv = root / "sub-1" / "eeg" / "sub-1_task-rest_channels.tsv"
    tsv.write_text(tsv.read_text().replace("EEG\t", "MISC\t"))
    with pytest.raises(BenchError, match="no channel of type EEG"):
        read_bids_eeg(root)
    assert read_bids_eeg(root, on_error="skip").recordings["subject"].tolist() == ["sub-2"]


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=r"no \*_eeg recordings"):
        read_bids_eeg(tmp_path)
