"""Reader of the HUP iEEG data set (OpenNeuro ds004100): Hospital of the University of Pennsylvania.

Labels stand in ``status_description``: ``soz``, ``resect`` or both; ``status`` is independent of them. Scalp, eye and
heart channels are typed SEEG or ECOG, so names tell them. electrodes.tsv has coordinates but no regions.
"""

from pathlib import Path

import pandas as pd

from omni_bench.data.cohort import Cohort
from omni_bench.datasets.bids_tables import (
    Notes,
    build_cohort,
    complete_marks,
    good_of,
    read_outcomes,
    read_participants,
    read_recordings,
)
from omni_bench.datasets.seizure_marks import pair_marks, read_events
from omni_bench.datasets.vocabulary import SEXES
from omni_bench.errors import BenchError

MARKS = ("soz", "resect")

COLUMNS = ("status", "status_description")


def read_hup(root: Path, name: str = "hup", on_error: str = "raise", unit: str | None = None) -> Cohort:
    """Read the metadata of ds004100; recordings may be absent (see `bids_tables`).

    Raises
    ------
    BenchError
        A table or column is missing, a value is none of its vocabulary, or, unless ``on_error="skip"``, a recording is
        broken.
    """
    notes: Notes = []
    table = read_participants(root, ("sex", "outcome", "engel"))
    outcome, engel = read_outcomes(table, str(root / "participants.tsv"), notes)
    patients = pd.DataFrame(
        {
            "subject": table["subject"],
            "person": table["subject"].str.replace("sub-", "sub-hup"),
            "source": "hup",
            "centre": "HUP",
            "sex": table["sex"].map(SEXES),
            "outcome": outcome,
            "engel": engel,
        }
    )
    recordings, channels = read_recordings(root, ".edf", patients["subject"], COLUMNS, _labels, notes, on_error, unit)
    recordings = recordings.assign(
        modality=recordings["acq"].str.upper(), ictal=recordings["task"] == "ictal", line_freq=60.0
    )
    return build_cohort(name, root, patients, recordings, complete_marks(channels, recordings, notes), unit, notes)


def _labels(table: pd.DataFrame, where: str) -> dict[str, pd.Series]:
    words = table["status_description"].str.split(",")
    strange = words.dropna().explode()
    strange = strange[~strange.isin(MARKS)]
    if len(strange):
        raise BenchError(f"{where}: status_description {strange.iloc[0]!r}, expected {', '.join(MARKS)} or n/a")
    soz, resected = (words.map(lambda found, mark=mark: mark in found or pd.NA, na_action="ignore") for mark in MARKS)
    return {
        "good": good_of(table["status"], where),
        "soz": soz.astype("boolean"),
        "resected": resected.astype("boolean"),
    }


def seizures(recording: Path) -> pd.DataFrame:
    """Electrographic seizures of one recording, which itself may be absent.

    Returns
    -------
    Table with ``onset`` and ``offset`` in seconds; offset NaN where none was marked.
    """
    events = read_events(recording)
    onsets, offsets = (events.loc[events["trial_type"] == mark, "onset"] for mark in ("sz onset", "sz offset"))
    return pair_marks(onsets, offsets)
