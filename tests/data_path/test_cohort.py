"""Metadata tables: their schema and their filters."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from omni_bench.data.cohort import Cohort
from omni_bench.errors import BenchError
from tests.data.edf import Signal, random_digits, write_edf

PATIENTS = pd.DataFrame(
    {
        "subject": ["s1", "s2", "s3"],
        "person": ["s1", "s2", "s3"],
        "source": ["hup", "hup", "zurich"],
        "outcome": [True, False, None],
        "annotated": [True, None, False],
    }
)
RECORDINGS = pd.DataFrame(
    {
        "recording": ["r1", "r2", "r3", "r4"],
        "subject": ["s1", "s1", "s2", "s3"],
        "path": ["r1.edf", "r2.edf", "r3.edf", "r4.edf"],
        "task": ["interictal", "ictal", "sleep", None],
        "sfreq": [500.0, 1000.0, 999.41, 2000.0],
        "duration": [10.0, 300.0, 62.0, 61.0],
        "ictal": [False, True, False, None],
        "state": [None, None, "asleep", "awake"],
    }
)
CHANNELS = pd.DataFrame(
    {
        "recording": ["r1", "r2", "r3", "r4", "r4"],
        "channel": ["A1", "A1", "A1", "A1", "A2"],
        "raw_name": ["A1", "A1", "A1", "A1", "A2"],
        "good": [True, None, True, False, True],
        "soz": [True, False, None, False, True],
        "resected": [False, None, True, None, None],
    }
)


def cohort(**tables: Any) -> Cohort:
    return Cohort(
        **{
            "name": "tiny",
            "root": Path("/data/tiny"),
            "patients": PATIENTS,
            "recordings": RECORDINGS,
            "channels": CHANNELS,
        }
        | tables
    )


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ({"source": "hup"}, "r1 r2 r3"),
        ({"source": ["zurich", "hup"]}, "r1 r2 r3 r4"),
        ({"subject": ["s2", "s3"]}, "r3 r4"),
        ({"task": "ictal"}, "r2"),
        ({"state": "asleep"}, "r3"),
        ({"outcome_known": True}, "r1 r2 r3"),
        ({"outcome_known": False}, "r4"),
        ({"seizure_free": True}, "r1 r2"),
        ({"seizure_free": False}, "r3"),  # unknown is not "no"
        ({"annotated": True}, "r1 r2"),
        ({"ictal": False}, "r1 r3 r4"),
        ({"ictal": True}, "r2"),
        ({"has_soz": True}, "r1 r4"),
        ({"has_resection": True}, "r3"),
        ({"min_sfreq": 990}, "r2 r3 r4"),
        ({"min_duration": 62}, "r2 r3"),
        ({"ictal": False, "min_sfreq": 990}, "r3 r4"),
    ],
)
def test_filters(condition: dict[str, Any], kept: str) -> None:
    left = cohort().filter(**condition)
    assert left.recordings["recording"].tolist() == kept.split()
    assert set(left.channels["recording"]) == set(kept.split())
    assert set(left.patients["subject"]) == set(left.recordings["subject"])
    n_out = sum(entry["n"] for entry in left.excluded)
    assert n_out == 4 - len(kept.split())


def test_filters_compose_and_count_in_order() -> None:
    left = cohort().filter(min_sfreq=990).filter(source="hup")
    assert left.excluded == [
        {"what": "recordings", "reason": "min_sfreq=990", "n": 1},
        {"what": "recordings", "reason": "source=hup", "n": 1},
    ]


def test_unknown_filter_names_its_near_match() -> None:
    with pytest.raises(BenchError, match="cohort filter min_sfreqs: unknown; did you mean 'min_sfreq'"):
        cohort().filter(min_sfreqs=990)
    with pytest.raises(BenchError, match="cohort filter zzz: unknown; known: annotated, "):
        cohort().filter(zzz=1)


@pytest.mark.parametrize("condition", [{"source": "hub"}, {"min_sfreq": 9000}, {"state": "awake", "source": "hup"}])
def test_nothing_left_is_an_error(condition: dict[str, Any]) -> None:
    last = list(condition)[-1]
    with pytest.raises(
        BenchError, match=f"tiny: no recording with {last}={condition[last]}: loosen task.cohort.{last}"
    ):
        cohort().filter(**condition)


def test_unknown_stays_unknown() -> None:
    tables = cohort()
    assert tables.patients["outcome"].dtype == "boolean"
    assert tables.patients["outcome"].tolist()[:2] == [True, False]
    assert tables.patients["outcome"].isna().tolist() == [False, False, True]
    assert tables.recordings["line_freq"].isna().all()
    assert tables.channels["good"].isna().tolist() == [False, True, False, False, False]


@pytest.mark.parametrize(
    ("table", "change", "words"),
    [
        ("patients", {"subject": ["s1", "s1", "s3"]}, "'subject' contains duplicate values"),
        ("patients", {"split": ["train", "dev", None]}, "dev"),
        ("patients", {"outcome": ["yes", "no", "perhaps"]}, "outcome"),
        ("patients", {"shoe_size": 43}, "shoe_size"),
        ("recordings", {"sfreq": [0.0, 1, 1, 1]}, "sfreq"),
        ("recordings", {"line_freq": [55.0, 50, 50, 50]}, "line_freq"),
        ("recordings", {"state": "drowsy"}, "drowsy"),
        ("channels", {"raw_name": "A1"}, "raw_name"),
    ],
)
def test_table_that_breaks_its_schema_is_one_line(table: str, change: dict[str, Any], words: str) -> None:
    tables = {"patients": PATIENTS, "recordings": RECORDINGS, "channels": CHANNELS}
    with pytest.raises(BenchError, match=f"/data/tiny: {table} table: ") as error:
        cohort(**{table: tables[table].assign(**change)})
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_missing_column_is_one_line() -> None:
    with pytest.raises(BenchError, match=r"/data/tiny: recordings table: .*sfreq"):
        cohort(recordings=RECORDINGS.drop(columns="sfreq"))


def test_no_recordings() -> None:
    with pytest.raises(BenchError, match="/data/tiny: no recordings found"):
        cohort(recordings=RECORDINGS[:0])


def test_equal_reasons_are_summed() -> None:
    twice = [
        {"what": "channels", "reason": "x", "n": 2},
        {"what": "recordings", "reason": "x", "n": 1},
        {"what": "channels", "reason": "x", "n": 5},
    ]
    assert cohort(excluded=twice).excluded == [
        {"what": "channels", "reason": "x", "n": 7},
        {"what": "recordings", "reason": "x", "n": 1},
    ]


def test_iteration_opens_good_channels_under_their_raw_names(tmp_path: Path) -> None:
    for name in ("r1", "r2", "r3", "r4"):
        write_edf(
            tmp_path / f"{name}.edf",
            [Signal(label, random_digits(200, i), 100) for i, label in enumerate(("A1", "A2"))],
        )
    tables = cohort(root=tmp_path)
    assert [recording.ch_names for recording in tables] == [["A1"], ["A1"], ["A1"], ["A2"]]
    assert len(tables) == 4
    with pytest.raises(BenchError, match="tiny: no recording r9; "):
        tables.open("r9")
    with pytest.raises(BenchError, match=r"r4\.edf: none of its channels is good"):
        cohort(root=tmp_path, channels=CHANNELS.assign(good=False)).open("r4")
