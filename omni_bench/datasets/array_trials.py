"""Reader of datasets whose recordings are arrays in files: one layout, and what its events are, per card."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from omni_bench.data.array_files import ArrayFile, ArrayLayout
from omni_bench.data.cohort import Cohort
from omni_bench.errors import BenchError
from omni_bench.signal.electrode_names import electrode_names


@dataclass(frozen=True)
class Source:
    """One recording's file, as functions of events see it.

    Attributes
    ----------
    root
        Of the dataset.
    file
        Its values; large arrays of pickles without their content.
    words
        What the groups of the card's ``files`` match in its path.
    pieces
        One row per piece, in order: ``start`` and ``length`` in seconds of the recording, and the numbers of its further axes.
    sfreq
        In Hz.
    """

    root: Path
    file: ArrayFile
    words: Mapping[str, str]
    pieces: pd.DataFrame
    sfreq: float


def read_arrays(
    root: Path,
    name: str,
    on_error: str = "raise",
    unit: str | None = None,
    *,
    files: str,
    axes: Sequence[str],
    sfreq: float | str,
    channels: Sequence[str] | str,
    events: Callable[[Source], pd.DataFrame],
    others: Sequence[str] = (),
    variable: str = "",
    field: str = "",
    scale: float = 1.0,
    shapes: Mapping[str, Sequence[int]] | None = None,
    names_at: str = "",
    subject: str = "{subject}",
    persons: Mapping[str, str] | None = None,
) -> Cohort:
    """Read the metadata of a dataset of arrays; one recording per file.

    Parameters
    ----------
    files
        Regular expression of the paths below ``root``. Its groups ``subject``, ``session``, ``task`` and ``run`` say
        what a recording is; without ``session``, those of a subject are numbered by the group ``date``.
    axes, sfreq, channels, variable, field, scale, shapes, names_at
        See `omni_bench.data.array_files.ArrayLayout`.
    others
        Names along the channel axis after ``channels``, of what is no scalp EEG.
    events
        Of one recording: ``onset`` and ``duration`` in seconds, ``trial_type``, and any further columns.
    subject
        How a subject is called by the groups of ``files``.
    persons
        Subject → person, where a human has several ids.

    Raises
    ------
    BenchError
        No such files, two of one recording, or (``on_error="raise"``) one that is broken.
    """
    names = channels if isinstance(channels, str) else (*channels, *others)
    known = tuple((pattern, tuple(shape)) for pattern, shape in (shapes or {}).items())
    layout = ArrayLayout(tuple(axes), sfreq, names, variable, field, scale, known, names_at)
    rows, tables, trials, excluded = [], [], [], []
    for path, words in _found(root, files, subject):
        try:
            row, table, own = _read(root, path, words, layout, len(others), events)
        except BenchError as error:
            if on_error == "raise":
                raise
            excluded.append({"what": "recordings", "reason": str(error), "n": 1})
            continue
        rows.append(row)
        tables.append(table)
        trials.append(own)
    if not rows:
        raise BenchError(f"{root}: no file could be read ({excluded[0]['reason']})")
    recordings = pd.DataFrame(rows)
    subjects = recordings["subject"].drop_duplicates()
    people = subjects.map(lambda one: (persons or {}).get(one, one))
    patients = pd.DataFrame({"subject": subjects, "person": people, "source": name})
    happened = pd.concat(trials, ignore_index=True)
    return Cohort(name, root, patients, recordings, pd.concat(tables), unit, excluded, happened, opener=layout)


def matching_files(root: Path, pattern: str) -> list[tuple[Path, dict[str, str]]]:
    """Files below a folder whose relative path matches, and what its groups match.

    Raises
    ------
    BenchError
        There is none.
    """
    found = []
    for path in sorted(root.rglob("*")):
        match = re.search(pattern, path.relative_to(root).as_posix())
        if match and path.is_file():
            found.append((path, {group: text for group, text in match.groupdict().items() if text is not None}))
    if not found:
        raise BenchError(f"{root}: no file is called {pattern}: see facts.layout of the dataset's card")
    return found


def _found(root: Path, pattern: str, subject: str) -> Iterator[tuple[Path, dict[str, str]]]:
    """Files with their words, the subject's full name and the session among them."""
    found = [(path, words | {"subject": subject.format(**words)}) for path, words in matching_files(root, pattern)]
    for _, words in found:
        if "date" in words and "session" not in words:
            dates = sorted({other["date"] for _, other in found if other["subject"] == words["subject"]})
            words["session"] = str(dates.index(words["date"]) + 1)
    counts = Counter(_recording_id(words) for _, words in found)
    twice = next((path for path, words in found if counts[_recording_id(words)] > 1), None)
    if twice is not None:
        raise BenchError(f"{twice}: another file is of the same subject, session and run: keep one of them")
    return iter(found)


def _recording_id(words: Mapping[str, str]) -> str:
    parts = (("sub", "subject"), ("ses", "session"), ("run", "run"))
    return "_".join(f"{short}-{words[word]}" for short, word in parts if word in words)


def _read(
    root: Path,
    path: Path,
    words: dict[str, str],
    layout: ArrayLayout,
    n_others: int,
    events: Callable[[Source], pd.DataFrame],
) -> tuple[dict[str, Any], pd.DataFrame, pd.DataFrame]:
    file = ArrayFile(path, shapes_only=True)
    pieces, sfreq = layout.pieces_in(file), layout.rate_in(file)
    length = pieces.pop("n_times") / sfreq
    pieces = pieces.assign(length=length, start=length.cumsum().shift(fill_value=0.0))
    recording = _recording_id(words)
    row = {
        "recording": recording,
        "subject": words["subject"],
        "session": words.get("session"),
        "task": words.get("task"),
        "run": words.get("run"),
        "path": path.relative_to(root).as_posix(),
        "sfreq": sfreq,
        "duration": length.sum(),
        "modality": "EEG",
    }
    raw = layout.names_in(file)[: -n_others or None]
    own = events(Source(root, file, words, pieces, sfreq))
    return row, channel_table(recording, raw), own.assign(recording=recording)


def channel_table(recording: str, raw: Sequence[str], names: Sequence[str] | None = None) -> pd.DataFrame:
    """Good scalp channels of a recording; ``names`` where the file's own do not say which electrodes they are."""
    channel = electrode_names(list(raw if names is None else names))
    return pd.DataFrame(
        {"raw_name": list(raw), "channel": channel, "type": "EEG", "good": True, "recording": recording}
    )


def trial_events(
    source: Source, *, labels: Mapping[str, Mapping[str, Any]], onset_s: float = 0.0, duration_s: float | None = None
) -> pd.DataFrame:
    """One event per piece of a recording.

    Parameters
    ----------
    labels
        Column of events → where its values come from:
        ``{axis: name, values: [...]}`` by the piece's number along an axis, with ``by: word`` one list per word of the
        path; ``{variable: name, column: 0}`` numbers in the file, one per piece; ``{words: "{group}"}`` the path, with
        ``values: {value: [words, ...]}`` where that is no value itself.
    onset_s
        From the start of each piece.
    duration_s
        By default to its end.

    Raises
    ------
    BenchError
        A file's labels do not fit its pieces.
    """
    pieces = source.pieces
    duration = pieces["length"] - onset_s if duration_s is None else duration_s
    table = pd.DataFrame({"onset": pieces["start"] + onset_s, "duration": duration}, index=pieces.index)
    return table.assign(**{column: _values(source, rule) for column, rule in labels.items()})


def _values(source: Source, rule: Mapping[str, Any]) -> list[str | None]:
    n_pieces = len(source.pieces)
    if "axis" in rule:
        values = rule["values"][source.words[rule["by"]]] if "by" in rule else rule["values"]
        numbers = source.pieces[rule["axis"]]
        if numbers.max() + 1 != len(values):
            raise BenchError(
                f"{source.file.path}: {numbers.max() + 1} pieces by {rule['axis']}, the card labels {len(values)}: "
                "another release?"
            )
        return [str(values[number]) for number in numbers]
    if "variable" in rule:
        found = np.asarray(source.file.value(rule["variable"]))
        found = found[:, rule["column"]] if "column" in rule else found.ravel()
        if len(found) != n_pieces:
            raise BenchError(
                f"{source.file.path}: {len(found)} values of {rule['variable']} for {n_pieces} pieces: another release?"
            )
        return [number_text(value) for value in found]
    text = rule["words"].format(**source.words)
    if "values" in rule:
        return [next((value for value, words in rule["values"].items() if text in words), None)] * n_pieces
    return [text] * n_pieces


def number_text(value: float) -> str:
    """A number as events spell it: all its digits, none after the point of a whole one."""
    return str(int(value)) if float(value).is_integer() else repr(float(value))
