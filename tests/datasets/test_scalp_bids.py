"""Scalp sets that are BIDS, or nearly so, read and run as their cards say."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from omni_bench.data.preprocess import Preprocessing, preprocess
from omni_bench.datasets.bids_eeg import read_bids_eeg
from omni_bench.errors import BenchError
from tests.data import scalp_bids as tree
from tests.data.scalp_bids import EEG, LOUD, SINE_HZ, SINE_UV
from tests.scalp_cards import (
    Trees,
    amplitudes,
    edit,
    events_of,
    left_out,
    persons_of,
    read_card,
    run_counted,
    whole_events,
)

OTHER = "other tasks or conditions than the card's read.pattern"
NOT_EEG = "not of type EEG"

SETS: dict[str, tuple[Callable[[Path], Path], int, float, list[str]]] = {
    "longitudinal": (tree.write_longitudinal, 12, 1000, ["sub-CTR001", "sub-G2002", "sub-G2003"]),
    "ad65": (tree.write_ad65, 3, 500, ["sub-001", "sub-037", "sub-066"]),
    "pd31": (tree.write_pd31, 6, 512, ["sub-hc1", "sub-hc2", "sub-pd3", "sub-pd5"]),
    "pd_mortality": (tree.write_pd_mortality, 3, 500, ["sub-PD1001", "sub-PD1002", "sub-PD1003"]),
    "depression_rest": (tree.write_depression_rest, 6, 500, ["507", "508", "509"]),
    "awakening": (tree.write_awakening, 12, 5000, ["sub-1010", "sub-1016", "sub-1022"]),
    "pearl": (tree.write_pearl, 9, 1000, ["sub-01", "sub-02", "sub-03"]),
    "restcog": (tree.write_restcog, 20, 500, ["sub-01", "sub-02", "sub-03"]),
    "exoskeleton": (tree.write_exoskeleton, 6, 100, ["sub-01", "sub-02", "sub-03"]),
    "chineseeeg2": (tree.write_chineseeeg2, 3, 250, ["sub-f1", "sub-f2", "sub-m1"]),
}
"""Dataset → its writer, recordings, rate, persons."""


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Trees:
    """The trees of this module."""
    return Trees(tmp_path_factory.mktemp("scalp_bids"), {dataset: write for dataset, (write, *_) in SETS.items()})


@pytest.mark.parametrize("dataset", SETS)
def test_recordings_persons_channels_and_unit(trees: Trees, dataset: str) -> None:
    _, n_recordings, sfreq, persons = SETS[dataset]
    cohort = trees.read(dataset)
    assert len(cohort) == n_recordings
    assert persons_of(cohort) == persons
    assert set(cohort.recordings["sfreq"]) == {sfreq}
    assert set(cohort.recordings["modality"]) == {"EEG"}
    names = [f"E{i}" for i in range(1, 7)] if dataset == "chineseeeg2" else [name.upper() for name in EEG]
    for name, own in cohort.channels.groupby("recording"):
        expected = [*names[:5], "IZ"] if dataset == "pd_mortality" else names
        assert own["channel"].tolist() == expected, name
    for recording in cohort:
        loud = amplitudes(recording.read(), sfreq, SINE_HZ)
        assert loud[1] == pytest.approx(SINE_UV, rel=0.02), recording.path
        assert np.delete(loud, 1).max() < 1


@pytest.mark.parametrize("dataset", [dataset for dataset in SETS if dataset != "chineseeeg2"])
def test_labels_of_whole_recordings_last_from_start_to_end(trees: Trees, dataset: str) -> None:
    assert whole_events(trees.read(dataset))


def test_longitudinal(trees: Trees) -> None:
    cohort = trees.read("longitudinal")
    assert events_of(cohort, "eyes")["sub-CTR001_ses-V1_task-OE"] == ["OE"]
    assert events_of(cohort, "visit")["sub-G2003_ses-V1_task-CE"] == ["V1"]
    assert events_of(cohort, "group")["sub-G2003_ses-V1_task-CE"] == ["G2"]
    assert left_out(cohort, "channels") == {NOT_EEG: 2 * 12}  # HEO and VEO
    assert cohort.patients["sex"].tolist() == ["female", "male", "female"]


def test_ad65_reads_raw_files_only(trees: Trees) -> None:
    cohort = trees.read("ad65")
    assert events_of(cohort, "Group") == {
        f"sub-{i}_task-eyesclosed": [g] for i, g in (("001", "A"), ("037", "C"), ("066", "F"))
    }
    assert not cohort.recordings["path"].str.contains("derivatives").any()
    assert set(cohort.recordings["line_freq"]) == {50}


def test_pd31_on_and_off_are_one_person(trees: Trees) -> None:
    cohort = trees.read("pd31")
    assert events_of(cohort, "group")["sub-pd3_ses-on_task-rest"] == ["on"]
    of_pd3 = cohort.recordings[cohort.recordings["subject"] == "sub-pd3"]
    assert of_pd3["session"].tolist() == ["off", "on"]
    assert left_out(cohort, "channels") == {NOT_EEG: 3 * 6}  # EXG1, EXG8, Status


def test_pd_mortality_keeps_electrodes_apart(tmp_path: Path) -> None:
    cohort = read_card("pd_mortality", tree.write_pd_mortality(tmp_path, montages=True))
    assert events_of(cohort, "survival_status")["sub-PD1002_ses-01_task-rest"] == ["deceased"]
    last = cohort.channels.groupby("recording")["channel"].last()
    assert last.tolist() == ["IZ", "IZ", "FT9"]
    assert cohort.recordings["line_freq"].isna().all()  # the sidecar says n/a, the card 60


def test_depression_rest(trees: Trees) -> None:
    cohort = trees.read("depression_rest")
    assert events_of(cohort, "BDI")["sub-002_task-Rest_run-02"] == ["13"]
    assert left_out(cohort) == {"no BDI of the person in participants.tsv": 2}  # both runs of sub-038
    assert left_out(cohort, "channels") == {NOT_EEG: 4 * 2 + 2 * 3}  # no type at all; EKG in one person
    assert cohort.recordings["run"].tolist() == ["01", "02"] * 3


def test_two_ids_of_one_human_are_one_person(trees: Trees, tmp_path: Path) -> None:
    root = trees.copy("depression_rest", tmp_path)
    edit(root / "participants.tsv", Original_ID=["507", "508", "507", "544"])
    cohort = read_card("depression_rest", root)
    assert cohort.patients["person"].tolist() == ["507", "508", "507"]


def test_awakening(trees: Trees) -> None:
    cohort = trees.read("awakening")
    states = events_of(cohort, "state")
    assert states["sub-1010_task-awake_acq-EO"] == ["awake"]
    assert states["sub-1022_task-sed2_acq-rest_run-1"] == ["sed2"]
    assert left_out(cohort) == {OTHER: 4, "excluded by the authors in participants.tsv": 4}


def test_pearl_and_restcog(trees: Trees) -> None:
    pearl = trees.read("pearl")
    assert events_of(pearl, "context")["sub-02_task-sternberg"] == ["sternberg"]
    assert set(pearl.recordings["line_freq"]) == {50}
    restcog = trees.read("restcog")
    assert events_of(restcog, "condition")["sub-01_ses-session2_task-music"] == ["music"]
    assert set(restcog.recordings["session"]) == {"session1", "session2"}


def test_exoskeleton(trees: Trees) -> None:
    cohort = trees.read("exoskeleton")
    assert events_of(cohort, "gait")["sub-02_ses-01_task-stop6min"] == ["stop"]
    assert left_out(cohort) == {OTHER: 6}
    assert left_out(cohort, "channels") == {NOT_EEG: 4 * 6}


def test_chineseeeg2(trees: Trees) -> None:
    cohort = trees.read("chineseeeg2")
    tones = events_of(cohort, "tone")["sub-m1_ses-littleprince_task-reading_run-11"]  # whose header names other files
    assert tones == list("123412345123")
    assert cohort.events is not None
    assert cohort.events["onset"].tolist()[:3] == [2, 5, 8]


def test_without_a_table_of_tones(trees: Trees, tmp_path: Path) -> None:
    root = trees.copy("chineseeeg2", tmp_path)
    for file in root.rglob("*_tones.tsv"):
        file.unlink()
    with pytest.raises(BenchError, match=r"no \*_tones.tsv that holds for it: the card's facts.layout"):
        read_card("chineseeeg2", root)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda root: (root / "participants.tsv").unlink(), "participants.tsv: no such file"),
        (lambda root: edit(root / "participants.tsv", Group=None), "no column Group"),
        (lambda root: edit(root / "participants.tsv", participant_id="sub-001"), "participant sub-001 stands twice"),
        (lambda root: edit(root / "participants.tsv", Group="n/a"), "no Group of the person in participants.tsv"),
    ],
)
def test_labels_that_are_not_there(trees: Trees, tmp_path: Path, change: Callable[[Path], None], message: str) -> None:
    root = trees.copy("ad65", tmp_path)
    change(root)
    with pytest.raises(BenchError, match=message):
        read_card("ad65", root)


def test_nothing_of_the_pattern(trees: Trees) -> None:
    with pytest.raises(BenchError, match=f"could be read \\({OTHER}\\)"):
        read_bids_eeg(trees.root("ad65"), pattern="_task-eyesopen_")


def test_truncated_recording(trees: Trees, tmp_path: Path) -> None:
    root = trees.copy("pd31", tmp_path)
    file = next(root.rglob("*_eeg.bdf"))
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(BenchError, match="truncated"):
        read_card("pd31", root)
    assert len(read_card("pd31", root, on_error="skip")) == 5


def test_implausible_amplitude(trees: Trees) -> None:
    cohort = trees.read("pd31")
    recording = cohort.open(cohort.recordings["recording"].iloc[0])
    recording.scale *= 1e6
    with pytest.raises(BenchError, match=r"ses-hc_task-rest_eeg.bdf: median channel amplitude is .* \(largest: Fp2\)"):
        list(preprocess(recording, Preprocessing(), None))


REAL: dict[str, tuple[str, str, str, dict[str, list[str]]]] = {
    "ad65": ("ds004504", ".set", "Group", {"sub-001_task-eyesclosed": ["A"], "sub-066_task-eyesclosed": ["F"]}),
    "pd31": ("ds002778", ".bdf", "group", {"sub-hc1_ses-hc_task-rest": ["hc"], "sub-pd5_ses-on_task-rest": ["on"]}),
    "depression_rest": (
        "ds003478",
        ".set",
        "BDI",
        {"sub-001_task-Rest_run-01": ["0"], "sub-003_task-Rest_run-02": ["7"]},
    ),
    "restcog": ("ds004148", ".vhdr", "condition", {"sub-01_ses-session1_task-memory": ["memory"]}),
}
"""Dataset → accession, format, column and known values."""


@pytest.mark.parametrize("dataset", REAL)
def test_real_sidecars(dataset: str, shared: Path, tmp_path: Path) -> None:
    accession, suffix, column, expected = REAL[dataset]
    root = Path(shutil.copytree(shared / "data" / "sidecars_scalp" / accession, tmp_path / accession))
    for tsv in root.rglob("*_channels.tsv"):
        names = pd.read_csv(tsv, sep="\t")["name"].tolist()
        tree.put(tsv.with_name(tsv.name.replace("_channels.tsv", f"_eeg{suffix}")), names, 500, 2)
    cohort = read_card(dataset, root)
    found = events_of(cohort, column)
    assert {name: found[name] for name in expected} == expected
    n_channels = {"ad65": 19, "pd31": 32, "depression_rest": 64, "restcog": 61}[dataset]
    assert set(cohort.channels.groupby("recording").size()) == {n_channels}


def test_real_tree(shared: Path) -> None:
    cohort = read_bids_eeg(shared / "data" / "scalp" / "rest" / "tiny_bids")
    row = cohort.recordings.iloc[0]
    assert (row["subject"], row["session"], row["sfreq"], row["duration"], row["line_freq"]) == (
        "sub-01",
        "eeg",
        5000,
        2,
        60,
    )
    assert cohort.patients["sex"].tolist() == ["female"]
    assert (len(cohort.channels), cohort.channels["good"].sum()) == (64, 63)
    assert left_out(cohort, "channels") == {NOT_EEG: 5}  # two EOG, heart, skin, temperature
    assert cohort.events is not None
    assert cohort.events["onset"].tolist() == [0, 0.2]


RUNS: dict[str, tuple[str, dict[int, int], tuple[str, ...]]] = {
    # 3 persons x 2 visits x 2 conditions, recordings whole
    "longitudinal_test_retest": ("longitudinal", {0: 6, 1: 6}, ()),
    # 100 s in 10 s
    "ad65": ("ad65", {0: 10, 1: 10, 2: 10}, ("protocol=multi_subject",)),
    # 10 s in 1 s: two healthy, two with PD twice
    "pd31": ("pd31", {0: 20, 1: 40}, ("protocol=multi_subject",)),
    # 20 s in 2 s
    "pd_mortality": ("pd_mortality", {0: 20, 1: 10}, ("protocol=multi_subject",)),
    # 10 s in 1 s, two runs: scores of 7, 13, 20
    "depression_rest": ("depression_rest", {0: 20, 1: 40}, ("protocol=multi_subject",)),
    # 20 s in 10 s, 2 recordings of each state, 3 persons
    "awakening": ("awakening", {0: 12, 1: 12}, ()),
    "pearl": ("pearl", {0: 30, 1: 30, 2: 30}, ()),
    # 8 s in 1 s, two sessions of the first person and one of the others
    "restcog": ("restcog", dict.fromkeys(range(5), 32), ()),
    "exo_walk_stop": ("exoskeleton", {0: 90, 1: 90}, ()),
    # of 12 syllables one has the neutral tone
    "chineseeeg2_tone": ("chineseeeg2", {0: 9, 1: 9, 2: 9, 3: 6}, ()),
}
"""Task → dataset, units per class, overrides. A label of persons needs more of them than three for `cross_subject`."""


@pytest.mark.slow
@pytest.mark.parametrize("task", RUNS)
def test_run(trees: Trees, tmp_path: Path, task: str) -> None:
    dataset, per_class, overrides = RUNS[task]
    ch_names, signal, sfreq = run_counted(trees, task, dataset, SETS[dataset][3], per_class, tmp_path, *overrides)
    loud = amplitudes(signal[:, : round(sfreq) * 4], sfreq, SINE_HZ)
    # the average of six channels takes a sixth away
    assert loud[1] == pytest.approx(SINE_UV * 5 / 6, rel=0.05)
    assert ch_names[1].upper() in (LOUD.upper(), "E2")
