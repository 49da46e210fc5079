"""Reader of a release of the Healthy Brain Network's EEG (Alexander et al. 2017, Shirazi et al. 2024)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from omni_bench.data.cohort import Cohort
from omni_bench.datasets.bids_eeg import read_bids_eeg, read_people
from omni_bench.datasets.event_tables import with_events
from omni_bench.errors import BenchError

START = r"(?!contrastTrial)\w+_start"
END = rf"\w+_stop|break cnt|9999|boundary|{START}"
"""Marks after which a recording may already belong to the next task."""


def read_hbn(
    root: Path,
    name: str,
    on_error: str = "raise",
    unit: str | None = None,
    *,
    availability: Sequence[str] = ("available",),
) -> Cohort:
    """Recordings with one event each: their task from its first mark of a start to the next mark of an end.

    The event's ``context`` is the task, with its run where it was done several times (``surroundSupp_2``), as the columns
    of participants.tsv are called. Cz is the reference, hence flat, and no channel here.

    Parameters
    ----------
    availability
        What participants.tsv may say of a recording that is read; it says available, caution or unavailable.

    Raises
    ------
    BenchError
        See `read_bids_eeg`; also a task that participants.tsv does not know, or a recording without a mark of a start
        (``on_error="raise"``).
    """
    cohort = read_bids_eeg(root, name, on_error, unit, not_eeg="Cz")
    if cohort.events is None:
        raise BenchError(f"{root}: no *_events.tsv, expected one per recording: fetch the data set again")
    people = read_people(root, required=True, columns=_contexts(cohort.recordings).unique().tolist())
    stated = [
        people[context].get(subject)
        for context, subject in zip(_contexts(cohort.recordings), cohort.recordings["subject"], strict=True)
    ]
    doubtful = {
        recording: f"{word or 'not stated'} in participants.tsv"
        for recording, word in zip(cohort.recordings["recording"], stated, strict=True)
        if word not in availability
    }
    cohort = cohort.without(doubtful) if doubtful else cohort
    assert cohort.events is not None
    marks = dict(list(cohort.events.groupby("recording")))
    return with_events(cohort, lambda row: _event(root, row, marks.get(row["recording"])), on_error)


def _contexts(recordings: pd.DataFrame) -> pd.Series:
    return recordings["task"].str.cat("_" + recordings["run"].fillna("")).str.removesuffix("_")


def _event(root: Path, row: dict[str, Any], marks: pd.DataFrame | None) -> pd.DataFrame:
    context = _contexts(pd.DataFrame([row]).astype({"run": "string", "task": "string"})).iloc[0]
    value = pd.Series(dtype="str") if marks is None or "value" not in marks else marks["value"].fillna("")
    starts = value.str.fullmatch(START)
    if marks is None or not starts.any():
        raise BenchError(f"{root / row['path']}: no mark of a start in the value column of its events.tsv")
    onset = marks.loc[starts, "onset"].min()
    ends = marks.loc[value.str.fullmatch(END) & (marks["onset"] > onset), "onset"]
    end = ends.min() if len(ends) else row["duration"]
    return pd.DataFrame([{"recording": row["recording"], "onset": onset, "duration": end - onset, "context": context}])
