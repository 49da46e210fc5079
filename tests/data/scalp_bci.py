"""Tiny trees of the scalp datasets that are structs of continuous signals with events: competitions and BNCI Horizon 2020."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tests.data.gdf import write_gdf
from tests.data.scalp_arrays import cells, noise, save, tone

SPEECH_NAMES = [f"C{i}" for i in range(1, 9)]
N_CLASSES = 5


def write_bci_speech(root: Path, persons: int = 3, n_trials: int = 10) -> Path:
    """Class of trial k: k mod 5, in validation (k + 1) mod 5, in the test (k + person) mod 5.

    The tone is on C8, the last channel, of the last trial of every file of person 2.
    """
    sheet = np.full((2 + n_trials, 1 + 2 * persons), np.nan, object)
    for person in range(1, persons + 1):
        for part in ("Training", "Validation", "Test"):
            x = noise(795, 8, n_trials, seed=10 * person + len(part))
            if person == 2:
                x[:, 7, -1] += tone(795, 256)
            shift = {"Training": 0, "Validation": 1, "Test": person}[part]
            numbers = (np.arange(n_trials) + shift) % N_CLASSES
            file = root / f"{part} set" / f"Data_Sample{person:02d}.mat"
            if part == "Test":
                _write_v73(file, x)
                sheet[2:, 2 * person - 1] = numbers + 1
                continue
            y = np.eye(N_CLASSES)[:, numbers]
            content = {"fs": 256.0, "clab": cells(SPEECH_NAMES), "x": x, "y": y, "t": np.arange(795.0)}
            save(file, **{"epo_train" if part == "Training" else "epo_validation": content})
    pd.DataFrame(sheet).to_excel(root / "Track3_Answer Sheet_Test.xlsx", index=False, header=False)
    return root


def _write_v73(file: Path, x: NDArray[np.float64]) -> None:
    """epo_test as MATLAB 7.3 has it: dimensions reversed, a cell of references to characters."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(file, "w", userblock_size=512) as store:
        store["epo_test/x"] = x.T
        store["epo_test/fs"] = np.array([[256.0]])
        references = []
        for i, name in enumerate(SPEECH_NAMES):
            item = store.create_dataset(f"#refs#/{i}", data=np.array([[ord(c)] for c in name], np.uint16))
            item.attrs["MATLAB_class"] = np.bytes_("char")
            references.append(item.ref)
        clab = np.array(references, h5py.ref_dtype)[:, None]
        store.create_dataset("epo_test/clab", data=clab).attrs["MATLAB_class"] = np.bytes_("cell")


BBCI_NAMES = ["AF3", "C3", "Cz", "C4", "O2"]


def write_bcic_iv_1(root: Path, n_trials: int = 8) -> Path:
    """Cues every 8 s from 2 s on, alternately the first and second class; a and f know left and foot. Numbers are in 0.1 µV.

    The tone is on C4 in the 4 s after the second cue of b.
    """
    for subject in "abcdefg":
        position = 2000 + 8000 * np.arange(n_trials)
        data = noise(position[-1] + 6000, 5, seed=ord(subject))
        if subject == "b":
            data[10000:14000, 3] += tone(4000, 1000)
        y = np.where(np.arange(n_trials) % 2 == 0, -1, 1)
        classes = ["left", "foot" if subject in "af" else "right"]
        nfo = {"fs": 1000.0, "clab": cells(BBCI_NAMES), "classes": cells(classes), "name": subject}
        cnt = np.rint(data * 10).astype(np.int16)
        file = root / f"BCICIV_calib_ds1{subject}_1000Hz.mat"
        save(file, cnt=cnt, mrk={"pos": position[None] + 1, "y": y[None]}, nfo=nfo)
    return root


CLASSES_2A = ["left hand", "right hand", "feet", "tongue"]
STARTS_2A = 250 * np.array([1, 9, 17, 25])
SECONDS_2A = 34


def _session_2a(seed: int, run: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Run of 34 s ``(n_times, 25)`` with four trials that start at 1, 9, 17, 25 s, and the numbers of their classes."""
    signal = noise(250 * SECONDS_2A, 25, seed=100 * seed + run)
    return signal, 1 + (np.arange(4) + run) % 4


def write_bcic_2a(root: Path, persons: int = 3, runs: int = 2) -> Path:
    """A run of eye movements, then two with trials. The tone is on POz, row 22, in the second trial of the last run of A02E.

    The third trial of every run is marked as an artefact.
    """
    for person in range(1, persons + 1):
        for session in "TE":
            eye = {"X": noise(250 * 10, 25, seed=person), "trial": np.zeros((0, 0)), "y": np.zeros((0, 0))}
            content: list[dict[str, Any]] = [
                eye | {"fs": 250.0, "classes": cells(CLASSES_2A), "artifacts": np.zeros((0, 0))}
            ]
            for run in range(runs):
                x, y = _session_2a(10 * person + (session == "E"), run)
                if (person, session, run) == (2, "E", runs - 1):
                    x[2750:3750, 21] += tone(1000, 250)
                marks = {"trial": STARTS_2A[:, None] + 1, "y": y[:, None], "artifacts": np.array([[0], [0], [1], [0]])}
                content.append(
                    {"X": x, "fs": 250.0, "classes": cells(CLASSES_2A), "gender": "male", "age": 22.0} | marks
                )
            save(root / f"A0{person}{session}.mat", data=cells(content))
    return root


def write_bcic_2a_gdf(root: Path, persons: int = 3) -> Path:
    """The same two runs with 2 s of missing values between them; cues of E are unknown, true labels in a folder of their own."""
    names = ["EEG-Fz", *(f"EEG-{i}" for i in range(21)), "EOG-left", "EOG-central", "EOG-right"]
    for person in range(1, persons + 1):
        for session in "TE":
            signals, events, truth = [], [], []
            start = 0
            for run in range(2):
                x, y = _session_2a(10 * person + (session == "E"), run)
                if (person, session, run) == (2, "E", 1):
                    x[2750:3750, 21] += tone(1000, 250)
                events += [(start, 32766)]
                for i, number in enumerate(y):
                    begin = start + int(STARTS_2A[i])
                    events += [(begin, 768), (begin + 500, 768 + int(number) if session == "T" else 783)]
                    events += [(begin, 1023)] if i == 2 else []
                truth += y.tolist()
                signals += [np.rint(x.T * 10), np.full((25, 500), -32768)]
                start += 250 * (SECONDS_2A + 2)
            write_gdf(
                root / f"A0{person}{session}.gdf", names, np.hstack(signals).astype(np.int16), 250, sorted(events)
            )
            save(root / "true_labels" / f"A0{person}{session}.mat", classlabel=np.array(truth)[:, None])
    return root


def write_monitoring_errp(root: Path, persons: int = 3, runs: int = 3) -> Path:
    """Per run of 20 s events every 2 s from 1 s on, codes 5, 10, 1, 6, 9, 4, 5, 10, 5. The tone is on Cz, row 48, in the second
    after the fourth event (6) of run 2 of Subject02_s1."""
    codes = np.array([5, 10, 1, 6, 9, 4, 5, 10, 5])
    position = 512 * (1 + 2 * np.arange(len(codes)))
    for person in range(1, persons + 1):
        for session in (1, 2):
            content = np.empty((1, runs), [("eeg", object), ("header", object)])
            for run in range(runs):
                eeg = noise(512 * 20, 64, seed=100 * person + 10 * session + run)
                if (person, session, run) == (2, 1, 1):
                    eeg[position[3] : position[3] + 512, 47] += tone(512, 512)
                event = {"TYP": codes[:, None].astype(float), "POS": position[:, None] + 1.0}
                content[0, run] = (eeg.astype(np.float32), {"SampleRate": 512.0, "EVENT": event})
            save(root / f"Subject{person:02d}_s{session}.mat", run=content)
    return root
