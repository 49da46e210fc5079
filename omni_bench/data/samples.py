"""From a prepared cohort to the units that are evaluated and the windows that a model sees.

A builder returns two tables. ``units`` has one row per unit, with what its metrics need. ``windows`` has one row per
window: ``sample_id, unit_id, subject, person, source, recording, row`` (of the stored signal, -1 = all channels),
``start`` and ``duration`` in seconds of the recording, ``label``, and ``use`` (``train`` windows may overlap,
``evaluate`` windows never do).
"""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from omni_bench.data.cohort import Cohort
from omni_bench.data.store import Stored
from omni_bench.errors import BenchError

PATIENT_COLUMNS = ["subject", "person", "source", "outcome"]
REPEATED = ["unit_id", "subject", "person", "source", "recording"]
"""Columns of windows that hold the same few strings over and over: kept as categories, since windows may be millions."""


def window_starts(duration: float, window_s: float, stride_s: float, edge_s: float = 0.0) -> np.ndarray:
    """Starts in seconds of the windows that fit between the edges of a recording; the last partial one is dropped."""
    room = duration - 2 * edge_s - window_s
    # a millionth of a second forgives durations that are not exact in binary
    return edge_s + stride_s * np.arange(int(np.floor(room / stride_s + 1e-6)) + 1) if room >= -1e-6 else np.empty(0)


def with_split(windows: pd.DataFrame, units: pd.DataFrame) -> pd.DataFrame:
    """Windows with the ``split`` of their unit."""
    return windows.assign(split=windows["unit_id"].map(units.set_index("unit_id")["split"]))


def channel_units(
    cohort: Cohort, stored: Mapping[str, Stored], label: Callable[[pd.DataFrame], pd.Series]
) -> pd.DataFrame:
    """One row per good channel of each recording, with its flags, its patient, ``duration`` (s) and ``label``."""
    units = cohort.channels[cohort.channels["good"].fillna(True).astype(bool)].merge(
        cohort.recordings[["recording", "subject", "state", "ictal", "modality"]], on="recording"
    )
    units = units.merge(cohort.patients[PATIENT_COLUMNS], on="subject")
    units["duration"] = units["recording"].map({name: file.duration for name, file in stored.items()})
    units.insert(0, "unit_id", units["recording"] + "/" + units["channel"])
    units["label"] = label(units)
    return units


def channel_windows(
    cohort: Cohort,
    stored: Mapping[str, Stored],
    *,
    window_s: float,
    stride_s: float,
    edge_s: float,
    label: Callable[[pd.DataFrame], pd.Series],
    scored_only: bool = False,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Windows of single channels; a unit is one good channel of one recording.

    Parameters
    ----------
    window_s, stride_s, edge_s
        Length of a window, step between training windows, and what is left out at both ends, in seconds.
    label
        Units → nullable integer labels; NA = unscored, but still evaluated where a metric counts all channels.
    scored_only
        Leave out units without a label.

    Raises
    ------
    BenchError
        No recording is as long as a window and its edges, or (``scored_only``) no channel has a label.
    """
    units = channel_units(cohort, stored, label)
    if scored_only:
        units = units[units["label"].notna()].reset_index(drop=True)
        if units.empty:
            raise BenchError(f"{cohort.root}: no channel has a label for this task: choose a dataset that knows them")
    longest = units["duration"].max()
    if longest < window_s + 2 * edge_s - 1e-6:
        raise BenchError(
            f"{cohort.root}: the longest recording has {longest:g} s, shorter than a window: "
            f"task.window_s={window_s:g} and {edge_s:g} s at both ends; set a shorter task.window_s"
        )
    rows = {name: {channel: i for i, channel in enumerate(file.ch_names)} for name, file in stored.items()}
    repeated = units[[*REPEATED, "label"]].astype(dict.fromkeys(REPEATED, "category"))
    repeated["row"] = [rows[r][c] for r, c in zip(units["recording"], units["raw_name"], strict=True)]
    tables = []
    for use, step in (("train", stride_s), ("evaluate", window_s)):
        starts = {name: window_starts(file.duration, window_s, step, edge_s) for name, file in stored.items()}
        counts = units["recording"].map({name: len(s) for name, s in starts.items()}).to_numpy()
        table = repeated.loc[units.index.repeat(counts)]
        tables.append(table.assign(use=use, start=np.concatenate([starts[name] for name in units["recording"]])))
    windows = pd.concat(tables, ignore_index=True)
    windows["duration"] = window_s
    windows.insert(0, "sample_id", windows["unit_id"].astype("str") + "@" + windows["start"].map("{:.3f}".format))
    return units.drop(columns=["raw_name", "type"]), windows
