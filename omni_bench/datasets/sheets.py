"""Labels that stand in a table beside the recordings of a dataset of arrays."""

from pathlib import Path

import numpy as np
import pandas as pd

from omni_bench.data.array_files import ArrayFile
from omni_bench.data.tables import read_table
from omni_bench.datasets.array_trials import Source, number_text
from omni_bench.errors import BenchError


def read_sheet(path: Path, header: int | None = 0) -> pd.DataFrame:
    """The first sheet of a workbook.

    Raises
    ------
    BenchError
        No such file, or no workbook.
    """
    if not path.is_file():
        raise BenchError(f"{path}: no such file; the labels stand in it")
    try:
        return pd.read_excel(path, header=header)
    except Exception as error:  # a broken archive can fail in any way
        raise BenchError(f"{path}: cannot be read as a workbook ({error}): copy the file again") from error


def person_events(source: Source, *, sheet: str, key: str, value: str) -> pd.DataFrame:
    """One event over the whole recording, of what a sheet says of the person.

    Parameters
    ----------
    sheet
        Pattern of its file below the root.
    key, value
        Columns: the subject as a number, and what to predict.

    Raises
    ------
    BenchError
        Not one such sheet, no such column, or not one row of the person.
    """
    found = sorted(source.root.rglob(sheet))
    if len(found) != 1:
        raise BenchError(f"{source.root}: {len(found)} files {sheet}, expected one; the labels stand in it")
    table = read_sheet(found[0])
    table.columns = table.columns.astype("str").str.strip()
    lacking = [column for column in (key, value) if column not in table]
    if lacking:
        raise BenchError(f"{found[0]}: no column {lacking[0]} (found: {', '.join(table.columns[:8])})")
    subject = source.words["subject"]
    rows = table.loc[pd.to_numeric(table[key], errors="coerce") == int(subject), value]
    if len(rows) != 1:
        raise BenchError(f"{found[0]}: {len(rows)} rows of {key} {subject}, expected one")
    whole = source.pieces["length"].sum()
    return pd.DataFrame({"onset": [0.0], "duration": [whole], "trial_type": [str(rows.iloc[0]).strip()]})


def perclos_events(source: Source, *, folder: str, every_s: float) -> pd.DataFrame:
    """Events of SEED-VIG: the fraction of time with closed eyes, one number per ``every_s`` of the recording.

    Raises
    ------
    BenchError
        No file of labels, numbers outside 0 to 1, or numbers for another length.
    """
    labels = ArrayFile(source.root / folder / source.file.path.name)
    values = np.ravel(labels.value("perclos")).astype(float)
    duration = source.pieces["length"].sum()
    if len(values) != round(duration / every_s) or not ((values >= 0) & (values <= 1)).all():
        raise BenchError(
            f"{labels.path}: {len(values)} values from {values.min():g} to {values.max():g} for {duration:g} s, "
            f"expected one per {every_s:g} s, from 0 to 1"
        )
    onset = every_s * np.arange(len(values))
    return pd.DataFrame({"onset": onset, "duration": every_s, "perclos": [number_text(value) for value in values]})


def image_events(source: Source, *, images: str, concepts: str) -> pd.DataFrame:
    """Events of THINGS-EEG2: what was seen in each trial, its concept's class where a table gives one.

    A file holds its trials as (image condition, repetition, ...); a trial's image is its number along the first of these.

    Parameters
    ----------
    images
        The file of images below the root, with the THINGS concept of each condition (``00001_aardvark``).
    concepts
        A table below the root with the columns ``concept`` (as there, or its number) and ``class``.
    Raises
    ------
    BenchError
        No such files, or conditions or concepts without a row.
    """
    key = "train_img_concepts_THINGS" if source.words["session"] == "training" else "test_img_concepts_THINGS"
    names = [str(name) for name in np.ravel(ArrayFile(source.root / images).value(key))]
    condition = source.pieces["condition"]
    if condition.max() + 1 != len(names):
        raise BenchError(f"{source.file.path}: {condition.max() + 1} conditions, {images} has {len(names)} images")
    table = _concept_classes(source.root / concepts)
    seen = pd.Series([names[number] for number in condition], index=condition.index)
    numbers = seen.str.partition("_")[0].astype(int)
    classes = numbers.map(table)
    if classes.isna().any():
        raise BenchError(f"{source.root / concepts}: no class of concept {seen[classes.isna()].iloc[0]}: add its row")
    pieces = source.pieces
    return pd.DataFrame(
        {
            "onset": pieces["start"],
            "duration": pieces["length"],
            "trial_type": classes,
            "concept": seen,
            "repetition": pieces["repetition"].astype("string"),
        }
    )


def _concept_classes(path: Path) -> pd.Series:
    """Class by number of the concept."""
    table = read_table(path, ["concept", "class"])
    return table.set_index(table["concept"].str.partition("_")[0].astype(int))["class"]
