"""Reader of trees of Neuroscan CNT files, or of the same recordings converted to EEGLAB's SET."""

import json
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mne
import numpy as np
import pandas as pd

from omni_bench.data.cohort import Cohort
from omni_bench.data.recording import READER_OPTIONS, READERS, channel_names, open_recording
from omni_bench.datasets.bids_eeg import scalp_channels
from omni_bench.datasets.bids_tables import Notes, note
from omni_bench.errors import BenchError
from omni_bench.signal.electrode_names import electrode_name

SUFFIXES = (".cnt", ".set")


@dataclass(frozen=True)
class CntFile:
    """A recording as its path and its header tell of it.

    Attributes
    ----------
    root
        Of the dataset.
    groups
        What the card's pattern names in the path.
    sfreq, duration
        In Hz and seconds.
    """

    root: Path
    path: Path
    groups: Mapping[str, str]
    sfreq: float
    duration: float

    def marks(self) -> pd.DataFrame:
        """The file's own event table: ``onset`` (s) and ``code`` (text)."""
        suffix = self.path.suffix.lower()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            read = getattr(mne.io, READERS[suffix])
            marks = read(self.path, verbose="ERROR", **READER_OPTIONS.get(suffix, {})).annotations
        return pd.DataFrame({"onset": marks.onset.astype(float), "code": [str(code) for code in marks.description]})


Events = Callable[[CntFile, Notes], pd.DataFrame]
"""Makes ``onset`` and ``duration`` (s) and columns of labels; what it leaves out goes to its second argument."""


def timed_trials(
    file: CntFile,
    excluded: Notes,
    *,
    start: Mapping[str, Sequence[float]],
    end: Mapping[str, Sequence[float]],
    labels: Mapping[str, Sequence[str]],
) -> pd.DataFrame:
    """Trials whose times are those of a session's films; keys are sessions, or ``any``.

    Raises
    ------
    BenchError
        Tables of different lengths, or none for the session.
    """
    times, stop, names = (_of_session(file, table) for table in (start, end, labels))
    if not len(times) == len(stop) == len(names):
        raise BenchError(f"{file.path}: {len(times)} starts, {len(stop)} ends and {len(names)} labels in the card")
    table = pd.DataFrame({"onset": times, "duration": np.subtract(stop, times), "trial_type": names})
    inside = table["onset"] + table["duration"] <= file.duration
    note(excluded, "events", "end after their recording", int((~inside).sum()))
    return table[inside]


def paired_marks(file: CntFile, excluded: Notes, *, labels: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Trials between pairs of marks, the first of them a start; the session's labels in their order.

    Raises
    ------
    BenchError
        Another number of marks than two per label.
    """
    marks, names = file.marks(), _of_session(file, labels)
    if len(marks) != 2 * len(names):
        raise BenchError(f"{file.path}: {len(marks)} marks, expected {2 * len(names)}: start and end of each trial")
    start, end = marks["onset"].to_numpy()[::2], marks["onset"].to_numpy()[1::2]
    return pd.DataFrame({"onset": start, "duration": end - start, "trial_type": names})


def coded_marks(file: CntFile, excluded: Notes, *, n_codes: int, trial_s: float) -> pd.DataFrame:
    """Trials that begin at marks 1 ... ``n_codes``; the code is their type. Other marks are no trials.

    Raises
    ------
    BenchError
        No such mark.
    """
    marks = file.marks()
    number = pd.to_numeric(marks["code"], errors="coerce")
    kept = number.between(1, n_codes)
    if not kept.any():
        raise BenchError(f"{file.path}: no mark from 1 to {n_codes} (found: {', '.join(marks['code'].unique()[:6])})")
    return pd.DataFrame({"onset": marks["onset"], "duration": trial_s, "trial_type": marks["code"]})[kept]


def interactions(file: CntFile, excluded: Notes, *, table: str) -> pd.DataFrame:
    """What a person did with each clip, from a JSON file of ``eeg_start_time`` and ``eeg_end_time`` in samples.

    Parameters
    ----------
    table
        Its path below the root, with groups of the pattern in braces. All further numbers and words become columns.

    Raises
    ------
    BenchError
        No such file, or one without these times.
    """
    source = file.root / table.format(**file.groups)
    if not source.is_file():
        raise BenchError(f"{file.path}: no {source}, which holds its labels")
    try:
        content = json.loads(source.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BenchError(f"{source}: not JSON ({error}): copy it again") from error
    clips = pd.DataFrame(list(content.values()) if isinstance(content, dict) else content)
    absent = [column for column in ("eeg_start_time", "eeg_end_time") if column not in clips]
    if absent:
        raise BenchError(f"{source}: no {absent[0]} (found: {', '.join(map(str, clips.columns))})")
    times = clips[["eeg_start_time", "eeg_end_time"]].astype(float)
    usable = times.notna().all(axis=1) & (times["eeg_end_time"] > times["eeg_start_time"])
    note(excluded, "events", "clips without a time in the EEG", int((~usable).sum()))
    labels = clips.drop(columns=[column for column in clips if clips[column].map(_is_nested).any()]).convert_dtypes()
    return labels.astype("string").assign(
        onset=times["eeg_start_time"] / file.sfreq,
        duration=(times["eeg_end_time"] - times["eeg_start_time"]) / file.sfreq,
    )[usable]


def _is_nested(value: Any) -> bool:
    return isinstance(value, list | dict)


def _of_session(file: CntFile, table: Mapping[str, Sequence[Any]]) -> Sequence[Any]:
    key = file.groups.get("session", "any")
    found = table.get(key, table.get("any"))
    if found is None:
        raise BenchError(f"{file.path}: the card knows sessions {', '.join(table)}, not {key}")
    return found


def read_cnt(
    root: Path,
    name: str,
    on_error: str = "raise",
    unit: str | None = None,
    *,
    pattern: str,
    events: Events,
    others: Sequence[str] = (),
    exclude: Mapping[str, str] | None = None,
) -> Cohort:
    """Read the metadata of CNT or SET files.

    Parameters
    ----------
    pattern
        Regular expression of recordings, searched in paths below ``root``; its group ``subject`` is the person, ``session``
        goes to the recordings table.
    events
        See `Events`.
    others
        Channels that are no scalp EEG, under any spelling.
    exclude
        Regular expression of recordings that are left out → the reason.

    Raises
    ------
    BenchError
        No recording, two files of one session, or (``on_error="raise"``) one whose file or labels are broken.
    """
    excluded: Notes = []
    rows: dict[str, dict[str, Any]] = {}
    channels, happened = [], []
    for path, groups in _matching(root, name, pattern):
        place = path.relative_to(root).as_posix()
        reason = next((why for wrong, why in (exclude or {}).items() if re.search(wrong, place)), None)
        if reason is not None:
            note(excluded, "recordings", reason, 1)
            continue
        subject, session = f"{groups['subject'].lstrip('0'):0>2}", groups.get("session")
        recording = f"sub-{subject}" + (f"_ses-{session}" if session else "")
        if recording in rows:
            raise BenchError(
                f"{root}: {rows[recording]['path']} and {place} are one recording of person {subject}: keep one"
            )
        try:
            raw_names = [n for n in channel_names(path) if electrode_name(n) not in {electrode_name(o) for o in others}]
            opened = open_recording(path, raw_names, unit)
            file = CntFile(root, path, groups, opened.sfreq, opened.duration)
            found = events(file, excluded)
        except BenchError as error:
            if on_error == "raise":
                raise
            note(excluded, "recordings", str(error), 1)
            continue
        timing = {"sfreq": file.sfreq, "duration": file.duration, "modality": "EEG"}
        entities = {"recording": recording, "subject": f"sub-{subject}", "session": session, "path": place}
        rows[recording] = entities | timing
        channels.append(scalp_channels(raw_names).assign(recording=recording))
        happened.append(found.assign(recording=recording))
    if not rows:
        raise BenchError(
            f"{root}: no recording of {name} is usable: {excluded[0]['reason'] if excluded else 'copy again'}"
        )
    recordings = pd.DataFrame(rows.values())
    subjects = recordings["subject"].drop_duplicates()
    patients = pd.DataFrame({"subject": subjects, "person": subjects, "source": name})
    return Cohort(name, root, patients, recordings, pd.concat(channels), unit, excluded, pd.concat(happened))


def _matching(root: Path, name: str, pattern: str) -> list[tuple[Path, dict[str, str]]]:
    files = sorted(file for file in root.rglob("*") if file.suffix.lower() in SUFFIXES)
    matches = [(file, re.search(pattern, file.relative_to(root).as_posix())) for file in files]
    found = [(file, match.groupdict()) for file, match in matches if match]
    if not found:
        raise BenchError(
            f"{root}: none of {len(files)} CNT or SET files lies where {name} has them ({pattern}): see facts.layout of its "
            "card, or name the folder that holds them with dataset.root="
        )
    return found
