"""Datasets of Neuroscan files and of epoched EEGLAB files: trials, classes, µV, and what is refused."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf

from omni_bench import api
from omni_bench.data.cohort import Cohort
from omni_bench.data.recording import open_recording
from omni_bench.datasets.cnt_sets import CntFile, coded_marks
from omni_bench.errors import BenchError
from tests.data import scalp_cnt
from tests.scalp_runs import probe

FIVE = ["disgust", "fear", "sad", "neutral", "happy"]
SEVEN = [*FIVE, "anger", "surprise"]


def read(task: str, root: Path, *overrides: str, on_error: str = "raise") -> Cohort:
    """The dataset of a task as its card reads it."""
    cfg = api.compose_config([f"task={task}", f"dataset.root={root}", *overrides])
    return instantiate(cfg.dataset.read)(root, name=cfg.dataset.name, on_error=on_error, unit=cfg.dataset.unit)


def events(cohort: Cohort, recording: str) -> list[tuple[float, float, str]]:
    assert cohort.events is not None
    own = cohort.events[cohort.events["recording"] == recording]
    return list(zip(own["onset"], own["duration"], own["trial_type"], strict=True))


def loudest(cohort: Cohort, recording: str, start: float, stop: float) -> tuple[str, float]:
    """Channel with the largest tone of 10 Hz between two times, and its amplitude in µV."""
    opened = cohort.open(recording)
    first, last = round(start * opened.sfreq), round(stop * opened.sfreq)
    signal = opened.read(first, last)
    wave = np.exp(-2j * np.pi * 10 * np.arange(signal.shape[1]) / opened.sfreq)
    tone = 2 * np.abs((signal * wave).mean(axis=1))
    return opened.ch_names[int(tone.argmax())], float(tone.max())


def write_seed_v(root: Path, cap: Sequence[str] = scalp_cnt.SEED_NAMES) -> None:
    scalp_cnt.write_seed(root, {f"EEG_raw/{i}_1_20180804.cnt": "" for i in (1, 2, 16)}, cap)


SHORT_V = [
    "dataset.read.events.start.1=[1,4,7,10,13]",
    "dataset.read.events.end.1=[3,6,9,12,15]",
    f"dataset.read.events.labels.1=[{','.join(FIVE)}]",
]
SHORT_FRA = [
    "dataset.read.events.start.any=[1,4,7]",
    "dataset.read.events.end.any=[3,6,9]",
    "dataset.read.events.labels.any=[negative,neutral,positive]",
    "task.window_s=2",
]
SHORT_VII = [f"dataset.read.events.labels.1=[{','.join(SEVEN)}]", "task.window_s=2"]


def write_seed_vii(root: Path, cap: Sequence[str] = scalp_cnt.SEED_NAMES) -> None:
    marks = [(float(t), code) for k in range(7) for t, code in ((1 + 3 * k, 1), (3 + 3 * k, 2))]
    names = {f"EEG_raw/{i}_20221010_1.cnt": "1" for i in (1, 2, 3)} | {"EEG_raw/9_20221111_3.cnt": "none"}
    scalp_cnt.write_seed(root, names, cap, 22, {"1": marks})


def write_seed_fra(root: Path, cap: Sequence[str] = scalp_cnt.SEED_NAMES) -> None:
    scalp_cnt.write_seed(root, {f"French/01-EEG-raw/{i}_1.cnt": "" for i in (1, 2, 3)}, cap, 13)


def test_films_at_their_times(tmp_path: Path) -> None:
    """Session and person from the name; µV, and only the 62 channels of the cap."""
    write_seed_v(tmp_path)
    cohort = read("seed_v", tmp_path, *SHORT_V)
    assert sorted(cohort.patients["person"]) == ["sub-01", "sub-02", "sub-16"]
    assert cohort.recordings["session"].tolist() == ["1", "1", "1"]
    assert (cohort.recordings["sfreq"] == 1000).all()
    assert len(cohort.channels) == 3 * 62
    assert not cohort.channels["channel"].isin(["M1", "M2", "VEO", "HEO"]).any()
    assert events(cohort, "sub-16_ses-1")[:2] == [(1.0, 2.0, "disgust"), (4.0, 2.0, "fear")]
    name, amplitude = loudest(cohort, "sub-16_ses-1", 10, 12)
    assert (name, amplitude) == ("OZ", pytest.approx(50, abs=2))


@pytest.mark.parametrize(
    ("task", "sessions", "n_trials", "ends", "per_class"),
    [("seed_v", "123", 15, {"1": 3359, "2": 2817, "3": 3066}, 3), ("seed_fra", ["any"], 21, {"any": 3797}, 7)],
)
def test_tables_of_films(
    tmp_path: Path, task: str, sessions: list[str], n_trials: int, ends: dict[str, int], per_class: int
) -> None:
    """As released: so many films, one after the other, every emotion equally often."""
    cfg = api.compose_config([f"task={task}", f"dataset.root={tmp_path}"])
    tables = cfg.dataset.read.events
    for session in sessions:
        start, end, labels = (list(tables[key][session]) for key in ("start", "end", "labels"))
        assert len(start) == len(end) == len(labels) == n_trials
        times = np.column_stack([start, end]).ravel()
        assert (np.diff(times) > 0).all()
        assert end[-1] == ends[session]
        assert {name: labels.count(name) for name in labels} == dict.fromkeys(cfg.task.classes, per_class)


def test_labels_of_seed_vii(tmp_path: Path) -> None:
    """Twelve films per emotion, eight neutral ones; a session shows five emotions there and back, twice."""
    cfg = api.compose_config(["task=seed_vii", f"dataset.root={tmp_path}"])
    labels = OmegaConf.to_container(cfg.dataset.read.events.labels)
    assert isinstance(labels, dict)
    everything = [name for row in labels.values() for name in row]
    assert {n: everything.count(n) for n in everything} == dict.fromkeys(SEVEN, 12) | {"neutral": 8}
    assert all(row == 2 * (row[:5] + row[4::-1]) for row in labels.values())
    assert (labels["1"][0], labels["2"][0], labels["3"][0], labels["4"][0]) == ("happy", "anger", "happy", "disgust")


def test_films_between_triggers(tmp_path: Path) -> None:
    write_seed_vii(tmp_path)
    cohort = read("seed_vii", tmp_path, *SHORT_VII)
    assert cohort.excluded == [{"what": "recordings", "reason": "has no triggers", "n": 1}]
    found = events(cohort, "sub-02_ses-1")
    assert [(o, d) for o, d, _ in found] == [(1 + 3 * k, 2) for k in range(7)]
    assert [name for *_, name in found] == SEVEN
    with pytest.raises(BenchError, match=r"1_20221010_1.cnt: 14 marks, expected 40: start and end of each trial"):
        read("seed_vii", tmp_path)


def test_a_short_recording_loses_its_last_films(tmp_path: Path) -> None:
    write_seed_fra(tmp_path)
    cohort = read("seed_fra", tmp_path, *SHORT_FRA[:1], "dataset.read.events.end.any=[3,6,14]", *SHORT_FRA[2:])
    assert [name for *_, name in events(cohort, "sub-01_ses-1")] == ["negative", "neutral"]
    assert cohort.excluded == [{"what": "events", "reason": "end after their recording", "n": 3}]


def test_targets_and_control_marks(tmp_path: Path) -> None:
    scalp_cnt.write_dual_frequency(tmp_path, n_targets=8)
    cohort = read("dual_freq_ssvep", tmp_path)
    assert events(cohort, "sub-02") == [(float(k), 5.0, str(k)) for k in range(1, 9)]
    assert {"M1", "M2"} <= set(cohort.channels["channel"])
    assert len(cohort.channels) == 3 * 64
    # the tone is in the trial of target 2
    assert loudest(cohort, "sub-02", 2, 3) == ("OZ", pytest.approx(50, abs=2))
    assert loudest(cohort, "sub-02", 3, 4)[1] < 5


def test_clips_and_answers(tmp_path: Path) -> None:
    scalp_cnt.write_svrec(tmp_path)
    cohort = read("eeg_svrec", tmp_path)
    assert cohort.events is not None
    own = cohort.events[cohort.events["recording"] == "sub-02"]
    assert own[["onset", "duration"]].to_numpy().tolist() == [[1, 2], [4, 2], [7, 2], [10, 2]]
    assert (own["like"].tolist(), own["valence"].tolist()) == (["0", "1", "0", "1"], ["1", "2", "3", "4"])
    (tmp_path / "data" / "metadata" / "2_behavior_MAES.json").unlink()
    with pytest.raises(BenchError, match=r"2_data.cnt: no .*2_behavior_MAES.json, which holds its labels"):
        read("eeg_svrec", tmp_path)
    assert read("eeg_svrec", tmp_path, on_error="skip").patients["person"].tolist() == ["sub-01", "sub-03"]


def test_epochs_by_file_name(tmp_path: Path) -> None:
    """Rest and ECG are out; four epochs of 2 s each follow one another."""
    scalp_cnt.write_workload(tmp_path)
    cohort = read("workload", tmp_path)
    assert (len(cohort), cohort.patients["person"].tolist()) == (18, ["sub-01", "sub-02", "sub-03"])
    assert cohort.channels["channel"].unique().tolist() == ["FP1", "FZ", "F3", "OZ"]
    difficult = "sub-02_ses-1_task-MATBdiff"
    assert events(cohort, difficult) == [(float(2 * k), 2.0, "MATBdiff") for k in range(4)]
    opened = cohort.open(difficult)
    assert (opened.sfreq, opened.pieces, opened.n_times) == (500, (0, 1000, 2000, 3000), 4000)
    assert loudest(cohort, difficult, 2, 4) == ("Oz", pytest.approx(50, abs=2))
    assert loudest(cohort, difficult, 4, 6)[1] < 5


def _truncate(root: Path) -> None:
    file = root / "EEG_raw" / "1_1_20180804.cnt"
    file.write_bytes(file.read_bytes()[:800])


def _twice(root: Path) -> None:
    file = root / "EEG_raw" / "1_1_20180804.cnt"
    file.with_name("01_1_20180805.cnt").write_bytes(file.read_bytes())


def _elsewhere(root: Path) -> None:
    (root / "EEG_raw").rename(root / "raw")
    for file in (root / "raw").iterdir():
        file.rename(file.with_stem(f"x{file.stem}"))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_truncate, r"1_1_20180804.cnt: cannot be read as CNT"),
        (_twice, r"01_1_20180805.cnt and EEG_raw/1_1_20180804.cnt are one recording of person 01: keep one"),
        (_elsewhere, r"none of 3 CNT or SET files lies where seed_v has them"),
    ],
)
def test_damage(tmp_path: Path, damage: Any, message: str) -> None:
    write_seed_v(tmp_path)
    damage(tmp_path)
    with pytest.raises(BenchError, match=message):
        read("seed_v", tmp_path, *SHORT_V)


def test_epoched_files_that_cannot_be_read(tmp_path: Path) -> None:
    scalp_cnt.write_workload(tmp_path, persons=(1,))
    file = tmp_path / "P01/S1/eeg/alldata_sbj01_sess1_MATBeasy.set"
    file.write_bytes(file.read_bytes()[:2000])
    with pytest.raises(BenchError, match=r"MATBeasy.set: cannot be read as epochs of EEGLAB"):
        read("workload", tmp_path)
    assert len(read("workload", tmp_path, on_error="skip")) == 5
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "P01.zip").touch()
    with pytest.raises(BenchError, match=r"no epoched \*.set of workload could be read: unpack P01.zip"):
        read("workload", empty)


def test_a_real_file(shared: Path) -> None:
    """90 s of two channels at 1000 Hz with 12 marks, four of them by the keypad or bad spans."""
    path = shared / "data" / "formats" / "test_CNT_events_mne_JWoess_clipped.cnt"
    recording = open_recording(path)
    assert (recording.ch_names, recording.sfreq, recording.duration) == (["F8", "FCz"], 1000, 90)
    assert 10 < np.median(recording.read().std(axis=1)) < 100
    found = coded_marks(CntFile(path.parent, path, {}, 1000.0, 90.0), [], n_codes=40, trial_s=5)
    assert found["trial_type"].tolist() == ["5"] * 8
    assert found["onset"].iloc[0] == pytest.approx(47.809)


def write_packaged_ssvep(root: Path) -> None:
    """160 trials of training, one per target."""
    root.mkdir(exist_ok=True)
    for split, n in {"train": 160, "val": 20, "test": 40}.items():
        with h5py.File(root / f"{split}.h5", "w") as file:
            file["X"] = np.random.default_rng(n).normal(0, 10, (n, 9, 600)).astype("float32")
            file["y"] = np.arange(n, dtype="int32")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "write", "overrides", "per_class"),
    [
        # two windows of 1 s per film, three persons
        ("seed_v", partial(write_seed_v, cap=scalp_cnt.FEW_NAMES), SHORT_V, dict.fromkeys(FIVE, 6)),
        ("seed_vii", partial(write_seed_vii, cap=scalp_cnt.FEW_NAMES), SHORT_VII, dict.fromkeys(SEVEN, 3)),
        (
            "seed_fra",
            partial(write_seed_fra, cap=scalp_cnt.FEW_NAMES),
            SHORT_FRA,
            dict.fromkeys(["negative", "neutral", "positive"], 3),
        ),
        # two clips of 2 s of each kind
        ("eeg_svrec", partial(scalp_cnt.write_svrec, cap=scalp_cnt.FEW_NAMES), [], {"not liked": 12, "liked": 12}),
        (
            "dual_freq_ssvep",
            partial(scalp_cnt.write_dual_frequency, n_targets=40, cap=scalp_cnt.FEW_NAMES),
            ["dataset.read.events.trial_s=1"],
            {str(k): 3 for k in range(1, 41)},
        ),
        # two sessions of four epochs
        ("workload", scalp_cnt.write_workload, [], {"easy": 24, "medium": 24, "difficult": 24}),
    ],
)
def test_run(tmp_path: Path, task: str, write: Any, overrides: list[str], per_class: dict[str, int]) -> None:
    root = tmp_path / "raw"
    write(root)
    run = probe(task, root, tmp_path, *overrides)
    counts = run.result["counts"].values()
    assert {name: sum(part["per_class"][name] for part in counts) for name in per_class} == per_class
    assert run.units["person"].nunique() == 3
    assert len(run.units) == sum(per_class.values())
    # white noise of 10 µV up to the filter's half-way point at 84 Hz, less the common average; away from edges and tones
    with h5py.File(sorted(run.store.glob("*.h5"))[-1]) as file:
        n_channels, n_times = file["signal"].shape
        inner = file["signal"][:, n_times // 4 : n_times // 3]
    expected = 10 * np.sqrt(84 / (run.cohort.recordings["sfreq"].iloc[0] / 2) * (1 - 1 / n_channels))
    assert np.median(inner.std(axis=1)) == pytest.approx(expected, rel=0.15)


@pytest.mark.slow
def test_run_of_the_packaged_release(tmp_path: Path) -> None:
    write_packaged_ssvep(tmp_path / "raw")
    run = probe("ssvep_9ch", tmp_path / "raw", tmp_path)
    assert {split: part["units"] for split, part in run.result["counts"].items()} == {
        "train": 160,
        "val": 20,
        "test": 40,
    }
    assert sum(run.result["counts"]["train"]["per_class"].values()) == 160
