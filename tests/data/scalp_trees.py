"""Tiny trees of scalp sets whose labels lie in tables, codes or arrays of their own."""

from pathlib import Path

import numpy as np

from omni_bench.datasets.emoeeg_mc import CH_NAMES
from tests.data.scalp_bids import EEG, SINE_HZ, planted, put, put_channels, put_facts, put_set, put_table

HBN = {
    "RestingState": ("resting_start", "break cnt"),
    "DespicableMe": ("video_start", "video_stop"),
    "FunwithFractals": ("video_start", "video_stop"),
    "ThePresent": ("video_start", "video_stop"),
    "DiaryOfAWimpyKid": ("video_start", "video_stop"),
    "contrastChangeDetection_run-1": ("contrastChangeB1_start", "break cnt"),
    "contrastChangeDetection_run-2": ("contrastChangeB2_start", "break cnt"),
    "contrastChangeDetection_run-3": ("contrastChangeB3_start", "9999"),
    "surroundSupp_run-1": ("surroundSuppB1_start", "boundary"),
    "surroundSupp_run-2": ("surroundSuppB2_start", "video_start"),
    "seqLearning6target": ("seqLearning_start", "seqLearning_stop"),
    "seqLearning8target": ("seqLearning_start", "seqLearning_stop"),
    "symbolSearch": ("symbolSearch_start", None),
}
"""Recording → its marks of start and end; the last runs to its end."""


def write_hbn(root: Path) -> Path:
    """Two people who did all tasks and one who did two; a task lasts from 3 s to 15 s, in a recording of 20 s."""
    people = [f"sub-NDARAA{i}" for i in range(3)]
    columns = {"participant_id": people, "sex": ["F", "M", "M"]}
    availability = {part.replace("_run-", "_"): ["available"] * 3 for part in HBN}
    availability["symbolSearch"] = ["available", "available", "caution"]
    put_table(root / "participants.tsv", columns | availability)
    names = ["E1", "E2", "E3", "E4", "Cz"]
    for person in people:
        for part, (start, end) in HBN.items():
            if person == people[2] and part not in ("ThePresent", "symbolSearch"):
                continue
            file = root / person / "eeg" / f"{person}_task-{part}_eeg.set"
            file.parent.mkdir(parents=True, exist_ok=True)
            signal = planted(5, 500, 20)
            signal[4] = 0
            put_set(file, signal, names, 500, {0.0: "9999"})
            put_channels(file, names, ["EEG"] * 5)
            marks = [("9999", 0.0), (start, 3.0), ("contrastTrial_start", 5.0), (end, 15.0), ("video_stop", 18.0)]
            kept = [(value, onset) for value, onset in marks if value and (end or onset < 15)]
            rows = {"onset": [onset for _, onset in kept], "duration": ["n/a"] * len(kept)}
            put_table(
                file.with_name(f"{person}_task-{part}_events.tsv"), rows | {"value": [value for value, _ in kept]}
            )
        put_facts(root / "task-RestingState_eeg.json", 60)
    return root


def write_scalp_hfo(root: Path) -> Path:
    """Three nights of 24 s at 1024 Hz; N3 from 12 s to 22 s is run 1, on the clock of 2000 Hz."""
    names = [*EEG, "A1", "A2", "T1", "T2"]
    children = ["sub-01", "sub-02", "sub-03"]
    put_table(root / "participants.tsv", {"participant_id": children, "sex": ["f", "f", "m"]})
    put_facts(root / "task-hfo_eeg.json", 50)
    for child in children:
        own = [*names, "Cz2"] if child == "sub-03" else names
        stem = f"{child}_ses-01_task-hfo"
        file = put(root / child / "ses-01/eeg" / f"{stem}_eeg.edf", own, 1024, 24)
        put_channels(file, own, ["EEG"] * len(own))
        folder = root / "derivatives" / child / "ses-01/eeg"
        intervals = {"StartInd": [2048, 12288], "EndInd": [12288, 22528], "SleepStage": ["N2", "N3"], "RunNb": [0, 1]}
        put_table(folder / "DataIntervals.tsv", intervals)
        put(folder / f"{stem}_run-01_eeg.edf", ["Fp1-Fp2", "C3-Cz"], 2000, 10)
        # accepted: within piece 0, and across the border of 3 and 4; rejected: in piece 1
        hfos = {"nChannel": [1, 2, 1], "strChannelName": ["Fp1-Fp2", "C3-Cz", "Fp1-Fp2"]}
        hfos |= {"indStart": [2000, 15990, 6000], "indStop": [2100, 16040, 6100], "EvPassRejection": [1, 1, 0]}
        put_table(folder / f"{stem}_run-01_events.tsv", hfos)
    return root


RATINGS = {301: (9, 8, 7), 302: (2, 4, 3), 303: (6, 6, 6), 304: (1, 2, 3)}
"""Clip → rating of the three listeners; means 8, 3, 6 and 2, so the median is 4.5."""


def write_music_eeg(root: Path) -> Path:
    """Three listeners; clips 301 and 302 in run 2, 303 and 304 in run 3; run 1 is rest."""
    put_table(root / "participants.tsv", {"participant_id": ["sub-01", "sub-02", "sub-03"], "sex": ["f", "m", "f"]})
    for i, person in enumerate(("sub-01", "sub-02", "sub-03")):
        for run, clips in {"run1": (), "run2": (301, 302), "run3": (303, 304)}.items():
            stem = f"{person}_task-{run}"
            file = put(root / person / "eeg" / f"{stem}_eeg.edf", EEG, 1000, 65)
            put_channels(file, EEG, ["EEG"] * 6)
            rows: list[tuple[float, int]] = []
            for n, clip in enumerate(clips):
                at, rating = 2.0 + 30 * n, RATINGS[clip][i]
                answer = (832 if clip == 302 else 900) + rating
                # another question and its answer come first, one more after
                codes = [clip, 788, 801, 905, 800, answer, 806, 901]
                rows += list(zip(at + np.array([0, 0.5, 21, 22, 23, 24, 25, 26]), codes, strict=True))
            columns = {
                "onset": [t for t, _ in rows],
                "duration": [20.0] * len(rows),
                "trial_type": [c for _, c in rows],
            }
            put_table(file.with_name(f"{stem}_events.tsv"), columns)
    return root


def write_emoeeg_mc(root: Path, n_times: int = 1000) -> Path:
    """Films for three people, imagery for the first, without the folder ``eeg``; trial n has a sine of 10 + n µV on C3."""
    trial = np.arange(21)[:, None] + 10.0
    sine = np.sin(2 * np.pi * SINE_HZ * np.arange(n_times) / 200)
    places = {"sub-02": "ses-vid/eeg", "sub-03": "ses-vid/eeg", "sub-04": "ses-vid/eeg"}
    for person, place in [*places.items(), ("sub-02", "ses-ima")]:
        trials = np.random.default_rng(0).normal(0, 1, (21, len(CH_NAMES), n_times)).astype(np.float32)
        trials[:, CH_NAMES.index("C3")] += trial * sine
        folder = root / "derivatives" / person / place
        folder.mkdir(parents=True)
        np.save(folder / f"{person}_{place[:7]}_task-emotion_reorder.npy", trials)
    return root


def write_lemon(root: Path) -> Path:
    """Four people with tables and one without; raw headers name the files by old ids, one raw file still has one."""
    people = [f"sub-03230{i}" for i in range(1, 5)]
    folder = root / "Behavioural_Data_MPILMBB_LEMON"
    rows = {"ID": people, "Gender_ 1=female_2=male": [1, 2, 1, 2], "Age": ["20-25", "35-40", "60-65", "75-80"]}
    put_table(folder / "META_File_IDs_Age_Gender_Education_Drug_Smoke_SKID_LEMON.csv", rows)
    # the median of all five rows is 2.0; the column of ids has no name
    scores = {"": [*people, "sub-039999"], "NEOFFI_Extraversion": [1.0, 2.0, 2.5, 3.0, 1.5]}
    put_table(folder / "Emotion_and_Personality_Test_Battery_LEMON" / "NEO_FFI.csv", scores)
    for i, person in enumerate([*people, "sub-032399"]):
        place = root / "EEG_Raw_BIDS_ID" / person / "RSEEG"
        put(place / f"sub-01000{i}.vhdr", [*EEG, "VEOG"], 500 if i == 1 else 2500, 10)
        for file in list(place.iterdir()) if i else []:
            file.rename(file.with_name(person + file.suffix))
    place = root / "EEG_Preprocessed_BIDS_ID" / "EEG_Preprocessed"
    put(place / f"{people[0]}_EC.set", EEG, 250, 10)
    put(place / f"{people[0]}_EO.set", EEG[:4], 250, 10)
    put(place / people[1] / f"{people[1]}_EC.set", EEG, 250, 10)
    return root


def write_tdbrain(root: Path) -> Path:
    """One person per diagnosis, the first with two sessions; a withheld and an unknown person."""
    names = [*EEG, "VPVA", "VNVB", "HPHL", "HNHR", "Erbs", "OrbOcc", "Mass"]
    said = {"19681349": "MDD", "19681385": "ADHD", "19684666": "OCD", "19686324": "SMC", "19687321": "REPLICATION"}
    ids = [f"sub-{person}" for person in said]
    rows = {"participants_ID": [ids[0], *ids], "sessID": [2, *[1] * 5], "indication": ["MDD", *said.values()]}
    put_table(root / "TDBRAIN_participants_V2.tsv", rows | {"age": ["30,5"] * 6})
    for person, session in [*((person, 1) for person in ids), (ids[0], 2), ("sub-19999999", 1)]:
        for condition in ("restEC", "restEO"):
            stem = f"{person}_ses-{session}_task-{condition}"
            file = put(root / person / f"ses-{session}" / "eeg" / f"{stem}_eeg.vhdr", names, 500, 20)
            if person == ids[1]:
                file.write_text(file.read_text().replace(person, "sub-00000000"))
    return root


def write_cire(root: Path) -> Path:
    """Three people who heard four sentences, two of each condition."""
    put_table(root / "sentences.csv", {"id": [1, 2, 3, 4], "condition": [1, 2, 1, 2], "text": ["a", "b", "c", "d"]})
    for person in ("sub-02", "sub-03", "sub-04"):
        marks = {0.5: "boundary", 2.0: "3", 6.0: "2", 10.0: "1", 14.0: "4"}
        put(root / person / "eeg" / f"{person}_task-CIRE_eeg.set", [*EEG, "HEO", "VEO"], 500, 20, marks)
    return root
