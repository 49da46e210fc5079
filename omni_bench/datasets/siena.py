"""Seizures of the Siena Scalp EEG Database, written by hand as times of day (Detti et al. 2020)."""

import math
import re
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from omni_bench.datasets.bids_tables import Notes
from omni_bench.datasets.edf_tree import EdfFile, at_least, beside
from omni_bench.errors import BenchError

_FIELD = re.compile(r"\s*(file name|(?:seizure )?start time|(?:seizure )?end time)\s*:(.*)", re.IGNORECASE)
_CLOCK = re.compile(r"(\d{1,2})[.:](\d{2})[.:](\d{2})")
DAY_S = 86400


def listed_seizures(
    file: EdfFile,
    excluded: Notes,
    *,
    scoring: str = "Seizures-list-{subject}.txt",
    names: Mapping[str, str] | None = None,
    corrections: Mapping[str, Mapping[str, str]] | None = None,
    min_s: float = 0.0,
    grid_s: float | None = None,
) -> pd.DataFrame:
    """Seizures as ``seizure``, the rest of the recording as ``non-seizure``.

    Times of day count from the start that the recording's own header states: the list's is wrong for some recordings. Of
    several times in one line the first holds.

    Parameters
    ----------
    scoring
        Name of the list, see `beside`.
    names
        File name in the list → on disk, where it is misspelt.
    corrections
        File name on disk → time of day in the list → the right one.
    min_s
        Shorter stretches are left out.
    grid_s
        Instead of seizures and what lies between them, events of this length from the recording's start on, ``seizure``
        where a seizure touches them.

    Raises
    ------
    BenchError
        No list, a seizure without a time of day or outside of the recording, a header without one, or a list that does not
        name the recording but one that is not there.
    """
    path = beside(file, scoring)
    listed = _read(path, dict(names or {}), corrections or {})
    lost = [name for name in listed if not (path.parent / name).is_file()]
    if file.path.name not in listed and lost:
        raise BenchError(
            f"{path}: names {lost[0]}, which is not there, but not {file.path.name}: if they are one, say so in "
            "dataset.read.events.names"
        )
    if math.isnan(file.clock):
        raise BenchError(f"{file.path}: no time of day in its header, expected hh.mm.ss: copy the file again")
    seizures = []
    for start, stop in listed.get(file.path.name, []):
        onset = (start - file.clock) % DAY_S
        offset = onset + (stop - start) % DAY_S
        if offset > file.duration + 1:  # the list counts whole seconds
            raise BenchError(
                f"{path}: a seizure of {file.path.name} from {onset:g} to {offset:g} s, but the recording has "
                f"{file.duration:g} s: say the right time of day in dataset.read.events.corrections"
            )
        seizures.append((onset, min(offset, file.duration)))
    if grid_s is not None:
        return _grid(seizures, file.duration, grid_s)
    return at_least(_with_rest(sorted(seizures), file.duration), min_s, excluded)


def _read(
    path: Path, names: Mapping[str, str], corrections: Mapping[str, Mapping[str, str]]
) -> dict[str, list[tuple[int, int]]]:
    """File name on disk → times of day of its seizures' starts and ends, in seconds since midnight."""
    listed: dict[str, list[tuple[int, int]]] = {}
    name, start = "", None
    for line in path.read_text(encoding="latin-1").splitlines():
        field = _FIELD.match(line)
        if field is None:
            continue
        what, text = field[1].lower(), field[2].strip()
        if what == "file name":
            name, start = names.get(text, text), None
            listed.setdefault(name, [])
            continue
        for wrong, right in corrections.get(name, {}).items():
            text = text.replace(wrong, right)
        clock = _CLOCK.search(text)
        is_end = what.endswith("end time")
        if not name or clock is None or is_end == (start is None):
            raise BenchError(
                f"{path}: {line.strip()!r}, expected times of day of a start and an end, in turn, after a file name"
            )
        seconds = 3600 * int(clock[1]) + 60 * int(clock[2]) + int(clock[3])
        if start is None:
            start = seconds
        else:
            listed[name].append((start, seconds))
            start = None
    if not listed:
        raise BenchError(f"{path}: no 'File name:' in it: copy it again")
    return listed


def _grid(seizures: list[tuple[float, float]], duration: float, step_s: float) -> pd.DataFrame:
    onsets = [step_s * i for i in range(int(duration / step_s))]
    touched = [any(begin < onset + step_s and end > onset for begin, end in seizures) for onset in onsets]
    labels = ["seizure" if one else "non-seizure" for one in touched]
    return pd.DataFrame({"onset": onsets, "duration": step_s, "trial_type": labels})


def _with_rest(seizures: list[tuple[float, float]], duration: float) -> pd.DataFrame:
    rows, now = [], 0.0
    for onset, offset in seizures:
        rows += [(now, onset, "non-seizure"), (onset, offset, "seizure")]
        now = offset
    rows.append((now, duration, "non-seizure"))
    table = pd.DataFrame(rows, columns=["onset", "offset", "trial_type"])
    return table.assign(duration=table["offset"] - table["onset"])[["onset", "duration", "trial_type"]]
