"""Reader of BCI Competition IV dataset 2a (Brunner et al. 2008): MATLAB files of BNCI Horizon 2020, or the original GDF files."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from omni_bench.data.array_files import ArrayFile
from omni_bench.data.arrays import array_recording
from omni_bench.data.cohort import Cohort
from omni_bench.data.recording import Recording, channel_names, open_recording
from omni_bench.datasets.array_trials import channel_table, matching_files, read_arrays
from omni_bench.datasets.bci_events import run_events
from omni_bench.errors import BenchError

FILES = r"(?:^|/)A0(?P<subject>[1-9])(?P<session>[TE])\."
SFREQ = 250.0
CUE_S, IMAGERY_S = 2.0, 4.0
"""From the start of a trial to its cue, and from the cue to the end of imagery."""
CLASSES = ("left hand", "right hand", "feet", "tongue")
TRIAL, REJECTED, UNKNOWN_CUE = "768", "1023", "783"
CUES = dict(zip(("769", "770", "771", "772"), CLASSES, strict=True))
"""Codes of the GDF files' events."""


def read_bcic_2a(
    root: Path,
    name: str,
    on_error: str = "raise",
    unit: str | None = None,
    *,
    channels: Sequence[str],
    eog: Sequence[str],
    artifacts: bool = True,
) -> Cohort:
    """Read the metadata of nine persons with two sessions, T and E; events are the cues of both.

    Parameters
    ----------
    channels, eog
        Names of the EEG channels, which come first, and of the others.
    artifacts
        Keep trials that the experts marked as artefacts.

    Raises
    ------
    BenchError
        No files of either kind, an evaluation session without labels, or a broken file.
    """
    if any(root.rglob("A0*.gdf")):
        return _read_gdf(root, name, on_error, unit, channels, artifacts)
    events = partial(
        run_events, variable="data", classes=CLASSES, cue_s=CUE_S, duration_s=IMAGERY_S, artifacts=artifacts
    )
    return read_arrays(
        root,
        name,
        on_error,
        unit,
        files=FILES + "mat$",
        variable="data",
        field="X",
        axes=("time", "channel"),
        sfreq=SFREQ,
        channels=channels,
        others=eog,
        events=events,
    )


def open_with_gaps(path: Path, ch_names: Sequence[str] | None = None, unit: str | None = None) -> Recording:
    """A GDF recording whose runs are pieces; between them, where values are missing, it is zero."""
    recording = open_recording(path, ch_names, unit)
    signal = recording.read()
    lowest = np.nanmin(signal, axis=1, keepdims=True)
    missing = (~np.isfinite(signal) | (signal == lowest)).all(axis=0)
    missing &= np.append(missing[1:], False) | np.append(False, missing[:-1])  # one sample alone is a true minimum
    signal[:, missing] = 0
    borders = np.flatnonzero(np.diff(missing.astype(int))) + 1
    pieces = np.split(signal, borders, axis=1)
    return array_recording(path, pieces, recording.ch_names, recording.sfreq)


def _read_gdf(
    root: Path, name: str, on_error: str, unit: str | None, channels: Sequence[str], artifacts: bool
) -> Cohort:
    rows, tables, trials, excluded = [], [], [], []
    for path, words in matching_files(root, FILES + "gdf$"):
        recording = f"sub-{words['subject']}_ses-{words['session']}"
        try:
            raw = channel_names(path)[: len(channels)]
            opened = open_recording(path, raw, unit)
            own = _gdf_events(path, root, artifacts)
        except BenchError as error:
            if on_error == "raise":
                raise
            excluded.append({"what": "recordings", "reason": str(error), "n": 1})
            continue
        tables.append(channel_table(recording, raw, channels))
        trials.append(own.assign(recording=recording))
        row = {"recording": recording, "path": path.relative_to(root).as_posix(), "modality": "EEG", **words}
        rows.append(row | {"sfreq": opened.sfreq, "duration": opened.duration})
    if not rows:
        raise BenchError(f"{root}: no file could be read ({excluded[0]['reason']})")
    recordings = pd.DataFrame(rows)
    subjects = recordings["subject"].drop_duplicates()
    persons = pd.DataFrame({"subject": subjects, "person": subjects, "source": name})
    events = pd.concat(trials, ignore_index=True)
    return Cohort(name, root, persons, recordings, pd.concat(tables), unit, excluded, events, opener=open_with_gaps)


def _gdf_events(path: Path, root: Path, artifacts: bool) -> pd.DataFrame:
    import mne

    found = mne.io.read_raw_gdf(path, verbose="ERROR").annotations
    marks = pd.DataFrame({"onset": found.onset, "code": found.description})
    cues = marks[marks["code"].isin([*CUES, UNKNOWN_CUE])].sort_values("onset").reset_index(drop=True)
    if cues.empty:
        raise BenchError(f"{path}: no cue (codes {', '.join(CUES)} or {UNKNOWN_CUE}): another release?")
    label = cues["code"].map(CUES)
    if label.isna().any():
        label = pd.Series(_true_labels(path, root, len(cues)))
    starts = marks.loc[marks["code"] == REJECTED, "onset"].to_numpy()
    rejected = [bool(((starts > cue - CUE_S - 0.1) & (starts <= cue)).any()) for cue in cues["onset"]]
    table: dict[str, Any] = {"onset": cues["onset"], "duration": IMAGERY_S, "trial_type": label}
    events = pd.DataFrame(table | {"artifact": np.where(rejected, "yes", "no")})
    return events if artifacts else events[~np.array(rejected)]


def _true_labels(path: Path, root: Path, n_trials: int) -> list[str]:
    """Of an evaluation session, from the file of labels that was released after the competition."""
    file = next(iter(sorted(root.rglob(f"{path.stem}.mat"))), None)
    if file is None:
        raise BenchError(
            f"{path}: its cues are of unknown class and there is no {path.stem}.mat below {root}: "
            "add the true labels of the evaluation sessions (bbci.de/competition/iv/results)"
        )
    numbers = np.ravel(ArrayFile(file).value("classlabel")).astype(int)
    if len(numbers) != n_trials or not set(numbers) <= {1, 2, 3, 4}:
        raise BenchError(f"{file}: {len(numbers)} labels for {n_trials} cues, expected as many, from 1 to 4")
    return [CLASSES[number - 1] for number in numbers]
