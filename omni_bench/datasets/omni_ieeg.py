"""Reader of the harmonised Omni-iEEG release (arXiv 2602.16072, appendix A).

The layout is close to BIDS but not BIDS: labels stand in ``*_channels.tsv`` (``good``, ``soz``, ``resection``,
``anatomical``; -1 = unknown) and ``derivatives/datasplit``. Files known to be missing from the release are left out with
their number.
"""

import re
from pathlib import Path
from typing import Any

import pandas as pd

from omni_bench.data.cohort import Cohort
from omni_bench.data.edf import edf_labels
from omni_bench.data.tables import flags, numbers, read_table
from omni_bench.errors import BenchError
from omni_bench.signal.channel_names import contact_names

STATES = {"sleep": "asleep", "interictalasleep": "asleep", "interictalawake": "awake"}
LINE_FREQ = {"zurich": 50.0, "openieeg": 60.0, "hup": 60.0, "sourcesink": 60.0}
OUTSIDE_PAPER = "Multicenter"
"""Source of patients that the release holds beyond the paper's 302; the published scripts leave them out too."""


def read_omni_ieeg(root: Path, name: str = "omni_ieeg", on_error: str = "raise", unit: str | None = None) -> Cohort:
    """Read the release's metadata; no signal is opened beyond its header.

    Parameters
    ----------
    root
        Folder with ``participants.tsv``.
    on_error
        ``skip`` leaves out what is broken or missing and counts it, ``raise`` stops at it.

    Raises
    ------
    BenchError
        A table or column is missing, a value is none of its vocabulary, or (``on_error="raise"``) a channels file names a
        channel that is not in its EDF.
    """
    patients = _patients(root)
    excluded: list[dict[str, Any]] = []
    rows, channels = [], []
    for edf in sorted(root.glob("sub-*/*/ieeg/*_ieeg.edf")):
        if edf.relative_to(root).parts[0] not in set(patients["subject"]):
            continue
        tsv = edf.with_name(edf.name.replace("_ieeg.edf", "_channels.tsv"))
        try:
            if not tsv.is_file():
                raise BenchError(f"{edf}: no {tsv.name} beside it: fetch it, or say on_error=skip")
            table, facts = _channels(edf, tsv, on_error, excluded)
        except BenchError as error:
            if on_error == "raise":
                raise
            excluded.append({"what": "recordings", "reason": str(error), "n": 1})
            continue
        rows.append(_recording(edf, root) | facts)
        channels.append(table)
    if not rows:
        raise BenchError(f"{root}: no sub-*/ses-*/ieeg/*_ieeg.edf of the patients in participants.tsv: check paths.data")
    recordings = pd.DataFrame(rows)
    recordings["line_freq"] = recordings["subject"].map(patients.set_index("subject")["source"]).map(LINE_FREQ)
    patients = patients[patients["subject"].isin(recordings["subject"])]
    return Cohort(name, root, patients, recordings, pd.concat(channels), unit, _tally(excluded))


def _patients(root: Path) -> pd.DataFrame:
    file = root / "participants.tsv"
    table = read_table(file, ["participant_id", "dataset", "outcome"])
    table = table[table["dataset"] != OUTSIDE_PAPER]
    patients = pd.DataFrame({"subject": table["participant_id"], "source": table["dataset"]})
    patients["person"] = patients["subject"]
    patients["outcome"] = flags(table["outcome"], str(file))
    patients["annotated"] = flags(table["event_annotation"], str(file)) if "event_annotation" in table else pd.NA
    patients["sex"] = table["sex"].map({"1": "male", "0": "female"}) if "sex" in table else pd.NA
    split_file = root / "derivatives" / "datasplit" / "final_split.csv"
    if split_file.is_file():
        split = read_table(split_file, ["patient_name", "split"]).groupby("patient_name")["split"]
        if (split.nunique() > 1).any():
            raise BenchError(f"{split_file}: patient {split.nunique().idxmax()} stands in two splits: keep one")
        patients["split"] = patients["subject"].map(split.first())
    return patients


def _recording(edf: Path, root: Path) -> dict[str, Any]:
    stem = edf.name.removesuffix("_ieeg.edf")
    entities = dict(re.findall(r"(sub|ses|task|run)-([^_]+)", stem))
    task = entities.get("task")
    return {
        "recording": stem,
        "subject": f"sub-{entities['sub']}",
        "session": entities.get("ses"),
        "task": task,
        "run": entities.get("run"),
        "path": edf.relative_to(root).as_posix(),
        "ictal": task == "ictal",
        "state": STATES.get(task or ""),
    }


def _channels(edf: Path, tsv: Path, on_error: str, excluded: list[dict[str, Any]]) -> tuple[pd.DataFrame, dict[str, float]]:
    table = read_table(tsv, ["name", "good", "soz", "resection", "anatomical", "sampling_frequency", "edf_length"])
    nameless = table["name"].isna() | table["name"].duplicated()
    if nameless.any():
        excluded.append({"what": "channels", "reason": "no name, or one that stands twice, in channels.tsv", "n": int(nameless.sum())})
        table = table[~nameless]
    in_file = set(edf_labels(edf))
    absent = ~table["name"].isin(in_file)
    if absent.any():
        first = table.loc[absent, "name"].iloc[0]
        if on_error == "raise":
            raise BenchError(f"{tsv}: channel {first} is not in {edf.name}: correct the name, or say on_error=skip")
        excluded.append({"what": "channels", "reason": "in channels.tsv but not in the EDF", "n": int(absent.sum())})
        table = table[~absent]
    unlisted = len(in_file - set(table["name"]))
    if unlisted:
        excluded.append({"what": "channels", "reason": "in the EDF but not in channels.tsv", "n": unlisted})
    channels = pd.DataFrame({"recording": edf.name.removesuffix("_ieeg.edf"), "raw_name": table["name"]})
    channels["channel"] = contact_names(table["name"])
    channels["good"] = flags(table["good"], str(tsv))
    channels["soz"] = flags(table["soz"], str(tsv))
    channels["resected"] = flags(table["resection"], str(tsv))
    channels["anatomical"] = table["anatomical"].mask(table["anatomical"].isin(["-1", "N.A."]))
    facts = {
        "sfreq": float(numbers(table["sampling_frequency"], str(tsv)).median()),
        "duration": float(numbers(table["edf_length"], str(tsv)).median()),
    }
    return channels, facts


def _tally(excluded: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line per reason."""
    if not excluded:
        return []
    return pd.DataFrame(excluded).groupby(["what", "reason"], sort=False, as_index=False)["n"].sum().to_dict("records")
