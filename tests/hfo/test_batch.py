"""Detection over recordings, as `python -m omni_bench.detect` does it."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from omni_bench.data.loose_files import LooseFile
from omni_bench.data.recording import open_recording
from omni_bench.datasets.demo_files import write_edf
from omni_bench.datasets.ieeg_files import read_ieeg_files
from omni_bench.datasets.omni_ieeg import read_omni_ieeg
from omni_bench.errors import BenchError
from omni_bench.hfo import detect, match, read_events
from omni_bench.hfo.batch import Job, Settings, detect_recordings, jobs_of

SFREQ = 1000.0


@pytest.fixture(scope="module")
def demo(demo_root: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[pd.DataFrame, Path, Path]:
    """Summary, output folder and root after detection on one source of the demo cohort."""
    folder = tmp_path_factory.mktemp("hfo")
    cohort = read_omni_ieeg(demo_root).filter(source="zurich", ictal=False)
    return detect_recordings(jobs_of(cohort, Settings(), folder, skip_broken=False), "raise"), folder, demo_root


def test_every_recording_has_its_tables(demo: tuple[pd.DataFrame, Path, Path]) -> None:
    summary, folder, _ = demo
    for row in summary.itertuples():
        events, rates = read_events(row.table), pd.read_csv(folder / f"{row.recording}_rates.tsv", sep="\t")
        assert len(events) == rates["count"].sum() == row.events
        assert len(rates) == row.channels
        np.testing.assert_allclose(rates["rate"], rates["count"] / row.minutes)
        assert (folder / f"{row.recording}_rates.png").stat().st_size > 5000


def test_planted_oscillations_are_found(demo: tuple[pd.DataFrame, Path, Path]) -> None:
    summary, _, root = demo
    recalls = []
    for row in summary.itertuples():
        truth = pd.read_csv(root / "derivatives" / "truth" / f"{row.recording}_events.tsv", sep="\t")
        truth = truth[truth["kind"].isin(["spk_ripple", "ripple", "fast_ripple"])]
        truth = truth.assign(
            start=(truth["onset"] * SFREQ).round(), end=((truth["onset"] + truth["duration"]) * SFREQ).round()
        )
        found = read_events(row.table)
        truth = truth[truth["channel"].isin(found["channel"])]
        recalls.append(match(found, truth.reset_index(drop=True)).recall)
    # far above what as many events would hit by chance
    assert np.mean(recalls) > 0.2


def job_of(path: Path, folder: Path, **changes: object) -> Job:
    job = Job("one", path, None, None, Settings(detectors=("ste",)), folder, skip_broken=False, soz={})
    return replace(job, **changes)  # type: ignore[arg-type]


@pytest.fixture
def edf(tmp_path: Path) -> Path:
    """Two good channels and a flat one."""
    rng = np.random.default_rng(0)
    signals = np.vstack([20 * rng.standard_normal((2, 20_000)), np.zeros((1, 20_000))]).astype(np.float32)
    write_edf(tmp_path / "one.edf", signals, SFREQ, ["A1", "A2", "A3"])
    return tmp_path / "one.edf"


def test_flat_channel_stops_or_is_left_out(edf: Path, tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="A3"):
        detect_recordings([job_of(edf, tmp_path)], "raise")
    assert not list(tmp_path.glob("*_events.tsv"))
    summary = detect_recordings([job_of(edf, tmp_path, skip_broken=True)], "skip")
    assert summary["channels"].tolist() == [2]


def test_the_table_is_that_of_detect(edf: Path, tmp_path: Path) -> None:
    detect_recordings([job_of(edf, tmp_path, ch_names=("A1", "A2"))], "raise")
    signal = open_recording(edf, ["A1", "A2"]).read()
    expected = detect(signal, SFREQ, ["A1", "A2"], "ste")
    pd.testing.assert_frame_equal(
        read_events(tmp_path / "one_events.tsv")[expected.columns.tolist()], expected, check_dtype=False
    )


def test_recordings_are_opened_as_their_dataset_says(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    signal = 20 * rng.standard_normal((2, 20_000)).astype(np.float32)
    np.savez(
        tmp_path / "p1.npz", signal=np.vstack([signal, np.zeros(20_000)]), ch_names=["A1", "A2", "A3"], sfreq=SFREQ
    )
    cohort = read_ieeg_files(tmp_path, unit="µV")
    (job,) = jobs_of(cohort, Settings(detectors=("ste",)), tmp_path / "hfo", skip_broken=True)
    summary = detect_recordings([job], "skip")
    expected = detect(signal, SFREQ, ["A1", "A2"], "ste")
    assert summary["channels"].tolist() == [2]
    assert summary["events"].tolist() == [len(expected)]
    assert job.provenance["opener"] != replace(job, opener=LooseFile(sfreq=500.0)).provenance["opener"]


def test_done_recordings_are_not_detected_again(edf: Path, tmp_path: Path) -> None:
    job = job_of(edf, tmp_path, ch_names=("A1", "A2"))
    first = detect_recordings([job], "raise")
    written = job.table.stat().st_mtime_ns
    pd.testing.assert_frame_equal(detect_recordings([job], "raise"), first)
    assert job.table.stat().st_mtime_ns == written
    detect_recordings([replace(job, settings=Settings(detectors=("hil",)))], "raise")
    assert job.table.stat().st_mtime_ns != written


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"detectors": ()}, "detect.detectors is empty"),
        ({"band": (80.0,)}, "give the lower and the upper edge"),
        ({"params": {"set": {}}}, "detect.params.set: not one of detect.detectors; did you mean 'ste'?"),
        ({"detectors": ("ste",), "params": {"mni": {}}}, "detect.params.mni: not one of detect.detectors"),
        ({"params": {"ste": {"rms_thresh": 4}}}, "did you mean 'rms_thres'?"),
    ],
)
def test_settings_that_would_be_ignored_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(BenchError, match=re.escape(message)):
        Settings(**settings)


def test_rate_too_low_for_the_band_is_refused(tmp_path: Path) -> None:
    write_edf(
        tmp_path / "slow.edf", np.random.default_rng(0).standard_normal((1, 2000)).astype(np.float32), 200.0, ["A1"]
    )
    with pytest.raises(BenchError, match="200 Hz is too low"):
        detect_recordings([job_of(tmp_path / "slow.edf", tmp_path)], "raise")
