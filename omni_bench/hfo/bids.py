"""Event tables on disk: BIDS-style TSV with a JSON sidecar."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from omni_bench.errors import BenchError
from omni_bench.files import write_atomically

DESCRIPTIONS: dict[str, dict[str, str]] = {
    "onset": {"Description": "First sample of the event, from the start of the recording", "Units": "s"},
    "duration": {"Description": "Time from start to end", "Units": "s"},
    "channel": {"Description": "Name of the channel"},
    "start": {"Description": "First sample, counted from 0"},
    "end": {"Description": "Last sample + 1; under compat=reference the integer that HFODetector gives"},
    "detector": {"Description": "Detector, or the rule that combined several"},
    "band_low": {"Description": "Lower edge of the detection band", "Units": "Hz"},
    "band_high": {"Description": "Upper edge of the detection band", "Units": "Hz"},
    "peak_frequency": {"Description": "Largest value of the band-passed event's spectrum", "Units": "Hz"},
    "amplitude": {"Description": "Largest absolute band-passed sample", "Units": "uV"},
    "co_detections": {"Description": "Detectors that found the event, joined by +"},
}
TEXT = {"channel": str, "detector": str, "co_detections": str}


def write_events(path: str | Path, events: pd.DataFrame, sfreq: float, **provenance: Any) -> Path:
    """Write ``events`` to ``path`` (``..._events.tsv``) and its description to the ``.json`` beside it.

    ``onset, duration, channel`` come first, absent values are ``n/a``, and numbers keep every digit. ``provenance``
    (what JSON can hold: detector parameters, compat, ...) goes into the sidecar with the sampling rate.
    """
    path = Path(path)
    if path.suffix != ".tsv":
        raise BenchError(f"{path}: event tables end in .tsv")
    first = ["onset", "duration", "channel"]
    table = events[[*first, *(name for name in events.columns if name not in first)]]
    sidecar = {name: DESCRIPTIONS.get(name, {}) for name in table.columns}
    described = {**sidecar, "SamplingFrequency": sfreq, "Provenance": provenance}
    write_atomically(path, table.to_csv(sep="\t", index=False, na_rep="n/a"))
    write_atomically(path.with_suffix(".json"), json.dumps(described, indent=2) + "\n")
    return path


def read_events(path: str | Path) -> pd.DataFrame:
    """Event table of a TSV as `write_events` makes it, or of any with ``onset, duration, channel``."""
    try:
        # "n/a" alone is a missing value: a channel may be called NA or None
        table = pd.read_csv(path, sep="\t", dtype=TEXT, keep_default_na=False, na_values=["n/a"])
    except FileNotFoundError:
        raise BenchError(f"{path}: no such event table; write one with omni_bench.hfo.write_events") from None
    absent = [name for name in ("onset", "duration", "channel") if name not in table.columns]
    if absent:
        raise BenchError(f"{path}: no column {', '.join(absent)}; found {', '.join(table.columns)}")
    return table
