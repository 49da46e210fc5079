"""Reader of CIRE (He et al. 2025), of whose layout only the names of files are known: columns and codes are options."""

from pathlib import Path
from typing import Any

import pandas as pd

from omni_bench.data.cohort import Cohort
from omni_bench.data.tables import read_table
from omni_bench.datasets.bids_eeg import read_bids_eeg
from omni_bench.datasets.event_tables import with_events
from omni_bench.errors import BenchError


def read_cire(
    root: Path,
    name: str,
    on_error: str = "raise",
    unit: str | None = None,
    *,
    not_eeg: str,
    stimulus: str,
    condition: str,
    heard_s: float,
) -> Cohort:
    """Recordings with an event per heard sentence: ``stimulus`` and its ``condition`` by sentences.csv.

    Parameters
    ----------
    stimulus
        Column of sentences.csv whose values are the recordings' own event codes.
    condition
        Column of sentences.csv that tells the intention or prosody.
    heard_s
        Seconds from a sentence's start that belong to it.

    Raises
    ------
    BenchError
        See `read_bids_eeg`; also no sentences.csv, not one with these columns, or (``on_error="raise"``) a recording none of
        whose events is a sentence.
    """
    import mne

    table = next(iter(sorted(root.rglob("sentences.csv"))), root / "sentences.csv")
    sentences = read_table(table, [stimulus, condition])
    conditions = sentences.dropna(subset=[stimulus]).drop_duplicates(stimulus).set_index(stimulus)[condition]
    cohort = read_bids_eeg(root, name, on_error, unit, pattern=r"_task-CIRE_eeg\.set$", not_eeg=not_eeg)

    def heard(row: dict[str, Any]) -> pd.DataFrame:
        file = root / row["path"]
        marks = mne.read_annotations(file)
        events = pd.DataFrame({"onset": marks.onset, "duration": heard_s, "stimulus": list(marks.description)})
        events = events.assign(condition=events["stimulus"].map(conditions)).dropna(subset=["condition"])
        if events.empty:
            codes = ", ".join(sorted(set(marks.description))[:6])
            raise BenchError(f"{file}: no event is a {stimulus} of {table.name} (its codes: {codes}): set dataset.read")
        return events.assign(recording=row["recording"])

    return with_events(cohort, heard, on_error)
