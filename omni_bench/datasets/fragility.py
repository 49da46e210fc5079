"""Reader of the Fragility data set (OpenNeuro ds003029): ictal recordings of NIH, Johns Hopkins, Maryland and Miami.

Its TSV files label neither SOZ nor resection (SOZ stands in a spreadsheet under ``sourcedata``), so those are unknown.
Ten of its patients are also in SourceSink, partly under other names; they have the same ``person`` here.
"""

import re
from pathlib import Path

import pandas as pd

from omni_bench.data.cohort import Cohort
from omni_bench.datasets.bids_tables import (
    Notes,
    build_cohort,
    good_of,
    read_outcomes,
    read_participants,
    read_recordings,
)
from omni_bench.datasets.seizure_marks import pair_marks, read_events
from omni_bench.datasets.vocabulary import CENTRES, SEXES

SAME_NAMES = ("pt2", "pt3", "jh103", "jh105", "umf001", "umf002", "umf003", "umf004", "umf005")
IN_SOURCESINK = {"sub-pt01": "pt1"} | {f"sub-{name}": name for name in SAME_NAMES}
"""Subject → name in SourceSink, for the patients who agree in id, age, sex, outcome and Engel class."""

_CONTACT = r"[a-z]{1,4}\d+(?:-\d+)?"
_EXPLICIT = re.compile(
    rf"(?:(?:sz|seizure|eeg|ictal|definite|{_CONTACT})\s+)?(?:#\d+\s+)?onset(?:\s+#\d+|\s+{_CONTACT}.*)?"
    r"|start|eeg sz start|z ele?l?ctrographic on[set]*",
    re.IGNORECASE,
)
_EVENT_MARK = re.compile(r"sz event # ?\(eeg sz\)", re.IGNORECASE)
_OFFSET = re.compile(
    r"(?:(?:sz|eeg)\s+)?(?:offset|end)|eeg sz end|offset with \w+|definite off|seizure off|z seizure over"
    r"|z electrographic end",
    re.IGNORECASE,
)

COLUMNS = ("status",)


def read_fragility(root: Path, name: str = "fragility", on_error: str = "raise", unit: str | None = None) -> Cohort:
    """Read the metadata of ds003029; recordings may be absent (see `bids_tables`).

    Raises
    ------
    BenchError
        A table or column is missing, a value is none of its vocabulary, or, unless ``on_error="skip"``, a recording is
        broken.
    """
    notes: Notes = []
    table = read_participants(root, ("sex", "outcome", "engel_score", "ilae_score", "site"))
    outcome, engel = read_outcomes(table, str(root / "participants.tsv"), notes)
    own = table["subject"].str.replace("sub-", "sub-fragility")
    patients = pd.DataFrame(
        {
            "subject": table["subject"],
            "person": ("sub-sourcesink" + table["subject"].map(IN_SOURCESINK)).fillna(own),
            "source": "fragility",
            "centre": table["site"].replace(CENTRES),
            "sex": table["sex"].map(SEXES),
            "outcome": outcome,
            "engel": engel,
        }
    )
    recordings, channels = read_recordings(root, ".vhdr", patients["subject"], COLUMNS, _labels, notes, on_error, unit)
    recordings = recordings.assign(modality=recordings["acq"].str.upper(), ictal=True, line_freq=60.0)
    return build_cohort(name, root, patients, recordings, channels, unit, notes)


def _labels(table: pd.DataFrame, where: str) -> dict[str, pd.Series]:
    return {"good": good_of(table["status"], where)}


def seizures(recording: Path) -> pd.DataFrame:
    """Electrographic seizures of one recording, which itself may be absent.

    Centres word their marks freely. An onset that is called clinical, possible or doubtful is none, nor is the
    patient's push button (``PB SZ``). The system's mark ``SZ EVENT # (EEG SZ)`` counts where nobody wrote an onset.

    Returns
    -------
    Table with ``onset`` and ``offset`` in seconds, empty where no onset is marked; offset NaN where none was marked.
    """
    events = read_events(recording)
    onsets = events.loc[_matches(events, _EXPLICIT), "onset"]
    if onsets.empty:
        onsets = events.loc[_matches(events, _EVENT_MARK), "onset"]
    return pair_marks(onsets, events.loc[_matches(events, _OFFSET), "onset"])


def _matches(events: pd.DataFrame, pattern: re.Pattern[str]) -> pd.Series:
    return events["trial_type"].fillna("").str.fullmatch(pattern.pattern, flags=re.IGNORECASE)
