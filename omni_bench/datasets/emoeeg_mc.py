"""Reader of EmoEEG-MC (Xu et al. 2025, OpenNeuro ds005540): trials as its authors preprocessed and ordered them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from omni_bench.data.arrays import array_recording
from omni_bench.data.cohort import Cohort
from omni_bench.data.recording import Recording
from omni_bench.datasets.bids_eeg import scalp_channels
from omni_bench.errors import BenchError

SFREQ = 200.0
NAMES = (
    "Fp1 Fpz Fp2 AF7 AF3 AF4 AF8 F7 F5 F3 F1 Fz F2 F4 F6 F8 FT7 FC5 FC3 FC1 FCz FC2 FC4 FC6 FT8 T7 C5 C3 C1 Cz C2 C4 C6 "
    "T8 TP7 CP5 CP3 CP1 CPz CP2 CP4 CP6 TP8 P7 P5 P3 P1 Pz P2 P4 P6 P8 PO7 PO3 POz PO4 PO8 O1 Oz O2 F9 F10 TP9 TP10"
)
CH_NAMES = NAMES.split()
PER_EMOTION = 3


def read_emoeeg_mc(
    root: Path, name: str, on_error: str = "raise", unit: str | None = None, *, emotions: Sequence[str]
) -> Cohort:
    """One recording per person and context (session ``vid`` or ``ima``); an event is one trial with its ``emotion``.

    Parameters
    ----------
    emotions
        Of the trials, `PER_EMOTION` each, in the order that the release gives to all persons.

    Raises
    ------
    BenchError
        No ``derivatives/sub-*/ses-*/**/*_reorder.npy``, or (``on_error="raise"``) one that is broken or of another shape.
    """
    rows: list[dict[str, Any]] = []
    events, excluded = [], []
    for file in sorted((root / "derivatives").glob("sub-*/ses-*/**/*_task-emotion_reorder.npy")):
        try:
            shape = _load(file).shape
            if shape[0] != PER_EMOTION * len(emotions):
                expected = f"{PER_EMOTION} of each of {', '.join(emotions)}"
                raise BenchError(f"{file}: {shape[0]} trials, expected {expected}: correct dataset.read.emotions")
        except BenchError as error:
            if on_error == "raise":
                raise
            excluded.append({"what": "recordings", "reason": str(error), "n": 1})
            continue
        recording = file.stem.removesuffix("_reorder")
        subject, session = recording.split("_")[:2]
        trial_s = shape[2] / SFREQ
        row = {"recording": recording, "subject": subject, "session": session.removeprefix("ses-"), "task": "emotion"}
        rows.append(
            row
            | {
                "path": file.relative_to(root).as_posix(),
                "sfreq": SFREQ,
                "duration": shape[0] * trial_s,
                "modality": "EEG",
            }
        )
        onset, emotion = trial_s * np.arange(shape[0]), np.repeat(list(emotions), PER_EMOTION)
        events.append(pd.DataFrame({"recording": recording, "onset": onset, "duration": trial_s, "emotion": emotion}))
    if not rows:
        raise BenchError(f"{root}: no derivatives/sub-*/ses-*/**/*_reorder.npy could be read: fetch the derivatives")
    recordings = pd.DataFrame(rows)
    subjects = recordings["subject"].unique()
    persons = pd.DataFrame({"subject": subjects, "person": subjects, "source": name})
    channels = pd.concat([scalp_channels(CH_NAMES).assign(recording=row["recording"]) for row in rows])
    return Cohort(name, root, persons, recordings, channels, unit, excluded, pd.concat(events), open_trials)


def open_trials(path: Path, ch_names: Sequence[str] | None = None, unit: str | None = None) -> Recording:
    """All trials of a file, one piece each; see `omni_bench.data.arrays.array_recording`."""
    return array_recording(path, list(_load(path)), CH_NAMES, SFREQ, ch_names, unit)


def _load(file: Path) -> np.ndarray:
    """Trials ``(n_trials, 64, n_times)``, not yet read."""
    try:
        trials = np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise BenchError(f"{file}: not a whole .npy file ({error}): copy it again") from error
    if trials.ndim != 3 or trials.shape[1] != len(CH_NAMES):
        raise BenchError(f"{file}: an array of shape {trials.shape}, expected (n_trials, {len(CH_NAMES)}, n_times)")
    return trials
