"""Reader of the Zurich iEEG HFO data set (OpenNeuro ds003498): interictal slow-wave sleep, HFO events.

It labels neither SOZ nor resection nor regions, so those are unknown. ``type`` is ECOG throughout although most
electrodes are depth electrodes, so the modality is unknown. Units in channels.tsv say V; the recording's header
decides.
"""

import re
from pathlib import Path

import pandas as pd

from omni_bench.data.cohort import Cohort
from omni_bench.data.tables import read_table
from omni_bench.datasets.bids_tables import (
    Notes,
    build_cohort,
    good_of,
    read_outcomes,
    read_participants,
    read_recordings,
)
from omni_bench.datasets.seizure_marks import read_events
from omni_bench.datasets.vocabulary import SEXES
from omni_bench.errors import BenchError

ALIASES = {"HL": "AHL", "HR": "AHR", "PL": "PHL", "PR": "PHR", "EL": "ECL", "ER": "ECR"}
"""Electrodes of five patients' events → of their channels: hippocampal, posterior hippocampal, entorhinal."""

_EVENT = re.compile(r"^(ripple|fr|frandr)_([A-Za-z]+)(\d+)-(\d+)$")

COLUMNS = ("status",)


def read_zurich(root: Path, name: str = "zurich", on_error: str = "raise", unit: str | None = None) -> Cohort:
    """Read the metadata of ds003498; recordings may be absent (see `bids_tables`).

    Raises
    ------
    BenchError
        A table or column is missing, a value is none of its vocabulary, or, unless ``on_error="skip"``, a recording is
        broken.
    """
    notes: Notes = []
    table = read_participants(root, ("sex", "ilae", "outcome"))
    outcome, engel = read_outcomes(table, str(root / "participants.tsv"), notes)
    patients = pd.DataFrame(
        {
            "subject": table["subject"],
            "person": table["subject"].str.replace("sub-", "sub-zurich"),
            "source": "zurich",
            "centre": "Zurich",
            "sex": table["sex"].map(SEXES),
            "outcome": outcome,
            "engel": engel,
        }
    )
    recordings, channels = read_recordings(root, ".vhdr", patients["subject"], COLUMNS, _labels, notes, on_error, unit)
    recordings = recordings.assign(ictal=False, state="asleep", line_freq=50.0)
    return build_cohort(name, root, patients, recordings, channels, unit, notes)


def _labels(table: pd.DataFrame, where: str) -> dict[str, pd.Series]:
    return {"good": good_of(table["status"], where)}


def hfo_events(recording: Path) -> pd.DataFrame:
    """HFOs that the data set's authors found in one recording, which itself may be absent.

    Returns
    -------
    Table with ``onset`` and ``duration`` in seconds, ``kind`` (ripple, fr, frandr), ``channel`` (the bipolar pair by
    the names of channels.tsv) and ``raw`` (as the file spells it). ``frandr`` is the co-occurrence of a ripple and an
    fr that have rows of their own: counting all three counts it twice.

    Raises
    ------
    BenchError
        A trial_type of another form, or an electrode that has no channel even under its other name.
    """
    events = read_events(recording)
    channels = read_table(recording.with_name(recording.name.replace("_ieeg.vhdr", "_channels.tsv")), ["name"])["name"]
    parts = events["trial_type"].str.extract(_EVENT)
    strange = events.loc[parts[0].isna(), "trial_type"]
    if len(strange):
        raise BenchError(f"{recording}: event {strange.iloc[0]!r}, expected the like of ripple_HL1-2")
    electrode = parts[1].map({name: _electrode(name, channels, recording) for name in parts[1].unique()})
    return pd.DataFrame(
        {
            "onset": events["onset"],
            "duration": events["duration"],
            "kind": parts[0],
            "channel": electrode + parts[2] + "-" + electrode + parts[3],
            "raw": events["trial_type"],
        }
    )


def _electrode(name: str, channels: pd.Series, recording: Path) -> str:
    present = set(channels.str.replace(r"\d+$", "", regex=True))
    for spelling in (name, ALIASES.get(name, name)):
        if spelling in present:
            return spelling
    raise BenchError(
        f"{recording}: events name an electrode {name} that has no channel (it has {', '.join(sorted(present))})"
    )
