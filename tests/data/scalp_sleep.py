"""Tiny nights in the raw layouts of sleep datasets."""

from pathlib import Path

import edfio

from tests.data.scalp_edf import Note, write_recording

CASSETTE = ["EEG Fpz-Cz", "EEG Pz-Oz", "EOG horizontal"]
LONG_NIGHT: list[Note] = [
    (0, 3000, "Sleep stage W"),
    (3000, 60, "Sleep stage 1"),
    (3060, 90, "Sleep stage 2"),
    (3150, 60, "Sleep stage 3"),
    (3210, 90, "Sleep stage 4"),
    (3300, 60, "Sleep stage R"),
    (3360, 30, "Movement time"),
    (3390, 60, "Sleep stage 2"),
    (3450, 8550, "Sleep stage W"),
    (12000, 600, "Sleep stage ?"),
]
"""Two and a half hours of recording; the scoring goes on."""
SHORT_NIGHT: list[Note] = [
    (0, 300, "Sleep stage W"),
    (300, 90, "Sleep stage 1"),
    (390, 90, "Sleep stage 2"),
    (480, 90, "Sleep stage 3"),
    (570, 30, "Sleep stage 4"),
    (600, 90, "Sleep stage R"),
    (690, 5000, "Sleep stage W"),
]
"""A recording of 1000 s."""
CLINICAL_STAGES = ["W", "W", "N1", "N1", "N2", "N2", "N3", "N3", "R", "R", "W"]
CLINICAL: list[Note] = [
    *[(30.0 * i, 30.0, f"Sleep stage {stage}") for i, stage in enumerate(CLINICAL_STAGES)],
    (46.28, 0.0, "Lights off@@EEG F4-A1"),
]
ISRUC_NAMES = ["LOC-A2", "ROC-A1", "F3-A2", "C3-A2", "O1-A2", "F4-A1", "C4-A1", "O2-A1", "X1"]
STAGES = ["0", "0", "1", "1", "2", "2", "3", "3", "5", "4"]
"""Of a recording of 305 s; lists go on for 30 more epochs."""


def write_sleep_edf(root: Path) -> Path:
    """Three persons, the first with two nights, and one of the telemetry study."""
    folder = root / "sleep-cassette"
    nights = {"SC4001E": (9000, LONG_NIGHT), "SC4002E": (1000, SHORT_NIGHT)}
    nights |= {"SC4011E": (1000, SHORT_NIGHT), "SC4362F": (1000, SHORT_NIGHT), "ST7011J": (60, SHORT_NIGHT)}
    for stem, (seconds, notes) in nights.items():
        slow = ["Temp rectal"]
        write_recording(folder / f"{stem}0-PSG.edf", CASSETTE, 100, seconds, sine="EEG Pz-Oz", slow=slow)
        edfio.Edf([], annotations=[edfio.EdfAnnotation(*note) for note in notes]).write(
            folder / f"{stem}C-Hypnogram.edf"
        )
    return root


def write_hmc(root: Path) -> Path:
    """Scoring as EDF+ of the first person, as a table of the others."""
    names = ["EEG F4-M1", "EEG C4-M1", "EEG O2-M1", "EEG C3-M2", "EMG chin", "EOG E1-M2", "EOG E2-M2", "ECG"]
    for person in ("SN001", "SN002", "SN003"):
        file = write_recording(root / "recordings" / f"{person}.edf", names, 256, 345, sine="EEG O2-M1")
        scoring = file.with_name(f"{person}_sleepscoring")
        if person == "SN001":
            edfio.Edf([], annotations=[edfio.EdfAnnotation(*note) for note in CLINICAL]).write(
                scoring.with_suffix(".edf")
            )
            continue
        lines = ["Date, Time, Recording onset, Duration, Annotation, Linked channel"]
        lines += [f"01.01.01, 23.30.00, {onset:g}, {lasts:g}, {text}, " for onset, lasts, text in CLINICAL]
        scoring.with_suffix(".txt").write_text("\n".join(lines) + "\n")
    return root


def write_isruc(root: Path, number: int, persons: int = 3) -> Path:
    """Subgroup 1 or 3: one night per person; subgroup 2: two. The second person's channels have another order and names."""
    for person in range(1, persons + 1):
        names = [n.replace("-A", "-M") for n in reversed(ISRUC_NAMES)] if person == 2 else ISRUC_NAMES
        sine = "C4-M1" if person == 2 else "C4-A1"
        for night in ("1", "2") if number == 2 else (None,):
            folder = root / f"Subgroup_{number}" / str(person) / (night or "")
            stem = night or str(person)
            write_recording(folder / f"{stem}.edf", names, 200, 305, sine=sine).rename(folder / f"{stem}.rec")
            for scorer, first in ((1, STAGES), (2, ["1"] * 10)):
                (folder / f"{stem}_{scorer}.txt").write_text("\n".join([*first, *["0"] * 30]) + "\n\n")
    return root
