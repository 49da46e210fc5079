"""Tiny BIDS EEG trees."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from tests.data.edf import Signal, write_edf

SFREQ = 200.0


def write_tree(root: Path, persons: list[str]) -> Path:
    """participants.tsv and what holds for all recordings."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "dataset_description.json").write_text(json.dumps({"Name": "tiny", "BIDSVersion": "1.9.0"}))
    pd.DataFrame({"participant_id": persons, "sex": "F"}).to_csv(root / "participants.tsv", sep="\t", index=False)
    (root / "task-rest_eeg.json").write_text(json.dumps({"PowerLineFrequency": 50}))
    return root


def write_recording(
    root: Path, person: str, channels: dict[str, list[str]], events: dict[str, list[object]], seconds: float = 10
) -> Path:
    """Noise of 20 µV per channel in 0.1 µV steps, channels.tsv and events.tsv."""
    folder = root / person / "eeg"
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{person}_task-rest"
    names = channels["name"]
    signal = np.random.default_rng(len(person)).normal(0, 20, (len(names), round(seconds * SFREQ)))
    file = folder / f"{stem}_eeg.edf"
    write_edf(file, [Signal(name, np.rint(row * 10), SFREQ) for name, row in zip(names, signal, strict=True)])
    pd.DataFrame(channels).to_csv(folder / f"{stem}_channels.tsv", sep="\t", index=False)
    pd.DataFrame(events).to_csv(folder / f"{stem}_events.tsv", sep="\t", index=False)
    return file
