"""Datasets of structs with events: which sample a cue is, what it means, and that runs are told apart."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.data import scalp_bci as trees
from tests.data.scalp_arrays import amplitude, cells, noise, save
from tests.data.scalp_cards import assert_refused, cohort_of, events, planted, truncate


def test_speech_persons_are_those_of_three_files(tmp_path: Path) -> None:
    cohort = cohort_of("bci_speech", trees.write_bci_speech(tmp_path))
    assert cohort.patients["person"].tolist() == ["01", "02", "03"]
    assert cohort.recordings.groupby("subject").size().tolist() == [3, 3, 3]
    words = ["hello", "help me", "stop", "thank you", "yes"]
    assert events(cohort, "sub-02_ses-Training", "trial_type") == words * 2
    assert events(cohort, "sub-02_ses-Validation", "trial_type") == (words[1:] + words[:1]) * 2
    assert events(cohort, "sub-02_ses-Test", "trial_type") == (words[2:] + words[:2]) * 2
    assert events(cohort, "sub-02_ses-Test", "onset", "duration")[1] == [795 / 256 + 27 / 256, 3]
    for part in ("Training", "Validation", "Test"):
        assert planted(cohort, f"sub-02_ses-{part}", 9 * 795 / 256, 3) == "C8"
        assert cohort.open(f"sub-02_ses-{part}").ch_names == trees.SPEECH_NAMES


def test_competition_iv_1_is_in_tenths_of_a_microvolt(tmp_path: Path) -> None:
    cohort = cohort_of("bcic_iv_1", trees.write_bcic_iv_1(tmp_path))
    assert cohort.recordings["sfreq"].unique().tolist() == [1000]
    assert events(cohort, "sub-a", "onset", "trial_type")[:2] == [[2, "left"], [10, "foot"]]
    assert events(cohort, "sub-b", "onset", "trial_type")[:2] == [[2, "left"], [10, "right"]]
    assert planted(cohort, "sub-b", 10, 4) == "C4"


def test_2a_cues_are_two_seconds_after_the_trial(tmp_path: Path) -> None:
    cohort = cohort_of("bcic_iv_2a", trees.write_bcic_2a(tmp_path))
    expected = [[10 + 3 + 8 * i, trees.CLASSES_2A[i]] for i in range(4)]
    expected += [[10 + 34 + 3 + 8 * i, trees.CLASSES_2A[(i + 1) % 4]] for i in range(4)]
    assert events(cohort, "sub-1_ses-E", "onset", "trial_type") == expected
    assert events(cohort, "sub-1_ses-T", "artifact") == ["no", "no", "yes", "no"] * 2
    assert cohort.channels["channel"].nunique() == 22
    assert planted(cohort, "sub-2_ses-E", 10 + 34 + 11, 4) == "POZ"
    assert cohort.open("sub-2_ses-E").pieces == (0, 2500, 2500 + 8500)
    clean = cohort_of("bcic_iv_2a", tmp_path, artifacts=False)
    assert len(clean.events) == len(cohort.events) * 3 / 4


def test_2a_gdf_gives_the_same_trials(tmp_path: Path) -> None:
    cohort = cohort_of("bcic_iv_2a", trees.write_bcic_2a_gdf(tmp_path))
    expected = [[3 + 8 * i, trees.CLASSES_2A[i]] for i in range(4)]
    expected += [[36 + 3 + 8 * i, trees.CLASSES_2A[(i + 1) % 4]] for i in range(4)]
    for session in "TE":
        assert events(cohort, f"sub-1_ses-{session}", "onset", "trial_type") == expected
        assert events(cohort, f"sub-1_ses-{session}", "artifact") == ["no", "no", "yes", "no"] * 2
    assert cohort.channels["channel"].tolist()[:3] == ["FZ", "FC3", "FC1"]
    assert planted(cohort, "sub-2_ses-E", 36 + 11, 4) == "POZ"
    assert len(cohort_of("bcic_iv_2a", tmp_path, artifacts=False).events) == len(cohort.events) * 3 / 4


def test_2a_gdf_gaps_are_pieces_of_zeros(tmp_path: Path) -> None:
    recording = cohort_of("bcic_iv_2a", trees.write_bcic_2a_gdf(tmp_path, persons=1)).open("sub-1_ses-T")
    assert recording.pieces == tuple(250 * s for s in (0, 34, 36, 70))
    signal = recording.read()
    np.testing.assert_array_equal(signal[:, 34 * 250 : 36 * 250], 0)
    assert 9 < signal[:, : 34 * 250].std() < 11


def test_cues_of_a_real_gdf_file(shared: Path) -> None:
    import mne

    from omni_bench.datasets.bcic_2a import CUES, open_with_gaps

    file = shared / "data" / "scalp" / "graz_mi" / "sample.gdf"
    codes = set(mne.io.read_raw_gdf(file, verbose="ERROR").annotations.description)
    assert {"768", "769", "770"} <= codes
    assert CUES["769"] == "left hand"
    recording = open_with_gaps(file, unit="µV")
    assert 1 < np.median(recording.read().std(axis=1)) < 100


def test_errors_are_the_codes_of_the_card(tmp_path: Path) -> None:
    cohort = cohort_of("monitoring_errp", trees.write_monitoring_errp(tmp_path))
    labels = ["correct", "correct", "error", "error", "correct", "correct", "correct"]
    seconds = [1, 3, 7, 9, 13, 15, 17]
    found = events(cohort, "sub-02_ses-1", "onset", "trial_type")
    assert found == [[20 * run + s, label] for run in range(3) for s, label in zip(seconds, labels, strict=True)]
    assert planted(cohort, "sub-02_ses-1", 20 + 7, 1) == "CZ"
    signal = cohort.open("sub-02_ses-1").read()
    assert (amplitude(signal, 512, 7, 1) < 10).all()


BROKEN: dict[str, tuple[str, Callable[[Path], Any], Callable[[Path], Any], str]] = {
    "no true labels": (
        "bcic_iv_2a",
        trees.write_bcic_2a_gdf,
        lambda root: (root / "true_labels" / "A02E.mat").unlink(),
        "A02E.gdf: its cues are of unknown class",
    ),
    "true labels of other trials": (
        "bcic_iv_2a",
        trees.write_bcic_2a_gdf,
        lambda root: save(root / "true_labels" / "A02E.mat", classlabel=np.ones((288, 1))),
        "288 labels for 8 cues",
    ),
    "a session without labels": (
        "bcic_iv_2a",
        trees.write_bcic_2a,
        lambda root: save(
            root / "A01E.mat",
            data=cells([{"X": noise(9000, 25), "trial": np.array([[1], [2001]]), "y": np.zeros((0, 0))}] * 2),
        ),
        "2 trials with 0 labels",
    ),
    "no signal in a run": (
        "monitoring_errp",
        trees.write_monitoring_errp,
        lambda root: save(root / "Subject01_s2.mat", run={"header": 1.0}),
        "run has no field eeg",
    ),
    "labels of another kind": (
        "bcic_iv_1",
        trees.write_bcic_iv_1,
        lambda root: save(
            root / "BCICIV_calib_ds1c_1000Hz.mat",
            cnt=np.ones((9, 2)),
            mrk={"pos": np.array([[3.0, 6.0]]), "y": np.array([[0.0, 1.0]])},
            nfo={"fs": 100.0, "clab": cells(["C3", "C4"]), "classes": cells(["left", "right"])},
        ),
        "2 cues with 2 labels",
    ),
    "no answers": (
        "bci_speech",
        trees.write_bci_speech,
        lambda root: (root / "Track3_Answer Sheet_Test.xlsx").unlink(),
        "Answer Sheet_Test.xlsx: no such file",
    ),
    "truncated version 7.3": (
        "bci_speech",
        trees.write_bci_speech,
        lambda root: truncate(root / "Test set" / "Data_Sample01.mat"),
        "Test set/Data_Sample01.mat: cannot be read as a MATLAB file",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_data_are_one_line(tmp_path: Path, case: str) -> None:
    dataset, write, damage, complaint = BROKEN[case]
    write(tmp_path)
    damage(tmp_path)
    assert_refused(dataset, tmp_path, complaint)
