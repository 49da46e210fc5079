"""Reader of any BIDS tree with scalp recordings (Pernet et al. 2019)."""

from pathlib import Path
from typing import Any

import pandas as pd

from omni_bench.data.cohort import Cohort
from omni_bench.data.recording import READERS, channel_names, open_recording
from omni_bench.data.tables import numbers, read_table
from omni_bench.datasets.bids_files import entities_of, facts_of, recordings_below, sidecars, tree_of
from omni_bench.datasets.bids_tables import good_of
from omni_bench.datasets.channel_tables import match_channels
from omni_bench.datasets.vocabulary import SEXES
from omni_bench.errors import BenchError
from omni_bench.signal.electrode_names import electrode_name


def read_bids_eeg(root: Path, name: str = "bids_eeg", on_error: str = "raise", unit: str | None = None) -> Cohort:
    """Read the metadata of a BIDS tree; no signal is opened beyond its header.

    Channels are those of type EEG in channels.tsv (all of the file where there is none); events are events.tsv as it
    stands.

    Raises
    ------
    BenchError
        No recordings, or (``on_error="raise"``) one whose file or table is broken.
    """
    rows: list[dict[str, Any]] = []
    channels: list[pd.DataFrame] = []
    events: list[pd.DataFrame] = []
    excluded: list[dict[str, Any]] = []
    for file in recordings_below(root, "eeg"):
        try:
            row, table = _read(file, tree_of(file, root), unit, on_error, excluded)
            trials = _events(file, tree_of(file, root))
        except BenchError as error:
            if on_error == "raise":
                raise
            excluded.append({"what": "recordings", "reason": str(error), "n": 1})
            continue
        rows.append(row | {"path": file.relative_to(root).as_posix()})
        channels.append(table.assign(recording=row["recording"]))
        if trials is not None:
            events.append(trials.assign(recording=row["recording"]))
    if not rows:
        raise BenchError(
            f"{root}: no *_eeg recordings ({', '.join(READERS)}) could be read: paths.data must be a BIDS tree"
        )
    recordings = pd.DataFrame(rows)
    persons = _persons(root, recordings["subject"].unique().tolist(), name)
    table = pd.concat(events, ignore_index=True) if events else None
    return Cohort(name, root, persons, recordings, pd.concat(channels), unit, excluded, table)


def _read(
    file: Path, tree: Path, unit: str | None, on_error: str, excluded: list[dict[str, Any]]
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Row of the recordings table, and the recording's channels."""
    entities = entities_of(file)
    if entities["subject"] is None:
        raise BenchError(f"{file}: no subject in its name, expected sub-<label>_..._eeg{file.suffix}: rename it")
    table = _channels(file, tree, on_error, excluded)
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
    return row, table


def _channels(file: Path, tree: Path, on_error: str, excluded: list[dict[str, Any]]) -> pd.DataFrame:
    in_file = channel_names(file)
    tsv = next(sidecars(file, tree, "channels.tsv"), None)
    if tsv is None:
        table = pd.DataFrame({"name": in_file, "type": "EEG"})
    else:
        table = read_table(tsv, ["name", "type"])
        scalp = table["type"].str.upper() == "EEG"
        if not scalp.any():
            raise BenchError(f"{tsv}: no channel of type EEG: correct the type column")
        if not scalp.all():
            excluded.append({"what": "channels", "reason": "not of type EEG", "n": int((~scalp).sum())})
        others = set(table.loc[~scalp, "name"])
        in_file = [channel for channel in in_file if channel not in others]
        table = match_channels(table[scalp], tsv, in_file, on_error, excluded)
    result = pd.DataFrame({"raw_name": table["name"], "channel": table["name"].map(electrode_name), "type": "EEG"})
    result["good"] = good_of(table["status"], str(tsv)).fillna(True) if "status" in table else True
    return result


def _events(file: Path, tree: Path) -> pd.DataFrame | None:
    tsv = next(sidecars(file, tree, "events.tsv"), None)
    if tsv is None:
        return None
    table = read_table(tsv, ["onset", "duration"])
    return table.assign(**{name: numbers(table[name], str(tsv)) for name in ("onset", "duration")})


def _persons(root: Path, subjects: list[str], source: str) -> pd.DataFrame:
    file = root / "participants.tsv"
    persons = pd.DataFrame({"subject": subjects, "person": subjects, "source": source, "sex": None})
    if file.is_file():
        table = read_table(file, ["participant_id"])
        twice = table["participant_id"].duplicated()
        if twice.any():
            raise BenchError(f"{file}: participant {table.loc[twice, 'participant_id'].iloc[0]} stands twice: keep one")
        if "sex" in table:
            persons["sex"] = persons["subject"].map(table.set_index("participant_id")["sex"]).map(SEXES)
    return persons
