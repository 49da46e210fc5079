"""Consensus, rates, matching, windows and files of event tables."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from omni_bench.errors import BenchError
from omni_bench.hfo import combine, detect, event_windows, match, rates, read_events, write_events
from tests.hfo.synthetic import planted


def table(detector: str, *events: tuple[str, int, int], amplitude: float = 1.0) -> pd.DataFrame:
    frame = pd.DataFrame(list(events), columns=["channel", "start", "end"]).astype({"start": int, "end": int})
    return frame.assign(
        onset=frame["start"] / 1000,
        duration=(frame["end"] - frame["start"]) / 1000,
        detector=detector,
        band_low=80.0,
        band_high=300.0,
        peak_frequency=100.0 * amplitude,
        amplitude=amplitude,
    )


STE = table("ste", ("B", 100, 200), ("B", 500, 600), ("A", 100, 200), amplitude=2.0)
MNI = table("mni", ("B", 150, 260), ("B", 900, 950), ("A", 200, 300), amplitude=1.0)
HIL = table("hil", ("B", 255, 300), ("B", 510, 540), amplitude=1.5)


def test_union_merges_what_overlaps_also_through_a_third():
    merged = combine([STE, MNI, HIL])
    assert merged[["channel", "start", "end", "co_detections"]].to_numpy().tolist() == [
        ["B", 100, 300, "hil+mni+ste"],
        ["B", 500, 600, "hil+ste"],
        ["B", 900, 950, "mni"],
        ["A", 100, 200, "ste"],  # touching half-open intervals share no sample
        ["A", 200, 300, "mni"],
    ]
    assert (merged["detector"] == "union").all()
    np.testing.assert_allclose(merged["duration"], [0.2, 0.1, 0.05, 0.1, 0.1])
    assert merged["amplitude"].tolist() == [2.0, 2.0, 1.0, 2.0, 1.0]
    assert merged["peak_frequency"].tolist() == [200.0, 200.0, 100.0, 200.0, 100.0]  # the loudest detection's


def test_majority_and_intersection_count_detectors_not_detections():
    assert combine([STE, MNI, HIL], "majority")["start"].tolist() == [100, 500]
    assert combine([STE, MNI, HIL], "intersection")["start"].tolist() == [100]
    twice = table("ste", ("A", 0, 50), ("A", 40, 90))
    assert combine([twice, MNI], "intersection").empty


def test_empty_tables_still_count_as_voters():
    nothing = STE.iloc[:0]
    assert combine([STE, nothing], "intersection").empty
    assert len(combine([STE, nothing], "union")) == 3
    assert list(combine([nothing, nothing]).columns) == list(combine([STE]).columns)


def test_reference_concatenates():
    stacked = combine([STE, MNI, HIL], compat="reference")
    assert stacked["detector"].tolist() == ["ste"] * 3 + ["mni"] * 3 + ["hil"] * 2


one_detector = st.lists(st.tuples(st.sampled_from("AB"), st.integers(0, 60), st.integers(1, 9)), max_size=6)


@settings(max_examples=30, deadline=None)
@given(st.lists(one_detector, min_size=1, max_size=4))
def test_union_covers_the_same_samples_and_rules_are_nested(lists):
    tables = [table(f"d{i}", *((c, s, s + n) for c, s, n in events)) for i, events in enumerate(lists)]

    def samples(frames):
        return {(row.channel, t) for frame in frames for row in frame.itertuples() for t in range(row.start, row.end)}

    union = combine(tables, "union")
    assert samples([union]) == samples(tables)
    assert union["end"].sub(union["start"]).sum() == len(samples(tables))  # no overlaps are left
    keys = [
        set(combine(tables, rule)[["channel", "start", "end"]].itertuples(index=False, name=None))
        for rule in ("intersection", "majority", "union")
    ]
    assert keys[0] <= keys[1] <= keys[2]


def test_unknown_rule():
    with pytest.raises(BenchError, match="rule='both'"):
        combine([STE], "both")


def test_rates_with_poisson_intervals():
    found = rates(STE, duration=120, ch_names=["A", "B", "C"])
    assert found["count"].tolist() == [1, 2, 0]
    assert found["rate"].tolist() == [0.5, 1.0, 0.0]
    # Garwood's interval for two events is 0.2422 to 7.2247, for none 0 to 3.6889
    np.testing.assert_allclose(found["ci_low"], [0.0253 / 2, 0.2422 / 2, 0], atol=5e-5)
    np.testing.assert_allclose(found["ci_high"], [5.5716 / 2, 7.2247 / 2, 3.6889 / 2], atol=5e-5)
    low, high = found["ci_low"][1] * 2, found["ci_high"][1] * 2
    assert stats.poisson.sf(1, low) == pytest.approx(0.025)
    assert stats.poisson.cdf(2, high) == pytest.approx(0.025)


def test_rates_per_channel_durations_and_refusals():
    assert rates(STE, {"A": 60, "B": 30}, ["A", "B"])["rate"].tolist() == [1, 4]
    with pytest.raises(BenchError, match="events on channel B"):
        rates(STE, 60, ["A"])
    with pytest.raises(BenchError, match="more than 0 s"):
        rates(STE, 0, ["A", "B"])


def test_matching_takes_each_event_once():
    found = table("x", ("A", 0, 100), ("A", 100, 200), ("A", 500, 600), ("B", 0, 100))
    truth = table("y", ("A", 50, 200), ("A", 190, 300), ("C", 0, 100))
    result = match(found, truth)
    # 100-200 shares 100 of 150 samples with 50-200; pairing it with 190-300 instead would lose overlap
    assert result.pairs[["found", "truth"]].to_numpy().tolist() == [[1, 0]]
    assert result.pairs["iou"].tolist() == pytest.approx([100 / 150])
    assert (result.precision, result.recall) == (pytest.approx(1 / 4), pytest.approx(1 / 3))
    assert match(found, truth, min_iou=0.7).recall == 0
    assert np.isnan(match(found.iloc[:0], truth).precision)
    assert match(found.iloc[:0], truth).recall == 0
    assert np.isnan(match(found, truth.iloc[:0]).recall)
    assert np.isnan(match(found, truth.iloc[:0]).mean_iou)


def test_matching_is_symmetric_and_perfect_with_itself():
    assert match(STE, STE).mean_iou == 1
    forth, back = match(STE, MNI), match(MNI, STE)
    assert forth.mean_iou == back.mean_iou
    assert forth.precision == back.recall


def test_event_windows_stay_inside_and_on_the_event():
    events = table("x", ("A", 0, 40), ("A", 1500, 1560), ("A", 5000, 5041), ("A", 9950, 10000))
    found = event_windows(events, n_times=10_000, sfreq=1000)
    assert found.to_numpy().tolist() == [
        [0, 2000, 0, 570, True],
        [530, 2530, 1245, 1815, False],
        [4020, 6020, 4735, 5305, False],
        [8000, 10000, 9430, 10000, True],
    ]
    assert ((found["crop_start"] >= found["context_start"]) & (found["crop_end"] <= found["context_end"])).all()


def test_reference_windows_use_the_whole_context_as_border():
    events = table("x", ("A", 0, 40), ("A", 1999, 2040), ("A", 5000, 5041), ("A", 7990, 8001))
    found = event_windows(events, n_times=10_000, sfreq=1000, compat="reference")
    assert found.to_numpy().tolist() == [
        [0, 2000, 715, 1285, True],
        [0, 2000, 715, 1285, True],  # the event lies outside its own crop
        [4020, 6020, 4735, 5305, False],
        [8000, 10000, 8715, 9285, True],
    ]
    with pytest.raises(BenchError, match="need 2 s"):
        event_windows(events, n_times=1999, sfreq=1000)


def test_tables_come_back_from_disk_as_they_were(tmp_path):
    x, _ = planted(np.random.default_rng(0), 30, 1000.0, (20, 40))
    events = combine([detect(np.stack([x, x]), 1000.0, ["NA", "007"], detector) for detector in ("rms", "hil")])
    events.loc[0, "peak_frequency"] = np.nan
    path = write_events(tmp_path / "sub-01_events.tsv", events, 1000.0, detector="rms", compat=None)
    back = read_events(path)
    assert list(back.columns[:3]) == ["onset", "duration", "channel"]
    pd.testing.assert_frame_equal(back[events.columns], events, check_exact=True, check_dtype=False)
    assert back["channel"].tolist() == events["channel"].tolist()
    assert "\tn/a\t" in path.read_text().splitlines()[1]
    sidecar = json.loads(path.with_suffix(".json").read_text())
    assert sidecar["SamplingFrequency"] == 1000
    assert sidecar["amplitude"]["Units"] == "uV"
    assert set(events.columns) <= set(sidecar)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["sub-01_events.json", "sub-01_events.tsv"]


def test_files_that_are_no_event_tables(tmp_path):
    with pytest.raises(BenchError, match="no such event table"):
        read_events(tmp_path / "none.tsv")
    (tmp_path / "x.tsv").write_text("onset\tduration\n1\t2\n")
    with pytest.raises(BenchError, match="no column channel"):
        read_events(tmp_path / "x.tsv")
    with pytest.raises(BenchError, match=r"end in \.tsv"):
        write_events(tmp_path / "x.csv", STE, 1000)
