"""The default detectors: chunks do not matter, ends are exclusive, the reference's faults are gone."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omni_bench.errors import BenchError
from omni_bench.hfo import detect, detect_stream, match
from tests.hfo.synthetic import burst, golden_recording, one_over_f, planted

DETECTORS = ["ste", "mni", "hil", "rms", "linelength"]
SFREQ = 1000.0


@pytest.fixture(scope="module")
def long_record():
    """150 s, two channels: three blocks with a burst across each block border, and one at either end."""
    rng = np.random.default_rng(5)
    x = np.stack([planted(rng, 150, SFREQ, (15, 40))[0] for _ in range(2)])
    for start in (0, 49_980, 99_970, 149_940):
        wave = burst(150, 9, 40, 0, SFREQ)
        x[1, start : start + len(wave)] += wave
    return x.astype(np.float32)


@pytest.fixture(scope="module")
def whole(long_record):
    return {detector: detect(long_record, SFREQ, ["A", "B"], detector) for detector in DETECTORS}


@pytest.mark.parametrize("detector", DETECTORS)
@given(chunk=st.one_of(st.floats(0.1, 5), st.floats(5, 200)))
@settings(max_examples=6, deadline=None)
def test_chunks_do_not_change_one_bit(detector, chunk, long_record, whole):
    streamed = detect_stream(
        lambda start, stop: long_record[:, start:stop], long_record.shape[1], SFREQ, ["A", "B"], detector, chunk=chunk
    )
    pd.testing.assert_frame_equal(streamed, whole[detector], check_exact=True)


@pytest.mark.parametrize("detector", DETECTORS)
def test_events_across_block_borders_and_at_the_ends_are_whole(detector, whole):
    found = whole[detector][whole[detector]["channel"] == "B"]
    for start in (0, 49_980, 99_970, 149_940):
        assert ((found["start"] <= start + 20) & (found["end"] >= start + 40)).sum() == 1, start


def test_threads_do_not_change_one_bit(long_record, whole):
    pd.testing.assert_frame_equal(detect(long_record, SFREQ, ["A", "B"], "ste", n_jobs=2), whole["ste"])


def test_stream_reads_every_sample_once_a_pass(long_record):
    calls = []

    def read(start, stop):
        calls.append((start, stop))
        return long_record[:, start:stop]

    for detector, passes in (("mni", 1), ("ste", 2), ("linelength", 3)):
        calls.clear()
        detect_stream(read, long_record.shape[1], SFREQ, ["A", "B"], detector, chunk=7)
        covered = [sample for start, stop in calls for sample in (start, stop)]
        once = [0, *np.repeat(np.arange(7000, 150_000, 7000), 2).tolist(), 150_000]
        assert covered == once * passes


@pytest.mark.parametrize("detector", DETECTORS)
def test_table_is_consistent(detector, whole):
    table = whole[detector]
    assert len(table) > 20
    np.testing.assert_allclose(table["onset"], table["start"] / SFREQ)
    np.testing.assert_allclose(table["duration"], (table["end"] - table["start"]) / SFREQ)
    assert (table["band_low"] == 80).all()
    assert (table["band_high"] == 300).all()  # 500 Hz does not fit below 0.95 Nyquist
    assert table["peak_frequency"].between(80, 300).all()
    again = table.sort_values(["channel", "start"])
    pd.testing.assert_frame_equal(again, table)


@pytest.mark.parametrize(("detector", "widening"), [("ste", 0.010), ("hil", 0.010), ("linelength", 0.020)])
def test_a_loud_burst_is_described_truly(detector, widening):
    x = one_over_f(np.random.default_rng(3), 60_000, 2000.0)
    wave = burst(200, 20, 100, 0, 2000.0)
    x[30_000 : 30_000 + len(wave)] += wave
    table = detect(x[None], 2000.0, ["A1"], detector)
    assert len(table) == 1
    event = table.iloc[0]
    assert event["peak_frequency"] == pytest.approx(200, abs=3)
    assert event["amplitude"] == pytest.approx(100, rel=0.05)
    assert event["onset"] == pytest.approx(15.0, abs=widening)
    assert event["onset"] + event["duration"] == pytest.approx(15.1, abs=widening)


@pytest.mark.parametrize("detector", ["ste", "hil"])
@pytest.mark.parametrize("sfreq", [1000.0, 2000.0])
def test_ends_are_exclusive(detector, sfreq):
    """Same thresholds but for the edges: the default's intervals are the reference's, all counted half-open."""
    x = golden_recording("synth_b")[:, :: int(2000 / sfreq)]
    old = detect(x, sfreq, detector=detector, compat="reference")
    new = detect(x, sfreq, detector=detector)
    old["end"] += {"ste": 1, "hil": 2}[detector]
    pairs = match(new, old).pairs
    assert len(pairs) == len(old)
    shift = new.loc[pairs["found"], ["start", "end"]].to_numpy() - old.loc[pairs["truth"], ["start", "end"]].to_numpy()
    assert np.median(np.abs(shift)) == 0


def test_mni_has_a_threshold_everywhere():
    """The reference reports seconds around the first baseline and at the record's end as one event."""
    for x in (golden_recording("synth_a"), golden_recording("synth_b")[:, : 9 * 2000]):
        assert detect(x, 2000.0, detector="mni", compat="reference")["duration"].max() > 1
        assert detect(x, 2000.0, detector="mni")["duration"].max() < 0.2


def test_mni_works_where_line_noise_leaves_no_baseline():
    t = np.arange(60_000) / SFREQ
    x = one_over_f(np.random.default_rng(4), 60_000, SFREQ) + 20 * np.sin(2 * np.pi * 120 * t)
    assert detect(x[None], SFREQ, detector="mni").empty
    wave = burst(200, 10, 60, 0, SFREQ)
    x[30_000 : 30_000 + len(wave)] += wave
    events = detect(x[None], SFREQ, detector="mni")
    assert len(events) == 1
    assert events.loc[0, "start"] == pytest.approx(30_000, abs=15)


def test_mni_is_repeatable_and_leaves_the_global_generator_alone():
    x = golden_recording("synth_b")
    np.random.seed(1)  # noqa: NPY002 - the point of the test
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first = detect(x, 2000.0, detector="mni")
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002
    pd.testing.assert_frame_equal(first, detect(x, 2000.0, detector="mni"))


@pytest.mark.parametrize("detector", DETECTORS)
def test_an_offset_makes_no_event_at_the_ends(detector):
    """Started from zero, the reference's filter rings at the step from nothing to the offset."""
    x = one_over_f(np.random.default_rng(6), 30_000, SFREQ)[None] + 5000
    assert detect(x, SFREQ, detector=detector).empty
    if detector == "hil":
        assert not detect(x, SFREQ, detector="hil", compat="reference").empty


def test_thresholds_follow_the_epoch_but_events_are_not_cut_at_its_border():
    rng = np.random.default_rng(7)
    x = one_over_f(rng, 120_000, SFREQ)
    x[60_000:] *= 10
    wave = burst(150, 12, 300, 0, SFREQ)
    x[60_000 - 40 : 60_000 - 40 + len(wave)] += wave
    table = detect(x[None], SFREQ, detector="rms", epoch_len=60)
    assert ((table["start"] < 60_000) & (table["end"] > 60_000)).sum() == 1
    weak = burst(150, 12, 15, 0, SFREQ)  # five times the quiet half's band noise, a part of the loud half's
    for start in (30_000, 90_000):
        x[start : start + len(weak)] += weak
    starts = detect(x[None], SFREQ, detector="rms", epoch_len=60)["start"]
    assert starts.between(29_990, 30_030).sum() == 1
    assert starts.between(89_990, 90_030).sum() == 0


@pytest.mark.parametrize("sfreq", [1000.0, 2000.0])
@pytest.mark.parametrize("detector", ["rms", "linelength"])
def test_planted_events_are_found(detector, sfreq):
    for amplitude in ((8, 15), (15, 40)):
        hits = total = 0
        for seed in range(3):
            x, borders = planted(np.random.default_rng([8, seed]), 120, sfreq, amplitude)
            truth = pd.DataFrame(borders, columns=["start", "end"]).assign(channel="0")
            found = detect(x[None], sfreq, detector=detector)
            result = match(found, truth)
            hits, total = hits + len(result.pairs), total + result.n_truth
            assert result.n_found - len(result.pairs) <= 2  # at most one a minute
        assert hits / total >= 0.95


@pytest.mark.parametrize("sfreq", [1000.0, 2000.0])
@pytest.mark.parametrize("detector", DETECTORS)
def test_one_over_f_noise_is_quiet(detector, sfreq):
    rng = np.random.default_rng(9)
    x = np.stack([one_over_f(rng, round(120 * sfreq), sfreq) for _ in range(4)])
    x[1] += 0.8 * rng.standard_normal(x.shape[1])
    assert len(detect(x, sfreq, detector=detector)) <= 8  # eight minutes


def good(n_channels: int = 2, seconds: float = 5, sfreq: float = SFREQ) -> np.ndarray:
    return np.random.default_rng(10).standard_normal((n_channels, round(seconds * sfreq)))


@pytest.mark.parametrize("compat", [None, "reference"])
def test_unusable_channels_are_named(compat):
    x = good(3)
    x[1, 777] = np.nan
    with pytest.raises(BenchError, match=r"channel LA2: holds NaN"):
        detect(x, SFREQ, ["LA1", "LA2", "LA3"], compat=compat)
    x[1] = 4.0
    with pytest.raises(BenchError, match=r"channel LA2: is flat"):
        detect(x, SFREQ, ["LA1", "LA2", "LA3"], compat=compat)


@pytest.mark.parametrize("detector", ["ste", "mni"])
def test_streams_name_unusable_channels_too(detector):
    x = good(2)
    x[0] = 0
    with pytest.raises(BenchError, match="channel LA1: is flat"):
        detect_stream(lambda a, b: x[:, a:b], x.shape[1], SFREQ, ["LA1", "LA2"], detector, chunk=1)
    x[0] = np.inf
    with pytest.raises(BenchError, match="channel LA1: holds NaN or infinite"):
        detect_stream(lambda a, b: x[:, a:b], x.shape[1], SFREQ, ["LA1", "LA2"], detector, chunk=1)
    with pytest.raises(BenchError, match="gave shape"):
        detect_stream(lambda a, b: x[:1, a:b], x.shape[1], SFREQ, ["LA1", "LA2"], detector, chunk=1)


@pytest.mark.parametrize(
    ("sfreq", "options", "message"),
    [
        (200.0, {}, "too low for the band 80-300"),
        (500.0, {}, "too low for the band 80-300"),
        (1000.0, {"band": (80, 480)}, "475 Hz"),
        (1000.0, {"band": (300, 80)}, "not a band"),
        (1000.0, {"detector": "hill"}, "did you mean 'hil'"),
        (1000.0, {"rms_thresh": 5}, "did you mean 'rms_thres'"),
        (1000.0, {"min_osc": "6"}, "not a number"),
        (1000.0, {"compat": "paper"}, "compat='paper'"),
        (1000.0, {"ch_names": ["A", "A"]}, "A more than once"),
        (1000.0, {"ch_names": ["A"]}, "1 names for 2 channels"),
    ],
)
def test_refusals_say_what_is_wrong(sfreq, options, message):
    with pytest.raises(BenchError, match=message):
        detect(good(sfreq=sfreq), sfreq, **options)


def test_short_and_misshapen_signals_are_refused():
    with pytest.raises(BenchError, match="too short"):
        detect(good(seconds=0.9), SFREQ)
    with pytest.raises(BenchError, match="n_channels, n_times"):
        detect(good()[0], SFREQ)


@pytest.mark.parametrize(("sfreq", "high"), [(999.41, 300), (1024.0, 300), (1053.0, 500), (2000.0, 500)])
def test_default_band_follows_the_rate(sfreq, high):
    x, _ = planted(np.random.default_rng(11), 20, sfreq, (40, 60))
    assert (detect(x[None], sfreq, detector="rms")["band_high"] == high).all()


def test_memory_of_a_stream_does_not_grow_with_its_length():
    minute = np.stack([planted(np.random.default_rng(i), 60, SFREQ, (15, 40))[0] for i in range(2)])

    def looped(start, stop):
        return minute[:, np.arange(start, stop) % minute.shape[1]]

    peaks = []
    for minutes in (4, 40):
        tracemalloc.start()
        events = detect_stream(looped, minutes * minute.shape[1], SFREQ, ["A", "B"], "rms", chunk=10)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(events) > 25 * minutes
    assert peaks[1] < 1.3 * peaks[0]
