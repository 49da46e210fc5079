"""Reader of epoched EEGLAB files whose name says what was done (MATB-II workload, Hinss et al. 2021)."""

import re
import warnings
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import mne
import numpy as np
import pandas as pd

from omni_bench.data.arrays import array_recording
from omni_bench.data.cohort import Cohort
from omni_bench.data.recording import Recording
from omni_bench.datasets.bids_eeg import scalp_channels
from omni_bench.datasets.bids_tables import Notes, note
from omni_bench.errors import BenchError
from omni_bench.signal.electrode_names import electrode_name


def read_epoched_sets(
    root: Path,
    name: str,
    on_error: str = "raise",
    unit: str | None = None,
    *,
    pattern: str,
    others: Sequence[str] = (),
) -> Cohort:
    """Read EEGLAB files of epochs; one recording per file, one event per epoch.

    Parameters
    ----------
    pattern
        Regular expression of their paths below ``root``; the group ``subject`` is the person, ``cond`` the events' type.
    others
        Channels that are no scalp EEG.

    Raises
    ------
    BenchError
        No such file, archives that are not unpacked, or (``on_error="raise"``) a file that cannot be read.
    """
    excluded: Notes = []
    rows: list[dict[str, Any]] = []
    channels, events = [], []
    for file in sorted(root.rglob("*.set")):
        match = re.search(pattern, file.relative_to(root).as_posix())
        if match is None:
            continue
        try:
            names, sfreq, epochs = _epochs(file)
        except BenchError as error:
            if on_error == "raise":
                raise
            note(excluded, "recordings", str(error), 1)
            continue
        groups, (n_epochs, _, n_times) = match.groupdict(), epochs.shape
        recording = f"sub-{groups['subject']}_ses-{groups['session']}_task-{groups['cond']}"
        rows.append(
            {
                "recording": recording,
                "subject": f"sub-{groups['subject']}",
                "session": groups["session"],
                "task": groups["cond"],
                "path": file.relative_to(root).as_posix(),
                "sfreq": sfreq,
                "duration": n_epochs * n_times / sfreq,
                "modality": "EEG",
            }
        )
        other = {electrode_name(name) for name in others}
        channels.append(
            scalp_channels([n for n in names if electrode_name(n) not in other]).assign(recording=recording)
        )
        onset = np.arange(n_epochs) * n_times / sfreq
        table = {"recording": recording, "onset": onset, "duration": n_times / sfreq, "trial_type": groups["cond"]}
        events.append(pd.DataFrame(table))
    if not rows:
        zips = sorted(root.rglob("*.zip"))
        hint = f"unpack {zips[0].name} and the archives in it" if zips else "see facts.layout of the card"
        raise BenchError(f"{root}: no epoched *.set of {name} could be read: {hint}")
    recordings = pd.DataFrame(rows)
    subjects = recordings["subject"].drop_duplicates()
    patients = pd.DataFrame({"subject": subjects, "person": subjects, "source": name})
    tables = pd.concat(channels), unit, excluded, pd.concat(events, ignore_index=True)
    return Cohort(name, root, patients, recordings, *tables, open_epoched_set)


def open_epoched_set(path: Path, ch_names: Sequence[str] | None, unit: str | None) -> Recording:
    """The epochs of an EEGLAB file one after the other."""
    names, sfreq, epochs = _epochs(path)
    return array_recording(path, list(epochs), names, sfreq, ch_names, unit)


@lru_cache(maxsize=1)
def _epochs(path: Path) -> tuple[list[str], float, Any]:
    """Channel names, rate and µV ``(n_epochs, n_channels, n_times)``."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            epochs = mne.read_epochs_eeglab(str(path), verbose="ERROR")
        return epochs.ch_names, float(epochs.info["sfreq"]), (epochs.get_data(copy=False) * 1e6).astype("float32")
    except Exception as error:  # a broken MATLAB file can fail in any way
        raise BenchError(f"{path}: cannot be read as epochs of EEGLAB ({type(error).__name__}: {error})") from error
