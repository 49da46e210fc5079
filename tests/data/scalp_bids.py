"""Tiny trees in the layout of scalp sets that are BIDS, or nearly so.

Every recording holds noise of 5 µV and, on its second channel, a sine of 50 µV at 10 Hz.
"""

import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pybv import write_brainvision
from scipy.io import savemat

from tests.data.edf import Signal, write_edf

SINE_UV, SINE_HZ = 50.0, 10.0
EEG = ["Fp1", "Fp2", "C3", "Cz", "C4", "O1"]
LOUD = EEG[1]


def planted(n_channels: int, sfreq: float, seconds: float, seed: int = 0) -> np.ndarray:
    """Signals in µV, ``(n_channels, n_times)``."""
    t = np.arange(round(sfreq * seconds)) / sfreq
    signal = np.random.default_rng(seed).normal(0, 5, (n_channels, len(t)))
    signal[1] += SINE_UV * np.sin(2 * np.pi * SINE_HZ * t)
    return signal


def put(
    file: Path, names: Sequence[str], sfreq: float, seconds: float, marks: Mapping[float, str] | None = None
) -> Path:
    """Write a recording in the format that the suffix says; ``marks`` are events in an EEGLAB file, by second."""
    file.parent.mkdir(parents=True, exist_ok=True)
    signal = planted(len(names), sfreq, seconds, seed=len(file.name))
    if file.suffix in (".edf", ".bdf"):
        rows = zip(names, signal, strict=True)
        return write_edf(file, [Signal(name, np.rint(row * 10).astype(int), sfreq) for name, row in rows])
    if file.suffix == ".vhdr":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            folder, stem = str(file.parent), file.stem
            write_brainvision(data=signal * 1e-6, sfreq=sfreq, ch_names=list(names), fname_base=stem, folder_out=folder)
        return file
    return put_set(file, signal, names, sfreq, marks or {})


def put_set(
    file: Path, signal: np.ndarray, names: Sequence[str], sfreq: float, marks: Mapping[float, str], fdt: bool = False
) -> Path:
    """Write a continuous EEGLAB file in µV, with its samples beside it where ``fdt``."""
    labels = np.zeros(len(names), dtype=[("labels", "O")])
    labels["labels"] = list(names)
    events = np.zeros(len(marks), dtype=[("type", "O"), ("latency", "f8"), ("duration", "f8")])
    events["type"], events["latency"] = list(marks.values()), [second * sfreq + 1 for second in marks]
    data: Any = signal.astype(np.float32)
    if fdt:
        file.with_suffix(".fdt").write_bytes(data.tobytes(order="F"))
        data = file.with_suffix(".fdt").name
    n_channels, n_times = signal.shape
    content = {"setname": file.stem, "nbchan": float(n_channels), "pnts": float(n_times), "trials": 1.0, "srate": sfreq}
    content |= {"xmin": 0.0, "xmax": (n_times - 1) / sfreq, "data": data, "chanlocs": labels, "event": events}
    savemat(file, {"EEG": content | {"epoch": [], "icawinv": [], "icasphere": [], "icaweights": []}})
    return file


def put_table(file: Path, table: Mapping[str, Sequence[object]]) -> Path:
    """Write a TSV or CSV file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(table).to_csv(file, sep="\t" if file.suffix == ".tsv" else ",", index=False, na_rep="n/a")
    return file


def put_channels(recording: Path, names: Sequence[str], types: Sequence[str], units: str = "uV") -> None:
    """Write the channels.tsv beside a recording."""
    file = recording.with_name(recording.stem.removesuffix("_eeg") + "_channels.tsv")
    put_table(file, {"name": names, "type": types, "units": [units] * len(names)})


def put_facts(file: Path, line_freq: object) -> None:
    """Write a sidecar with the line frequency."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"PowerLineFrequency": line_freq}))


def write_longitudinal(root: Path) -> Path:
    """Three people, two visits with eyes closed and open; the unit of channels.tsv is wrong."""
    names = [name.upper() for name in EEG] + ["HEO", "VEO"]
    people = ["CTR001", "G2002", "G2003"]
    put_table(root / "participants.tsv", {"participant_id": [f"sub-{p}" for p in people], "Sex": ["F", "M", "F"]})
    for person in people:
        for visit in ("V0", "V1"):
            for eyes in ("CE", "OE"):
                stem = f"sub-{person}/ses-{visit}/eeg/sub-{person}_ses-{visit}_task-{eyes}_eeg"
                file = put(root / f"{stem}.vhdr", names, 1000, 20)
                put_channels(file, names, ["EEG"] * 8, "V")
    return root


def write_ad65(root: Path) -> Path:
    """One person per group; derivatives repeat the names of the raw files."""
    people = {"sub-001": "A", "sub-037": "C", "sub-066": "F"}
    columns = {"participant_id": [*people], "Gender": ["F", "M", "F"], "Age": [57, 60, 70], "Group": [*people.values()]}
    put_table(root / "participants.tsv", columns)
    for person in people:
        for folder in (root / person / "eeg", root / "derivatives" / person / "eeg"):
            file = put(folder / f"{person}_task-eyesclosed_eeg.set", EEG, 500, 100)
            put_channels(file, EEG, ["EEG"] * 6, "microV")
            put_facts(file.with_suffix(".json"), 50)
    return root


def write_pd31(root: Path) -> Path:
    """Two healthy people, two with PD off and on medication; inputs beside the cap are called EEG."""
    names = [*EEG, "EXG1", "EXG8", "Status"]
    sessions = {"hc1": ["hc"], "hc2": ["hc"], "pd3": ["off", "on"], "pd5": ["off", "on"]}
    put_table(root / "participants.tsv", {"participant_id": [f"sub-{p}" for p in sessions], "gender": list("ffmf")})
    for person, own in sessions.items():
        for session in own:
            stem = f"sub-{person}_ses-{session}_task-rest"
            file = put(root / f"sub-{person}/ses-{session}/eeg/{stem}_eeg.bdf", names, 512, 10)
            put_channels(file, names, ["EEG"] * 8 + ["TRIG"], "µV")
            put_table(file.with_name(f"{stem}_events.tsv"), {"onset": [0.0], "duration": [0.0], "value": [65536]})
    return root


def write_pd_mortality(root: Path, montages: bool = False) -> Path:
    """Three people, one with a belt; with ``montages`` the last one has other electrodes at the same place."""
    people = {"sub-PD1001": "living", "sub-PD1002": "deceased", "sub-PD1003": "living"}
    columns = {"participant_id": [*people], "sex": ["F", "M", "F"], "survival_status": [*people.values()]}
    put_table(root / "participants.tsv", columns)
    for i, person in enumerate(people):
        names = [*EEG[:5], "FT9" if montages and i == 2 else "Iz", *(["Resp"] if i == 1 else [])]
        file = put(root / person / "ses-01/eeg" / f"{person}_ses-01_task-rest_eeg.vhdr", names, 500, 20)
        put_channels(file, names, ["EEG"] * 6 + ["MISC"] * (len(names) - 6))
        put_facts(file.with_suffix(".json"), "n/a")
    return root


def write_depression_rest(root: Path) -> Path:
    """Three people with a score, one without valid data; no channel has a type."""
    people = {"sub-001": 7, "sub-002": 13, "sub-003": 20, "sub-038": "NaN"}
    columns = {"participant_id": [*people], "Original_ID": [507, 508, 509, 544], "sex": [1, 1, 2, "NaN"]}
    put_table(root / "participants.tsv", columns | {"BDI": [*people.values()]})
    for i, person in enumerate(people):
        names = [*EEG, "HEOG", "VEOG", *(["EKG"] if i == 1 else [])]
        for run in ("01", "02"):
            file = root / person / "eeg" / f"{person}_task-Rest_run-{run}_eeg.set"
            file.parent.mkdir(parents=True, exist_ok=True)
            put_set(file, planted(len(names), 500, 10), names, 500, {1.0: "17"}, fdt=True)
            put_channels(file, names, ["n/a"] * len(names), "n/a")
    return root


def write_awakening(root: Path) -> Path:
    """Three people and one excluded; ids of participants.tsv are not those of the folders, EOG is called EEG."""
    people = ["1010", "1016", "1022", "1037"]
    put_table(root / "participants.tsv", {"participant_id": [f"sub-SD_{p}" for p in people], "excluded": [0, 0, 0, 1]})
    names = [*EEG, "VEOG", "HEOG", "EMG"]
    parts = ("task-awake_acq-EC", "task-awake_acq-EO", "task-sed_acq-rest_run-1", "task-sed2_acq-rest_run-1")
    for person in people:
        for part in (*parts, "task-sed_acq-tms_run-1"):
            file = put(root / f"sub-{person}" / "eeg" / f"sub-{person}_{part}_eeg.vhdr", names, 5000, 20)
            put_channels(file, names, ["EEG"] * 9)
    return root


def write_pearl(root: Path) -> Path:
    """Three tasks; no channels.tsv, facts by task at the root, more rows than people with EEG."""
    put_table(root / "participants.tsv", {"participant_id": [f"sub-{i:02d}" for i in range(1, 7)], "sex": [0] * 6})
    for task in ("rest", "msit", "sternberg"):
        put_facts(root / f"task-{task}_eeg.json", 50)
        for person in ("sub-01", "sub-02", "sub-03"):
            put(root / person / "eeg" / f"{person}_task-{task}_eeg.vhdr", EEG, 1000, 10)
    return root


def write_restcog(root: Path) -> Path:
    """Five tasks in two sessions, or one; events.tsv has synchronisation marks only."""
    put_table(root / "participants.tsv", {"participant_id": ["sub-01", "sub-02", "sub-03"], "sex": ["m", "f", "f"]})
    for person in ("sub-01", "sub-02", "sub-03"):
        for session in ("session1", "session2") if person == "sub-01" else ("session1",):
            for task in ("eyesclosed", "eyesopen", "mathematic", "memory", "music"):
                stem = f"{person}_ses-{session}_task-{task}"
                file = put(root / person / f"ses-{session}" / "eeg" / f"{stem}_eeg.vhdr", EEG, 500, 8)
                put_channels(file, EEG, ["EEG"] * 6)
                put_table(file.with_name(f"{stem}_events.tsv"), {"onset": [0], "duration": [0.002], "value": ["S 77"]})
    return root


def write_exoskeleton(root: Path) -> Path:
    """Walking, standing, and two kinds of files that belong to no task."""
    names = [*EEG, "EOG_HL", "EOG_HR", "EOG_VA", "EOG_VB"]
    for person in ("01", "02", "03"):
        for task in ("walk6min", "stop6min", "trial01", "training"):
            stem = f"sub-{person}_ses-01_task-{task}"
            file = put(root / f"sub-{person}/ses-01/eeg/{stem}_eeg.edf", names, 100, 30)
            put_table(file.with_name(f"{stem}_acq-rexcommand_events.tsv"), {"onset": [0.0], "value": ["x8"]})
    return root


def write_chineseeeg2(root: Path) -> Path:
    """Three readers with tables of tones; headers of one name files by which they were recorded."""
    names = [f"E{i}" for i in range(1, 7)]
    for person in ("f1", "f2", "m1"):
        stem = f"sub-{person}_ses-littleprince_task-reading_run-11"
        folder = root / "ReadingAloud" / f"sub-{person}" / "ses-littleprince" / "eeg"
        file = put(folder / f"{stem}_eeg.vhdr", names, 250, 40)
        if person == "m1":
            file.write_text(file.read_text().replace(file.stem, "recorded"))
        rows = {
            "onset": [2.0 + 3 * i for i in range(12)],
            "duration": [0.2] * 12,
            "tone": [1, 2, 3, 4, 1, 2, 3, 4, 5, 1, 2, 3],
        }
        put_table(folder / f"{stem}_tones.tsv", rows)
        put_table(folder / f"{stem}_events.tsv", {"onset": [1.0], "duration": [0.0], "trial_type": ["ROWS"]})
    return root
