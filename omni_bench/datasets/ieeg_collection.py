"""Several intracranial sources as one cohort."""

import logging
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from omni_bench.data.cohort import Cohort
from omni_bench.datasets.bids_tables import Notes, note
from omni_bench.errors import BenchError

log = logging.getLogger(__name__)


def read_ieeg_collection(
    root: Path,
    name: str = "ieeg_collection",
    on_error: str = "raise",
    unit: str | None = None,
    *,
    sources: dict[str, Callable[..., Cohort]],
) -> Cohort:
    """Read every source that has a folder below ``root``.

    Subjects and recordings get the folder's name in front, so that ``sub-pt2`` of two sources stay two subjects. They
    are one person where their readers say so, under the name that the harmonised Omni-iEEG release gives: a split keeps
    them together. Outcomes of one person that disagree are noted.

    Parameters
    ----------
    sources
        Folder below ``root`` → reader of it.

    Raises
    ------
    BenchError
        None of the folders is there, or (``on_error="raise"``) a source is broken.
    """
    notes: Notes = []
    cohorts: dict[str, Cohort] = {}
    for folder, read in sources.items():
        if not (root / folder).is_dir():
            log.warning("%s: no folder %s, so that source is left out", root, folder)
            note(notes, "sources", f"no folder {folder}", 1)
            continue
        cohorts[folder] = read(root / folder, name=folder, on_error=on_error, unit=unit)
    if not cohorts:
        raise BenchError(
            f"{root}: none of the folders {', '.join(sources)}: fetch a source, or name their folder with paths.data"
        )
    for folder, cohort in cohorts.items():
        notes += [entry | {"reason": f"{folder}: {entry['reason']}"} for entry in cohort.excluded]
    patients = pd.concat([_prefixed(cohort.patients, folder, ["subject"]) for folder, cohort in cohorts.items()])
    recordings = pd.concat(
        [_prefixed(cohort.recordings, folder, ["subject", "recording"]) for folder, cohort in cohorts.items()]
    )
    recordings["path"] = recordings.pop("folder") + "/" + recordings["path"]
    channels = pd.concat([_prefixed(cohort.channels, folder, ["recording"]) for folder, cohort in cohorts.items()])
    persons = patients.groupby("person")
    torn = persons["outcome"].max() != persons["outcome"].min()
    note(notes, "labels", "persons who stand in two sources: kept as one person", int((persons.size() > 1).sum()))
    note(notes, "labels", "persons whose outcome differs between sources", int(torn.sum()))
    return Cohort(name, root, patients.drop(columns="folder"), recordings, channels.drop(columns="folder"), unit, notes)


def _prefixed(table: pd.DataFrame, folder: str, ids: list[str]) -> pd.DataFrame:
    return table.assign(folder=folder, **{column: f"{folder}_" + table[column] for column in ids})
