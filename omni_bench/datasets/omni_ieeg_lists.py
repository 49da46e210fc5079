"""The recordings of the ictal and sleep tasks, as Omni-iEEG's authors list them.

A list says which recordings take part, what each is, and who is trained on. ``derivatives/datasplit/<list>.csv`` of the
data (``patient, edf_file, label, split``) comes first; then the published lists, which lie beside this module since the
data release lacks them; where none of their recordings is there, what the recordings say of themselves holds.
"""

from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd

from omni_bench.data.cohort import Cohort
from omni_bench.data.prepare import prepare
from omni_bench.data.preprocess import Preprocessing
from omni_bench.data.store import Stored
from omni_bench.data.tables import read_table
from omni_bench.errors import BenchError
from omni_bench.explain import near

PUBLISHED = Path(__file__).with_name("omni_ieeg_lists.csv")

LABELS: dict[str, tuple[str, Any]] = {
    "ictal": ("ictal", True),
    "interictal": ("ictal", False),
    "sleep": ("state", "asleep"),
    "awake": ("state", "awake"),
}
"""Word of a list → column of the recordings table and value there."""


def prepare_listed(
    cohort: Cohort, steps: Preprocessing, cache: Path, *, file: str, **options: Any
) -> tuple[Cohort, dict[str, Stored]]:
    """`omni_bench.data.prepare.prepare` on the recordings of a list; all recordings where no list fits.

    Parameters
    ----------
    file
        Name of the list in ``derivatives/datasplit``.
    """
    return prepare(listed(cohort, cohort.root / "derivatives" / "datasplit" / file), steps, cache, **options)


def listed(cohort: Cohort, file: Path) -> Cohort:
    """The cohort's listed recordings, with the list's labels and split; the cohort itself where no list fits.

    Raises
    ------
    BenchError
        An unknown label, a patient in two splits, or none of the listed recordings is in the cohort.
    """
    if file.is_file():
        table = read_table(file, ["patient", "edf_file", "label", "split"])
        table["recording"] = [PurePosixPath(name).name.removesuffix("_ieeg.edf") for name in table["edf_file"]]
    else:
        table = published_list(file.name.partition("_")[0])
        if not table["recording"].isin(cohort.recordings["recording"]).any():
            return cohort
    strange = set(table["label"]) - set(LABELS)
    if strange:
        word = sorted(strange)[0]
        raise BenchError(f"{file}: label {word!r}: unknown{near(word, LABELS)}")
    splits = table.groupby("patient")["split"]
    n_splits = splits.nunique()
    if (n_splits > 1).any():
        raise BenchError(f"{file}: patient {n_splits.idxmax()} stands in two splits: keep one")
    absent = ~table["recording"].isin(cohort.recordings["recording"])
    others = cohort.recordings.loc[~cohort.recordings["recording"].isin(table["recording"]), "recording"]
    kept = cohort.without(dict.fromkeys(others, f"not in {file.name}"))
    recordings = kept.recordings.copy()
    for word, part in table.groupby("label"):
        column, value = LABELS[str(word)]
        recordings.loc[recordings["recording"].isin(part["recording"]), column] = value
    patients = kept.patients.assign(split=kept.patients["subject"].map(splits.first()).astype("string"))
    excluded = list(kept.excluded)
    if absent.any():
        excluded.append(
            {"what": "recordings", "reason": f"in {file.name}, but not in the data", "n": int(absent.sum())}
        )
    return replace(kept, recordings=recordings, patients=patients, excluded=excluded)


def published_list(name: str) -> pd.DataFrame:
    """The published list ``ictal`` or ``sleep``: ``patient, recording, label, split``."""
    table = pd.read_csv(PUBLISHED, dtype="str")
    table = table[table["list"] == name].assign(run=table["runs"].str.split()).explode("run", ignore_index=True)
    session = table["patient"].str.startswith("sub-sourcesink").map({True: "extraoperative", False: "01"})
    task, run = (
        table[column].map(lambda value, key=key: "" if value == "-" else f"_{key}-{value}")
        for column, key in (("task", "task"), ("run", "run"))
    )
    return table.assign(recording=table["patient"] + "_ses-" + session + task + run)[
        ["patient", "recording", "label", "split"]
    ]
