"""Trials of scalp recordings: windows of all channels, cut at events."""

import logging
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd

from omni_bench.data.cohort import Cohort
from omni_bench.data.samples import window_starts
from omni_bench.data.store import Stored
from omni_bench.data.tables import numbers
from omni_bench.errors import BenchError

log = logging.getLogger(__name__)


def trial_windows(
    cohort: Cohort,
    stored: Mapping[str, Stored],
    *,
    window_s: float,
    stride_s: float,
    edge_s: float,
    column: str = "trial_type",
    labels: Mapping[str, int] | None = None,
    edges: Sequence[float] | None = None,
    edge_belongs: Literal["above", "below"] = "above",
    unit: Literal["trial", "window"] = "trial",
    channels: Sequence[str] | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Windows of all channels from an event's onset on; a unit is one event, or one window of it.

    A window starts at the onset and, where the event lasts longer, at every further stride within it. An event shorter
    than a window has one. Events that a recording does not hold to their first window's end are left out, with a warning.

    Parameters
    ----------
    window_s, stride_s, edge_s
        Length of a window, step between training windows, and what is left out at both ends of an event, in seconds.
    column
        Of the cohort's events, that says what to predict.
    labels
        Value of ``column`` → class index; events of other values are no trials. Without it (and without ``edges``) the
        target is the number that stands there.
    edges
        Numbers that part the values of ``column`` into classes; ``edge_belongs`` says which side a value on one is of.
    unit
        ``window``: every window that fits into an event is evaluated by itself.
    channels
        Names that every recording has, in this order; by default those of the first recording.

    Returns
    -------
    Units with ``trial`` (their event), ``onset``, ``duration`` (s, of their windows at least) and ``label`` (or ``target``),
    and windows whose ``label`` is what a network learns: the class index or the target.

    Raises
    ------
    BenchError
        No events or no such column, no trial in them, or recordings with different channels.
    """
    check_channels(cohort, stored, channels)
    trials = _trials(cohort, column, labels, edges, edge_belongs)
    trials = trials.merge(cohort.recordings[["recording", "subject", "session", "run"]], on="recording")
    trials = trials.merge(cohort.patients[["subject", "person", "source"]], on="subject")
    trials["trial"] = _moment_id(trials)
    if unit == "window":
        trials, edge_s = _pieces(trials, window_s, edge_s), 0.0
    onset, lasts = trials["onset"] + edge_s, trials["duration"].fillna(0) - 2 * edge_s
    length = trials["recording"].map({name: file.duration for name, file in stored.items()})
    # a millionth of a second forgives times that are not exact in binary
    fits = (onset >= 0) & (onset + window_s <= length + 1e-6)
    if not fits.all():
        log.warning("%d of %d trials do not lie inside their recording and are left out", (~fits).sum(), len(fits))
    trials, onset, lasts = (part[fits].reset_index(drop=True) for part in (trials, onset, lasts))
    if trials.empty:
        raise BenchError(f"{cohort.root}: no trial is as long as task.window_s={window_s:g}: set a shorter window")
    trials["duration"] = trials["duration"].fillna(0).clip(lower=window_s + 2 * edge_s)
    trials.insert(0, "unit_id", _moment_id(trials))
    tables = []
    for use, step in (("train", stride_s), ("evaluate", window_s)):
        starts = [window_starts(max(s, window_s), window_s, step) for s in lasts]
        rows = trials.loc[
            trials.index.repeat([len(s) for s in starts]), ["unit_id", "subject", "person", "source", "recording"]
        ]
        first = np.concatenate([begin + s for begin, s in zip(onset, starts, strict=True)])
        tables.append(rows.assign(label=trials.loc[rows.index, "learned"], use=use, start=first))
    windows = pd.concat(tables, ignore_index=True).assign(row=-1, duration=window_s)
    length = windows["recording"].map({name: file.duration for name, file in stored.items()})
    windows = windows[windows["start"] + window_s <= length + 1e-6].reset_index(drop=True)
    windows.insert(0, "sample_id", windows["unit_id"] + "@" + windows["start"].map("{:.3f}".format))
    return trials.drop(columns="learned"), windows


def _moment_id(trials: pd.DataFrame) -> pd.Series:
    return trials["recording"] + "/" + trials["onset"].map("{:.3f}".format)


def _pieces(trials: pd.DataFrame, window_s: float, edge_s: float) -> pd.DataFrame:
    """Every event cut into the windows that fit between its edges; an event shorter than a window is kept as it is."""
    lasts = trials["duration"].fillna(0).clip(lower=window_s + 2 * edge_s)
    starts = [window_starts(duration, window_s, window_s, edge_s) for duration in lasts]
    pieces = trials.loc[trials.index.repeat([len(s) for s in starts])].reset_index(drop=True)
    return pieces.assign(onset=pieces["onset"] + np.concatenate(starts), duration=window_s)


def _trials(
    cohort: Cohort,
    column: str,
    labels: Mapping[str, int] | None,
    edges: Sequence[float] | None,
    edge_belongs: Literal["above", "below"],
) -> pd.DataFrame:
    """Events that are trials: ``recording, onset, duration, trial_type``, ``label``, ``learned`` and perhaps ``target``."""
    events = cohort.events
    if events is None:
        raise BenchError(f"{cohort.root}: the dataset has no events, the task needs trials: choose another task")
    if column not in events:
        raise BenchError(f"{cohort.root}: events have no column {column} (found: {', '.join(events.columns)})")
    trials = events[["recording", "onset", "duration", "trial_type"]]
    if edges is not None:
        values = numbers(events[column], f"{cohort.root}: events")
        label = pd.Series(np.digitize(values, list(edges), right=edge_belongs == "below"), events.index, dtype="Int64")
        label = label.mask(values.isna())
        trials = trials.assign(label=label, learned=label)
    elif labels is None:
        target = numbers(events[column], f"{cohort.root}: events")
        trials = trials.assign(label=pd.array([pd.NA] * len(trials), "Int64"), target=target, learned=target)
    else:
        label = events[column].map(labels).astype("Int64")
        trials = trials.assign(label=label, learned=label)
    trials = trials[trials["learned"].notna()]
    if trials.empty:
        wanted = "a number" if labels is None else ", ".join(labels)
        found = ", ".join(map(str, events[column].dropna().unique()[:6]))
        raise BenchError(f"{cohort.root}: no event has {wanted} in column {column} (found: {found or 'nothing'})")
    return trials.drop_duplicates(["recording", "onset"])


def check_channels(cohort: Cohort, stored: Mapping[str, Stored], channels: Sequence[str] | None = None) -> None:
    """Raise BenchError unless all recordings are stored with the same channels in the same order.

    Names are compared as the cohort normalises them; ``channels`` defaults to those of the first recording.
    """
    names = cohort.channels.set_index(["recording", "raw_name"])["channel"]
    found = {recording: [names[recording, raw] for raw in file.ch_names] for recording, file in stored.items()}
    expected = list(next(iter(found.values())) if channels is None else channels)
    for recording, own in found.items():
        if own == expected:
            continue
        wrong = [name for name in expected if name not in own] or [name for name in own if name not in expected]
        what = f"channel {wrong[0]} is not in both" if wrong else "the same channels stand in another order"
        raise BenchError(
            f"{recording}: {len(own)} channels, expected the {len(expected)} of the task or the first recording; {what}: "
            "mark extra channels bad in channels.tsv, or leave the recording out with task.cohort"
        )
