"""EDF trees of clinical, cognitive and motor datasets."""

import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from omegaconf import OmegaConf

from omni_bench.data.preprocess import Preprocessing, preprocess
from omni_bench.datasets.siena import listed_seizures
from omni_bench.errors import BenchError
from omni_bench.locate import card_root
from tests.data import scalp_edf as trees
from tests.data.scalp_cards import cohort_of
from tests.data.scalp_edf import count, events_of, only_sine, stored_sines
from tests.scalp_runs import probe

REST = ("non-seizure", "seizure")


def test_tuab(tmp_path: Path) -> None:
    root = trees.write_tuab(tmp_path)
    old = root / "edf/train/normal/01_tcp_ar"
    (old / "000/aaaaaaac/s004_2010_01_02").mkdir(parents=True)
    (old / "aaaaaaac_s004_t000.edf").rename(old / "000/aaaaaaac/s004_2010_01_02/aaaaaaac_s004_t000.edf")
    poor = root / "edf/train/abnormal/01_tcp_ar/aaaaaaaz_s001_t000.edf"
    trees.write_recording(poor, trees.reference([*trees.TEN_TWENTY, *trees.MIDLINE]), 250, 5)
    cohort = cohort_of("tuab", root)
    persons = cohort.patients.set_index("subject")
    assert persons["split"].to_dict() == {f"aaaaaaa{c}": "test" if c in "ab" else "train" for c in "abcdef"}
    assert count(cohort, "without EEG channel A1") == 1
    recordings = cohort.recordings.set_index("recording")
    assert recordings.groupby("sfreq")["subject"].agg(list).to_dict() == {
        250: ["aaaaaaab", "aaaaaaad", "aaaaaaaf", "aaaaaaac", "aaaaaaae"],
        256: ["aaaaaaaa"],
    }
    assert recordings.loc["aaaaaaac_ses-004_run-000", "path"].endswith("s004_2010_01_02/aaaaaaac_s004_t000.edf")
    assert events_of(cohort, "aaaaaaab_ses-004_run-000") == [[0, 10, "abnormal"]]
    # the card's order, not the file's
    assert cohort.channels["channel"].tolist()[:3] == ["FP1", "FP2", "F3"]
    assert cohort.channels.groupby("recording").size().unique().tolist() == [23]
    assert only_sine(cohort, "aaaaaaab_ses-004_run-000") == "O2"


def test_a_person_in_both_parts_of_the_official_split(tmp_path: Path) -> None:
    root = trees.write_tuab(tmp_path, n_eval=1, n_train=1)
    shutil.copytree(root / "edf/eval/normal", root / "edf/train/abnormal", dirs_exist_ok=True)
    (root / "edf/train/abnormal/01_tcp_ar/aaaaaaaa_s004_t000.edf").rename(
        root / "edf/train/abnormal/01_tcp_ar/aaaaaaaa_s005_t000.edf"
    )
    with pytest.raises(BenchError, match="aaaaaaaa stands in two parts of the dataset's own split"):
        cohort_of("tuab", root)


def test_tuev_labels_belong_to_derivations(tmp_path: Path) -> None:
    cohort = cohort_of("tuev", trees.write_tuev(tmp_path))
    assert cohort.patients.set_index("subject")["split"].to_dict() == {
        "032": "test",
        "041": "test",
        "aaaaaaar": "train",
        "aaaaaaas": "train",
    }
    columns = ("onset", "duration", "trial_type", "derivation")
    assert events_of(cohort, "aaaaaaar_run-aaaaaaar_00000001", *columns) == [
        [-1, 5, "bckg", "FP1-F7"],
        [8.5, 5, "spsw", "FP2-F8 F8-T4 T3-C3"],
        [10.5, 5, "gped", "T3-C3"],
    ]
    # background yields however many derivations it has; otherwise more derivations hold
    assert events_of(cohort, "032_run-bckg_032_a_", "trial_type") == [["pled"], ["spsw"], ["gped"]]
    assert events_of(cohort, "032_run-bckg_032_a_1", "trial_type") == [["artf"], ["eyem"]]
    assert count(cohort, "same event on a further derivation") == 2 + 1 + 21 + 4 + 1
    assert count(cohort, "another label") == 2
    for recording in ("aaaaaaas_run-aaaaaaas_00000001", "032_run-bckg_032_a_"):  # FP2 stands first in the second
        assert only_sine(cohort, recording) == "FP2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("22,1.0,2.0,6\n", "derivation"),
        ("0,1.0,2.0,7\n", "code"),
        ("0,1.0,2.0\n", "derivation"),
        ("0,one,2.0,6\n", "not a table of numbers"),
        (None, "no aaaaaaas_00000001.rec beside it"),
    ],
)
def test_broken_rec(tmp_path: Path, text: str | None, message: str) -> None:
    root = trees.write_tuev(tmp_path)
    rec = root / "edf/train/aaaaaaas/aaaaaaas_00000001.rec"
    if text is None:
        rec.unlink()
    else:
        rec.write_text(text)
    with pytest.raises(BenchError, match=message):
        cohort_of("tuev", root)
    assert "aaaaaaas" not in set(cohort_of("tuev", root, on_error="skip").patients["subject"])


def test_tuep(tmp_path: Path) -> None:
    cohort = cohort_of("tuep", trees.write_tuep(tmp_path))
    assert cohort.events is not None
    assert cohort.events["trial_type"].tolist() == ["00_epilepsy", "00_epilepsy", "01_no_epilepsy", "01_no_epilepsy"]
    assert set(cohort.events["montage"]) == {"01_tcp_ar", "02_tcp_le", "03_tcp_ar_a"}
    assert cohort.channels.groupby("recording")["channel"].agg(list).map(len).unique().tolist() == [19]
    for recording in cohort.recordings["recording"]:
        assert only_sine(cohort, recording) == "T3"
    card = OmegaConf.load(card_root() / "conf" / "task" / "tuep.yaml")
    assert card.classes[card.samples.labels["00_epilepsy"]] == "epilepsy"


def test_tusl(tmp_path: Path) -> None:
    root = trees.write_tusl(tmp_path)
    columns = ("onset", "duration", "trial_type", "derivation")
    assert events_of(cohort_of("tusl", root), "aaaaaaju_ses-005_run-000", *columns) == [
        [5, 10, "seiz", "FP1-F7 F7-T3"],
        [17.25, 10, "slow", "C3-CZ"],
        [30, 10, "bckg", "FP1-F7 T3-T5 O1-A1"],
    ]
    csv = root / "edf/aaaaaaju/s005_2010/01_tcp_ar/aaaaaaju_s005_t000.csv"
    trees.edit(csv, {"stop_time": "end"})
    with pytest.raises(BenchError, match="no column stop_time"):
        cohort_of("tusl", root)


def test_siena(tmp_path: Path) -> None:
    cohort = cohort_of("siena", trees.write_siena(tmp_path))
    assert cohort.patients["subject"].tolist() == ["PN00", "PN01", "PN06"]

    assert events_of(cohort, "PN00_run-1") == [[0, 20, REST[0]], [20, 20, REST[1]], [40, 80, REST[0]]]
    # corrected, else the seizure would end an hour after the recording
    assert events_of(cohort, "PN00_run-3") == [[0, 45, REST[0]], [45, 60, REST[1]], [105, 15, REST[0]]]
    # past midnight; five seconds between the seizures hold no window
    assert events_of(cohort, "PN01_run-1") == [
        [0, 50, REST[0]],
        [50, 30, REST[1]],
        [85, 20, REST[1]],
        [105, 15, REST[0]],
    ]
    assert count(cohort, "shorter than 10 s") == 1
    grid = partial(listed_seizures, names={"PN01.edf": "PN01-1.edf"}, grid_s=15)
    first = cohort_of("siena", tmp_path, pattern=r"(?P<subject>PN01)/PN01-(?P<run>1)\.edf$", events=grid)
    touched = [row[0] for row in events_of(first, "PN01_run-1") if row[2] == REST[1]]
    assert touched == [45, 60, 75, 90]  # seizures from 50 to 80 and from 85 to 105 s
    assert len(events_of(first, "PN01_run-1")) == 8
    # from the header's start, and the first of two times
    assert events_of(cohort, "PN06_run-1") == [[0, 10, REST[0]], [10, 30, REST[1]], [40, 80, REST[0]]]
    assert only_sine(cohort, "PN00_run-3") == "T6"
    assert set(cohort.channels["channel"]) == {*trees.TEN_TWENTY, *trees.MIDLINE}


@pytest.mark.parametrize(
    ("person", "changes", "message"),
    [
        ("PN00", {"19.29.29": "19.30.29"}, "from 45 to 3765 s, but the recording has 120 s"),
        ("PN06", {"PNO6-1": "PN06-7"}, "names PN06-7.edf, which is not there, but not PN06-1.edf"),
        ("PN06", {"Seizure end time: 04.00.40 opure 04.00.35": "Seizure end time: soon"}, "'Seizure end time: soon'"),
        ("PN01", {"Start time: 23:59:50\n": ""}, "'End time: 00:00:20', expected times of day of a start"),
        ("PN01", {"File name": "Name"}, "after a file name"),
    ],
)
def test_broken_seizure_list(tmp_path: Path, person: str, changes: dict[str, str], message: str) -> None:
    root = trees.write_siena(tmp_path)
    trees.edit(root / person / f"Seizures-list-{person}.txt", changes)
    with pytest.raises(BenchError, match=message):
        cohort_of("siena", root)


def test_mdd(tmp_path: Path) -> None:
    cohort = cohort_of("mdd", trees.write_mdd(tmp_path))
    assert cohort.patients["person"].tolist() == ["H15", "H1", "H2", "MDD1", "MDD2"]
    assert cohort.recordings.set_index("recording").loc["H15_task-EO", "duration"] == 10
    assert count(cohort, "H S15 EO") == 1
    assert cohort.events is not None
    assert cohort.events.groupby("recording")["trial_type"].first().to_dict() == {
        "H15_task-EO": "H",
        "H1_task-EC": "H",
        "H2_task-TASK": "H",
        "MDD1_task-EO": "MDD",
        "MDD2_task-EC": "MDD",
    }
    assert cohort.channels.groupby("recording").size().unique().tolist() == [19]
    assert only_sine(cohort, "MDD1_task-EO") == "PZ"
    assert set(cohort.filter(task=["EC", "EO"]).recordings["task"]) == {"EC", "EO"}


def test_one_recording_in_two_files(tmp_path: Path) -> None:
    root = trees.write_mdd(tmp_path)
    shutil.copy(root / "H S1 EC.edf", root / "H S1  EC.edf")
    with pytest.raises(BenchError, match="are one recording of H1: keep one"):
        cohort_of("mdd", root)


def test_eegmat(tmp_path: Path) -> None:
    cohort = cohort_of("eegmat", trees.write_eegmat(tmp_path))
    assert cohort.patients["person"].tolist() == ["Subject00", "Subject01", "Subject02"]
    assert events_of(cohort, "Subject01_run-2", "onset", "duration", "run") == [[0, 12, "2"]]
    assert not {"A2-A1", "A2", "ECG"} & set(cohort.channels["channel"])
    assert only_sine(cohort, "Subject01_run-2") == "FP2"


def test_runs_tell_what_codes_mean(tmp_path: Path) -> None:
    cohort = cohort_of("physionet_mi", trees.write_physionet_mi(tmp_path, below="files"))
    assert cohort.recordings.set_index("recording")["sfreq"].to_dict() == {
        f"{person}_run-{run}": rate
        for person, rate in (("S001", 160), ("S002", 160), ("S088", 128))
        for run in ("04", "06")
    }
    assert events_of(cohort, "S001_run-04") == [[4.2, 4.1, "left fist"], [14.2, 4.1, "right fist"]]
    assert events_of(cohort, "S088_run-06") == [[4.2, 5.125, "both fists"], [14.2, 5.125, "both feet"]]
    assert count(cohort, "shorter than 4 s") == 6
    assert count(cohort, "read.pattern does not name") == 3
    assert cohort.channels["channel"].tolist()[:3] == ["FC5", "FCZ", "C3"]
    assert only_sine(cohort, "S088_run-06") == "C4"
    odd = cohort_of("physionet_mi", tmp_path, exclude={"S088": "odd rate"})
    assert count(odd, "odd rate") == 2
    assert set(odd.patients["person"]) == {"S001", "S002"}


def test_run_without_annotations(tmp_path: Path) -> None:
    trees.write_recording(tmp_path / "S001" / "S001R04.edf", trees.MOTOR_NAMES, 160, 10)
    with pytest.raises(BenchError, match="no annotations in it"):
        cohort_of("physionet_mi", tmp_path)


@pytest.mark.parametrize("how", ["truncated", "elsewhere", "no_channel"])
def test_unusable_trees(tmp_path: Path, how: str) -> None:
    root = trees.write_eegmat(tmp_path, persons=1)
    if how == "truncated":
        os.truncate(root / "Subject00_1.edf", 20000)
        message = "truncated: 20000 bytes"
    elif how == "elsewhere":
        for file in root.glob("*.edf"):
            file.rename(root / f"my{file.name}")
        message = r"none of 2 EDF files, such as mySubject00_1.edf, lies where eegmat has them"
    else:
        for run in (1, 2):
            trees.write_recording(root / f"Subject00_{run}.edf", ["EEG Fp1", "EEG Fp2"], 500, 3)
        message = "no recording of eegmat is usable .without EEG channel F3"
    with pytest.raises(BenchError, match=message):
        cohort_of("eegmat", root)


def test_numbers_that_are_no_microvolts(tmp_path: Path) -> None:
    root = trees.write_eegmat(tmp_path, persons=1)
    path = root / "Subject00_1.edf"
    header = path.read_bytes()
    path.write_bytes(header.replace(b"uV      ", b"V       "))
    with pytest.raises(BenchError, match=r"Subject00_1\.edf: median channel amplitude is 2e"):
        list(preprocess(cohort_of("eegmat", root).open("Subject00_run-1"), Preprocessing(), None))


def test_real_eegmat(shared: Path) -> None:
    cohort = cohort_of("eegmat", shared / "data/scalp/eegmat")
    assert cohort.recordings[["recording", "sfreq", "duration"]].to_numpy().tolist() == [
        ["Subject00_run-1", 500, 182],
        ["Subject00_run-2", 500, 62],
    ]
    signal = cohort.open("Subject00_run-2").read()
    assert signal.shape == (19, 31000)
    assert np.median(signal.std(axis=1)) == pytest.approx(12.4, abs=0.5)


def test_real_motor_imagery(shared: Path, tmp_path: Path) -> None:
    target = tmp_path / "S088" / "S088R10.edf"
    target.parent.mkdir()
    target.symlink_to(shared / "data/scalp/eegmmidb/test_edf_overlapping_annotations.edf")
    cohort = cohort_of("physionet_mi", tmp_path)
    assert cohort.recordings.loc[0, ["recording", "sfreq", "duration"]].tolist() == ["S088_run-10", 128, 124]
    assert cohort.events is not None
    assert cohort.events["trial_type"].value_counts().to_dict() == {"both fists": 10, "both feet": 9}
    assert cohort.events.loc[0, ["onset", "duration"]].tolist() == [1.375, 5.125]
    assert len(cohort.channels) == 64
    assert {"FC5", "FPZ", "IZ"} <= set(cohort.channels["channel"])


PROBES: dict[str, tuple[Callable[[Path], object], dict[str, int], int, str]] = {
    "tuab": (lambda root: trees.write_tuab(root, 3, 10), {"normal": 7, "abnormal": 6}, 13, "O2"),
    # of the evaluation persons' seconds one is within 2 s of the start
    "tuev": (trees.write_tuev, {"SPSW": 3, "GPED": 3, "PLED": 2, "EYEM": 3, "ARTF": 3, "BCKG": 1}, 4, "FP2"),
    "tuep": (lambda root: trees.write_tuep(root, 13), {"no epilepsy": 6, "epilepsy": 7}, 13, "T3"),
    "tusl": (trees.write_tusl, {"seizure": 3, "slowing": 3, "complex background": 3}, 3, "C3"),
    "siena": (trees.write_siena, {"non-seizure": 10 + 5 + 6 + 9, "seizure": 2 + 6 + 5 + 3}, 3, "T6"),
    "mdd": (lambda root: trees.write_mdd(root, 12), {"healthy": 14, "MDD": 12}, 13, "PZ"),
    "eegmat": (trees.write_eegmat, {"rest": 18, "arithmetic": 6}, 3, "FP2"),
    "physionet_mi": (
        trees.write_physionet_mi,
        {"left fist": 3, "right fist": 3, "both fists": 3, "both feet": 3},
        3,
        "C4",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("task", PROBES)
def test_probe(task: str, tmp_path: Path) -> None:
    write, expected, persons, channel = PROBES[task]
    write(tmp_path / "tree")
    seed = "split_seed=1" if task == "tuev" else "split_seed=0"
    run = probe(task, tmp_path / "tree", tmp_path, seed)
    labels = run.units["label"].map(dict(enumerate(expected)))
    assert labels.value_counts().to_dict() == expected
    assert run.units["person"].nunique() == persons
    assert run.units.groupby("person")["split"].nunique().max() == 1
    # the average of N channels takes a part of the sine away
    n_channels = run.cohort.channels.groupby("recording").size().max()
    assert stored_sines(run.store, channel, 10) == pytest.approx(
        [100 * (1 - 1 / n_channels)] * len(run.cohort), rel=0.05
    )
