"""Reader of TDBRAIN (van Dijk et al. 2022): raw BrainVision files and the table of persons."""

from pathlib import Path
from typing import Any

import pandas as pd

from omni_bench.data.cohort import Cohort
from omni_bench.data.tables import read_table
from omni_bench.datasets.bids_eeg import read_bids_eeg
from omni_bench.datasets.event_tables import whole_event, with_events
from omni_bench.errors import BenchError

PEOPLE = "TDBRAIN_participants_V2.tsv"
PATTERN = r"_task-restE[CO]_eeg"
NOT_EEG = "VPVA|VNVB|HPHL|HNHR|Erbs|OrbOcc|Mass"
WITHHELD = "REPLICATION"


def read_tdbrain(root: Path, name: str, on_error: str = "raise", unit: str | None = None) -> Cohort:
    """Resting recordings with one event each, from start to end: ``indication`` of the person and ``condition``.

    The table of persons has a row per person and session; recordings of which it tells no indication, or withholds it, are
    left out.

    Raises
    ------
    BenchError
        See `read_bids_eeg`; also a table of persons that is absent, or has a person and session twice.
    """
    cohort = read_bids_eeg(root, name, on_error, unit, pattern=PATTERN, not_eeg=NOT_EEG)
    indications = _indications(root / PEOPLE)
    own = [indications.get((row.subject, row.session)) for row in cohort.recordings.itertuples()]
    told = dict(zip(cohort.recordings["recording"], own, strict=True))
    untold = {
        recording: f"no indication of this session in {PEOPLE}" if word is None else "indication withheld"
        for recording, word in told.items()
        if word is None or word == WITHHELD
    }
    cohort = cohort.without(untold) if untold else cohort

    def event(row: dict[str, Any]) -> pd.DataFrame:
        return whole_event(row, {"indication": told[row["recording"]], "condition": row["task"]})

    return with_events(cohort, event, on_error)


def _indications(file: Path) -> dict[tuple[str, str], str]:
    """By subject and session."""
    table = read_table(file, ["participants_ID", "sessID", "indication"]).dropna(subset=["indication"])
    subject = "sub-" + table["participants_ID"].str.removeprefix("sub-")
    keys = list(zip(subject, table["sessID"].fillna("1").str.removesuffix(".0"), strict=True))
    twice = pd.Series(keys, dtype="object").duplicated()
    if twice.any():
        raise BenchError(f"{file}: {keys[int(twice.argmax())]} (person, session) stands twice: keep one")
    return dict(zip(keys, table["indication"], strict=True))
