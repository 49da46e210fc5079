"""Windows: hand-computed starts, the last sample, no overlap in evaluation."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omni_bench.data.cohort import Cohort
from omni_bench.data.samples import channel_windows, window_starts, with_split
from omni_bench.data.store import Stored
from omni_bench.errors import BenchError


@pytest.mark.parametrize(
    ("duration", "window", "stride", "edge", "starts"),
    [
        (300, 60, 60, 1, [1, 61, 121, 181]),  # 241 would end at 301, the last usable second is 299
        (302, 60, 60, 1, [1, 61, 121, 181, 241]),  # half-open: ends exactly where the edge begins
        (122, 60, 30, 1, [1, 31, 61]),
        (62, 60, 30, 1, [1]),
        (61.999, 60, 30, 1, []),
        (10, 10, 10, 0, [0]),
        (9.9, 10, 10, 0, []),
        (0, 10, 10, 0, []),
        (0.3, 0.1, 0.1, 0, [0, 0.1, 0.2]),  # 0.3 - 0.1 is 0.19999... in binary
        (19.001, 2, 2, 1, [1, 3, 5, 7, 9, 11, 13, 15]),
    ],
)
def test_starts(duration: float, window: float, stride: float, edge: float, starts: list[float]) -> None:
    np.testing.assert_allclose(window_starts(duration, window, stride, edge), starts)


@given(
    n_times=st.integers(0, 10_000),
    sfreq=st.sampled_from([100.0, 256.0, 999.4121, 1000.0]),
    n_window=st.integers(1, 3000),
    n_stride=st.integers(1, 3000),
    n_edge=st.integers(0, 500),
)
def test_windows_tile_what_fits(n_times: int, sfreq: float, n_window: int, n_stride: int, n_edge: int) -> None:
    starts = window_starts(n_times / sfreq, n_window / sfreq, n_stride / sfreq, n_edge / sfreq)
    first = np.round(starts * sfreq).astype(int)
    # counted in samples, where nothing rounds
    np.testing.assert_array_equal(first, range(n_edge, n_times - n_edge - n_window + 1, n_stride))


def stored(names: list[str], seconds: float) -> Stored:
    return Stored(Path("x.h5"), 100.0, tuple(names), round(seconds * 100), {})


def cohort() -> Cohort:
    patients = pd.DataFrame(
        {"subject": ["s1", "s2"], "person": ["p1", "p2"], "source": "tiny", "outcome": [True, None]}
    )
    recordings = pd.DataFrame(
        {
            "recording": ["r1", "r2", "r3"],
            "subject": ["s1", "s1", "s2"],
            "path": "x.edf",
            "sfreq": 100.0,
            "duration": 1.0,
        }
    )
    channels = pd.DataFrame(
        [
            {
                "recording": recording,
                "channel": name.removesuffix("-Ref"),
                "raw_name": name,
                "good": good,
                "soz": name == "A1-Ref",
            }
            for recording in ("r1", "r2", "r3")
            for name, good in (("B1-Ref", True), ("X", False), ("A1-Ref", True))
        ]
    )
    return Cohort("tiny", Path("/data/tiny"), patients, recordings, channels)


def label(units: pd.DataFrame) -> pd.Series:
    return units["soz"].astype("Int64").mask(units["outcome"].isna())


def test_channel_windows_by_hand() -> None:
    files = {
        "r1": stored(["A1-Ref", "B1-Ref"], 26),
        "r2": stored(["B1-Ref", "A1-Ref"], 5),
        "r3": stored(["B1-Ref", "A1-Ref"], 12),
    }
    units, windows = channel_windows(cohort(), files, window_s=10, stride_s=5, edge_s=1, label=label)
    assert units["unit_id"].tolist() == ["r1/B1", "r1/A1", "r2/B1", "r2/A1", "r3/B1", "r3/A1"]
    assert units["label"].tolist()[:4] == [0, 1, 0, 1]
    assert units["label"][4:].isna().all()
    assert units["duration"].tolist() == [26, 26, 5, 5, 12, 12]
    train, evaluate = (windows[windows["use"] == use] for use in ("train", "evaluate"))
    by_unit = train.groupby("unit_id")["start"].agg(list).to_dict()
    assert by_unit == {"r1/A1": [1, 6, 11], "r1/B1": [1, 6, 11], "r3/A1": [1], "r3/B1": [1]}  # 16 would end at 26
    assert evaluate.groupby("unit_id")["start"].agg(list).to_dict() == {
        "r1/A1": [1, 11],
        "r1/B1": [1, 11],
        "r3/A1": [1],
        "r3/B1": [1],
    }
    assert windows.drop_duplicates("unit_id").set_index("unit_id")["row"].to_dict() == {
        "r1/B1": 1,
        "r1/A1": 0,
        "r3/B1": 0,
        "r3/A1": 1,
    }
    assert evaluate["sample_id"].tolist()[:3] == ["r1/B1@1.000", "r1/B1@11.000", "r1/A1@1.000"]
    assert evaluate["sample_id"].is_unique
    assert (windows["duration"] == 10).all()
    assert set(zip(windows["subject"], windows["person"], strict=True)) == {("s1", "p1"), ("s2", "p2")}


def test_a_window_costs_little_beside_its_name() -> None:
    files = {name: stored(["A1-Ref", "B1-Ref"], 4000) for name in ("r1", "r2", "r3")}
    _, windows = channel_windows(cohort(), files, window_s=1, stride_s=1, edge_s=0, label=label)
    assert len(windows) == 2 * 3 * 2 * 4000
    # nine columns: 8 bytes a number, a byte or four of a category each, 9 of the label
    assert windows.drop(columns="sample_id").memory_usage(deep=True, index=False).sum() < 60 * len(windows)


def test_windows_take_the_split_of_their_unit() -> None:
    files = {name: stored(["A1-Ref", "B1-Ref"], 12) for name in ("r1", "r2", "r3")}
    units, windows = channel_windows(cohort(), files, window_s=5, stride_s=5, edge_s=0, label=label)
    units["split"] = ["train", "val", "train", None, "test", "test"]
    found = with_split(windows.sample(frac=1, random_state=0), units)
    for unit, split in zip(units["unit_id"], units["split"], strict=True):
        part = found.loc[found["unit_id"] == unit, "split"]
        assert len(part) == 4
        assert part.isna().all() if pd.isna(split) else (part == split).all()


def test_all_recordings_shorter_than_a_window() -> None:
    files = {name: stored(["A1-Ref", "B1-Ref"], 61.9) for name in ("r1", "r2", "r3")}
    with pytest.raises(
        BenchError,
        match=r"/data/tiny: the longest recording has 61\.9 s, shorter than a window: task\.window_s=60 and 1 s",
    ):
        channel_windows(cohort(), files, window_s=60, stride_s=30, edge_s=1, label=label)
