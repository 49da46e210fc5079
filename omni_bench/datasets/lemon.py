"""Reader of MPI-LEMON resting EEG (Babayan et al. 2019): raw BrainVision, or EEGLAB files as preprocessed by its authors."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from omni_bench.data.cohort import Cohort
from omni_bench.data.recording import channel_names, open_recording
from omni_bench.data.tables import numbers, read_table
from omni_bench.datasets.bids_eeg import scalp_channels
from omni_bench.datasets.event_tables import whole_event
from omni_bench.errors import BenchError

BEHAVIOUR = Path("Behavioural_Data_MPILMBB_LEMON")
PEOPLE = BEHAVIOUR / "META_File_IDs_Age_Gender_Education_Drug_Smoke_SKID_LEMON.csv"
PERSONALITY = BEHAVIOUR / "Emotion_and_Personality_Test_Battery_LEMON" / "NEO_FFI.csv"
GENDER, EXTRAVERSION = "Gender_ 1=female_2=male", "NEOFFI_Extraversion"
GENDERS = {"1": "female", "2": "male"}


def read_lemon(
    root: Path,
    name: str,
    on_error: str = "raise",
    unit: str | None = None,
    *,
    tree: Literal["raw", "preprocessed"] = "raw",
) -> Cohort:
    """Recordings with one event each, from start to end: ``gender``, ``age`` (five years, as text), ``extraversion``.

    Extraversion is ``low`` up to the median of all rows of NEO_FFI.csv, with or without a recording, else ``high``; the
    score itself is ``extraversion_score``.

    Parameters
    ----------
    tree
        ``raw``: one recording per person, eyes open and closed in turns, all 61 electrodes; ``preprocessed``: two per person
        (``EO``, ``EC``), whose channels differ, as bad ones were removed.

    Raises
    ------
    BenchError
        No recordings, a table that is absent or has a person twice, or (``on_error="raise"``) a broken recording.
    """
    people = _people(root)
    rows: list[dict[str, Any]] = []
    channels, events, excluded = [], [], []
    for subject, condition, file in _files(root, tree):
        told = people.loc[subject].to_dict() if subject in people.index else {}
        if not told:
            excluded.append({"what": "recordings", "reason": f"person not in {PEOPLE.name}", "n": 1})
            continue
        try:
            names = [channel for channel in channel_names(file) if not re.fullmatch("[VH]EOG", channel, re.IGNORECASE)]
            recording = open_recording(file, names, unit)
        except BenchError as error:
            if on_error == "raise":
                raise
            excluded.append({"what": "recordings", "reason": str(error), "n": 1})
            continue
        row = {
            "recording": f"{subject}_{condition}" if condition else subject,
            "subject": subject,
            "task": condition,
            "path": file.relative_to(root).as_posix(),
            "sfreq": recording.sfreq,
            "duration": recording.duration,
            "modality": "EEG",
        }
        rows.append(row)
        channels.append(scalp_channels(names).assign(recording=row["recording"]))
        events.append(whole_event(row, told))
    if not rows:
        raise BenchError(
            f"{root}: no recordings of tree={tree} of persons in {PEOPLE.name}: dataset.root must hold both"
        )
    recordings = pd.DataFrame(rows)
    subjects = recordings["subject"].unique()
    persons = pd.DataFrame({"subject": subjects, "person": subjects, "source": name})
    persons["sex"] = persons["subject"].map(people["gender"])
    return Cohort(
        name, root, persons, recordings, pd.concat(channels), unit, excluded, pd.concat(events, ignore_index=True)
    )


def _files(root: Path, tree: str) -> Iterator[tuple[str, str | None, Path]]:
    """Subject, condition and file of every recording; a raw file may carry another id than its folder, which counts."""
    if tree == "raw":
        for folder in sorted((root / "EEG_Raw_BIDS_ID").glob("sub-*/RSEEG")):
            for file in sorted(folder.glob("*.vhdr"))[:1]:
                yield folder.parent.name, None, file
        return
    for file in sorted((root / "EEG_Preprocessed_BIDS_ID" / "EEG_Preprocessed").rglob("sub-*_E[CO].set")):
        subject, condition = file.stem.split("_")
        yield subject, condition, file


def _people(root: Path) -> pd.DataFrame:
    """What is known of persons, by their id."""
    table = _by_id(root / PEOPLE, [GENDER, "Age"])
    scores = numbers(_by_id(root / PERSONALITY, [EXTRAVERSION])[EXTRAVERSION], str(root / PERSONALITY))
    level = pd.Series(np.where(scores > scores.median(), "high", "low"), scores.index, dtype="str").where(
        scores.notna()
    )
    people = pd.DataFrame({"gender": table[GENDER].map(GENDERS), "age": table["Age"]})
    return people.assign(extraversion=level, extraversion_score=scores.astype("str").where(scores.notna()))


def _by_id(file: Path, columns: list[str]) -> pd.DataFrame:
    """A table by its first column, which is the person's id whatever it is called."""
    table = read_table(file, columns)
    table = table.set_index(table.columns[0])
    twice = table.index.duplicated()
    if twice.any():
        raise BenchError(f"{file}: person {table.index[twice][0]} stands twice: keep one")
    return table
