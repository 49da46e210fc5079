"""Tiny trees of EDF files in the raw layouts of scalp datasets.

Every EEG channel is noise of 20 µV but one, which is a sine of known amplitude, so that unit and order of channels show.
"""

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path

import edfio
import numpy as np

from omni_bench.data.cohort import Cohort
from omni_bench.data.store import map_signal, open_store
from omni_bench.signal.electrode_names import electrode_names
from tests.scalp_cards import amplitudes

TEN_TWENTY = ["FP1", "FP2", "F3", "F4", "C3", "C4", "P3", "P4", "O1", "O2", "F7", "F8", "T3", "T4", "T5", "T6"]
MIDLINE = ["FZ", "CZ", "PZ"]
EARS = ["A1", "A2"]
NOISE_UV, SINE_UV, SINE_HZ = 20.0, 100.0, 7.0
Note = tuple[float, float | None, str]


def write_recording(
    path: Path,
    labels: Sequence[str],
    sfreq: float,
    seconds: int,
    *,
    sine: str | None = None,
    notes: Sequence[Note] = (),
    start: str = "00:00:00",
    slow: Sequence[str] = (),
) -> Path:
    """An EDF file whose channel ``sine`` is a sine of 100 µV at 7 Hz, and EDF+ if it has annotations.

    ``slow`` are further signals of one sample per second, without a voltage.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    n = round(seconds * sfreq)
    noise = np.random.default_rng([len(labels), seconds]).normal(0, NOISE_UV, (len(labels), n))
    if sine is not None:
        noise[list(labels).index(sine)] = SINE_UV * np.sin(2 * np.pi * SINE_HZ * np.arange(n) / sfreq)
    signals = [
        edfio.EdfSignal(row, sfreq, label=label, physical_dimension="uV", physical_range=(-3276.8, 3276.7))
        for label, row in zip(labels, noise, strict=True)
    ]
    signals += [
        edfio.EdfSignal(np.linspace(0, 40, seconds), 1, label=label, physical_dimension="DegC", physical_range=(0, 50))
        for label in slow
    ]
    clock = datetime.time.fromisoformat(start)
    annotations = [edfio.EdfAnnotation(*note) for note in notes]
    edfio.Edf(signals, starttime=clock, data_record_duration=1.0, annotations=annotations or None).write(path)
    return path


def only_sine(cohort: Cohort, recording: str) -> str:
    """The one channel, by its normalised name, that holds the planted sine in µV as the cohort opens the recording."""
    raw = cohort.open(recording)
    found = amplitudes(raw.read(), raw.sfreq, SINE_HZ)
    held = np.flatnonzero(found > NOISE_UV / 2)
    assert len(held) == 1, dict(zip(raw.ch_names, found, strict=True))
    assert abs(found[held[0]] - SINE_UV) < 0.5
    return electrode_names(raw.ch_names)[held[0]]


def stored_sines(store: Path, channel: str, seconds: int) -> list[float]:
    """Amplitude of a channel's sine in µV in every stored recording, over its first whole seconds."""
    found = []
    for file in store.glob("*.h5"):
        stored = open_store(file)
        row = electrode_names(stored.ch_names).index(channel)
        signal = map_signal(file)[row : row + 1, : round(seconds * stored.sfreq)]
        found.append(float(amplitudes(signal, stored.sfreq, SINE_HZ)[0]))
    return found


def events_of(cohort: Cohort, recording: str, *columns: str) -> list[list[object]]:
    """Rows of a recording's events: onset, duration, trial_type, or other columns."""
    assert cohort.events is not None
    own = cohort.events[cohort.events["recording"] == recording]
    return own[list(columns or ("onset", "duration", "trial_type"))].to_numpy().tolist()


def count(cohort: Cohort, reason: str) -> int:
    """How much was left out for reasons that hold these words."""
    return sum(entry["n"] for entry in cohort.excluded if reason in entry["reason"])


def reference(names: Sequence[str], suffix: str = "REF") -> list[str]:
    """As the Temple University corpora spell channels, with one that is no EEG."""
    return [f"EEG {name}-{suffix}" for name in names] + [f"EEG EKG1-{suffix}"]


def write_tuab(root: Path, n_eval: int = 2, n_train: int = 4, seconds: int = 10) -> Path:
    """Persons aaaaaaaa, aaaaaaab, ... take turns in normal and abnormal; the first ones are those of the evaluation."""
    labels = reference([*reversed(TEN_TWENTY), *MIDLINE, *EARS, "T1", "T2"])
    for i in range(n_eval + n_train):
        split, label = "eval" if i < n_eval else "train", ("normal", "abnormal")[i % 2]
        person = f"aaaaaaa{chr(ord('a') + i)}"
        file = root / "edf" / split / label / "01_tcp_ar" / f"{person}_s004_t000.edf"
        write_recording(file, labels, 250 if i else 256, seconds, sine="EEG O2-REF")
    return root


def write_tuev(root: Path) -> Path:
    """Two persons of the training part, two of the evaluation part."""
    names = [*TEN_TWENTY, *EARS, *MIDLINE]
    lines = {
        "train/aaaaaaar/aaaaaaar_00000001": ["0,1.0,2.0,6", *_rows([4, 5, 9], 10.5, 1), *_rows([9], 12.5, 2)],
        "train/aaaaaaas/aaaaaaas_00000001": [*_rows([0, 4], 20, 4), *_rows([0], 30, 5), *_rows(range(22), 40, 6)],
        "eval/032/bckg_032_a_": [*_rows(range(5), 10, 6), *_rows([7], 10, 3), *_rows([2], 30, 1), *_rows([3], 42, 2)],
        "eval/032/bckg_032_a_1": [*_rows([2], 10, 3), *_rows([3, 4], 10, 5), *_rows([8], 30, 4)],
        "eval/041/gped_041_a_": [row for code in range(1, 6) for row in _rows([2], 10 * code, code)],
    }
    for stem, rows in lines.items():
        swapped = [names[1], names[0], *names[2:]] if stem.startswith("eval/032") else names
        path = root / "edf" / f"{stem}.edf"
        write_recording(path, reference(swapped), 250, 60, sine="EEG FP2-REF")
        path.with_suffix(".rec").write_text("\n".join(rows) + "\n")
    return root


def _rows(derivations: Sequence[int], start: float, code: int) -> list[str]:
    return [f"{index},{start:g},{start + 1:g},{code}" for index in derivations]


def write_tuep(root: Path, n_persons: int = 4, seconds: int = 10) -> Path:
    """Persons take turns in epilepsy and none; montages in averaged ears, linked ears, and no ears."""
    montages = {"01_tcp_ar": ("REF", EARS), "02_tcp_le": ("LE", EARS), "03_tcp_ar_a": ("REF", [])}
    for i in range(n_persons):
        person, group = f"aaaaaab{chr(ord('a') + i)}", ("00_epilepsy", "01_no_epilepsy")[i % 2]
        montage, (suffix, ears) = list(montages.items())[i % 3]
        file = root / group / person / "s001_2003" / montage / f"{person}_s001_t000.edf"
        write_recording(file, reference([*ears, *TEN_TWENTY, *MIDLINE], suffix), 250, seconds, sine=f"EEG T3-{suffix}")
    return root


def write_tusl(root: Path, persons: Sequence[str] = ("aaaaaaju", "aaaaaajv", "aaaaaajw")) -> Path:
    """One recording per person with ten seconds of each class, background from 30 s on."""
    for person in persons:
        file = root / "edf" / person / "s005_2010" / "01_tcp_ar" / f"{person}_s005_t000.edf"
        write_recording(file, reference([*TEN_TWENTY, *MIDLINE, *EARS]), 250, 60, sine="EEG C3-REF")
        rows = [(ch, 5.0, 15.0, "seiz") for ch in ("FP1-F7", "F7-T3")] + [("C3-CZ", 17.25, 27.25, "slow")]
        rows += [(ch, 30.0, 40.0, "bckg") for ch in ("FP1-F7", "T3-T5", "O1-A1")]
        lines = ["# version = csv_v1.0.0", "# bname = x", "channel,start_time,stop_time,label,confidence"]
        lines += [f"{ch},{start:.4f},{stop:.4f},{label},1.0000" for ch, start, stop, label in rows]
        file.with_suffix(".csv").write_text("\n".join(lines) + "\n")
    return root


SIENA_LISTS = {
    "PN00": """Sampling rate: 512 Hz
Channel 1: Fp1
Seizure n 1
File name: PN00-1.edf
Registration start time: 19.39.33
Registration end time:  19.41.33
Seizure start time: 19.39.53
Seizure end time: 19.40.13

Seizure n 2
File name: PN00-3.edf
Registration start time: 18.15.44
Registration end time: 18.57.13
Seizure start time: 18.28.29
Seizure end time: 19.29.29
""",
    "PN01": """File name: PN01.edf
Registration start time: 23:59:00
Registration end time: 00:01:00

Seizure n 1(in first)
Start time: 23:59:50
End time: 00:00:20
Seizure n 2
Start time: 00:00:25
End time: 00.00:45
""",
    "PN06": """Seizure n 1
File name: PNO6-1.edf
Registration start time: 01.23.45
Seizure start time: 04.00.10 (CLINICAL ONSET); 04.00.16 (ELECTRIC ONSET)
Seizure end time: 04.00.40 opure 04.00.35
""",
}
SIENA_STARTS = {"PN00-1": "19:39:33", "PN00-3": "18:27:44", "PN01-1": "23:59:00", "PN06-1": "04:00:00"}


def write_siena(root: Path) -> Path:
    """Recordings of two minutes. The end of a seizure is an hour late; a list's registration start is wrong."""
    names = [*(n.title() for n in TEN_TWENTY), "Fz", "Pz", "CP1", "Fc6", "F9"]
    for stem, start in SIENA_STARTS.items():
        file = root / stem[:4] / f"{stem}.edf"
        labels = [*(f"EEG {name}" for name in names), "Cz", "EKG EKG", "MK"]
        write_recording(file, labels, 512, 120, sine="EEG T6", start=start, slow=["SPO2"])
    for person, text in SIENA_LISTS.items():
        (root / person / f"Seizures-list-{person}.txt").write_text(text)
    return root


def write_mdd(root: Path, n_persons: int = 4, seconds: int = 10) -> Path:
    """Persons of both groups with the same numbers; conditions by turns; two files of H S15 EO."""
    labels = [f"EEG {n.title()}-LE" for n in [*TEN_TWENTY, *MIDLINE]] + ["EEG A2-A1"]
    more = [*labels, "EEG 23A-23R", "EEG 24A-24R"]
    for i in range(n_persons):
        group, condition = ("H", "MDD")[i % 2], ("EC", "EO", "TASK")[i % 3]
        blanks = " " * (1 + i % 2)
        file = root / f"{group} S{1 + i // 2}{blanks}{condition}.edf"
        write_recording(file, more if i % 2 else labels, 256, seconds, sine="EEG Pz-LE")
    for upload, length in (("6921143", 12), ("6921959", seconds)):
        write_recording(root / f"{upload}_H S15 EO.edf", labels, 256, length, sine="EEG Pz-LE")
    return root


def write_eegmat(root: Path, persons: int = 3) -> Path:
    """Rest of 32 s, arithmetic of 12 s."""
    labels = [f"EEG {n.title()}" for n in [*TEN_TWENTY, *MIDLINE]] + ["EEG A2-A1", "ECG ECG"]
    for i in range(persons):
        for run, seconds in ((1, 32), (2, 12)):
            write_recording(root / f"Subject{i:02d}_{run}.edf", labels, 500, seconds, sine="EEG Fp2")
    return root


MOTOR_NAMES = ["Fc5.", "Fcz.", "C3..", "Cz..", "C4..", "Cp5.", "Cpz.", "O1..", "Oz..", "O2.."]


def write_physionet_mi(root: Path, below: str = "") -> Path:
    """Persons S001, S002 and, at 128 Hz with longer trials, S088; runs 3, 4 and 6, a trial of each kind and one cut short."""
    for person, sfreq, trial_s in (("S001", 160, 4.1), ("S002", 160, 4.2), ("S088", 128, 5.125)):
        for run in (3, 4, 6):
            notes = [
                (0.0, 4.2, "T0"),
                (4.2, trial_s, "T1"),
                (10.0, 4.2, "T0"),
                (14.2, trial_s, "T2"),
                (25.0, 1.0, "T1"),
            ]
            write_recording(
                root / below / person / f"{person}R{run:02d}.edf", MOTOR_NAMES, sfreq, 30, sine="C4..", notes=notes
            )
    return root


def edit(path: Path, changes: Mapping[str, str]) -> None:
    """Replace text in a file."""
    text = path.read_text()
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
