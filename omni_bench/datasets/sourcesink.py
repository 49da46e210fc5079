"""Reader of the SourceSink data set (OpenNeuro ds003876): NIH, Johns Hopkins and Miami; interictal, awake or asleep.

channels.tsv marks ``soz`` and ``rz`` (resected) with yes or n/a, never no; a file without the column ``rz`` is one of a
patient without a resection, or of one whose resection is unknown. The early-propagation zone ``epz`` is not read.
"""

from pathlib import Path

import pandas as pd

from omni_bench.data.cohort import Cohort
from omni_bench.data.tables import flags
from omni_bench.datasets.bids_tables import (
    Notes,
    build_cohort,
    complete_marks,
    good_of,
    read_outcomes,
    read_participants,
    read_recordings,
)
from omni_bench.datasets.vocabulary import CENTRES, SEXES, state_of

COLUMNS = ("status", "soz")


def read_sourcesink(root: Path, name: str = "sourcesink", on_error: str = "raise", unit: str | None = None) -> Cohort:
    """Read the metadata of ds003876; recordings may be absent (see `bids_tables`).

    Raises
    ------
    BenchError
        A table or column is missing, a value is none of its vocabulary, or, unless ``on_error="skip"``, a recording is
        broken.
    """
    notes: Notes = []
    table = read_participants(root, ("sex", "outcome", "engel_score", "ilae_score", "site"))
    outcome, engel = read_outcomes(table, str(root / "participants.tsv"), notes)
    patients = pd.DataFrame(
        {
            "subject": table["subject"],
            "person": table["subject"].str.replace("sub-", "sub-sourcesink"),
            "source": "sourcesink",
            "centre": table["site"].replace(CENTRES),
            "sex": table["sex"].map(SEXES),
            "outcome": outcome,
            "engel": engel,
        }
    )
    recordings, channels = read_recordings(root, ".edf", patients["subject"], COLUMNS, _labels, notes, on_error, unit)
    brain = channels[channels["type"] != "MISC"]
    recordings = recordings.assign(
        modality=recordings["recording"].map(brain.groupby("recording")["type"].agg(lambda kind: kind.mode().iloc[0])),
        ictal=False,
        state=recordings["task"].map(lambda task: state_of(task, None)),
        line_freq=60.0,
    )
    return build_cohort(name, root, patients, recordings, complete_marks(channels, recordings, notes), unit, notes)


def _labels(table: pd.DataFrame, where: str) -> dict[str, pd.Series]:
    unknown = pd.Series(pd.NA, index=table.index, dtype="boolean")
    soz, resected = (flags(table[mark], where) if mark in table else unknown for mark in ("soz", "rz"))
    return {"good": good_of(table["status"], where), "soz": soz, "resected": resected}
