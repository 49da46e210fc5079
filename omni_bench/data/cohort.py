"""Patients, recordings and channels of a dataset as three tables that can be filtered."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pandera.pandas as pa

from omni_bench.data.recording import Recording, open_recording
from omni_bench.errors import BenchError
from omni_bench.explain import near

_text, _flag, _number = (partial(pa.Column, dtype, nullable=True) for dtype in ("string", "boolean", "float64"))

PATIENTS = pa.DataFrameSchema(
    {
        "subject": pa.Column("string", unique=True),
        "person": pa.Column("string"),
        "source": pa.Column("string"),
        "centre": _text(),
        "sex": _text(),
        "outcome": _flag(),
        "engel": _text(),
        "split": _text(checks=pa.Check.isin(["train", "val", "test"])),
        "annotated": _flag(),
    },
    strict=True,
    coerce=True,
    add_missing_columns=True,
)
"""``person`` groups every split; ``outcome`` is seizure freedom, NA where unknown or not operated."""

RECORDINGS = pa.DataFrameSchema(
    {
        "recording": pa.Column("string", unique=True),
        "subject": pa.Column("string"),
        "session": _text(),
        "task": _text(),
        "run": _text(),
        "path": pa.Column("string"),
        "part": _text(),
        "sfreq": pa.Column("float64", pa.Check.gt(0)),
        "duration": _number(checks=pa.Check.ge(0)),
        "modality": _text(),
        "ictal": _flag(),
        "state": _text(checks=pa.Check.isin(["awake", "asleep"])),
        "line_freq": _number(checks=pa.Check.isin([50.0, 60.0])),
    },
    strict=True,
    coerce=True,
    add_missing_columns=True,
)
"""``path`` is relative to the dataset's root, ``part`` says which of several recordings in that file; ``duration`` in seconds;
unknown is NA, never "no"."""

CHANNELS = pa.DataFrameSchema(
    {
        "recording": pa.Column("string"),
        "channel": pa.Column("string"),
        "raw_name": pa.Column("string"),
        "type": _text(),
        "good": _flag(),
        "soz": _flag(),
        "resected": _flag(),
        "anatomical": _text(),
    },
    strict=True,
    coerce=True,
    add_missing_columns=True,
    unique=["recording", "raw_name"],
)
"""``channel`` is the normalised name, ``raw_name`` the file's own spelling."""

EVENTS = pa.DataFrameSchema(
    {
        "recording": pa.Column("string"),
        "onset": pa.Column("float64"),
        "duration": _number(checks=pa.Check.ge(0)),
        "trial_type": _text(),
    },
    coerce=True,
    add_missing_columns=True,
)
"""``onset`` and ``duration`` in seconds of the recording; further columns are kept as text, for tasks that ask for them."""

SCHEMAS = {"patients": PATIENTS, "recordings": RECORDINGS, "channels": CHANNELS, "events": EVENTS}


def opened_by(opener: Callable[..., Recording], part: str | None) -> dict[str, str | None]:
    """What a `Cohort.opener` and a recording's part add to the provenance of what is made of a file; nothing by default."""
    if opener is open_recording:
        return {}
    return {"opener": f"{opener.__module__}.{getattr(opener, '__qualname__', None) or repr(opener)}", "part": part}


@dataclass(frozen=True)
class Cohort:
    """A dataset's metadata, without any signal.

    Attributes
    ----------
    name
        Of the dataset.
    root
        Folder that recordings' paths are relative to.
    patients, recordings, channels
        See `PATIENTS`, `RECORDINGS`, `CHANNELS`.
    unit
        Unit of the stored numbers where file headers are wrong about it.
    excluded
        What was left out and why, with counts; one entry per reason.
    events
        See `EVENTS`; None where the dataset has no events.
    opener
        ``(path, ch_names, unit) -> Recording``, with ``part=`` where a recording has one. A function of a module, or a
        frozen dataclass whose options stand in its repr, so that other processes find it and stores know it.
    """

    name: str
    root: Path
    patients: pd.DataFrame
    recordings: pd.DataFrame
    channels: pd.DataFrame
    unit: str | None = None
    excluded: list[dict[str, Any]] = field(default_factory=list)
    events: pd.DataFrame | None = None
    opener: Callable[..., Recording] = open_recording

    def __post_init__(self) -> None:
        for name, schema in SCHEMAS.items():
            if getattr(self, name) is None:
                continue
            try:
                table = schema.validate(getattr(self, name).reset_index(drop=True))
            except (pa.errors.SchemaError, pa.errors.SchemaErrors) as error:
                raise BenchError(f"{self.root}: {name} table: {_complaint(error)}") from error
            object.__setattr__(self, name, table)
        if self.recordings.empty:
            raise BenchError(f"{self.root}: no recordings found: check paths.data")
        object.__setattr__(self, "excluded", _tally(self.excluded))

    def __iter__(self) -> Iterator[Recording]:
        return (self.open(recording) for recording in self.recordings["recording"])

    def __len__(self) -> int:
        return len(self.recordings)

    def open(self, recording: str) -> Recording:
        """The signal of one recording, its good channels only, under their raw names.

        Raises
        ------
        BenchError
            No such recording, or none of its channels is good; see also `open_recording`.
        """
        if recording not in set(self.recordings["recording"]):
            raise BenchError(f"{self.name}: no recording {recording}{near(recording, self.recordings['recording'])}")
        row = self.recordings.set_index("recording").loc[recording]
        channels = self.channels[(self.channels["recording"] == recording) & self.channels["good"].fillna(True)]
        if channels.empty:
            raise BenchError(f"{self.root / row['path']}: none of its channels is good: correct its channels.tsv")
        part = {} if pd.isna(row["part"]) else {"part": row["part"]}
        return self.opener(self.root / row["path"], channels["raw_name"].tolist(), self.unit, **part)

    def filter(self, **conditions: Any) -> "Cohort":
        """Keep the recordings that meet every condition, and their patients and channels.

        Parameters
        ----------
        **conditions
            ``source``, ``subject``, ``outcome_known``, ``seizure_free``, ``annotated``, ``ictal``, ``state``,
            ``has_soz``, ``has_resection``, ``min_sfreq``, ``min_duration``, ``task``; see `FILTERS`.

        Raises
        ------
        BenchError
            An unknown condition, or one that nothing meets.
        """
        cohort = self
        for name, value in conditions.items():
            if name not in FILTERS:
                raise BenchError(f"cohort filter {name}: unknown{near(name, FILTERS)}")
            keep = FILTERS[name](cohort, value).fillna(False).astype(bool).to_numpy()
            if not keep.any():
                raise BenchError(f"{cohort.name}: no recording with {name}={value}: loosen task.cohort.{name}")
            cohort = cohort._keep(keep, f"{name}={value}")
        return cohort

    def without(self, recordings: dict[str, str]) -> "Cohort":
        """Leave out recordings by id, each with its reason."""
        cohort = self
        for reason in sorted(set(recordings.values())):
            ids = [recording for recording, why in recordings.items() if why == reason]
            keep = ~cohort.recordings["recording"].isin(ids)
            if not keep.any():
                raise BenchError(f"{cohort.name}: no recording is left; the last reason: {reason}")
            cohort = cohort._keep(keep.to_numpy(), reason)
        return cohort

    def without_channels(self, broken: list[tuple[str, str, str]]) -> "Cohort":
        """Mark channels bad, given as (recording, raw name, reason), and count them as excluded."""
        if not broken:
            return self
        marked = pd.MultiIndex.from_tuples([(recording, name) for recording, name, _ in broken])
        channels = self.channels.copy()
        channels.loc[pd.MultiIndex.from_frame(channels[["recording", "raw_name"]]).isin(marked), "good"] = False
        reasons = pd.Series([why for *_, why in broken]).value_counts()
        excluded = [{"what": "channels", "reason": str(why), "n": int(n)} for why, n in reasons.items()]
        return replace(self, channels=channels, excluded=[*self.excluded, *excluded])

    def _keep(self, keep: Any, reason: str) -> "Cohort":
        if keep.all():
            return self
        recordings = self.recordings[keep]
        events = None if self.events is None else self.events[self.events["recording"].isin(recordings["recording"])]
        excluded = [*self.excluded, {"what": "recordings", "reason": reason, "n": int((~keep).sum())}]
        return replace(
            self,
            recordings=recordings,
            patients=self.patients[self.patients["subject"].isin(recordings["subject"])],
            channels=self.channels[self.channels["recording"].isin(recordings["recording"])],
            excluded=excluded,
            events=events,
        )

    def _patient(self, column: str) -> pd.Series:
        return self.recordings["subject"].map(self.patients.set_index("subject")[column])

    def _any_channel(self, column: str) -> pd.Series:
        positive = self.channels.loc[self.channels[column].fillna(False).astype(bool), "recording"]
        return self.recordings["recording"].isin(positive)


def _complaint(error: pa.errors.SchemaError | pa.errors.SchemaErrors) -> str:
    """The first thing that is wrong, without pandera's print of the whole schema."""
    first = error.schema_errors[0] if isinstance(error, pa.errors.SchemaErrors) else error
    return " ".join(str(first).split(" {")[0].split())


def _tally(excluded: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One entry per reason, in order of first appearance."""
    counts: dict[tuple[str, str], int] = {}
    for entry in excluded:
        key = (entry["what"], entry["reason"])
        counts[key] = counts.get(key, 0) + entry["n"]
    return [{"what": what, "reason": reason, "n": n} for (what, reason), n in counts.items()]


def _is_in(values: pd.Series, wanted: Any) -> pd.Series:
    return values.isin([wanted] if isinstance(wanted, str) else list(wanted))


FILTERS: dict[str, Callable[[Cohort, Any], pd.Series]] = {
    "source": lambda c, v: _is_in(c._patient("source"), v),
    "subject": lambda c, v: _is_in(c.recordings["subject"], v),
    "task": lambda c, v: _is_in(c.recordings["task"], v),
    "state": lambda c, v: _is_in(c.recordings["state"], v),
    "outcome_known": lambda c, v: c._patient("outcome").notna() == v,
    "seizure_free": lambda c, v: c._patient("outcome") == v,
    "annotated": lambda c, v: c._patient("annotated") == v,
    "ictal": lambda c, v: c.recordings["ictal"].fillna(False) == v,
    "has_soz": lambda c, v: c._any_channel("soz") == v,
    "has_resection": lambda c, v: c._any_channel("resected") == v,
    "min_sfreq": lambda c, v: c.recordings["sfreq"] >= v,
    "min_duration": lambda c, v: c.recordings["duration"] >= v,
}
"""Condition → rows of `recordings` that meet it. An unknown ``ictal`` counts as not ictal."""
