"""Reader of Open iEEG (OpenNeuro ds005398): Wayne State (Detroit) and UCLA, one sleep recording per patient.

channels.tsv says ``soz``, ``resection`` and ``bad`` as 1, 0 or n/a, now and then as 1.0 and 0.0; its ``status`` is
always good and says nothing. ``label`` is the region. Not read: ``side``, ``type_y`` and ``non-epileptic`` (1 or n/a).
"""

from pathlib import Path

import pandas as pd

from omni_bench.data.cohort import Cohort
from omni_bench.data.tables import flags, numbers
from omni_bench.datasets.bids_tables import Notes, build_cohort, note, read_participants, read_recordings

MODALITY = {"1": "ECOG", "0": "SEEG"}

COLUMNS = ("bad", "soz", "resection", "label")


def read_openieeg(root: Path, name: str = "openieeg", on_error: str = "raise", unit: str | None = None) -> Cohort:
    """Read the metadata of ds005398; recordings may be absent (see `bids_tables`).

    Raises
    ------
    BenchError
        A table or column is missing, a value is none of its vocabulary, or, unless ``on_error="skip"``, a recording is
        broken.
    """
    notes: Notes = []
    table = read_participants(root, ("methods", "sampling_frequency", "sex", "Engel_Class1"))
    where = str(root / "participants.tsv")
    free = flags(table["Engel_Class1"], where)
    patients = pd.DataFrame(
        {
            "subject": table["subject"],
            "person": table["subject"].str.replace("sub-", "sub-openieeg"),
            "source": "openieeg",
            "centre": table["subject"].str.extract(r"^sub-([A-Za-z]+)", expand=False),
            "sex": table["sex"].map({"1": "male", "0": "female"}),
            "outcome": free,
            "engel": free.map({True: "1"}),
        }
    )
    recordings, channels = read_recordings(root, ".edf", patients["subject"], COLUMNS, _labels, notes, on_error, unit)
    by_subject = table.set_index("subject")
    stated = recordings["subject"].map(numbers(by_subject["sampling_frequency"], where))
    differs = (stated - recordings["sfreq"]).abs() > 0.01
    note(
        notes,
        "labels",
        "sampling_frequency of participants.tsv is not that of channels.tsv: channels.tsv taken",
        differs.sum(),
    )
    recordings = recordings.assign(
        modality=recordings["subject"].map(by_subject["methods"].map(MODALITY)),
        ictal=False,
        state="asleep",
        line_freq=60.0,
    )
    return build_cohort(name, root, patients, recordings, channels, unit, notes)


def _labels(table: pd.DataFrame, where: str) -> dict[str, pd.Series]:
    return {
        "good": ~flags(table["bad"], where),
        "soz": flags(table["soz"], where),
        "resected": flags(table["resection"], where),
        "anatomical": table["label"],
    }
