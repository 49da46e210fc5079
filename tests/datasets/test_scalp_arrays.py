"""Datasets of arrays: persons, labels, µV, and that axes, trials and channels are what the raw layouts say."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat

from omni_bench.data.prepare import prepare
from omni_bench.data.preprocess import Preprocessing
from omni_bench.errors import BenchError
from tests.data import scalp_arrays as trees
from tests.data.scalp_cards import assert_refused, cohort_of, events, planted, truncate


def test_adhd_labels_come_from_folders(tmp_path: Path) -> None:
    cohort = cohort_of("adhd", trees.write_adhd(tmp_path))
    assert cohort.events.set_index("recording")["trial_type"].to_dict() == {
        "sub-v1p": "ADHD",
        "sub-v200p": "ADHD",
        "sub-v41p": "Control",
        "sub-v120p": "Control",
    }
    assert events(cohort, "sub-v1p", "onset", "duration") == [[0, 6]]
    assert planted(cohort, "sub-v1p", 0, 6) == "PZ"


def test_adhd_children_of_the_real_release(shared: Path) -> None:
    cohort = cohort_of("adhd", shared / "data" / "scalp" / "adhd")
    table = cohort.recordings.merge(cohort.events[["recording", "trial_type"]], on="recording").set_index("subject")
    assert table["trial_type"].to_dict() == {"v37p": "ADHD", "v51p": "Control"}
    assert table["duration"].to_dict() == pytest.approx({"v37p": 9286 / 128, "v51p": 7983 / 128})
    np.testing.assert_array_equal(cohort.open("sub-v37p").read(stop=2)[:3, :], [[-55, -19], [156, 156], [236, 126]])


def test_adult_adhd_persons_are_rows_of_cells(tmp_path: Path) -> None:
    cohort = cohort_of("adhd_adults", trees.write_adhd_adults(tmp_path))
    assert cohort.patients["subject"].str.rpartition("-")[0].value_counts().to_dict() == {
        "FADHD": 6,
        "FC": 2,
        "MADHD": 2,
        "MC": 2,
    }
    assert cohort.excluded == [{"what": "recordings", "reason": "all zero in the released file", "n": 1}]
    assert cohort.patients.set_index("subject")["sex"][["FC-01", "MADHD-02"]].tolist() == ["female", "male"]
    assert events(cohort, "FC-02", "onset", "duration") == [[0, 3], [3, 2], [5, 2], [7, 4], [11, 2], [13, 3]]
    assert events(cohort, "FC-02", "condition")[3] == "cognitive challenge"
    assert planted(cohort, "FC-02", 7, 4) == "F4"
    assert cohort.open("FC-02").pieces == tuple(256 * s for s in (0, 3, 5, 7, 11, 13))


def test_modma_persons_are_found_in_the_workbook(tmp_path: Path) -> None:
    cohort = cohort_of("modma", trees.write_modma(tmp_path, n_times=500))
    labels = cohort.recordings.merge(cohort.events, on="recording").set_index("subject")["trial_type"]
    assert labels.to_dict() == trees.MODMA
    assert cohort.recordings["sfreq"].tolist() == [250] * 4
    assert cohort.channels.groupby("recording").size().tolist() == [128] * 4  # without the reference
    assert planted(cohort, "sub-02010004", 0, 2) == "E17"


def test_seed_trials_follow_their_numbers_and_sessions_their_dates(tmp_path: Path) -> None:
    cohort = cohort_of("seed", trees.write_seed(tmp_path, persons=1))
    assert cohort.recordings["session"].tolist() == ["1", "2", "3"]
    onsets = np.cumsum([0, *[10.5, 20, 11] * 5])[:-1].tolist()
    truth = [1, 0, -1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 0, 1, -1]
    assert events(cohort, "sub-1_ses-2", "onset", "trial_type") == [
        [o, str(label)] for o, label in zip(onsets, truth, strict=True)
    ]
    assert planted(cohort, "sub-1_ses-2", 10.5, 20) == "CB2"


def test_seed_iv_labels_differ_between_sessions(tmp_path: Path) -> None:
    cohort = cohort_of("seed_iv", trees.write_seed_iv(tmp_path, persons=1))
    assert [events(cohort, f"sub-1_ses-{session}", "trial_type")[:4] for session in (1, 2, 3)] == [
        ["1", "2", "3", "0"],
        ["2", "1", "3", "0"],
        ["1", "2", "2", "1"],
    ]
    assert planted(cohort, "sub-1_ses-3", 23 * 5, 5) == "FP1"


def test_broderick_merges_people_of_both_directions(tmp_path: Path) -> None:
    cohort = cohort_of("broderick", trees.write_broderick(tmp_path))
    assert len(cohort.filter(task="Cocktail Party")) == 8
    persons = cohort.patients.set_index("subject")["person"]
    assert persons["Natural Speech - Reverse-5"] == persons["Natural Speech-4"] == "Natural Speech-4"
    assert persons["Natural Speech - Reverse-1"] != persons["Natural Speech-1"]
    assert persons["Cocktail Party-6"] != persons["Natural Speech-6"]
    attended = cohort.recordings.merge(cohort.events, on="recording").groupby("subject")["attended"].first()
    assert attended[["Cocktail Party-1", "Cocktail Party-2", "Cocktail Party-3", "Cocktail Party-6"]].tolist() == [
        "right",
        "right",
        "left",
        "left",
    ]
    assert attended[attended.index.str.startswith("Natural")].isna().all()
    assert planted(cohort, "sub-Cocktail Party-3_run-2", 0, 5) == "BIOSEMI:B1"


def test_shu_trials_come_first(tmp_path: Path) -> None:
    cohort = cohort_of("shu_mi", trees.write_shu_mi(tmp_path))
    assert cohort.recordings.groupby("subject")["session"].apply(list)["002"] == ["01", "02"]
    assert events(cohort, "sub-002_ses-02", "onset", "trial_type")[:3] == [[0, "1"], [4, "2"], [8, "1"]]
    assert planted(cohort, "sub-002_ses-02", 8, 4) == "C4"


def test_beta_has_blocks_before_targets(tmp_path: Path) -> None:
    shapes = {r"(?:^|/)S(?:[1-9]|1[0-5])\.mat$": [64, 250, 4, 40], "mat": [64, 300, 4, 40]}
    cohort = cohort_of("beta_ssvep", trees.write_beta(tmp_path, persons=(2, 16), lengths=(250, 300)), shapes=shapes)
    duration = cohort.recordings.set_index("subject")["duration"].to_dict()
    assert duration == pytest.approx({"2": 160 * 1.0, "16": 160 * 1.2})
    trial = 40 + 2
    assert events(cohort, "sub-2", "trial_type")[:3] == ["8.6", "8.8", "9.0"]
    assert events(cohort, "sub-2", "trial_type")[-3:] == ["8.0", "8.2", "8.4"]
    assert events(cohort, "sub-2", "onset", "trial_type")[trial] == [pytest.approx(trial + 0.63), "9.0"]
    assert planted(cohort, "sub-2", trial + 0.5, 0.5) == "OZ"
    assert planted(cohort, "sub-16", 1.2 * trial + 0.5, 0.7) == "OZ"


def test_benchmark_has_targets_before_blocks(tmp_path: Path) -> None:
    cohort = cohort_of("benchmark_ssvep", trees.write_benchmark(tmp_path, persons=[35], n_times=250, blocks=2))
    trial = 2 * 2 + 1
    assert events(cohort, "sub-35", "onset", "trial_type")[trial] == [pytest.approx(trial + 0.64), "10.0"]
    assert events(cohort, "sub-35", "trial_type")[16] == "8.2"
    assert planted(cohort, "sub-35", trial + 0.5, 0.5) == "OZ"


def test_seed_vig_has_one_number_per_eight_seconds(tmp_path: Path) -> None:
    cohort = cohort_of("seed_vig", trees.write_seed_vig(tmp_path), shapes={"mat": [9600, 17]})
    assert cohort.recordings["subject"].tolist() == ["1", "1", "2", "3"]
    assert cohort.patients["person"].tolist() == ["1", "2", "3"]
    recording = "sub-1_ses-20151124_noon_2"
    assert events(cohort, recording, "onset", "perclos") == [
        [8.0 * i, text] for i, text in enumerate(["0", "0.2", "0.35", "0.5", "0.7", "1"])
    ]
    assert planted(cohort, recording, 8, 8) == "O2"


def test_things_conditions_keep_their_repetitions_together(tmp_path: Path) -> None:
    cohort = cohort_of("thingseeg2", trees.write_thingseeg2(tmp_path))
    assert len(cohort) == 6
    recording = "sub-01_ses-training"
    trial = 3 * 4 + 2
    assert events(cohort, recording, "onset", "concept", "trial_type")[trial] == [14, "00002_abacus", "inanimate"]
    assert events(cohort, recording, "concept") == [c for c in trees.CONCEPTS for _ in range(8)]
    assert events(cohort, "sub-02_ses-test", "trial_type") == ["animate"] * 5 + ["inanimate"] * 5
    assert planted(cohort, recording, trial, 1) == "P2"


def test_deap_leaves_the_baseline_and_the_body_out(tmp_path: Path) -> None:
    cohort = cohort_of("deap", trees.write_deap(tmp_path, n_times=8 * 128))
    assert events(cohort, "sub-01", "onset", "duration", "valence", "arousal")[4] == [8 * 4 + 3, 5, "5", "5"]
    assert planted(cohort, "sub-01", 8 * 3 + 3, 5) == "O2"
    assert cohort.channels["channel"].nunique() == 32
    assert not set(cohort.channels["raw_name"]) & {"hEOG", "GSR"}


def test_faced_clips_are_in_their_order(tmp_path: Path) -> None:
    cohort = cohort_of("faced", trees.write_faced(tmp_path, n_times=1000))
    labels = events(cohort, "sub-001", "trial_type")
    assert labels[12:16] == ["neutral"] * 4
    assert pd.Series(labels).value_counts().to_dict() == {"neutral": 4} | dict.fromkeys(
        ["anger", "disgust", "fear", "sadness", "amusement", "inspiration", "joy", "tenderness"], 3
    )
    assert planted(cohort, "sub-001", 13 * 4, 4) == "A1"
    assert cohort.channels["channel"].tolist()[30:32] == ["A2", "A1"]


def test_denoisenet_mixtures_have_the_ratio_that_was_drawn(tmp_path: Path) -> None:
    cohort = cohort_of("eegdenoisenet", trees.write_eegdenoisenet(tmp_path))
    assert cohort.events["trial_type"].value_counts().to_dict() == {"clean": 60, "ocular": 60}
    epochs = {part: cohort.open(part).read().reshape(60, 512) for part in ("clean", "ocular")}
    source = np.load(tmp_path / "EEG_all_epochs.npy")
    clean = epochs["clean"][:, 0].round().astype(int)
    np.testing.assert_allclose(epochs["clean"], source[clean], rtol=1e-5)
    # of each mixture, the EEG epoch among those left, by correlation; then the ratio of what was added
    left = np.setdiff1d(np.arange(120), clean)
    drawn = left[np.corrcoef(epochs["ocular"], source[left])[:60, 60:].argmax(axis=1)]
    assert sorted(drawn) == sorted(left)
    added = epochs["ocular"] - source[drawn]
    ratio = 20 * np.log10(source[drawn].std(axis=1) / added.std(axis=1))
    assert ratio.min() > -7.2
    assert ratio.max() < 2.2
    assert np.ptp(ratio) > 5
    again = cohort_of("eegdenoisenet", tmp_path, seed=1).open("clean").read()
    assert not np.array_equal(again, cohort.open("clean").read())


def test_denoisenet_artefacts_alone(tmp_path: Path) -> None:
    cohort = cohort_of("eegdenoisenet", trees.write_eegdenoisenet(tmp_path), rule="pure")
    assert cohort.events["trial_type"].value_counts().to_dict() == {"clean": 120, "ocular": 90}
    assert cohort.open("ocular").read()[0, ::512].tolist() == list(range(90))


def replace(file: Path, **variables: Any) -> None:
    savemat(file, variables)


BROKEN: dict[str, tuple[str, Callable[[Path], Any], Callable[[Path], Any], str]] = {
    "truncated MATLAB file": (
        "shu_mi",
        trees.write_shu_mi,
        lambda root: truncate(root / "sub-001_ses-01_task_motorimagery_eeg.mat"),
        "sub-001_ses-01.* cannot be read as a MATLAB file",
    ),
    "truncated pickle": (
        "faced",
        lambda root: trees.write_faced(root, n_times=500),
        lambda root: truncate(root / "Processed_data" / "sub001.pkl"),
        "sub001.pkl: not a whole pickle",
    ),
    "labels missing": (
        "shu_mi",
        trees.write_shu_mi,
        lambda root: replace(root / "sub-002_ses-01_task_motorimagery_eeg.mat", data=np.ones((6, 32, 1000))),
        "sub-002_ses-01.* no variable labels",
    ),
    "labels for other trials": (
        "shu_mi",
        trees.write_shu_mi,
        lambda root: replace(
            root / "sub-002_ses-01_task_motorimagery_eeg.mat", data=np.ones((6, 32, 1000)), labels=np.ones((1, 5))
        ),
        "5 values of labels for 6 pieces",
    ),
    "a clip is missing": (
        "seed_iv",
        lambda root: trees.write_seed_iv(root, persons=1),
        lambda root: replace(root / "eeg_raw_data" / "1" / "1_20160511.mat", cz_eeg1=np.ones((62, 9)), cz_eeg3=1),
        r"numbered \[1, 3\]",
    ),
    "clips of another release": (
        "seed",
        lambda root: trees.write_seed(root, persons=1),
        lambda root: replace(root / "Preprocessed_EEG" / "1_20131027.mat", a_eeg1=np.ones((62, 9))),
        "1 pieces by piece, the card labels 15",
    ),
    "another dimension": (
        "benchmark_ssvep",
        lambda root: trees.write_benchmark(root, persons=[1], n_times=100),
        lambda root: replace(root / "S1.mat", data=np.ones((64, 100, 40, 6, 2))),
        r"shape \(64, 100, 40, 6, 2\), expected \(channel, time, target, block\)",
    ),
    "text among numbers": (
        "adhd",
        trees.write_adhd,
        lambda root: (root / "Control_part1" / "v41p.mat").rename(root / "Control_part1" / "v41p.csv"),
        "v41p.csv: not a regular table of numbers",
    ),
    "no matrix of so many channels": (
        "adhd",
        trees.write_adhd,
        lambda root: replace(root / "ADHD_part1" / "v1p.mat", v1p=np.ones((100, 18))),
        "0 variables with 19 channels",
    ),
    "a person twice": (
        "adhd",
        trees.write_adhd,
        lambda root: trees.save(root / "ADHD_part2" / "v1p.mat", v1p=np.ones((100, 19))),
        "v1p.mat: another file is of the same subject",
    ),
    "no labels of a recording": (
        "seed_vig",
        trees.write_seed_vig,
        lambda root: (root / "perclos_labels" / "2_20151106_noon.mat").unlink(),
        "perclos_labels/2_20151106_noon.mat: no such file",
    ),
    "labels for another length": (
        "seed_vig",
        trees.write_seed_vig,
        lambda root: replace(root / "perclos_labels" / "2_20151106_noon.mat", perclos=np.ones((885, 1))),
        "885 values from 1 to 1",
    ),
    "a concept without class": (
        "thingseeg2",
        trees.write_thingseeg2,
        lambda root: (root / "concept_classes.csv").write_text("concept,class\n1,animate\n"),
        "no class of concept 00002_abacus",
    ),
    "epochs at another rate": (
        "eegdenoisenet",
        trees.write_eegdenoisenet,
        lambda root: np.save(root / "EEG_all_epochs.npy", np.ones((5, 1024))),
        r"epochs of shape \(5, 1024\)",
    ),
    "cells of another shape": (
        "adhd_adults",
        trees.write_adhd_adults,
        lambda root: trees.save(root / "MC.mat", MC=trees.cells([np.ones((2, 9, 2))] * 10)),
        "MC.mat: cells .* expected 11",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_data_are_one_line(tmp_path: Path, case: str) -> None:
    dataset, write, damage, complaint = BROKEN[case]
    write(tmp_path)
    damage(tmp_path)
    changes = {"shapes": {"mat": [9600, 17]}} if dataset == "seed_vig" else {}
    assert_refused(dataset, tmp_path, complaint, **changes)


def test_a_broken_recording_can_be_left_out(tmp_path: Path) -> None:
    trees.write_shu_mi(tmp_path)
    truncate(tmp_path / "sub-001_ses-01_task_motorimagery_eeg.mat")
    cohort = cohort_of("shu_mi", tmp_path, on_error="skip")
    assert len(cohort) == 5
    assert "cannot be read as a MATLAB file" in cohort.excluded[0]["reason"]


def test_an_implausible_amplitude_names_the_file(tmp_path: Path) -> None:
    cohort = cohort_of("shu_mi", trees.write_shu_mi(tmp_path / "raw"), unit="V")
    with pytest.raises(
        BenchError, match=r"sub-001_ses-01_task_motorimagery_eeg\.mat: median channel amplitude is 9\.\d+e\+06"
    ):
        prepare(cohort, Preprocessing(notch=False), tmp_path)


def test_an_empty_folder_says_what_was_expected(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=re.escape("no file is called") + ".*facts.layout"):
        cohort_of("deap", tmp_path)


def test_shapes_and_names_are_compared_when_the_signal_is_read(tmp_path: Path) -> None:
    trees.write_beta(tmp_path / "beta", persons=[1], lengths=(200, 600))
    with pytest.raises(BenchError, match=r"shape \(64, 200, 4, 40\), expected \(64, 750, 4, 40\)"):
        cohort_of("beta_ssvep", tmp_path / "beta").open("sub-1")
    trees.write_thingseeg2(tmp_path / "things")
    cohort = cohort_of("thingseeg2", tmp_path / "things", channels=["Pz", *"ABCDEFGHIJKLMNOP"])
    with pytest.raises(BenchError, match=r"channels Pz, P3, .* expected Pz, A, B"):
        cohort.open("sub-01_ses-training")
