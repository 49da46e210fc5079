"""Contexts of events on channels: which events count, where they are cut, what their time is."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from omni_bench.data.cohort import Cohort
from omni_bench.data.store import Stored, write_store
from omni_bench.errors import BenchError
from omni_bench.evaluation import rate_scores, region_label
from omni_bench.hfo.contexts import event_contexts
from tests.cohorts import cohort_of

WINDOWS = {"window_s": 2.0, "stride_s": 2.0, "edge_s": 1.0, "label": region_label}
N_TIMES, SFREQ = 30_000, 1000.0


def burst_at(*seconds: float) -> np.ndarray:
    """Noise of 1 µV with bursts of 150 Hz, 60 ms and 40 µV."""
    times = np.arange(N_TIMES) / SFREQ
    signal = np.random.default_rng(0).standard_normal(N_TIMES)
    for second in seconds:
        signal += 40 * np.sin(2 * np.pi * 150 * times) * np.exp(-0.5 * ((times - second) / 0.015) ** 2)
    return signal


@pytest.fixture
def recording(tmp_path: Path) -> tuple[Cohort, dict[str, Stored]]:
    signals = np.stack([burst_at(0.4, 10, 20.5), burst_at()]).astype(np.float32)
    stored = write_store(tmp_path / "a.h5", [signals], ["A1", "A2"], SFREQ, {})
    return cohort_of(tmp_path, {"sub-a_ses-01": ("sub-a", "test")}), {"sub-a_ses-01": stored}


def write_detections(root: Path, rows: list[tuple[str, int, int, str]]) -> None:
    folder = root / "derivatives" / "hfo" / "sub-a" / "ses-01" / "ieeg"
    folder.mkdir(parents=True)
    pd.DataFrame(rows, columns=["name", "start", "end", "detector"]).to_csv(
        folder / "sub-a_ses-01_ieeg.csv", index=False
    )


def test_detected_bursts_stand_in_the_middle_of_their_contexts(recording: tuple[Cohort, dict[str, Stored]]) -> None:
    cohort, stored = recording
    units, windows = event_contexts(cohort, stored, **WINDOWS, detectors=["ste", "hil"])
    assert units["unit_id"].tolist() == ["sub-a_ses-01/A1", "sub-a_ses-01/A2"]
    on_a1 = windows[windows["unit_id"] == "sub-a_ses-01/A1"]
    near = [on_a1["start"].sub(second - 1).abs().min() for second in (10, 20.5)]
    assert max(near) < 0.01
    assert on_a1["start"].min() >= 0  # the burst at 0.4 s has no whole context
    assert set(windows["use"]) == {"evaluate"}
    assert windows["sample_id"].is_unique
    assert windows["label"].isna().all()
    assert (windows["row"] == windows["unit_id"].map({"sub-a_ses-01/A1": 0, "sub-a_ses-01/A2": 1})).all()


def test_kept_detections_are_read_again(recording: tuple[Cohort, dict[str, Stored]]) -> None:
    cohort, stored = recording
    _, first = event_contexts(cohort, stored, **WINDOWS, detectors=["ste"])
    (kept,) = stored["sub-a_ses-01"].path.parent.glob("*.parquet")
    table = pd.read_parquet(kept)
    table[table["onset"] < 15].to_parquet(kept)
    _, second = event_contexts(cohort, stored, **WINDOWS, detectors=["ste"])
    assert (first["start"] > 15).any()
    assert not (second["start"] > 15).any()


def test_overlapping_detections_are_one_event_unless_kept(
    recording: tuple[Cohort, dict[str, Stored]], tmp_path: Path
) -> None:
    cohort, stored = recording
    rows = [("A1", 9980, 10020, "ste"), ("A1", 10000, 10060, "mni"), ("A1", 10000, 10060, "hil")]
    rows += [("A1", 15000, 15040, "ste"), ("A2", 10000, 10040, "ste"), ("bad", 10000, 10040, "ste")]
    write_detections(tmp_path, rows)
    units, windows = event_contexts(cohort, stored, **WINDOWS, detections="released")
    np.testing.assert_allclose(windows["start"], [9.02, 14.02, 9.02])
    _, kept = event_contexts(cohort, stored, **WINDOWS, detections="released", overlaps="kept")
    assert kept.groupby("unit_id").size().tolist() == [3, 1]  # mni and hil agree to the sample
    _, one = event_contexts(cohort, stored, **WINDOWS, detections="released", detectors=["hil"])
    np.testing.assert_allclose(one["start"], [9.03])
    assert units["label"].tolist() == [0, 0]


def test_rate_counts_the_time_in_which_events_can_be_counted(
    recording: tuple[Cohort, dict[str, Stored]], tmp_path: Path
) -> None:
    cohort, stored = recording
    write_detections(tmp_path, [("A1", start, start + 40, "ste") for start in (950, 1000, 5000, 28_960, 29_005)])
    units, windows = event_contexts(cohort, stored, **WINDOWS, detections="released")
    np.testing.assert_allclose(windows["start"], [0.02, 4.02, 27.98])
    assert units["duration"].tolist() == [28.0, 28.0]
    events = windows.assign(prob_artifact=[0.1, 0.8, 0.2], prob_spkHFO=[0.9, 0.2, 0.8])
    rates = rate_scores(events, units, "spkHFO")
    np.testing.assert_allclose(rates["total"] / rates["size"], [2 / (28 / 60), 0])


def test_shifted_contexts_are_those_of_the_released_code(
    recording: tuple[Cohort, dict[str, Stored]], tmp_path: Path
) -> None:
    """All events count, in the whole time: those that start before 2 s or end after 28 s with the first or last 2 s."""
    cohort, stored = recording
    firsts = [10, 1990, 2000, 27_959, 27_961, 29_900]
    write_detections(tmp_path, [("A1", first, first + 40, "ste") for first in firsts])
    units, windows = event_contexts(
        cohort, stored, **WINDOWS, detections="released", overlaps="kept", borders="shifted"
    )
    np.testing.assert_allclose(windows["start"], [0, 0, 1.02, 26.979, 28, 28])
    assert units["duration"].tolist() == [30.0, 30.0]
    _, left = event_contexts(cohort, stored, **WINDOWS, detections="released", overlaps="kept")
    np.testing.assert_allclose(left["start"], [1.01, 1.02, 26.979, 26.981])
    with pytest.raises(BenchError, match=r"window_s=3: task\.samples\.borders=shifted shifts 2 s"):
        event_contexts(cohort, stored, **WINDOWS | {"window_s": 3.0}, detections="released", borders="shifted")


def test_no_event_at_all_and_unknown_rules_are_clear(
    recording: tuple[Cohort, dict[str, Stored]], tmp_path: Path
) -> None:
    cohort, stored = recording
    write_detections(tmp_path, [("A1", 10, 50, "ste")])
    with pytest.raises(BenchError, match="no event in 1 recordings"):
        event_contexts(cohort, stored, **WINDOWS, detections="released")
    with pytest.raises(BenchError, match=r"overlaps=both: expected merged or kept"):
        event_contexts(cohort, stored, **WINDOWS, overlaps="both")
