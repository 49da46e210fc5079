"""Reader of any BIDS tree with intracranial recordings (Holdgraf et al. 2019)."""

from pathlib import Path
from typing import Any

import pandas as pd

from omni_bench.data.cohort import Cohort
from omni_bench.data.recording import READERS, channel_names, open_recording
from omni_bench.data.tables import flags, read_table
from omni_bench.datasets.bids_files import entities_of, facts_of, recordings_below, sidecars, tree_of
from omni_bench.datasets.bids_tables import good_of, no_brain
from omni_bench.datasets.channel_tables import match_channels
from omni_bench.datasets.vocabulary import INTRACRANIAL_TYPES, SEXES, seizure_free, state_of
from omni_bench.errors import BenchError
from omni_bench.signal.channel_names import contact_names


def read_bids_ieeg(
    root: Path,
    name: str = "bids_ieeg",
    on_error: str = "raise",
    unit: str | None = None,
    only: Path | None = None,
) -> Cohort:
    """Read the metadata of a BIDS tree, or of several below one folder; no signal is opened beyond its header.

    Labels are optional: ``soz`` and ``resected`` (or ``resection``) columns of channels.tsv, ``outcome`` or ``engel`` of
    participants.tsv, ``anatomical`` (or ``label``) of channels.tsv. What is not there is unknown. Of several trees, each
    is a source of its own, and its name stands before those of its subjects and recordings. ``only`` is a folder or
    recording in it that is wanted alone.

    Raises
    ------
    BenchError
        No recordings, or (``on_error="raise"``) one whose file or table is broken.
    """
    rows: list[dict[str, Any]] = []
    patients: dict[str, dict[str, Any]] = {}
    channels: list[pd.DataFrame] = []
    excluded: list[dict[str, Any]] = []
    for file in recordings_below(root, "ieeg", only):
        tree = tree_of(file, root)
        prefix = "" if tree == root else f"{tree.relative_to(root).as_posix().replace('/', '-')}_"
        try:
            row, table = _read(file, tree, unit, on_error, excluded)
            subject = f"{prefix}{row['subject']}"
            if subject not in patients:
                source = tree.name if prefix else name
                patients[subject] = _patient(row["subject"], tree) | {
                    "subject": subject,
                    "person": subject,
                    "source": source,
                }
        except BenchError as error:
            if on_error == "raise":
                raise
            excluded.append({"what": "recordings", "reason": str(error), "n": 1})
            continue
        recording = f"{prefix}{row['recording']}"
        rows.append(row | {"recording": recording, "subject": subject, "path": file.relative_to(root).as_posix()})
        channels.append(table.assign(recording=recording))
    if not rows:
        raise BenchError(
            f"{root}: no *_ieeg recordings ({', '.join(READERS)}) could be read: paths.data must be a BIDS tree"
        )
    return Cohort(
        name, root, pd.DataFrame(list(patients.values())), pd.DataFrame(rows), pd.concat(channels), unit, excluded
    )


def _read(
    file: Path, tree: Path, unit: str | None, on_error: str, excluded: list[dict[str, Any]]
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Rows of the recording and channel tables."""
    entities = entities_of(file)
    if entities["subject"] is None:
        raise BenchError(f"{file}: no subject in its name, expected sub-<label>_..._ieeg{file.suffix}: rename it")
    table = _channels(file, tree, on_error, excluded)
    recording = open_recording(file, table["raw_name"].tolist(), unit)
    task, line_freq = entities["task"], facts_of(file, tree, "ieeg").get("PowerLineFrequency")
    row = {
        "recording": file.stem.removesuffix("_ieeg"),
        "subject": f"sub-{entities['subject']}",
        "session": entities["session"],
        "task": task,
        "run": entities["run"],
        "sfreq": recording.sfreq,
        "duration": recording.duration,
        "modality": table["type"].mode().get(0),
        "ictal": task == "ictal" if task else None,
        "state": state_of(task, entities["session"]),
        "line_freq": line_freq if line_freq in (50, 60) else None,
    }
    return row, table


def _channels(file: Path, tree: Path, on_error: str, excluded: list[dict[str, Any]]) -> pd.DataFrame:
    tsv = next(sidecars(file, tree, "channels.tsv"), None)
    if tsv is None:
        raise BenchError(f"{file}: no channels.tsv for it: BIDS asks for one, with the columns name, type, units")
    table = read_table(tsv, ["name"])
    # the harmonised Omni-iEEG release has no types, and `good` for BIDS's `status`
    kinds = table["type"].str.upper() if "type" in table else pd.Series(pd.NA, table.index, dtype="string")
    brain = (kinds.isin(INTRACRANIAL_TYPES) | kinds.isna()) & ~no_brain(contact_names(table["name"].fillna("n/a")))
    if not brain.any():
        raise BenchError(f"{tsv}: no channel of type {', '.join(INTRACRANIAL_TYPES)}: correct the type column")
    if not brain.all():
        excluded.append(
            {"what": "channels", "reason": "no intracranial channel, by type or name", "n": int((~brain).sum())}
        )
    others = set(table.loc[~brain, "name"])
    in_file = [channel for channel in channel_names(file) if channel not in others]
    table = match_channels(table[brain].assign(type=kinds), tsv, in_file, on_error, excluded)
    where = str(tsv)
    result = pd.DataFrame({"raw_name": table["name"], "channel": contact_names(table["name"]), "type": table["type"]})
    good = good_of(table["status"], where) if "status" in table else _flags(table, ("good",), where)
    result["good"] = good.fillna(True)
    result["soz"] = _flags(table, ("soz",), where)
    result["resected"] = _flags(table, ("resected", "resection"), where)
    region = next((name for name in ("anatomical", "label") if name in table), None)
    result["anatomical"] = table[region] if region else pd.NA
    return result


def _flags(table: pd.DataFrame, names: tuple[str, ...], where: str) -> pd.Series:
    """The first column of these names that is there, else unknown."""
    name = next((name for name in names if name in table), None)
    return flags(table[name], where) if name else pd.Series(pd.NA, index=table.index, dtype="boolean")


def _patient(subject: str, tree: Path) -> dict[str, Any]:
    file = tree / "participants.tsv"
    rows = read_table(file, ["participant_id"]) if file.is_file() else pd.DataFrame({"participant_id": []})
    rows = rows[rows["participant_id"] == subject]
    if len(rows) > 1:
        raise BenchError(f"{file}: {subject} stands in {len(rows)} rows: keep one")
    row: dict[str, str] = rows.iloc[0].dropna().to_dict() if len(rows) else {}
    engel = row.get("engel") or row.get("engel_score")
    return {
        "sex": SEXES.get(row.get("sex", "")),
        "outcome": seizure_free(row.get("outcome"), engel),
        "engel": engel,
    }
