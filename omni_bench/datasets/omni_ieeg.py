"""Reader of the harmonised Omni-iEEG release (arXiv 2602.16072, appendix A).

The layout is close to BIDS but not BIDS: labels stand in ``*_channels.tsv`` (``good``, ``soz``, ``resection``,
``anatomical``; -1 = unknown) and ``derivatives/datasplit``. Files known to be missing from the release are left out with
their number.
"""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd

from omni_bench.data.cohort import Cohort
from omni_bench.data.edf import read_edf_header
from omni_bench.data.tables import flags, read_table
from omni_bench.datasets.channel_tables import match_channels
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
    patients, reasons = _patients(root)
    excluded: list[dict[str, Any]] = []
    rows, channels = [], []
    ids = {subject.lower(): subject for subject in patients["subject"]}
    for edf in sorted(root.glob("sub-*/*/ieeg/*_ieeg.edf")):
        folder = edf.relative_to(root).parts[0].lower()
        if folder not in ids:
            reason = reasons.get(folder, "patient is not in participants.tsv")
            excluded.append({"what": "recordings", "reason": reason, "n": 1})
            continue
        try:
            row, table = _recording(edf, root, on_error, excluded)
        except BenchError as error:
            if on_error == "raise":
                raise
            excluded.append({"what": "recordings", "reason": str(error), "n": 1})
            continue
        rows.append(row | {"subject": ids[folder]})
        channels.append(table)
    if not rows:
        raise BenchError(
            f"{root}: no sub-*/ses-*/ieeg/*_ieeg.edf of the patients in participants.tsv: check paths.data"
        )
    recordings = pd.DataFrame(rows)
    recordings["line_freq"] = recordings["subject"].map(patients.set_index("subject")["source"]).map(LINE_FREQ)
    patients = patients[patients["subject"].isin(recordings["subject"])]
    return Cohort(name, root, patients, recordings, pd.concat(channels), unit, excluded)


def _patients(root: Path) -> tuple[pd.DataFrame, dict[str, str]]:
    """The patients of the paper, and why others are not among them; the release is not strict about upper and lower case."""
    file = root / "participants.tsv"
    table = read_table(file, ["participant_id", "dataset", "outcome"])
    keys = table["participant_id"].str.lower()
    if keys.duplicated().any():
        raise BenchError(f"{file}: {table['participant_id'][keys.duplicated()].iloc[0]} stands in two rows: keep one")
    patients = pd.DataFrame({"subject": table["participant_id"], "source": table["dataset"]})
    patients["person"] = patients["subject"]
    patients["outcome"] = flags(table["outcome"], str(file))
    patients["annotated"] = flags(table["event_annotation"], str(file)) if "event_annotation" in table else pd.NA
    patients["sex"] = table["sex"].map({"1": "male", "0": "female"}) if "sex" in table else pd.NA
    reasons = dict.fromkeys(keys[table["dataset"] == OUTSIDE_PAPER], f"patient of {OUTSIDE_PAPER}, outside the paper")
    split_file = root / "derivatives" / "datasplit" / "final_split.csv"
    if split_file.is_file():
        rows = read_table(split_file, ["patient_name", "split"])
        split = rows["split"].groupby(rows["patient_name"].str.lower())
        n_splits = split.nunique()
        if n_splits.max() > 1:
            raise BenchError(f"{split_file}: patient {n_splits.idxmax()} stands in {n_splits.max()} splits: keep one")
        patients["split"] = keys.map(split.first())
        reasons = dict.fromkeys(keys[patients["split"].isna()], f"patient is not in {split_file.name}") | reasons
    return patients[~keys.isin(reasons)], reasons


def _recording(
    edf: Path, root: Path, on_error: str, excluded: list[dict[str, Any]]
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Rows of the recording and channel tables. Rate and length are those of the EDF's header."""
    stem = edf.name.removesuffix("_ieeg.edf")
    tsv = edf.with_name(f"{stem}_channels.tsv")
    if not tsv.is_file():
        raise BenchError(f"{edf}: no {tsv.name} beside it: fetch it, or say on_error=skip")
    header = read_edf_header(edf)
    table = read_table(tsv, ["name", "good", "soz", "resection", "anatomical"])
    table = match_channels(table, tsv, header.labels, on_error, excluded)
    channels = pd.DataFrame({"recording": stem, "raw_name": table["name"], "channel": contact_names(table["name"])})
    channels["good"] = flags(table["good"], str(tsv)).fillna(False)
    channels["soz"] = flags(table["soz"], str(tsv))
    channels["resected"] = flags(table["resection"], str(tsv))
    channels["anatomical"] = table["anatomical"].mask(table["anatomical"].isin(["-1", "N.A."]))
    entities = dict(re.findall(r"(ses|task|run)-([^_]+)", stem))
    task = entities.get("task")
    rates = dict(zip(header.labels, header.rates, strict=True))
    row = {
        "recording": stem,
        "session": entities.get("ses"),
        "task": task,
        "run": entities.get("run"),
        "path": edf.relative_to(root).as_posix(),
        "sfreq": Counter(rates[name] for name in table["name"]).most_common(1)[0][0],
        "duration": header.duration,
        "ictal": task == "ictal",
        "state": STATES.get(task or ""),
    }
    return row, channels
