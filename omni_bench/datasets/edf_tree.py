"""Reader of EDF files in folders: who was recorded stands in their paths, what happened stands there or beside them."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from omni_bench.data.cohort import Cohort
from omni_bench.data.edf import edf_annotations, edf_channels, read_edf_header
from omni_bench.data.recording import EDF_SUFFIXES
from omni_bench.datasets.bids_eeg import scalp_channels
from omni_bench.datasets.bids_tables import Notes, note
from omni_bench.errors import BenchError
from omni_bench.signal.electrode_names import electrode_name

ENTITIES = {"session": "ses", "task": "task", "run": "run"}


@dataclass(frozen=True)
class EdfFile:
    """A recording as its path and its header tell of it.

    Attributes
    ----------
    groups
        What the card's pattern names in the path.
    sfreq
        Of its EEG channels, in Hz.
    duration
        In seconds.
    clock
        Time of day of its first sample, in seconds since midnight; NaN where unknown.
    """

    path: Path
    groups: Mapping[str, str]
    sfreq: float
    duration: float
    clock: float


def whole_recording(file: EdfFile, excluded: Notes) -> pd.DataFrame:
    """One event, as long as the recording."""
    return pd.DataFrame({"onset": [0.0], "duration": [file.duration]})


def run_annotations(
    file: EdfFile, excluded: Notes, *, meanings: Mapping[str, Mapping[str, str]], min_s: float = 0.0
) -> pd.DataFrame:
    """Annotations inside the recording, whose codes mean other things in other runs.

    Parameters
    ----------
    meanings
        Run → code → what it means; other codes are no events.
    min_s
        Shorter events are left out.

    Raises
    ------
    BenchError
        No annotations, or none with a meaning.
    """
    table = edf_annotations(file.path)
    codes = meanings[file.groups["run"]]
    table = table.assign(trial_type=table["trial_type"].map(dict(codes))).dropna(subset="trial_type")
    if table.empty:
        raise BenchError(f"{file.path}: no annotation {' or '.join(codes)} in run {file.groups['run']}")
    return at_least(table, min_s, excluded)


def at_least(events: pd.DataFrame, min_s: float, excluded: Notes) -> pd.DataFrame:
    """Events of ``min_s`` seconds or more; the others are counted."""
    short = events["duration"] < min_s
    note(excluded, "events", f"shorter than {min_s:g} s", int(short.sum()))
    return events[~short]


def beside(file: EdfFile, *names: str) -> Path:
    """The file in a recording's folder that has the first of some names there is.

    Parameters
    ----------
    names
        May hold ``*``, and groups of the card's pattern in braces.

    Raises
    ------
    BenchError
        There is none, or several fit one name.
    """
    wanted = [name.format(**file.groups) for name in names]
    for name in wanted:
        found = sorted(file.path.parent.glob(name))
        if len(found) > 1:
            raise BenchError(f"{file.path}: {found[0].name} and {found[1].name} both fit {name}: keep one")
        if found:
            return found[0]
    raise BenchError(f"{file.path}: no {' or '.join(wanted)} beside it: copy its annotations there, too")


class _Lacking(BenchError):
    """A recording without a channel that the dataset's cards count on: no fault of the file."""


Events = Callable[[EdfFile, Notes], pd.DataFrame]
"""Makes ``onset`` and ``duration`` (s), ``trial_type`` and other columns; what it leaves out goes to its second argument."""


def read_edf_tree(
    root: Path,
    name: str = "edf_tree",
    on_error: str = "raise",
    unit: str | None = None,
    *,
    pattern: str,
    person: str = "{subject}",
    channels: Sequence[str] | None = None,
    splits: Mapping[str, str] | None = None,
    exclude: Mapping[str, str] | None = None,
    events: Events = whole_recording,
) -> Cohort:
    """Read the metadata of EDF files (also ``.rec`` and BDF); no signal is opened beyond its header.

    Parameters
    ----------
    pattern
        Regular expression of recordings, searched in paths below ``root`` with ``/`` between folders. Its groups ``session``,
        ``task`` and ``run`` go to the recordings table, ``split`` to the patients; all stand beside every event.
    person
        Who was recorded, with groups in braces.
    channels
        EEG channels to keep, in this order, under any spelling; a recording without one of them is left out. By default all
        that hold a voltage.
    splits
        Value of the group ``split`` → ``train``, ``val`` or ``test``: the dataset's own split.
    exclude
        Regular expression of recordings that are left out → the reason.
    events
        See `Events`.

    Raises
    ------
    BenchError
        No recording, two files of one recording, a person in two parts of the dataset's own split, or
        (``on_error="raise"``) a recording whose file or annotations are broken.
    """
    excluded: Notes = []
    places = _matching(root, name, pattern, exclude or {}, excluded)
    index = _index(root, places, person, splits or {})
    rows: list[dict[str, Any]] = []
    tables: list[pd.DataFrame] = []
    happened: list[pd.DataFrame] = []
    for (path, groups), row in zip(places, index.to_dict("records"), strict=True):
        try:
            raw_names, file = _header(path, groups, channels, unit)
            found = events(file, excluded)
        except BenchError as error:
            if on_error == "raise" and not isinstance(error, _Lacking):
                raise
            note(excluded, "recordings", str(error), 1)
            continue
        labels = {column: text for column, text in groups.items() if column not in found}
        rows.append(row | {"sfreq": file.sfreq, "duration": file.duration, "modality": "EEG"})
        tables.append(scalp_channels(raw_names).assign(recording=row["recording"]))
        happened.append(found.assign(recording=row["recording"], **labels))
    if not rows:
        why = "; ".join(dict.fromkeys(entry["reason"] for entry in excluded if entry["what"] == "recordings"))
        raise BenchError(f"{root}: no recording of {name} is usable ({why}): copy the data again")
    recordings = pd.DataFrame(rows)
    patients = recordings[["subject", "split"]].drop_duplicates("subject")
    patients = patients.assign(person=patients["subject"], source=name)
    recordings = recordings.drop(columns="split")
    return Cohort(name, root, patients, recordings, pd.concat(tables), unit, excluded, pd.concat(happened))


def _index(
    root: Path, places: Sequence[tuple[Path, Mapping[str, str]]], person: str, splits: Mapping[str, str]
) -> pd.DataFrame:
    """What paths say of recordings, one row each, and the person's part of the dataset's own split."""
    rows = []
    for path, groups in places:
        subject = person.format(**groups)
        parts = [f"_{short}-{groups[entity]}" for entity, short in ENTITIES.items() if entity in groups]
        names = {"recording": subject + "".join(parts), "subject": subject, "path": path.relative_to(root).as_posix()}
        rows.append(names | {e: groups.get(e) for e in ENTITIES} | {"split": splits.get(groups.get("split", ""))})
    index = pd.DataFrame(rows)
    twice = index[index["recording"].duplicated(keep=False)]
    if len(twice):
        first, second = twice.loc[twice["recording"] == twice["recording"].iloc[0], "path"].iloc[:2]
        raise BenchError(f"{root}: {first} and {second} are one recording of {twice['subject'].iloc[0]}: keep one")
    n_parts = index.groupby("subject")["split"].nunique()
    if (n_parts > 1).any():
        raise BenchError(f"{root}: {n_parts.idxmax()} stands in two parts of the dataset's own split: keep one")
    return index


def _matching(
    root: Path, name: str, pattern: str, exclude: Mapping[str, str], excluded: Notes
) -> list[tuple[Path, dict[str, str]]]:
    """Recordings and what their paths say."""
    files = sorted(file for file in root.rglob("*") if file.suffix.lower() in EDF_SUFFIXES)
    matches = [(file, re.search(pattern, file.relative_to(root).as_posix())) for file in files]
    found = [(file, match) for file, match in matches if match]
    if not found:
        example = f", such as {files[0].relative_to(root).as_posix()}," if files else ""
        raise BenchError(
            f"{root}: none of {len(files)} EDF files{example} lies where {name} has them ({pattern}): see facts.layout of "
            "its card, or name the folder that holds them with dataset.root="
        )
    note(excluded, "files", f"{', '.join(EDF_SUFFIXES)} that read.pattern does not name", len(files) - len(found))
    kept = []
    for file, match in found:
        reason = next((why for wrong, why in exclude.items() if re.search(wrong, match.string)), None)
        if reason is None:
            kept.append((file, {group: text for group, text in match.groupdict().items() if text is not None}))
        else:
            note(excluded, "recordings", reason, 1)
    return kept


def _header(
    path: Path, groups: dict[str, str], channels: Sequence[str] | None, unit: str | None
) -> tuple[list[str], EdfFile]:
    """Raw names of the EEG channels, and what the header says."""
    header = read_edf_header(path)
    if channels is None:
        raw_names = list(edf_channels(path, None, unit))
    else:
        labels = {electrode_name(label): label for label in reversed(header.labels)}
        wanted = [electrode_name(channel) for channel in channels]
        absent = [name for name in wanted if name not in labels]
        if absent:
            raise _Lacking(f"without EEG channel {absent[0]}")
        raw_names = [labels[name] for name in wanted]
        edf_channels(path, raw_names, unit)
    rate = header.rates[header.labels.index(raw_names[0])]
    return raw_names, EdfFile(path, groups, rate, header.duration, header.clock)
