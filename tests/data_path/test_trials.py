"""Windows of trials: what they hold, which trials have one, and that channels agree."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from omni_bench.data.cohort import Cohort
from omni_bench.data.dataset import WindowDataset
from omni_bench.data.store import Stored, write_store
from omni_bench.data.trials import trial_windows
from omni_bench.errors import BenchError

SFREQ, SECONDS = 100.0, 20
TIMES = {"window_s": 2.0, "stride_s": 2.0, "edge_s": 0.0}
LABELS = {"left": 0, "right": 1}


def cohort_of(
    folder: Path, events: dict[str, list[object]] | None, names: dict[str, list[str]] | None = None
) -> tuple[Cohort, dict[str, Stored]]:
    """Recordings whose sample at row r and time t is 1000 r + t."""
    names = names or {"a": ["FP1", "C3"], "b": ["FP1", "C3"]}
    stored, channels = {}, []
    for recording, own in names.items():
        signal = 1000 * np.arange(len(own))[:, None] + np.arange(SECONDS * SFREQ)
        stored[recording] = write_store(folder / f"{recording}.h5", [signal.astype("float32")], own, SFREQ, {})
        channels += [{"recording": recording, "channel": name, "raw_name": name, "good": True} for name in own]
    persons = [f"sub-{name}" for name in names]
    cohort = Cohort(
        "x",
        folder,
        pd.DataFrame({"subject": persons, "person": persons, "source": "x"}),
        pd.DataFrame(
            {"recording": list(names), "subject": persons, "path": "x.edf", "sfreq": SFREQ, "duration": SECONDS}
        ),
        pd.DataFrame(channels),
        events=None if events is None else pd.DataFrame(events),
    )
    return cohort, stored


def events(**columns: list[object]) -> dict[str, list[object]]:
    n = len(columns["onset"])
    return {"recording": ["a"] * n, "duration": [2.0] * n, "trial_type": ["left"] * n} | columns


def test_windows_hold_the_samples_from_the_onset_on(tmp_path: Path) -> None:
    cohort, stored = cohort_of(
        tmp_path, events(onset=[0.0, 3.25, 18.0], trial_type=["left", "right", "left"], recording=["a", "b", "a"])
    )
    units, windows = trial_windows(cohort, stored, **TIMES, labels=LABELS)
    evaluated = windows[windows["use"] == "evaluate"].set_index("unit_id")
    assert units["unit_id"].tolist() == ["a/0.000", "b/3.250", "a/18.000"]
    assert units["label"].tolist() == [0, 1, 0]
    table = evaluated.assign(path=evaluated["recording"].map(lambda name: str(stored[name].path)))
    table = table.assign(first=(table["start"] * SFREQ).round().astype(int))
    dataset = WindowDataset(table.loc[units["unit_id"]], n_times=200)
    for i, first in enumerate((0, 325, 1800)):
        x, y, _ = dataset[i]
        np.testing.assert_array_equal(x.numpy(), np.stack([first + np.arange(200), 1000 + first + np.arange(200)]))
        assert y == units["label"][i]


def test_long_trials_have_several_windows_short_ones_one(tmp_path: Path) -> None:
    cohort, stored = cohort_of(tmp_path, events(onset=[1.0, 10.0], duration=[6.5, None]))
    units, windows = trial_windows(cohort, stored, window_s=2, stride_s=1, edge_s=0, labels=LABELS)
    starts = windows.groupby(["use", "unit_id"])["start"].agg(list).to_dict()
    assert starts == {
        ("train", "a/1.000"): [1, 2, 3, 4, 5],
        ("evaluate", "a/1.000"): [1, 3, 5],
        ("train", "a/10.000"): [10],
        ("evaluate", "a/10.000"): [10],
    }
    assert units["duration"].tolist() == [6.5, 2.0]


def test_trials_outside_the_recording_are_left_out_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cohort, stored = cohort_of(tmp_path, events(onset=[-0.5, 5.0, 18.5]))
    units, _ = trial_windows(cohort, stored, **TIMES, labels=LABELS)
    assert units["onset"].tolist() == [5.0]
    assert "2 of 3 trials" in caplog.text


def test_continuous_targets(tmp_path: Path) -> None:
    cohort, stored = cohort_of(tmp_path, events(onset=[0.0, 5.0, 9.0], score=["0.5", None, "0,25"]))
    units, windows = trial_windows(cohort, stored, **TIMES, column="score")
    assert units["target"].tolist() == [0.5, 0.25]
    assert units["label"].isna().all()
    assert windows.loc[windows["use"] == "train", "label"].tolist() == [0.5, 0.25]


def test_other_events_are_no_trials(tmp_path: Path) -> None:
    cohort, stored = cohort_of(tmp_path, events(onset=[0.0, 5.0], trial_type=["left", "cue"]))
    assert trial_windows(cohort, stored, **TIMES, labels=LABELS)[0]["onset"].tolist() == [0.0]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"a": ["FP1", "C3"], "b": ["C3", "FP1"]}, "b: .*another order"),
        ({"a": ["FP1", "C3"], "b": ["FP1", "C4"]}, "b: .*channel C3 is not in both"),
        ({"a": ["FP1"], "b": ["FP1", "C4"]}, "b: .*channel C4 is not in both"),
    ],
)
def test_recordings_with_other_channels(tmp_path: Path, names: dict[str, list[str]], message: str) -> None:
    cohort, stored = cohort_of(tmp_path, events(onset=[0.0]), names)
    with pytest.raises(BenchError, match=message):
        trial_windows(cohort, stored, **TIMES, labels=LABELS)


def test_the_tasks_channels(tmp_path: Path) -> None:
    cohort, stored = cohort_of(tmp_path, events(onset=[0.0]))
    trial_windows(cohort, stored, **TIMES, labels=LABELS, channels=["FP1", "C3"])
    with pytest.raises(BenchError, match=r"a: .*another order"):
        trial_windows(cohort, stored, **TIMES, labels=LABELS, channels=["C3", "FP1"])


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (None, {"labels": LABELS}, "no events"),
        (events(onset=[0.0]), {"labels": {"up": 0}}, r"no event has up in column trial_type \(found: left\)"),
        (events(onset=[0.0]), {"column": "mood"}, "no column mood"),
        (events(onset=[19.0]), {"labels": LABELS}, "shorter window"),
    ],
)
def test_refuses(
    tmp_path: Path, table: dict[str, list[object]] | None, options: dict[str, object], message: str
) -> None:
    cohort, stored = cohort_of(tmp_path, table)
    with pytest.raises(BenchError, match=message):
        trial_windows(cohort, stored, **TIMES, **options)  # type: ignore[arg-type]
