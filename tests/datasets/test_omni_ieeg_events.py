"""Labelled events of the release: class rule, stored waveforms, what is left out and what is refused."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from omni_bench.data.dataset import WindowDataset
from omni_bench.data.preprocess import Preprocessing
from omni_bench.data.store import map_signal
from omni_bench.datasets.omni_ieeg_events import annotated_events, event_label, prepare_events, released_detections
from omni_bench.errors import BenchError
from tests.cohorts import cohort_of

STEPS = Preprocessing(sfreq=1000.0, notch=False)
WINDOWS = {"window_s": 2.0, "stride_s": 2.0, "edge_s": 0.0}
RECORDINGS = {"sub-a_ses-01": ("sub-a", "train"), "sub-b_ses-01": ("sub-b", "test"), "sub-b_ses-02": ("sub-b", "test")}


def write_labels(
    root: Path, split: str, recording: str, artifact: list[int], spike: list[int], n_times: int = 2000
) -> None:
    folder = root / "derivatives" / "hfo_annotation" / split
    folder.mkdir(parents=True, exist_ok=True)
    seed = sum(recording.encode())
    waveforms = np.random.default_rng(seed).standard_normal((len(artifact), n_times))
    table = pd.DataFrame({"hfo_waveforms": list(waveforms), "edf_file": f"{recording}_ieeg.edf", "detector": "ste"})
    table = table.assign(method="manual", artifact=artifact, spike=spike)
    table.to_parquet(folder / f"{recording}_ieeg.edf.parquet")


@pytest.fixture
def release(tmp_path: Path) -> Path:
    write_labels(tmp_path, "train", "sub-a_ses-01", [0, 1, 1, 0], [0, 0, 1, 1])
    write_labels(tmp_path, "test", "sub-b_ses-01", [1, 1], [1, 0])
    return tmp_path


def test_artifact_column_means_not_an_artifact() -> None:
    table = pd.DataFrame({"artifact": [0, 1, 1, 0, pd.NA, 0, 1], "spike": [0, 0, 1, 1, 1, pd.NA, pd.NA]})
    assert event_label(table).tolist() == [0, 1, 2, 0, pd.NA, 0, pd.NA]


def test_each_event_is_a_unit_that_reads_its_own_waveform(release: Path, tmp_path: Path) -> None:
    cohort, stored = prepare_events(cohort_of(release, RECORDINGS), STEPS, tmp_path / "cache")
    units, windows = annotated_events(cohort, stored, **WINDOWS)
    assert units["label"].tolist() == [0, 1, 2, 0, 2, 1]
    assert units["person"].tolist() == ["sub-a"] * 4 + ["sub-b"] * 2
    assert units["unit_id"].is_unique
    assert windows.groupby("use").size().to_dict() == {"evaluate": 6, "train": 6}
    evaluate = windows[windows["use"] == "evaluate"].reset_index(drop=True)
    evaluate = evaluate.assign(
        first=0, path=evaluate["recording"].map({name: str(f.path) for name, f in stored.items()})
    )
    raw = pd.read_parquet(release / "derivatives/hfo_annotation/test/sub-b_ses-01_ieeg.edf.parquet")
    x, y, i = WindowDataset(evaluate, 2000)[5]
    assert (y.item(), i, tuple(x.shape)) == (1.0, 5, (1, 2000))
    np.testing.assert_array_equal(x[0].numpy(), raw["hfo_waveforms"][1].astype(np.float32))


def test_what_is_left_out_is_counted(release: Path, tmp_path: Path) -> None:
    cohort, stored = prepare_events(cohort_of(release, RECORDINGS), STEPS, tmp_path / "cache")
    assert set(stored) == {"sub-a_ses-01", "sub-b_ses-01"}
    assert {"what": "recordings", "reason": "no expert event labels", "n": 1} in cohort.excluded
    contradictions = [entry["n"] for entry in cohort.excluded if entry["what"] == "labels"]
    assert contradictions == [1]


def test_store_is_written_once_and_anew_for_other_labels(release: Path, tmp_path: Path) -> None:
    cohort = cohort_of(release, RECORDINGS)
    _, first = prepare_events(cohort, STEPS, tmp_path / "cache")
    before = first["sub-a_ses-01"].path.stat().st_mtime_ns
    _, again = prepare_events(cohort, STEPS, tmp_path / "cache")
    assert again["sub-a_ses-01"].path.stat().st_mtime_ns == before
    write_labels(release, "train", "sub-a_ses-01", [1] * 5, [0] * 5)
    _, other = prepare_events(cohort, STEPS, tmp_path / "cache")
    assert other["sub-a_ses-01"].path != first["sub-a_ses-01"].path
    assert map_signal(other["sub-a_ses-01"].path).shape == (5, 2000)


def test_a_file_in_the_other_splits_folder_is_refused(release: Path, tmp_path: Path) -> None:
    swapped = {"sub-a_ses-01": ("sub-a", "test"), "sub-b_ses-01": ("sub-b", "test")}
    with pytest.raises(BenchError, match="lies in train, but its patient is in test"):
        prepare_events(cohort_of(release, swapped), STEPS, tmp_path / "cache")


def test_broken_waveforms_are_refused_or_skipped(release: Path, tmp_path: Path) -> None:
    write_labels(release, "test", "sub-b_ses-01", [1], [1], n_times=1500)
    with pytest.raises(BenchError, match="waveforms of 1500 samples, expected 2000"):
        prepare_events(cohort_of(release, RECORDINGS), STEPS, tmp_path / "cache")
    cohort, stored = prepare_events(cohort_of(release, RECORDINGS), STEPS, tmp_path / "cache", on_error="skip")
    assert set(stored) == {"sub-a_ses-01"}
    assert cohort.recordings["recording"].tolist() == ["sub-a_ses-01"]


def test_other_preprocessing_and_lengths_are_refused(release: Path, tmp_path: Path) -> None:
    cohort = cohort_of(release, RECORDINGS)
    with pytest.raises(BenchError, match=r"task\.preprocessing"):
        prepare_events(cohort, Preprocessing(sfreq=500.0, notch=False), tmp_path / "cache")
    cohort, stored = prepare_events(cohort, STEPS, tmp_path / "cache")
    with pytest.raises(BenchError, match=r"task\.window_s=4"):
        annotated_events(cohort, stored, window_s=4.0, stride_s=4.0, edge_s=0.0)


def test_a_release_without_labels_says_so(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="hfo_annotation"):
        prepare_events(cohort_of(tmp_path, RECORDINGS), STEPS, tmp_path / "cache")


def test_released_detections_count_samples_at_1000_hz(tmp_path: Path) -> None:
    folder = tmp_path / "derivatives" / "hfo" / "sub-a" / "ses-01" / "ieeg"
    folder.mkdir(parents=True)
    (folder / "sub-a_ses-01_ieeg.csv").write_text("name,start,end,detector\nA1,1500.0,1550.0,ste\nX1,10,20,mni\n")
    found = released_detections(cohort_of(tmp_path, RECORDINGS), "sub-a_ses-01")
    assert found["channel"].tolist() == ["A1", "X1"]
    np.testing.assert_allclose(found[["onset", "duration"]], [[1.5, 0.05], [0.01, 0.01]])
    with pytest.raises(BenchError, match=r"sub-b_ses-01_ieeg\.csv: no such file"):
        released_detections(cohort_of(tmp_path, RECORDINGS), "sub-b_ses-01")
