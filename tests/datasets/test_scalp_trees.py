"""Scalp sets whose labels lie in tables, codes or arrays of their own, read and run as their cards say."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from omni_bench.datasets.emoeeg_mc import CH_NAMES, SFREQ
from omni_bench.errors import BenchError
from tests.data import scalp_trees as tree
from tests.data.scalp_bids import EEG, SINE_HZ, SINE_UV, put
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

SETS: dict[str, tuple[Callable[[Path], Path], int, list[str]]] = {
    "hbn": (tree.write_hbn, 27, ["sub-NDARAA0", "sub-NDARAA1", "sub-NDARAA2"]),
    "scalp_hfo": (tree.write_scalp_hfo, 3, ["sub-01", "sub-02", "sub-03"]),
    "music_eeg": (tree.write_music_eeg, 6, ["sub-01", "sub-02", "sub-03"]),
    "emoeeg_mc": (tree.write_emoeeg_mc, 4, ["sub-02", "sub-03", "sub-04"]),
    "mpi_lemon": (tree.write_lemon, 4, ["sub-032301", "sub-032302", "sub-032303", "sub-032304"]),
    "tdbrain": (tree.write_tdbrain, 10, ["sub-19681349", "sub-19681385", "sub-19684666", "sub-19686324"]),
    "cire": (tree.write_cire, 3, ["sub-02", "sub-03", "sub-04"]),
}
"""Dataset → its writer, recordings, persons."""


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Trees:
    """The trees of this module."""
    return Trees(tmp_path_factory.mktemp("scalp_trees"), {dataset: write for dataset, (write, *_) in SETS.items()})


@pytest.mark.parametrize("dataset", SETS)
def test_recordings_persons_and_unit(trees: Trees, dataset: str) -> None:
    _, n_recordings, persons = SETS[dataset]
    cohort = trees.read(dataset)
    assert len(cohort) == n_recordings
    assert persons_of(cohort) == persons
    if dataset == "emoeeg_mc":
        return
    names = [f"E{i}" for i in range(1, 5)] if dataset == "hbn" else [name.upper() for name in EEG]
    assert set(cohort.channels.groupby("recording")["channel"].agg(tuple)) == {tuple(names)}
    for recording in cohort:
        loud = amplitudes(recording.read(), recording.sfreq, SINE_HZ)
        assert loud[1] == pytest.approx(SINE_UV, rel=0.02), recording.path
        assert np.delete(loud, 1).max() < 1


def test_hbn_leaves_out_the_next_task(trees: Trees) -> None:
    cohort = trees.read("hbn")
    assert cohort.events is not None
    spans = cohort.events.set_index("recording")[["onset", "duration"]]
    to_the_end = spans.index.str.endswith("symbolSearch")
    assert (spans["onset"] == 3).all()
    assert (spans[~to_the_end]["duration"] == 12).all()
    assert (spans[to_the_end]["duration"] == 17).all()
    assert events_of(cohort, "context")["sub-NDARAA1_task-surroundSupp_run-2"] == ["surroundSupp_2"]
    assert left_out(cohort) == {"caution in participants.tsv": 1}
    assert left_out(cohort, "channels") == {"not of type EEG": 28}  # Cz, the reference


def test_hbn_with_doubtful_recordings(trees: Trees) -> None:
    assert len(read_card("hbn", trees.root("hbn"), availability=["available", "caution"])) == 28


def test_hbn_without_a_start(trees: Trees, tmp_path: Path) -> None:
    root = trees.copy("hbn", tmp_path)
    file = root / "sub-NDARAA0" / "eeg" / "sub-NDARAA0_task-ThePresent_events.tsv"
    file.write_text(file.read_text().replace("video_start", "begin"))
    with pytest.raises(BenchError, match=r"task-ThePresent_eeg.set: no mark of a start in the value column"):
        read_card("hbn", root)
    edit(root / "participants.tsv", ThePresent=None)
    with pytest.raises(BenchError, match="no column ThePresent"):
        read_card("hbn", root)


def test_hbn_real_sidecars(shared: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(shared / "data" / "sidecars_scalp" / "ds005505", tmp_path / "hbn"))
    for tsv in root.rglob("*_channels.tsv"):
        names = pd.read_csv(tsv, sep="\t")["name"].tolist()
        put(tsv.with_name(tsv.name.replace("_channels.tsv", "_eeg.set")), names, 100, 1)
    cohort = read_card("hbn", root)
    assert set(cohort.channels.groupby("recording").size()) == {128}
    assert cohort.events is not None
    spans = {row.context: (row.onset, row.onset + row.duration) for row in cohort.events.itertuples()}
    assert len(spans) == 12  # this person did not do seqLearning6target
    assert spans["RestingState"] == pytest.approx((1.288, 352.368))
    assert spans["ThePresent"] == pytest.approx((2.032, 205.106))
    assert spans["seqLearning8target"] == pytest.approx((211.79, 461.576))
    assert spans["surroundSupp_2"] == pytest.approx((31.756, 255.428))
    assert spans["contrastChangeDetection_1"] == pytest.approx((33.4, 209.08))
    assert spans["symbolSearch"] == pytest.approx((28.854, 156.983))


def test_hfos_on_the_clock_of_the_raw_file(trees: Trees) -> None:
    cohort = trees.read("scalp_hfo")
    assert cohort.events is not None
    own = cohort.events[cohort.events["recording"] == "sub-02_ses-01_task-hfo"]
    pieces = own.dropna(subset=["hfo"])
    assert pieces["onset"].tolist() == [12, 14, 16, 18, 20]
    assert pieces["hfo"].tolist() == ["present", "absent", "absent", "present", "present"]
    scored = own.dropna(subset=["stage"])
    assert scored[["onset", "duration", "stage"]].to_numpy().tolist() == [[2, 10, "N2"], [12, 10, "N3"]]
    assert left_out(cohort, "channels") == {"not of type EEG": 4 + 4 + 5}


@pytest.mark.parametrize(
    ("name", "column", "message"),
    [
        ("DataIntervals.tsv", "StartInd", "'soon', expected a number"),
        ("sub-01_ses-01_task-hfo_run-01_events.tsv", "EvPassRejection", "'soon', expected 1, 0 or n/a"),
    ],
)
def test_broken_tables_of_hfos(trees: Trees, tmp_path: Path, name: str, column: str, message: str) -> None:
    root = trees.copy("scalp_hfo", tmp_path)
    file = root / "derivatives/sub-01/ses-01/eeg" / name
    edit(file, **{column: "soon"})
    with pytest.raises(BenchError, match=message):
        read_card("scalp_hfo", root)
    file.unlink()
    with pytest.raises(BenchError, match=f"{name}: no such file"):
        read_card("scalp_hfo", root)
    assert persons_of(read_card("scalp_hfo", root, on_error="skip")) == ["sub-02", "sub-03"]


def test_real_hfos(shared: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(shared / "data" / "sidecars_scalp" / "ds003555", tmp_path / "hfo"))
    tsv = root / "sub-01/ses-01/eeg/sub-01_ses-01_task-hfo_channels.tsv"
    put(tsv.with_name("sub-01_ses-01_task-hfo_eeg.edf"), pd.read_csv(tsv, sep="\t")["name"].tolist(), 1024, 1)
    cohort = read_card("scalp_hfo", root)
    assert cohort.channels["channel"].nunique() == 19
    assert cohort.events is not None
    stages = cohort.events["stage"].value_counts().to_dict()
    assert stages == {"N2": 9, "Awake": 8, "N3": 6, "REM": 1}
    pieces = cohort.events.dropna(subset=["hfo"])
    assert len(pieces) == 6 * 150
    first = pieces[pieces["onset"] < 1961329 / 1024 - 1]
    assert first["onset"].iloc[0] == pytest.approx(1654129 / 1024)
    table = pd.read_csv(next(root.rglob("*_run-01_events.tsv")), sep="\t").query("EvPassRejection == 1")
    times = [set(np.arange(int(row.indStart), int(row.indStop) + 1) // 4000) for row in table.itertuples()]
    assert (first["hfo"] == "present").to_numpy().nonzero()[0].tolist() == sorted(set().union(*times) - {150})


def test_music_is_labelled_by_the_mean_listener(trees: Trees) -> None:
    cohort = trees.read("music_eeg")
    assert cohort.events is not None
    of_one = cohort.events[cohort.events["recording"].str.startswith("sub-02")].astype({"clip": int})
    assert of_one["clip"].tolist() == [301, 302, 303, 304]
    assert of_one["onset"].tolist() == [2.5, 32.5, 2.5, 32.5]
    assert (of_one["duration"] == 20).all()
    assert of_one["pleasant"].astype(float).tolist() == [8, 4, 6, 2]
    assert of_one["clip_pleasant"].astype(float).tolist() == [8, 3, 6, 2]
    assert of_one["pleasantness"].tolist() == ["high", "low", "high", "low"]


def test_music_without_ratings(trees: Trees, tmp_path: Path) -> None:
    root = trees.copy("music_eeg", tmp_path)
    for file in root.rglob("*_events.tsv"):
        file.write_text(file.read_text().replace("\t800\n", "\t807\n"))
    with pytest.raises(BenchError, match="no clip with a rating"):
        read_card("music_eeg", root)


def test_trials_of_emoeeg_mc(trees: Trees) -> None:
    cohort = trees.read("emoeeg_mc")
    emotions = events_of(cohort, "emotion")["sub-02_ses-ima_task-emotion"]
    assert emotions[::3] == ["joy", "inspiration", "tenderness", "fear", "disgust", "sadness", "neutral"]
    assert emotions[:3] == ["joy"] * 3
    recording = cohort.open("sub-04_ses-vid_task-emotion")
    assert (recording.sfreq, recording.duration, len(recording.ch_names), len(recording.pieces)) == (200, 105, 64, 21)
    assert cohort.recordings["session"].tolist() == ["ima", "vid", "vid", "vid"]
    events = cohort.events
    assert events is not None
    own = events[events["recording"] == "sub-04_ses-vid_task-emotion"]
    for n, (onset, duration) in enumerate(zip(own["onset"], own["duration"], strict=True)):
        start, stop = round(onset * SFREQ), round((onset + duration) * SFREQ)
        loud = amplitudes(recording.read(start, stop), SFREQ, SINE_HZ)
        assert loud[CH_NAMES.index("C3")] == pytest.approx(10 + n, abs=0.3)
        assert loud.argmax() == CH_NAMES.index("C3")


def test_broken_arrays_of_emoeeg_mc(tmp_path: Path) -> None:
    root = tree.write_emoeeg_mc(tmp_path, n_times=20)
    file = root / "derivatives/sub-02/ses-ima/sub-02_ses-ima_task-emotion_reorder.npy"
    trials = np.load(file)
    for array, message in (
        (trials[:, :60], r"shape \(21, 60, 20\), expected \(n_trials, 64, n_times\)"),
        (trials[:20], r"20 trials, expected 3 of each of joy, .*: correct dataset.read.emotions"),
    ):
        np.save(file, array)
        with pytest.raises(BenchError, match=message):
            read_card("emoeeg_mc", root)
    file.write_bytes(file.read_bytes()[:5000])
    with pytest.raises(BenchError, match=r"not a whole \.npy file"):
        read_card("emoeeg_mc", root)
    assert len(read_card("emoeeg_mc", root, on_error="skip")) == 3


def test_lemon(trees: Trees) -> None:
    cohort = trees.read("mpi_lemon")
    assert whole_events(cohort)
    assert cohort.events is not None
    told = cohort.events[["gender", "age", "extraversion"]].to_numpy().tolist()
    assert told == [
        ["female", "20-25", "low"],
        ["male", "35-40", "low"],
        ["female", "60-65", "high"],
        ["male", "75-80", "high"],
    ]
    assert cohort.recordings["sfreq"].tolist() == [2500, 500, 2500, 2500]
    assert left_out(cohort) == {"person not in META_File_IDs_Age_Gender_Education_Drug_Smoke_SKID_LEMON.csv": 1}


def test_lemon_preprocessed(trees: Trees) -> None:
    cohort = read_card("mpi_lemon", trees.root("mpi_lemon"), tree="preprocessed")
    assert cohort.recordings["recording"].tolist() == ["sub-032301_EC", "sub-032301_EO", "sub-032302_EC"]
    assert cohort.recordings["task"].tolist() == ["EC", "EO", "EC"]
    assert cohort.channels.groupby("recording").size().tolist() == [6, 4, 6]


@pytest.mark.parametrize(
    ("name", "columns", "message"),
    [
        ("NEO_FFI.csv", {"NEOFFI_Extraversion": None}, "no column NEOFFI_Extraversion"),
        ("META*.csv", {"ID": "sub-032301"}, "person sub-032301 stands twice"),
        ("META*.csv", {"Age": None}, "no column Age"),
    ],
)
def test_broken_tables_of_lemon(
    trees: Trees, tmp_path: Path, name: str, columns: dict[str, object], message: str
) -> None:
    root = trees.copy("mpi_lemon", tmp_path)
    file = next(root.rglob(name))
    edit(file, **columns)
    with pytest.raises(BenchError, match=message):
        read_card("mpi_lemon", root)
    file.unlink()
    with pytest.raises(BenchError, match="no such file"):
        read_card("mpi_lemon", root)


def test_tdbrain(trees: Trees, tmp_path: Path) -> None:
    cohort = trees.read("tdbrain")
    assert whole_events(cohort)
    indications = events_of(cohort, "indication")
    assert indications["sub-19681349_ses-2_task-restEO"] == ["MDD"]
    assert indications["sub-19681385_ses-1_task-restEC"] == ["ADHD"]  # whose header names another person
    assert left_out(cohort) == {
        "indication withheld": 2,
        "no indication of this session in TDBRAIN_participants_V2.tsv": 2,
    }
    root = trees.copy("tdbrain", tmp_path)
    edit(root / "TDBRAIN_participants_V2.tsv", sessID="1")
    with pytest.raises(BenchError, match=r"\('sub-19681349', '1'\) \(person, session\) stands twice"):
        read_card("tdbrain", root)


def test_cire(trees: Trees) -> None:
    cohort = trees.read("cire")
    assert cohort.events is not None
    own = cohort.events[cohort.events["recording"] == "sub-03_task-CIRE"]
    assert own[["onset", "duration", "condition"]].to_numpy().tolist() == [
        [2, 2, "1"],
        [6, 2, "2"],
        [10, 2, "1"],
        [14, 2, "2"],
    ]
    with pytest.raises(BenchError, match=r"no column number \(found: id, condition, text\)"):
        read_card("cire", trees.root("cire"), stimulus="number")
    with pytest.raises(BenchError, match=r"no event is a text of sentences.csv \(its codes: 1, 2, 3, 4, boundary\)"):
        read_card("cire", trees.root("cire"), stimulus="text")


RUNS: dict[str, tuple[str, dict[int, int], tuple[str, ...]]] = {
    # 12 s in 2 s, two persons, in ThePresent (3) three; symbolSearch (12) lasts 17 s
    "hbn": ("hbn", dict.fromkeys(range(12), 12) | {3: 18, 12: 16}, ("protocol=multi_subject",)),
    "scalp_hfo": ("scalp_hfo", {0: 6, 1: 9}, ()),
    # two clips of 20 s in 1 s, three persons
    "music_eeg": ("music_eeg", {0: 120, 1: 120}, ()),
    # trials of 5 s: 9 negative, 3 neutral, 9 positive, four recordings
    "emoeeg_mc": ("emoeeg_mc", {0: 36, 1: 12, 2: 36}, ()),
    # 10 s in 1 s, one person per age group
    "lemon_age": ("mpi_lemon", {0: 10, 1: 10, 2: 10, 3: 10}, ("protocol=multi_subject",)),
    "lemon_gender": ("mpi_lemon", {0: 20, 1: 20}, ("protocol=multi_subject",)),
    "lemon_extraversion": ("mpi_lemon", {0: 20, 1: 20}, ("protocol=multi_subject",)),
    # 20 s in 2 s, two conditions, the first person twice
    "tdbrain": ("tdbrain", {0: 40, 1: 20, 2: 20, 3: 20}, ("protocol=multi_subject",)),
    "cire": ("cire", {0: 6, 1: 6}, ()),
}
"""Task → dataset, units per class, overrides. A label of persons needs more of them for `cross_subject`."""


@pytest.mark.slow
@pytest.mark.parametrize("task", RUNS)
def test_run(trees: Trees, tmp_path: Path, task: str) -> None:
    dataset, per_class, overrides = RUNS[task]
    ch_names, signal, sfreq = run_counted(trees, task, dataset, SETS[dataset][2], per_class, tmp_path, *overrides)
    loud = amplitudes(signal[:, : round(sfreq) * 4], sfreq, SINE_HZ)
    if task == "emoeeg_mc":  # the first trial
        assert loud[ch_names.index("C3")] == pytest.approx(10 * 63 / 64, rel=0.05)
    else:  # the average takes a channel's share away
        assert loud[1] == pytest.approx(SINE_UV * (1 - 1 / len(ch_names)), rel=0.05)
