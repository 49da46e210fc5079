"""Tiny trees of the scalp datasets whose recordings are arrays of trials or of whole recordings."""

import pickle
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.io import savemat

PLANTED_HZ, PLANTED_UV = 10.0, 80.0


def noise(*shape: int, seed: int = 0) -> NDArray[np.float64]:
    """Noise of 10 µV."""
    return np.random.default_rng([seed, *shape]).normal(0, 10, shape)


def tone(n_times: int, sfreq: float) -> NDArray[np.float64]:
    """The sine that is planted into one channel of one trial: 80 µV at 10 Hz."""
    return PLANTED_UV * np.sin(2 * np.pi * PLANTED_HZ * np.arange(n_times) / sfreq)


def amplitude(signal: NDArray[np.floating], sfreq: float, start: float, seconds: float) -> NDArray[np.float64]:
    """Amplitude in µV of each row of a signal at the planted frequency, from ``start`` on."""
    first, n = round(start * sfreq), round(seconds * sfreq)
    wave = np.exp(-2j * np.pi * PLANTED_HZ * np.arange(n) / sfreq)
    return np.abs(signal[:, first : first + n] @ wave) * 2 / n


def save(file: Path, compressed: bool = False, **variables: object) -> Path:
    """A MATLAB v5 file; noise is faster to write and read where it is not compressed."""
    file.parent.mkdir(parents=True, exist_ok=True)
    savemat(file, variables, do_compression=compressed)
    return file


def cells(values: Sequence[object]) -> NDArray[np.object_]:
    """A MATLAB cell row."""
    row = np.empty((1, len(values)), object)
    row[0, :] = list(values)
    return row


def write_adhd(root: Path, n_times: int = 128 * 6) -> Path:
    """Two children with ADHD and two without in each pair of folders; the tone is on Pz, the last column, of v1p."""
    for number, (folder, name) in enumerate(
        [("ADHD_part1", "v1p"), ("ADHD_part2", "v200p"), ("Control_part1", "v41p"), ("Control_part2", "v120p")]
    ):
        data = noise(n_times, 19, seed=number)
        if name == "v1p":
            data[:, 18] += tone(n_times, 128)
        save(root / folder / f"{name}.mat", **{name: np.rint(data)})
    return root


def write_adhd_adults(root: Path, seconds: Sequence[float] = (3, 2, 2, 4, 2, 3, 2, 2, 2, 2, 2)) -> Path:
    """Groups of 2, 2, 7 and 2; the tone is on F4 in the fourth cell of the second woman of FC; FADHD's seventh is zero."""
    for seed, (group, n) in enumerate({"FC": 2, "MC": 2, "FADHD": 7, "MADHD": 2}.items()):
        content = [noise(n, round(length * 256), 2, seed=seed + 10 * i) for i, length in enumerate(seconds)]
        if group == "FC":
            content[3][1, :, 1] += tone(content[3].shape[1], 256)
        if group == "FADHD":
            for cell in content:
                cell[6] = 0
        save(root / f"{group}.mat", **{group: cells(content)})
    return root


MODMA = {"02010002": "MDD", "02010004": "MDD", "02020008": "HC", "02030014": "HC"}


def write_modma(root: Path, n_times: int = 250 * 45) -> Path:
    """Irregular file names, variables called after them, and the workbook; the tone is on E17 of 02010004."""
    folder = root / "EEG_128channels_resting_lanzhou_2015"
    for number, person in enumerate(MODMA):
        data = np.vstack([noise(128, n_times, seed=number), np.zeros((1, n_times))])
        if person == "02010004":
            data[16] += tone(n_times, 250)
        name = f"a{person}rest20150416"
        file = f"{person}rest 20150416 1017..mat" if number % 2 else f"{person}_rest.mat"
        save(folder / file, **{name: data, "samplingRate": 250.0, "ECI_TCPIP_55513": cells(["stim", "on", "off"])})
    sheet = pd.DataFrame({"subject id": [int(person) for person in MODMA], "type": list(MODMA.values()), "age": 30})
    sheet.to_excel(folder / "subjects_information_EEG_128channels_resting_lanzhou_2015.xlsx", index=False)
    return root


def write_seed(root: Path, persons: int = 3, dates: Sequence[str] = ("20131027", "20131030", "20140107")) -> Path:
    """A session per date, variables out of order, label.mat among them.

    Clip k lasts 10.5, 20 or 11 s, by k modulo 3. The tone is on CB2, the last channel, in clip 2 of the second session of person 1.
    """
    folder = root / "Preprocessed_EEG"
    for person in range(1, persons + 1):
        for session, date in enumerate(dates):
            clips = {}
            for clip in reversed(range(1, 16)):
                n_times = round(200 * (10.5, 20, 11)[(clip - 1) % 3])
                data = noise(62, n_times, seed=100 * person + 20 * session + clip)
                if (person, session, clip) == (1, 1, 2):
                    data[61] += tone(n_times, 200)
                clips[f"djc_eeg{clip}"] = data.astype(np.float32)
            save(folder / f"{person}_{date}.mat", **clips)
    save(folder / "label.mat", label=np.array([[1, 0, -1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 0, 1, -1]]))
    return root


def write_seed_iv(root: Path, persons: int = 3, n_times: int = 1000) -> Path:
    """Clips of 5 s; the tone is on FP1 in the last clip of session 3 of person 1."""
    for person in range(1, persons + 1):
        for session in (1, 2, 3):
            clips = {
                f"cz_eeg{clip}": noise(62, n_times, seed=100 * person + 30 * session + clip) for clip in range(1, 25)
            }
            if (person, session) == (1, 3):
                clips["cz_eeg24"][0] += tone(n_times, 200)
            clips = {name: data.astype(np.float32) for name, data in clips.items()}
            save(root / "eeg_raw_data" / str(session) / f"{person}_2016051{session}.mat", **clips)
    return root


BRODERICK = {"Cocktail Party": (1, 2, 3, 6), "Natural Speech": (1, 4, 6), "Natural Speech - Reverse": (1, 5)}


def write_broderick(root: Path, n_times: int = 128 * 5) -> Path:
    """Two runs per subject of each folder; Reverse 5 is Natural 4. The tone is on B1, column 33, of Cocktail Party 3, run 2."""
    for task, subjects in BRODERICK.items():
        for subject in subjects:
            for run in (1, 2):
                data = noise(n_times, 128, seed=10 * subject + run + 1000 * len(task)) + 3000
                if (task, subject, run) == ("Cocktail Party", 3, 2):
                    data[:, 32] += tone(n_times, 128)
                file = root / task / "EEG" / f"Subject{subject}" / f"Subject{subject}_Run{run}.mat"
                save(file, eegData=data, mastoids=noise(n_times, 2), fs=128.0)
    return root


def write_shu_mi(root: Path, persons: int = 3, n_trials: int = 6) -> Path:
    """Two sessions; labels alternate 1, 2. The tone is on C4, row 14, in trial 3 of the second session of person 2."""
    for person in range(1, persons + 1):
        for session in (1, 2):
            data = noise(n_trials, 32, 1000, seed=10 * person + session)
            if (person, session) == (2, 2):
                data[2, 13] += tone(1000, 250)
            labels = np.array([[1 + trial % 2 for trial in range(n_trials)]])
            save(
                root / f"sub-{person:03d}_ses-{session:02d}_task_motorimagery_eeg.mat",
                compressed=True,
                data=data,
                labels=labels,
            )
    return root


def write_beta(
    root: Path, persons: Sequence[int] = (1, 2, 16), lengths: tuple[int, int] = (750, 1000), blocks: int = 4
) -> Path:
    """Whole numbers; the tone is on OZ, row 62, of block 2, target 3 (9.0 Hz) of every person, from the flicker on."""
    for person in persons:
        n_times = lengths[int(person > 15)]
        data = _trials(n_times, blocks, 40, person)
        data[61, 125:, 1, 2] += np.rint(tone(n_times - 125, 250)).astype(np.int16)
        save(
            root / f"S{person}.mat",
            compressed=True,
            data={"EEG": data, "suppl_info": {"sub": f"S{person}", "srate": 250.0}},
        )
    return root


def write_benchmark(root: Path, persons: Sequence[int] = (1, 2, 35), n_times: int = 1500, blocks: int = 6) -> Path:
    """The tone is on OZ, row 62, of target 3 (10 Hz), block 2, of every person, from the flicker on."""
    for person in persons:
        data = _trials(n_times, 40, blocks, person)
        data[61, 125:, 2, 1] += np.rint(tone(n_times - 125, 250)).astype(np.int16)
        save(root / f"S{person}.mat", compressed=True, data=data)
    save(root / "Freq_Phase.mat", freqs=np.arange(40.0)[None], phases=np.arange(40.0)[None])
    return root


def _trials(n_times: int, first: int, second: int, seed: int) -> NDArray[np.int16]:
    """Noise that repeats from trial to trial, so that files stay small."""
    return np.tile(np.rint(noise(64, n_times, 1, 1, seed=seed)).astype(np.int16), (1, 1, first, second))


PERCLOS = (0.0, 0.2, 0.35, 0.5, 0.7, 1.0)


def write_seed_vig(root: Path) -> Path:
    """Three people, the first twice; six values of 8 s each. The tone is on O2, the last column, from 8 to 16 s of 1's noon."""
    names = [
        "FT7",
        "FT8",
        "T7",
        "T8",
        "TP7",
        "TP8",
        "CP1",
        "CP2",
        "P1",
        "PZ",
        "P2",
        "PO3",
        "POZ",
        "PO4",
        "O1",
        "OZ",
        "O2",
    ]
    recordings = ("1_20151124_noon_2", "1_20151126_night", "2_20151106_noon", "3_20151024_noon")
    for number, name in enumerate(recordings):
        data = noise(9600, 17, seed=number)
        if number == 0:
            data[1600:3200, 16] += tone(1600, 200)
        chn = cells(names)
        save(
            root / "Raw_Data" / f"{name}.mat", EEG={"data": data, "chn": chn, "sample_rate": 200.0, "node_number": 17.0}
        )
        save(root / "perclos_labels" / f"{name}.mat", perclos=np.array(PERCLOS)[:, None])
    return root


CONCEPTS = ("00001_aardvark", "00002_abacus", "00003_accordion", "00004_acorn")


def write_thingseeg2(root: Path, persons: int = 3, conditions: int = 8, repetitions: int = 4) -> Path:
    """Two pictures of each of four concepts, in training; of the first two in the test. Two concepts are animate.

    The tone is on P2, the last channel, of the second picture of 00002_abacus (condition 3), repetition 2, of sub-01's training.
    """
    names = ["Pz", "P3", "P7", "O1", "Oz", "O2", "P4", "P8", "P1", "P5", "PO7", "PO3", "POz", "PO4", "PO8", "P6", "P2"]
    times = np.arange(-0.2, 0.8, 0.01)
    for person in range(1, persons + 1):
        folder = root / f"sub-{person:02d}"
        folder.mkdir(parents=True)
        for part, shape in {"training": (conditions, repetitions), "test": (2, 5)}.items():
            data = noise(*shape, 17, 100, seed=person) / 10
            if (person, part) == (1, "training"):
                data[3, 2, 16] += tone(100, 100)
            content = {"preprocessed_eeg_data": data, "ch_names": names, "times": times}
            np.save(folder / f"preprocessed_eeg_{part}.npy", np.array(content, dtype=object), allow_pickle=True)
    train = [CONCEPTS[number // 2] for number in range(conditions)]
    images = {"train_img_concepts_THINGS": train, "test_img_concepts_THINGS": list(CONCEPTS[:2])}
    np.save(root / "image_metadata.npy", np.array(images, dtype=object), allow_pickle=True)
    classes = ["animate", "inanimate", "inanimate", "animate"]
    pd.DataFrame({"concept": CONCEPTS, "class": classes}).to_csv(root / "concept_classes.csv", index=False)
    return root


def write_deap(root: Path, persons: int = 3, n_times: int = 8064) -> Path:
    """Pickles as Python 2 wrote them. Valence of trial k is 1 + k mod 9, so that 5 occurs; arousal 9 - k mod 9.

    The tone is on O2, row 32, of trial 4 of person 1, from the end of the baseline on.
    """
    folder = root / "data_preprocessed_python"
    folder.mkdir(parents=True)
    for person in range(1, persons + 1):
        data = noise(40, 40, n_times, seed=person)
        if person == 1:
            data[3, 31, 384:] += tone(n_times - 384, 128)
        trial = np.arange(40) % 9
        labels = np.stack([1.0 + trial, 9.0 - trial, np.full(40, 5.0), np.full(40, 5.0)], axis=1)
        (folder / f"s{person:02d}.dat").write_bytes(python2_pickle({"labels": labels, "data": data}))
    return root


def python2_pickle(arrays: dict[str, NDArray[np.float64]]) -> bytes:
    """A dict of arrays as Python 2's pickle spells it at protocol 2: text and bytes are both old strings."""

    def text(value: str) -> bytes:
        return b"U" + bytes([len(value)]) + value.encode()

    def number(value: int) -> bytes:
        return b"J" + struct.pack("<i", value)

    def array(value: NDArray[np.float64]) -> bytes:
        empty = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n" + number(0) + b"\x85" + text("b") + b"\x87R"
        plain = b"cnumpy\ndtype\n" + text("f8") + number(0) + number(1) + b"\x87R"
        state = number(3) + text("<") + b"NNN" + number(-1) + number(-1) + number(0)
        shape = b"(" + b"".join(number(n) for n in value.shape) + b"t"
        content = value.astype("<f8").tobytes()
        raw = b"T" + struct.pack("<i", len(content)) + content
        return empty + b"(" + number(1) + shape + plain + b"(" + state + b"tb" + b"\x89" + raw + b"tb"

    items = b"".join(text(name) + array(value) for name, value in arrays.items())
    return b"\x80\x02}(" + items + b"u."


def write_faced(root: Path, persons: int = 3, n_times: int = 7500) -> Path:
    """The tone is on A1, the last channel, of clip 14, a neutral one, of sub001."""
    folder = root / "Processed_data"
    folder.mkdir(parents=True)
    for person in range(persons):
        data = noise(28, 32, n_times, seed=person)
        if person == 1:
            data[13, 31] += tone(n_times, 250)
        (folder / f"sub{person:03d}.pkl").write_bytes(pickle.dumps(data, protocol=4))
    return root


def write_eegdenoisenet(root: Path, n_eeg: int = 120, n_eog: int = 90) -> Path:
    """Epochs whose first sample is their number, so that they can be told apart."""
    root.mkdir(parents=True, exist_ok=True)
    for name, n, size in (("EEG", n_eeg, 10.0), ("EOG", n_eog, 60.0)):
        epochs = noise(n, 512, seed=n) * size / 10
        epochs[:, 0] = np.arange(n)
        np.save(root / f"{name}_all_epochs.npy", epochs)
    return root
