"""Reader of any BIDS tree with scalp recordings (Pernet et al. 2019)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from omni_bench.data.cohort import Cohort
from omni_bench.data.recording import READERS, channel_names, open_recording
from omni_bench.data.tables import numbers, read_table
from omni_bench.datasets.bids_files import entities_of, facts_of, recordings_below, sidecars, tree_of
from omni_bench.datasets.bids_tables import good_of
from omni_bench.datasets.channel_tables import match_channels
from omni_bench.datasets.event_tables import whole_event
from omni_bench.datasets.vocabulary import SEXES
from omni_bench.errors import BenchError
from omni_bench.signal.electrode_names import electrode_name


def read_bids_eeg(
    root: Path,
    name: str = "bids_eeg",
    on_error: str = "raise",
    unit: str | None = None,
    *,
    pattern: str | None = None,
    labels: Sequence[str] = (),
    person: str | None = None,
    not_eeg: str | None = None,
    exclude: Mapping[str, str] | None = None,
    events: str = "events.tsv",
    only: Path | None = None,
) -> Cohort:
    """Read the metadata of a BIDS tree; no signal is opened beyond its header.

    Channels are those of type EEG in channels.tsv (all of the file where there is none, or none has a type). Events are
    events.tsv as it stands; where ``pattern`` or ``labels`` tell something of whole recordings, they are one event per
    recording, from its start to its end.

    Parameters
    ----------
    pattern
        Regular expression that the file names of wanted recordings match; its named groups become columns of events.
    labels
        Columns of participants.tsv that become columns of events; recordings of persons without any of them are left out.
    person
        Column of participants.tsv that tells who a subject is, where a human has several ids.
    not_eeg
        Regular expression of names that are no scalp channels, whatever channels.tsv says.
    exclude
        Start of a file name → why recordings called so are left out.
    events
        Suffix of the tables of events.
    only
        Folder or recording in the tree that is wanted alone.

    Raises
    ------
    BenchError
        No recordings, a label or person that participants.tsv does not know, a participant that stands twice, or
        (``on_error="raise"``) a recording whose file or table is broken.
    """
    people = read_people(root, required=bool(labels or person), columns=[*labels, *([person] if person else [])])
    rows: list[dict[str, Any]] = []
    channels: list[pd.DataFrame] = []
    trials: list[pd.DataFrame] = []
    excluded: list[dict[str, Any]] = []
    for file in recordings_below(root, "eeg", only):
        match = re.search(pattern or "", file.name)
        told = _told(file, people, labels)
        reason = _reason(file, match is not None, told, labels, exclude or {})
        if reason:
            excluded.append({"what": "recordings", "reason": reason, "n": 1})
            continue
        told |= match.groupdict() if match else {}
        try:
            row, table = _read(file, tree_of(file, root), unit, not_eeg, on_error, excluded)
            own = whole_event(row, told) if told else _events(file, tree_of(file, root), events)
        except BenchError as error:
            if on_error == "raise":
                raise
            excluded.append({"what": "recordings", "reason": str(error), "n": 1})
            continue
        rows.append(row | {"path": file.relative_to(root).as_posix()})
        channels.append(table)
        if own is not None:
            trials.append(own)
    if not rows:
        why = "; ".join(dict.fromkeys(entry["reason"] for entry in excluded if entry["what"] == "recordings"))
        raise BenchError(
            f"{root}: no *_eeg recordings ({', '.join(READERS)}) could be read{f' ({why})' if why else ''}: "
            "paths.data must be a BIDS tree"
        )
    recordings = pd.DataFrame(rows)
    persons = _persons(people, recordings["subject"].unique().tolist(), name, person)
    table = pd.concat(trials, ignore_index=True) if trials else None
    return Cohort(name, root, persons, recordings, pd.concat(channels), unit, excluded, table)


def _told(file: Path, people: pd.DataFrame, labels: Sequence[str]) -> dict[str, Any]:
    """What participants.tsv says of the recording's person."""
    subject = f"sub-{entities_of(file)['subject']}"
    return {label: people[label].get(subject, pd.NA) for label in labels}


def _reason(
    file: Path, wanted: bool, told: Mapping[str, Any], labels: Sequence[str], exclude: Mapping[str, str]
) -> str | None:
    """Why a recording is left out, if it is."""
    if not wanted:
        return "other tasks or conditions than the card's read.pattern"
    if labels and all(pd.isna(told[label]) for label in labels):
        return f"no {', '.join(labels)} of the person in participants.tsv"
    return next((why for start, why in exclude.items() if file.name.startswith(start)), None)


def _read(
    file: Path, tree: Path, unit: str | None, not_eeg: str | None, on_error: str, excluded: list[dict[str, Any]]
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Row of the recordings table, and the recording's channels."""
    entities = entities_of(file)
    if entities["subject"] is None:
        raise BenchError(f"{file}: no subject in its name, expected sub-<label>_..._eeg{file.suffix}: rename it")
    table = _channels(file, tree, not_eeg, on_error, excluded)
    recording = open_recording(file, table["raw_name"].tolist(), unit)
    line_freq = facts_of(file, tree, "eeg").get("PowerLineFrequency")
    row = {
        "recording": file.stem.removesuffix("_eeg"),
        "subject": f"sub-{entities['subject']}",
        "session": entities["session"],
        "task": entities["task"],
        "run": entities["run"],
        "sfreq": recording.sfreq,
        "duration": recording.duration,
        "modality": "EEG",
        "line_freq": line_freq if line_freq in (50, 60) else None,
    }
    return row, table.assign(recording=row["recording"])


def _channels(
    file: Path, tree: Path, not_eeg: str | None, on_error: str, excluded: list[dict[str, Any]]
) -> pd.DataFrame:
    in_file = channel_names(file)
    tsv = next(sidecars(file, tree, "channels.tsv"), None)
    table = pd.DataFrame({"name": in_file, "type": "EEG"}) if tsv is None else read_table(tsv, ["name", "type"])
    scalp = (table["type"].str.upper() == "EEG") | table["type"].isna().all()
    if not_eeg:
        scalp &= ~table["name"].str.fullmatch(not_eeg, case=False).fillna(False).astype(bool)
    if not scalp.any():
        raise BenchError(f"{tsv or file}: no channel of type EEG: correct the type column")
    if not scalp.all():
        excluded.append({"what": "channels", "reason": "not of type EEG", "n": int((~scalp).sum())})
    others = set(table.loc[~scalp, "name"])
    table = table[scalp]
    if tsv is not None:
        table = match_channels(table, tsv, [name for name in in_file if name not in others], on_error, excluded)
    result = scalp_channels(table["name"])
    result["good"] = good_of(table["status"], str(tsv)).fillna(True) if "status" in table else True
    return result


def scalp_channels(names: Iterable[str]) -> pd.DataFrame:
    """Channel table of good scalp channels; ``names`` as the file spells them."""
    raw = pd.Series(names, dtype="str")
    return pd.DataFrame({"raw_name": raw, "channel": raw.map(electrode_name), "type": "EEG", "good": True})


def _events(file: Path, tree: Path, suffix: str) -> pd.DataFrame | None:
    tsv = next(sidecars(file, tree, suffix), None)
    if tsv is None and suffix == "events.tsv":
        return None
    if tsv is None:
        raise BenchError(f"{file}: no *_{suffix} that holds for it: the card's facts.layout tells what it must say")
    table = read_table(tsv, ["onset", "duration"])
    times = {name: numbers(table[name], str(tsv)) for name in ("onset", "duration")}
    return table.assign(recording=file.stem.removesuffix("_eeg"), **times)


def read_people(root: Path, required: bool, columns: Sequence[str]) -> pd.DataFrame:
    """participants.tsv by subject; empty where there is none and none is ``required``.

    Raises
    ------
    BenchError
        No such file or column, or a participant that stands twice.
    """
    file = root / "participants.tsv"
    if not required and not file.is_file():
        return pd.DataFrame(index=pd.Index([], dtype="str"))
    table = read_table(file, ["participant_id", *columns])
    twice = table["participant_id"].duplicated()
    if twice.any():
        raise BenchError(f"{file}: participant {table.loc[twice, 'participant_id'].iloc[0]} stands twice: keep one")
    return table.set_index("participant_id")


def _persons(people: pd.DataFrame, subjects: list[str], source: str, person: str | None) -> pd.DataFrame:
    persons = pd.DataFrame({"subject": subjects, "person": subjects, "source": source, "sex": None})
    if person:
        persons["person"] = persons["subject"].map(people[person]).fillna(persons["subject"])
    sex = next((column for column in people if str(column).lower() in ("sex", "gender")), None)
    if sex:
        persons["sex"] = persons["subject"].map(people[sex]).map(SEXES)
    return persons
