"""Tiny trees of Neuroscan CNT files and epoched EEGLAB files, in the raw layouts of the datasets that come so."""

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.io import savemat

SETUP, ELECTLOC = 900, 75
SENSITIVITY = 2.048
"""Makes one bit a hundredth of a microvolt (bit × sensitivity / 204.8)."""
UV_PER_BIT = SENSITIVITY / 204.8
_CAP = """
FP1 FPZ FP2 AF3 AF4 F7 F5 F3 F1 FZ F2 F4 F6 F8 FT7 FC5 FC3 FC1 FCZ FC2 FC4 FC6 FT8 T7 C5 C3 C1 CZ C2 C4 C6 T8 M1 TP7 CP5
CP3 CP1 CPZ CP2 CP4 CP6 TP8 M2 P7 P5 P3 P1 PZ P2 P4 P6 P8 PO7 PO5 PO3 POZ PO4 PO6 PO8 CB1 O1 OZ O2 CB2 VEO HEO
"""
SEED_NAMES = _CAP.split()
FEW_NAMES = ["FP1", "C3", "CZ", "C4", "M1", "M2", "PZ", "OZ", "VEO", "HEO"]
"""For runs, whose time goes by channels."""


def write_cnt(
    path: Path, signal: np.ndarray, ch_names: Sequence[str], sfreq: int = 1000, marks: Sequence[tuple[float, int]] = ()
) -> None:
    """A continuous file of 32 bits: setup, electrodes, samples interleaved, event table of type 1.

    ``signal`` in µV (n_channels, n_times); ``marks`` are (s, code).
    """
    n_channels, n_times = signal.shape
    data = SETUP + ELECTLOC * n_channels
    table = data + 4 * n_channels * n_times
    setup = bytearray(SETUP)
    setup[:12] = b"Version 3.0\0"
    setup[225:245] = b"01/03/18\x00\x0014:35:20\x00\x00"
    for place, layout, value in [
        (370, "<H", n_channels),
        (376, "<H", sfreq),
        (864, "<i", n_times),
        (886, "<i", table),
        (894, "<i", 1),
    ]:
        struct.pack_into(layout, setup, place, value)
    electrodes = bytearray()
    for i, name in enumerate(ch_names):
        one = bytearray(ELECTLOC)
        one[: len(name)] = name.encode()
        angle = 2 * np.pi * i / n_channels
        struct.pack_into("<ff", one, 19, 300 + 100 * np.cos(angle), 200 + 100 * np.sin(angle))
        struct.pack_into("<f", one, 59, SENSITIVITY)
        struct.pack_into("<f", one, 71, 1.0)
        electrodes += one
    bits = np.rint(signal / UV_PER_BIT).astype("<i4").T.tobytes()
    # Neuroscan points behind the marked sample
    events = b"".join(
        struct.pack("<HBcl", code, 0, b"\0", data + 4 * n_channels * (round(onset * sfreq) + 1))
        for onset, code in marks
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(setup) + bytes(electrodes) + bits + struct.pack("<Bll", 1, len(events), 0) + events)


def noise(n_channels: int, seconds: float, seed: int, sfreq: int = 1000) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 10, (n_channels, round(seconds * sfreq)))


def tone(seconds: float, sfreq: int = 1000, amplitude: float = 50.0, frequency: float = 10.0) -> np.ndarray:
    return amplitude * np.sin(2 * np.pi * frequency * np.arange(round(seconds * sfreq)) / sfreq)


def plant(signal: np.ndarray, channel: int, onset: float, seconds: float, sfreq: int = 1000) -> None:
    """Put a tone of 50 µV and 10 Hz on a channel."""
    first = round(onset * sfreq)
    signal[channel, first : first + round(seconds * sfreq)] += tone(seconds, sfreq)


def write_seed(
    root: Path,
    names: Mapping[str, str],
    cap: Sequence[str] = SEED_NAMES,
    seconds: float = 16,
    marks: Mapping[str, Sequence[tuple[float, int]]] | None = None,
) -> None:
    """CNT files with a tone on OZ from 10 to 12 s; ``names`` is path → key of its ``marks``."""
    for i, (file, key) in enumerate(names.items()):
        signal = noise(len(cap), seconds, i)
        plant(signal, cap.index("OZ"), 10.0, 2.0)
        write_cnt(root / file, signal, cap, marks=(marks or {}).get(key, ()))


def write_svrec(root: Path, cap: Sequence[str] = SEED_NAMES) -> None:
    """Four clips per person, shown for 2 s at 1, 4, 7 and 10 s; every second one is liked."""
    for i, person in enumerate(("1", "2", "3")):
        write_cnt(root / "eeg" / f"{person}_data.cnt", noise(len(cap), 13, i), cap)
        clips = [
            {
                "eeg_start_time": 1000 + 3000 * k,
                "eeg_end_time": 3000 + 3000 * k,
                "like": k % 2,
                "valence": 1 + k,
                "arousal": 5 - k,
                "immersion": 3,
                "session_mode": "randomized",
            }
            for k in range(4)
        ]
        file = root / "data" / "metadata" / f"{person}_behavior_MAES.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(clips))


def write_dual_frequency(root: Path, n_targets: int, cap: Sequence[str] = SEED_NAMES) -> None:
    """One block of trials of 1 s, target k at k s, and control marks that are no trials."""
    for i in (1, 2, 3):
        marks = [(0.5, 253), *((float(k), k) for k in range(1, n_targets + 1)), (n_targets + 1.0, 254)]
        signal = noise(len(cap), n_targets + 3, i)
        plant(signal, cap.index("OZ"), 2.0, 1.0)
        write_cnt(root / f"Subject {i:02d}.cnt", signal, cap, marks=sorted(marks))


CONDITIONS = ("RS", "MATBeasy", "MATBmed", "MATBdiff")
WORKLOAD_NAMES = ["Fp1", "Fz", "F3", "Oz", "ECG1"]


def write_workload(root: Path, persons: Sequence[int] = (1, 2, 3), n_epochs: int = 4) -> None:
    """Epochs of 2 s at 500 Hz; a tone on Oz in the second epoch of the difficult condition."""
    for person in persons:
        for session in (1, 2):
            for k, condition in enumerate(CONDITIONS):
                data = np.random.default_rng([person, session, k]).normal(0, 10, (5, 1000, n_epochs))
                if condition == "MATBdiff":
                    data[3, :, 1] += tone(2.0, 500)
                folder = root / f"P{person:02d}" / f"S{session}" / "eeg"
                write_epoched_set(folder / f"alldata_sbj{person:02d}_sess{session}_{condition}.set", data, 500.0)


def write_epoched_set(file: Path, data: np.ndarray, sfreq: float) -> None:
    """EEGLAB's struct with data (n_channels, n_times, n_epochs) in µV, one event per epoch."""
    n_channels, n_times, n_epochs = data.shape
    numbers = np.arange(n_epochs)
    event = np.rec.fromarrays(
        [["matb"] * n_epochs, numbers * n_times + 1.0, numbers + 1.0], names="type,latency,epoch", formats="O,f8,f8"
    )
    epoch = np.rec.fromarrays(
        [numbers + 1.0, ["matb"] * n_epochs, [0.0] * n_epochs], names="event,eventtype,eventlatency", formats="O,O,O"
    )
    chanlocs = np.rec.fromarrays([WORKLOAD_NAMES[:n_channels]], names="labels", formats="O")
    facts = {"setname": file.stem, "nbchan": n_channels, "pnts": n_times, "trials": n_epochs, "srate": sfreq}
    times = {"xmin": 0.0, "xmax": (n_times - 1) / sfreq, "data": data.astype("float32"), "ref": "common", "icawinv": []}
    file.parent.mkdir(parents=True, exist_ok=True)
    savemat(file, {"EEG": {**facts, **times, "event": event, "epoch": epoch, "chanlocs": chanlocs}}, appendmat=False)
