"""Events beside a recording, and the seizures that their marks delimit."""

import re
from pathlib import Path

import pandas as pd

from omni_bench.data.tables import numbers, read_table


def read_events(recording: Path) -> pd.DataFrame:
    """The events.tsv beside a recording, which itself may be absent; ``onset`` and ``duration`` as numbers.

    Raises
    ------
    BenchError
        No events.tsv, a column is missing, or a time is no number.
    """
    file = recording.with_name(re.sub(r"_ieeg\.\w+$", "_events.tsv", recording.name))
    events = read_table(file, ["onset", "duration", "trial_type"])
    for column in ("onset", "duration"):
        events[column] = numbers(events[column], str(file))
    return events


def pair_marks(onsets: pd.Series, offsets: pd.Series) -> pd.DataFrame:
    """Seizures from marks in seconds: an onset opens, the next offset closes; further onsets inside add nothing.

    Returns
    -------
    Table with ``onset`` and ``offset``; offset NaN where none was marked.
    """
    marks = sorted([(time, 0) for time in onsets] + [(time, 1) for time in offsets])
    seizures: list[list[float]] = []
    is_open = False
    for time, closes in marks:
        if closes and is_open:
            seizures[-1][1] = time
            is_open = False
        elif not closes and not is_open:
            seizures.append([time, float("nan")])
            is_open = True
    return pd.DataFrame(seizures, columns=["onset", "offset"], dtype="float64")
