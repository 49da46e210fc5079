"""Tiny BIDS iEEG trees with recordings in EDF, BrainVision or FIF."""

import json
from pathlib import Path

import mne
import numpy as np
import pandas as pd
from pybv import write_brainvision

from tests.data.edf import Signal, write_edf

SFREQ = 500.0


def write_tree(root: Path, participants: dict[str, list[str]], **facts: object) -> Path:
    """participants.tsv, dataset_description.json and, for all tasks, the keys of ``*_ieeg.json``."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "dataset_description.json").write_text(json.dumps({"Name": "tiny", "BIDSVersion": "1.9.0"}))
    pd.DataFrame(participants).to_csv(root / "participants.tsv", sep="\t", index=False)
    for task in ("interictal", "ictal"):
        (root / f"task-{task}_ieeg.json").write_text(json.dumps({"PowerLineFrequency": 50} | facts))
    return root


def write_recording(
    root: Path,
    stem: str,
    suffix: str,
    channels: dict[str, list[str]],
    in_file: list[str] | None = None,
    seconds: float = 4,
) -> Path:
    """One recording of noise with a standard deviation of 50 µV, and its channels.tsv (columns ``name``, ``type``, ...).

    Parameters
    ----------
    stem
        ``sub-01_task-ictal``, for instance.
    in_file
        Names in the recording, if they are not those of the table.
    """
    names = channels["name"] if in_file is None else in_file
    folder = root / stem.split("_")[0] / "ieeg"
    folder.mkdir(parents=True, exist_ok=True)
    signal = np.random.default_rng(0).normal(0, 50, (len(names), round(seconds * SFREQ)))
    file = folder / f"{stem}_ieeg{suffix}"
    if suffix == ".edf":
        write_edf(file, [Signal(name, np.rint(row * 10), SFREQ) for name, row in zip(names, signal, strict=True)])
    elif suffix == ".vhdr":
        write_brainvision(data=signal * 1e-6, sfreq=SFREQ, ch_names=names, fname_base=file.stem, folder_out=str(folder))
    else:
        raw = mne.io.RawArray(signal * 1e-6, mne.create_info(names, SFREQ, "seeg"), verbose="ERROR")
        raw.save(file, overwrite=True, verbose="ERROR")
    pd.DataFrame(channels).to_csv(folder / f"{stem}_channels.tsv", sep="\t", index=False)
    return file
