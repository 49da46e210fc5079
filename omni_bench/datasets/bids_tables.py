"""What the readers of the original intracranial sources share: recordings, channels and labels from sidecars alone.

A recording is what its ``*_channels.tsv`` describes; its own file may be absent, as in a mirror without signals. Then
rate and length come from ``channels.tsv`` and ``*_ieeg.json``; opening the signal says that the file is absent. Where
the file is there, its header decides. What sources say about one fact in two ways is noted with its number.
"""

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from omni_bench.data.cohort import Cohort
from omni_bench.data.recording import open_recording, recording_files
from omni_bench.data.tables import numbers, read_table
from omni_bench.datasets.vocabulary import INTRACRANIAL_TYPES, seizure_free
from omni_bench.errors import BenchError
from omni_bench.signal.channel_names import contact_names, shaft

Notes = list[dict[str, Any]]
Labels = Callable[[pd.DataFrame, str], dict[str, pd.Series]]
"""From a channels.tsv and its path to the columns ``good``, ``soz``, ``resected``, ``anatomical`` that it can tell."""

OUTCOMES = ("S", "F", "NR")
MICROVOLTS = ("µV", "μV", "uV")
AUXILIARY = re.compile(
    r"E[CK]G[LR]?\d*|E[MO]G\w*|LOC|ROC|DC\d+|AIN\d+|EVENT|TRIG\w*|STATUS|SPO2|OSAT|PR|REF|E|\$.*", re.IGNORECASE
)
MIDLINE = ("FPZ", "FZ", "CZ", "PZ", "OZ")
SIDES = ("FP1", "FP2", "F3", "F4", "F7", "F8", "C3", "C4", "T3", "T4", "T5", "T6", "T7", "T8", "P3", "P4", "P7", "P8")
SCALP = (*MIDLINE, *SIDES, "O1", "O2", "A1", "A2")


@dataclass(frozen=True)
class Files:
    """The files of one recording."""

    channels: Path
    suffix: str

    @property
    def stem(self) -> str:
        return self.channels.name.removesuffix("_channels.tsv")

    @property
    def signal(self) -> Path:
        return self.channels.with_name(f"{self.stem}_ieeg{self.suffix}")

    @property
    def has_signal(self) -> bool:
        """Whether all of its files are there; in a mirror without signals BrainVision's header is, its data are not."""
        try:
            return bool(recording_files(self.signal))
        except BenchError:
            return False

    @property
    def entities(self) -> dict[str, str]:
        return dict(re.findall(r"(sub|ses|task|acq|run)-([^_]+)", self.stem))


def note(notes: Notes, what: str, reason: str, n: int) -> None:
    """Add an entry of a cohort's ``excluded``, unless it concerns nothing."""
    if n:
        notes.append({"what": what, "reason": reason, "n": int(n)})


def read_participants(root: Path, required: tuple[str, ...]) -> pd.DataFrame:
    """participants.tsv with unique ids, ``subject`` among its columns.

    Raises
    ------
    BenchError
        No such file or column, or an id that stands twice.
    """
    file = root / "participants.tsv"
    table = read_table(file, ["participant_id", *required]).rename(columns={"participant_id": "subject"})
    twice = table["subject"].duplicated()
    if twice.any():
        raise BenchError(f"{file}: participant {table.loc[twice, 'subject'].iloc[0]} stands twice: keep one row")
    return table


def read_outcomes(table: pd.DataFrame, where: str, notes: Notes) -> tuple[pd.Series, pd.Series]:
    """Seizure freedom and Engel class of the sources that write S, F or NR beside ``engel`` or ``ilae`` grades.

    The outcome column decides. A grade that says the opposite is noted: Engel I, and ILAE 1 or 2, are seizure-free.

    Raises
    ------
    BenchError
        An outcome that is none of S, F, NR, n/a.
    """
    strange = table["outcome"].notna() & ~table["outcome"].isin(OUTCOMES)
    if strange.any():
        raise BenchError(
            f"{where}: outcome {table.loc[strange, 'outcome'].iloc[0]!r}, expected {', '.join(OUTCOMES)} or n/a"
        )
    free = table["outcome"].map({"S": True, "F": False}).astype("boolean")
    column = next((name for name in ("engel", "engel_score") if name in table), None)
    engel = table[column] if column else pd.Series(pd.NA, index=table.index, dtype="str")
    engel = engel.str.removesuffix(".0").replace("-1", pd.NA)
    by_engel = engel.map(lambda grade: seizure_free(None, grade), na_action="ignore").astype("boolean")
    note(notes, "labels", "outcome and Engel class disagree: outcome taken", int((free != by_engel).sum()))
    ilae = next((numbers(table[name], where) for name in ("ilae", "ilae_score") if name in table), None)
    if ilae is not None:
        by_ilae = (ilae <= 2).astype("boolean").mask(ilae.isna() | (ilae < 0))
        note(notes, "labels", "outcome and ILAE class disagree: outcome taken", int((free != by_ilae).sum()))
    return free, engel


def good_of(status: pd.Series, where: str) -> pd.Series:
    """A ``status`` column as flags.

    Raises
    ------
    BenchError
        A value that is none of good, bad, n/a.
    """
    flag = status.str.lower().map({"good": True, "bad": False}).astype("boolean")
    strange = flag.isna() & status.notna()
    if strange.any():
        raise BenchError(f"{where}: status {status[strange].iloc[0]!r}, expected good, bad or n/a")
    return flag


def no_brain(names: pd.Series) -> pd.Series:
    """Which normalised names of one recording are scalp, heart, eye, trigger or unused inputs.

    A name of the 10-20 system is an electrode's contact, not a scalp site, where the contacts 1, 2 and 3 of that
    electrode all stand in the recording: C3 of a grid C1 ... C64.
    """
    upper = names.str.upper()
    contacts = upper.map(shaft)
    electrodes = {name for name, number in contacts if number == 3 and {(name, 1), (name, 2)} <= set(contacts)}
    scalp = upper.isin(SCALP) & ~contacts.map(lambda contact: contact[0]).isin(electrodes)
    return scalp | upper.str.fullmatch(AUXILIARY.pattern, flags=re.IGNORECASE)


def read_recordings(
    root: Path,
    suffix: str,
    subjects: pd.Series,
    columns: tuple[str, ...],
    labels: Labels,
    notes: Notes,
    on_error: str,
    unit: str | None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Recordings (with ``acq``) and channels of a BIDS tree.

    Every row of channels.tsv with a name is kept; scalp, heart and unused inputs, by type or name, are MISC, not good.

    Parameters
    ----------
    suffix
        Of the recordings' files, for instance ``.edf``.
    subjects
        Known from participants.tsv.
    columns, labels
        What a channels.tsv of this source must have, and what it says about its channels.

    Raises
    ------
    BenchError
        No recordings, or (``on_error="raise"``) one whose tables or header are broken.
    """
    rows, tables = [], []
    known = set(subjects)
    for files in _recordings(root, suffix):
        try:
            row, table = _read(files, root, columns, labels, unit, notes)
            if row["subject"] not in known:
                raise BenchError(
                    f"{root / 'participants.tsv'}: no row for {row['subject']}, who has a recording: add one"
                )
        except BenchError as error:
            if on_error == "raise":
                raise
            note(notes, "recordings", str(error), 1)
            continue
        rows.append(row)
        tables.append(table)
    if not rows:
        raise BenchError(f"{root}: no sub-*/**/*_channels.tsv that could be read: dataset.root must be the BIDS folder")
    return pd.DataFrame(rows), pd.concat(tables, ignore_index=True)


def _recordings(root: Path, suffix: str) -> Iterator[Files]:
    tables = {file for file in root.glob("sub-*/**/ieeg/*_channels.tsv") if file.is_file()}
    alone = {
        file.with_name(file.name.replace(f"_ieeg{suffix}", "_channels.tsv"))
        for file in root.glob(f"sub-*/**/ieeg/*_ieeg{suffix}")
    }
    for file in sorted(tables | alone):
        yield Files(file, suffix)


def _read(
    files: Files, root: Path, columns: tuple[str, ...], labels: Labels, unit: str | None, notes: Notes
) -> tuple[dict[str, Any], pd.DataFrame]:
    where = str(files.channels)
    table = read_table(files.channels, ["name", "type", "units", "sampling_frequency", *columns])
    nameless = table["name"].isna() | table["name"].duplicated()
    note(notes, "channels", "no name, or one that stands twice, in channels.tsv", int(nameless.sum()))
    table = table[~nameless]
    names = contact_names(table["name"])
    kind = table["type"].str.upper()
    brain = kind.isin(INTRACRANIAL_TYPES) & ~no_brain(names)
    if not brain.any():
        raise BenchError(f"{where}: no channel of type {', '.join(INTRACRANIAL_TYPES)}: correct the type column")
    note(notes, "channels", "no intracranial channel, by type or name", int((~brain).sum()))
    for found, n in table["units"].fillna("n/a").value_counts().items():
        if found not in MICROVOLTS:
            note(notes, "labels", f"units column says {found}: what the recording's header says is taken", n)
    channels = pd.DataFrame(
        {"recording": files.stem, "channel": names, "raw_name": table["name"], "type": kind.where(brain, "MISC")}
    )
    channels = channels.assign(**labels(table, where))
    channels["good"] = channels["good"].where(brain, False)
    sfreq, duration = _extent(files, table[brain], unit, notes)
    entities = files.entities
    row = {
        "recording": files.stem,
        "subject": f"sub-{entities['sub']}",
        "session": entities.get("ses"),
        "task": entities.get("task"),
        "run": entities.get("run"),
        "acq": entities.get("acq"),
        "path": files.signal.relative_to(root).as_posix(),
        "sfreq": sfreq,
        "duration": duration,
    }
    return row, channels


def _extent(files: Files, brain: pd.DataFrame, unit: str | None, notes: Notes) -> tuple[float, float]:
    """Rate in Hz and length in seconds: the file's own where it is there, else the sidecars'."""
    rates = numbers(brain["sampling_frequency"], str(files.channels)).dropna().unique()
    if len(rates) != 1:
        raise BenchError(
            f"{files.channels}: {len(rates)} sampling frequencies among its intracranial channels, expected one"
        )
    sfreq = float(rates[0])
    if files.has_signal:
        recording = open_recording(files.signal, brain["name"].tolist(), unit)
        differs = abs(recording.sfreq - sfreq) > 0.01
        note(
            notes,
            "labels",
            "sampling_frequency of channels.tsv is not the recording's: the recording's taken",
            int(differs),
        )
        return recording.sfreq, recording.duration
    facts = _json(files.channels.with_name(f"{files.stem}_ieeg.json"))
    stated, length = (
        pd.to_numeric(facts.get(key), errors="coerce") for key in ("SamplingFrequency", "RecordingDuration")
    )
    differs = stated is not None and abs(stated - sfreq) > 0.01
    note(
        notes, "labels", "sampling frequencies of channels.tsv and ieeg.json disagree: channels.tsv taken", int(differs)
    )
    if length is None or pd.isna(length):
        note(notes, "labels", "length unknown: neither the recording nor its ieeg.json is there", 1)
        return sfreq, math.nan
    return sfreq, float(length)


def _json(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    try:
        return json.loads(file.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise BenchError(f"{file}: not valid JSON ({error}): fetch it again") from error


def complete_marks(channels: pd.DataFrame, recordings: pd.DataFrame, notes: Notes) -> pd.DataFrame:
    """Labels of sources that only mark (SOZ or nothing, resected or nothing).

    A channel that one recording of a subject marks is marked in all. Where a subject has a mark of a kind, an empty
    cell means no; where it has none, or the column is absent, it stays unknown.
    """
    channels = channels.copy()
    subject = channels["recording"].map(recordings.set_index("recording")["subject"])
    for column in ("soz", "resected"):
        marked = channels[column].fillna(False).astype(bool)
        by_channel = marked.groupby([subject, channels["channel"]])
        differing = by_channel.any() & ~by_channel.all()
        note(
            notes,
            "labels",
            f"{column} differs between a subject's recordings: marked in one is marked in all",
            int(differing.sum()),
        )
        united = by_channel.transform("any")
        known = united.groupby(subject).transform("any")
        channels[column] = united.astype("boolean").where(known)
    return channels


def build_cohort(
    name: str,
    root: Path,
    patients: pd.DataFrame,
    recordings: pd.DataFrame,
    channels: pd.DataFrame,
    unit: str | None,
    notes: Notes,
) -> Cohort:
    """The cohort of the patients who have recordings."""
    present = patients["subject"].isin(recordings["subject"])
    note(notes, "patients", "in participants.tsv, but without a recording", int((~present).sum()))
    return Cohort(name, root, patients[present], recordings.drop(columns="acq"), channels, unit, notes)
