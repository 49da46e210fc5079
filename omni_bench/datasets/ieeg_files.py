"""Reader of a folder of intracranial recordings without any other order: one file, one recording."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from omni_bench.data.cohort import Cohort
from omni_bench.data.loose_files import SUFFIXES, LooseFile
from omni_bench.datasets.unlabelled import contacts
from omni_bench.errors import BenchError


def read_ieeg_files(
    root: Path,
    name: str = "ieeg_files",
    on_error: str = "raise",
    unit: str | None = None,
    *,
    files: str = "",
    subject: str = "",
    sfreq: float | str | None = None,
    variable: str = "",
    ch_names: Sequence[str] | str | None = None,
) -> Cohort:
    """Read the metadata of all recordings below a folder; there are no labels.

    Parameters
    ----------
    files
        Regular expression of wanted paths below ``root``; by default all of a known format.
    subject
        Regular expression whose first group is a path's subject; by default every file is a person of its own.
    sfreq, variable, ch_names
        What array files do not say; see `omni_bench.data.loose_files.LooseFile`.

    Raises
    ------
    BenchError
        No recordings, or (``on_error="raise"``) one that cannot be read.
    """
    opener = LooseFile(sfreq, variable, ch_names)
    rows: list[dict[str, Any]] = []
    channels, excluded = [], []
    for path in sorted(path for path in root.rglob("*") if path.suffix.lower() in SUFFIXES):
        inside = path.relative_to(root)
        if not re.search(files, inside.as_posix()):
            continue
        recording = inside.with_suffix("").as_posix().replace("/", "_")
        try:
            if recording in [row["recording"] for row in rows]:
                raise BenchError(f"{path}: a second file of that name: leave one out with dataset.read.files=")
            person = re.search(subject, inside.as_posix()) if subject else None
            if subject and not person:
                raise BenchError(f"{path}: dataset.read.subject={subject}: not found in {inside.as_posix()}")
            opened = opener(path, unit=unit)
            table = contacts(path, opened.ch_names, opened.bads)
        except BenchError as error:
            if on_error == "raise":
                raise
            excluded.append({"what": "recordings", "reason": str(error), "n": 1})
            continue
        rows.append(
            {
                "recording": recording,
                "subject": person[1] if person else recording,
                "path": inside.as_posix(),
                "sfreq": opened.sfreq,
                "duration": opened.duration,
                "modality": "iEEG",
            }
        )
        channels.append(table.assign(recording=recording))
    if not rows:
        raise BenchError(f"{root}: no recordings ({', '.join(SUFFIXES)}) could be read: correct paths.data")
    recordings = pd.DataFrame(rows)
    subjects = recordings["subject"].unique()
    patients = pd.DataFrame({"subject": subjects, "person": subjects, "source": name})
    return Cohort(name, root, patients, recordings, pd.concat(channels), unit, excluded, opener=opener)
