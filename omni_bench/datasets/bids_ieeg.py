"""Reader of any BIDS tree with intracranial recordings (Holdgraf et al. 2019)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from omni_bench.data.cohort import Cohort
from omni_bench.data.recording import READERS, open_recording
from omni_bench.data.tables import flags, read_table
from omni_bench.datasets.vocabulary import INTRACRANIAL_TYPES, is_no_brain_channel, seizure_free, state_of
from omni_bench.errors import BenchError
from omni_bench.signal.channel_names import contact_names

OUTSIDE = ("derivatives", "sourcedata", "code", "stimuli")


def read_bids_ieeg(root: Path, name: str = "bids_ieeg", on_error: str = "raise", unit: str | None = None) -> Cohort:
    """Read the metadata of a BIDS tree, or of several below one folder; no signal is opened beyond its header.

    Labels are optional: ``soz`` and ``resected`` (or ``resection``) columns of channels.tsv, ``outcome`` or ``engel`` of
    participants.tsv, ``anatomical`` (or ``label``) of channels.tsv. What is not there is unknown.

    Raises
    ------
    BenchError
        No recordings, or (``on_error="raise"``) one whose file or table is broken.
    """
    rows: list[dict[str, Any]] = []
    patients: dict[str, dict[str, Any]] = {}
    channels, excluded = [], []
    for file in _recordings(root):
        try:
            row, table = _read(file, root, unit, excluded)
        except BenchError as error:
            if on_error == "raise":
                raise
            excluded.append({"what": "recordings", "reason": str(error), "n": 1})
            continue
        rows.append(row)
        channels.append(table)
        if row["subject"] not in patients:
            patients[row["subject"]] = _patient(row["subject"], _tree_of(file, root), name)
    if not rows:
        raise BenchError(f"{root}: no *_ieeg recordings ({', '.join(READERS)}) could be read: paths.data must be a BIDS tree")
    return Cohort(name, root, pd.DataFrame(list(patients.values())), pd.DataFrame(rows), pd.concat(channels), unit, excluded)


def _recordings(root: Path) -> Iterator[Path]:
    if not root.is_dir():
        raise BenchError(f"{root}: no such folder: paths.data must be a BIDS tree")
    for file in sorted(root.rglob("*_ieeg.*")):
        if file.suffix.lower() in READERS and not set(OUTSIDE) & set(file.relative_to(root).parts):
            yield file


def _tree_of(file: Path, root: Path) -> Path:
    """The BIDS root above a recording: the nearest folder with participants.tsv or dataset_description.json."""
    for folder in file.parents:
        if (folder / "participants.tsv").is_file() or (folder / "dataset_description.json").is_file() or folder == root:
            return folder
    return root


def _read(file: Path, root: Path, unit: str | None, excluded: list[dict[str, Any]]) -> tuple[dict[str, Any], pd.DataFrame]:
    from mne_bids import get_entities_from_fname

    entities = get_entities_from_fname(file, on_error="ignore")
    stem = file.stem.removesuffix("_ieeg")
    tree = _tree_of(file, root)
    prefix = "" if tree == root else f"{tree.relative_to(root).as_posix().replace('/', '-')}_"
    recording = open_recording(file, unit=unit)
    table = _channel_table(file, recording.ch_names, excluded)
    table.insert(0, "recording", prefix + stem)
    sidecar = _sidecar(file, tree, "ieeg.json")
    facts = json.loads(sidecar.read_text(encoding="utf-8-sig")) if sidecar else {}
    task = entities.get("task")
    row = {
        "recording": prefix + stem,
        "subject": f"{prefix}sub-{entities['subject']}",
        "session": entities.get("session"),
        "task": task,
        "run": entities.get("run"),
        "path": file.relative_to(root).as_posix(),
        "sfreq": recording.sfreq,
        "duration": recording.duration,
        "modality": table["type"].mode().iloc[0] if table["type"].notna().any() else None,
        "ictal": task == "ictal" if task else None,
        "state": state_of(task, entities.get("session")),
        "line_freq": facts.get("PowerLineFrequency") if facts.get("PowerLineFrequency") in (50, 60) else None,
    }
    return row, table


def _sidecar(file: Path, tree: Path, suffix: str) -> Path | None:
    """The nearest sidecar upwards, by the inheritance principle."""
    stem = file.stem.removesuffix("_ieeg")
    own = file.with_name(f"{stem}_{suffix}")
    if own.is_file():
        return own
    entities = set(stem.split("_"))
    for folder in file.parents:
        for candidate in sorted(folder.glob(f"*_{suffix}")):
            if set(candidate.name.removesuffix(f"_{suffix}").split("_")) <= entities:
                return candidate
        if folder == tree:
            break
    return None


def _channel_table(file: Path, ch_names: list[str], excluded: list[dict[str, Any]]) -> pd.DataFrame:
    sidecar = _sidecar(file, file.parents[-1], "channels.tsv")
    if sidecar is None:
        raise BenchError(f"{file}: no channels.tsv for it: BIDS asks for one, with the columns name, type, units")
    table = read_table(sidecar, ["name", "type"])
    table = table[table["name"].notna()].drop_duplicates("name")
    absent = ~table["name"].isin(ch_names)
    if absent.any():
        raise BenchError(f"{sidecar}: channel {table.loc[absent, 'name'].iloc[0]} is not in {file.name}: correct the name, or say on_error=skip")
    unlisted = len(set(ch_names) - set(table["name"]))
    if unlisted:
        excluded.append({"what": "channels", "reason": f"in {file.name} but not in channels.tsv", "n": unlisted})
    kinds = table["type"].str.upper()
    brain = (kinds.isin(INTRACRANIAL_TYPES) | kinds.isna()) & ~table["name"].map(is_no_brain_channel)
    if (~brain).any():
        excluded.append({"what": "channels", "reason": f"no intracranial channel by type or name in {file.name}", "n": int((~brain).sum())})
    table = table[brain]
    if table.empty:
        raise BenchError(f"{sidecar}: no channel of type {', '.join(INTRACRANIAL_TYPES)}: correct the type column")
    where = str(sidecar)
    status = table["status"] if "status" in table else pd.Series(pd.NA, index=table.index, dtype="str")
    result = pd.DataFrame({"raw_name": table["name"], "channel": contact_names(table["name"]), "type": kinds[brain]})
    result["good"] = status.str.lower().map({"good": True, "bad": False}).fillna(True)
    for column, names in (("soz", ("soz",)), ("resected", ("resected", "resection"))):
        present = next((n for n in names if n in table), None)
        result[column] = flags(table[present], where) if present else pd.NA
    region = next((n for n in ("anatomical", "label") if n in table), None)
    result["anatomical"] = table[region] if region else pd.NA
    return result


def _patient(subject: str, tree: Path, source: str) -> dict[str, Any]:
    file = tree / "participants.tsv"
    row: dict[str, Any] = {}
    if file.is_file():
        table = read_table(file, ["participant_id"])
        match = table[table["participant_id"] == subject[subject.index("sub-") :]]
        row = match.iloc[0].dropna().to_dict() if len(match) else {}
    return {
        "subject": subject,
        "person": subject,
        "source": source,
        "sex": {"m": "male", "f": "female", "male": "male", "female": "female"}.get(str(row.get("sex", "")).lower()),
        "outcome": seizure_free(row.get("outcome"), row.get("engel") or row.get("engel_score")),
        "engel": row.get("engel") or row.get("engel_score"),
    }
