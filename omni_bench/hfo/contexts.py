"""The 2 s around every HFO of a channel, for networks that classify events."""

import logging
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from omni_bench.data.cohort import Cohort
from omni_bench.data.samples import channel_units
from omni_bench.data.store import Stored, let_go, map_signal
from omni_bench.datasets.omni_ieeg_events import released_detections
from omni_bench.errors import BenchError
from omni_bench.files import write_table
from omni_bench.hfo.detection import detect
from omni_bench.hfo.events import combine
from omni_bench.hfo.windows import CONTEXT_SECONDS, event_windows

log = logging.getLogger(__name__)
VERSION = 1
"""Raised when detectors change, so that kept detections of before are not taken."""


def event_contexts(
    cohort: Cohort,
    stored: Mapping[str, Stored],
    *,
    window_s: float,
    stride_s: float,
    edge_s: float,
    label: Callable[[pd.DataFrame], pd.Series],
    detections: str = "detect",
    detectors: Sequence[str] = ("ste", "mni", "hil"),
    overlaps: str = "merged",
    borders: str = "left_out",
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Units are the good channels of each recording, windows the contexts of their events; nothing is trained on them.

    ``duration`` of a unit is the time in which its events were counted.

    Parameters
    ----------
    window_s, edge_s
        Length of a context, and the least distance of an event's middle from both ends, in seconds.
    label
        Channels → nullable integer labels.
    detections
        ``detect`` (here, from the stored signals, kept beside them) or ``released`` (the release's own tables).
    detectors
        Whose detections count.
    overlaps
        ``merged``: what several detectors see at one time is one event; ``kept`` (reference): it counts once per
        detector, only exact duplicates once.
    borders
        ``left_out``: events whose context does not fit between the edges do not count, nor does the time where none could
        have; ``shifted`` (reference): all count, those near a border with the context that `event_windows` shifts by its
        ``compat="reference"``.

    Raises
    ------
    BenchError
        An unknown rule, absent detections, or not a single event.
    """
    for option, value, known in (
        ("detections", detections, ("detect", "released")),
        ("overlaps", overlaps, ("merged", "kept")),
        ("borders", borders, ("left_out", "shifted")),
    ):
        if value not in known:
            raise BenchError(f"task.samples.{option}={value}: expected {' or '.join(known)}")
    units = channel_units(cohort, stored, label)
    margin = border_margin(window_s, edge_s, borders)
    tables = []
    for recording, channels in units.groupby("recording", sort=False):
        file = stored[str(recording)]
        names = channels.set_index("raw_name")["unit_id"]
        if detections == "detect":
            found = _detected(file, names.index.tolist(), detectors)
        else:
            found = released_detections(cohort, str(recording))
            found = found[found["detector"].isin(detectors) & found["channel"].isin(names.index)]
        events = _combined(found, overlaps)
        starts = context_starts(events, file, window_s, margin, borders)
        table = pd.DataFrame({"unit_id": events["channel"].map(names), "start": starts})
        table["row"] = events["channel"].map({name: i for i, name in enumerate(file.ch_names)})
        tables.append(table[starts.notna()].assign(recording=recording))
    windows = pd.concat(tables, ignore_index=True)
    if windows.empty:
        raise BenchError(f"{cohort.root}: no event in {len(tables)} recordings: choose other detectors")
    log.info("%d events on %d channels", len(windows), len(units))
    units["duration"] = units["duration"] - 2 * margin
    windows = windows.merge(units[["unit_id", "subject", "person", "source"]], on="unit_id")
    windows["row"] = windows["row"].astype("int64")
    windows["label"] = pd.Series(pd.NA, index=windows.index, dtype="Int64")
    windows = windows.assign(use="evaluate", duration=window_s)
    windows.insert(0, "sample_id", windows["unit_id"] + "#" + windows.groupby("unit_id").cumcount().astype(str))
    return units.drop(columns=["raw_name", "type"]), windows


def border_margin(window_s: float, edge_s: float, borders: str) -> float:
    """Seconds at either end of a recording whose events do not count; 0 where contexts are shifted."""
    if borders == "shifted":
        if window_s != CONTEXT_SECONDS:
            raise BenchError(f"task.window_s={window_s:g}: task.samples.borders=shifted shifts {CONTEXT_SECONDS:g} s")
        return 0.0
    return max(edge_s, window_s / 2)


def context_starts(events: pd.DataFrame, file: Stored, window_s: float, margin: float, borders: str) -> pd.Series:
    """Start of each event's context in seconds, NaN where the event does not count; see `border_margin`."""
    if borders == "shifted":
        first = (events["onset"] * file.sfreq).round().astype("int64")
        stop = ((events["onset"] + events["duration"]) * file.sfreq).round().astype("int64")
        samples = pd.DataFrame({"start": first, "end": stop})
        return event_windows(samples, file.n_times, file.sfreq, compat="reference")["context_start"] / file.sfreq
    middle = events["onset"] + events["duration"] / 2
    return (middle - window_s / 2).where(middle.between(margin, file.duration - margin))


def stored_events(
    file: Stored, ch_names: list[str], detectors: Sequence[str], overlaps: str = "merged"
) -> pd.DataFrame:
    """Events of the named channels of a stored recording: ``channel, onset, duration`` (s) at least, detectors combined.

    Parameters are those of `event_contexts`.
    """
    return _combined(_detected(file, ch_names, detectors), overlaps)


def _detected(file: Stored, ch_names: list[str], detectors: Sequence[str]) -> pd.DataFrame:
    """Events of the named channels of a stored recording, by each detector; read from beside it where they are kept."""
    kept = file.path.with_name(f"{file.path.stem}.events-{VERSION}-{'-'.join(detectors)}.parquet")
    if kept.is_file():
        events = pd.read_parquet(kept)
        return events[events["channel"].isin(ch_names)]
    signal = map_signal(file.path)
    rows = [i for i, name in enumerate(file.ch_names) if name in set(ch_names)]
    tables = [
        detect(signal[row : row + 1], file.sfreq, [file.ch_names[row]], detector)
        for row in rows
        for detector in detectors
    ]
    let_go()
    events = pd.concat(tables, ignore_index=True)[["channel", "onset", "duration", "detector"]]
    write_table(kept, events)
    return events


def _combined(found: pd.DataFrame, overlaps: str) -> pd.DataFrame:
    if overlaps == "kept":
        return found.drop_duplicates(["channel", "onset", "duration"])
    if found.empty:
        return found
    # what the union of tables asks for, of detections that say no more than when
    events = found.assign(
        start=np.round(found["onset"] * 1e6).astype("int64"),
        end=np.round((found["onset"] + found["duration"]) * 1e6).astype("int64"),
        band_low=np.nan,
        band_high=np.nan,
        peak_frequency=np.nan,
        amplitude=0.0,
    )
    return combine([table for _, table in events.groupby("detector")])
