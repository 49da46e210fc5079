"""HFO events of the harmonised Omni-iEEG release: expert labels with their waveforms, and the released detections.

An expert-labelled event comes as 2 s of signal at 1000 Hz, without its channel or time. The waveforms of a recording
become one stored array, one row per event, so that they are read like any other window.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from omni_bench.data.cohort import Cohort
from omni_bench.data.preprocess import Preprocessing
from omni_bench.data.samples import PATIENT_COLUMNS
from omni_bench.data.store import Stored, open_store, source_fingerprint, store_file, write_store
from omni_bench.data.tables import numbers, read_table
from omni_bench.errors import BenchError

SFREQ, N_TIMES = 1000.0, 2000
"""Rate and samples of a released waveform."""
LABELS = ["detector", "artifact", "spike"]


def event_label(table: pd.DataFrame) -> pd.Series:
    """0 = artifact, 1 = HFO without spike, 2 = HFO with spike; NA where unknown.

    Parameters
    ----------
    table
        With the release's columns ``artifact`` (1 means *not* an artifact) and ``spike``. An event that is called
        artifact and spike at once is an artifact.
    """
    real, spike = table["artifact"].astype("Int64"), table["spike"].astype("Int64")
    return (real * (1 + spike.mask(real == 0, 0))).rename("label")


def prepare_events(
    cohort: Cohort, steps: Preprocessing, cache: Path, *, on_error: str = "raise", **_: Any
) -> tuple[Cohort, dict[str, Stored]]:
    """Store the labelled waveforms of every recording; recordings without any are left out.

    Takes and returns what `omni_bench.data.prepare.prepare` does.

    Raises
    ------
    BenchError
        No labels in the release, other preprocessing than the released, a broken file, or a file that lies in another
        split's folder than its patient.
    """
    if steps != Preprocessing(sfreq=SFREQ, notch=False):
        raise BenchError(
            "task.preprocessing: labelled events come as 1000 Hz waveforms and take no further step: keep the card's"
        )
    files = _annotation_files(cohort.root)
    splits = cohort.recordings["subject"].map(cohort.patients.set_index("subject")["split"])
    stored, failed, contradictions = {}, {}, 0
    for recording, path, split in zip(cohort.recordings["recording"], cohort.recordings["path"], splits, strict=True):
        file = files.get(PurePosixPath(path).name)
        if file is None:
            failed[recording] = "no expert event labels"
            continue
        try:
            if pd.notna(split) and file.parent.name != split:
                raise BenchError(
                    f"{file}: lies in {file.parent.name}, but its patient is in {split}: correct the split file"
                )
            stored[recording] = _store(
                file, store_file(cache / "store" / f"{cohort.name}_events", recording, _key(file))
            )
            table = _read(file, LABELS)
            contradictions += int(((table["artifact"] == 0) & (table["spike"] == 1)).sum())
        except BenchError as error:
            if on_error == "raise":
                raise
            failed[recording] = str(error)
    cohort = cohort.without(failed) if failed else cohort
    if contradictions:
        reason = "events called artifact and spike at once: taken as artifacts"
        cohort = replace(cohort, excluded=[*cohort.excluded, {"what": "labels", "reason": reason, "n": contradictions}])
    return cohort, stored


def annotated_events(
    cohort: Cohort, stored: Mapping[str, Stored], *, window_s: float, stride_s: float, edge_s: float
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Units and windows of the labelled events; both are one event. See `omni_bench.data.samples`.

    Raises
    ------
    BenchError
        ``window_s`` is not the length of the waveforms.
    """
    if window_s != N_TIMES / SFREQ:
        raise BenchError(f"task.window_s={window_s:g}: labelled events come with {N_TIMES / SFREQ:g} s of signal")
    files = _annotation_files(cohort.root)
    tables = []
    for recording, path in zip(cohort.recordings["recording"], cohort.recordings["path"], strict=True):
        table = _read(files[PurePosixPath(path).name], LABELS)
        tables.append(table.assign(recording=recording, row=np.arange(len(table)), label=event_label(table)))
    units = pd.concat(tables, ignore_index=True).drop(columns=["artifact", "spike"])
    units = units.merge(cohort.recordings[["recording", "subject"]], on="recording")
    units = units.merge(cohort.patients[PATIENT_COLUMNS], on="subject")
    units.insert(0, "unit_id", units["recording"] + "/" + units["detector"] + "/" + units["row"].astype(str))
    units["channel"] = pd.Series(pd.NA, index=units.index, dtype="string")
    windows = units[["unit_id", "subject", "person", "source", "recording", "row", "label"]].assign(
        start=0.0, duration=window_s
    )
    windows.insert(0, "sample_id", windows["unit_id"])
    windows = pd.concat([windows.assign(use=use) for use in ("train", "evaluate")], ignore_index=True)
    return units.drop(columns="row"), windows


def released_detections(cohort: Cohort, recording: str) -> pd.DataFrame:
    """The release's detections of one recording.

    Returns
    -------
    ``channel`` (raw name), ``onset`` and ``duration`` (s), ``detector``; those of all detectors one below the other.

    Raises
    ------
    BenchError
        The release has none for this recording.
    """
    path = PurePosixPath(cohort.recordings.set_index("recording").loc[recording, "path"])
    file = cohort.root / "derivatives" / "hfo" / path.with_suffix(".csv")
    table = read_table(file, ["name", "start", "end", "detector"])
    start, end = numbers(table["start"], str(file)), numbers(table["end"], str(file))
    columns = {"channel": table["name"], "onset": start / SFREQ, "duration": (end - start) / SFREQ}
    return pd.DataFrame(columns | {"detector": table["detector"]})


def _annotation_files(root: Path) -> dict[str, Path]:
    """Name of the EDF → parquet file of its labelled events."""
    folder = root / "derivatives" / "hfo_annotation"
    files = {file.name.removesuffix(".parquet"): file for file in sorted(folder.glob("*/*.parquet"))}
    if not files:
        raise BenchError(f"{folder}: no train/*.parquet or test/*.parquet: fetch the labelled events of the release")
    return files


def _read(file: Path, columns: list[str]) -> pd.DataFrame:
    try:
        return pd.read_parquet(file, columns=columns)
    except Exception as error:  # pyarrow has many kinds of errors for a broken file
        raise BenchError(f"{file}: no readable table with {', '.join(columns)}: fetch it again") from error


def _key(file: Path) -> list[str]:
    return ["labelled events", source_fingerprint([file])]


def _store(file: Path, target: Path) -> Stored:
    if target.is_file():
        return open_store(target)
    waveforms = _waveforms(file)
    return write_store(target, [waveforms], [str(i) for i in range(len(waveforms))], SFREQ, {}, source=file.name)


def _waveforms(file: Path) -> NDArray[np.float32]:
    """Float32 µV ``(n_events, 2000)``."""
    rows = _read(file, ["hfo_waveforms"])["hfo_waveforms"].tolist()
    if not rows:
        raise BenchError(f"{file}: no event in it")
    lengths = {len(row) for row in rows}
    if lengths != {N_TIMES}:
        raise BenchError(f"{file}: waveforms of {sorted(lengths - {N_TIMES})[0]} samples, expected {N_TIMES}")
    waveforms = np.stack(rows).astype(np.float32)
    if not np.isfinite(waveforms).all():
        raise BenchError(
            f"{file}: waveform {int(np.argmin(np.isfinite(waveforms).all(axis=1)))} holds values that are no numbers"
        )
    return waveforms
