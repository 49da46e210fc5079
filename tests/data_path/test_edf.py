"""EDF and BDF headers: rates, gaps, truncation, labels and units."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from omni_bench.data.edf import read_edf_header
from omni_bench.data.recording import open_recording
from omni_bench.errors import BenchError
from tests.data.edf import Signal, random_digits, write_edf


@pytest.mark.parametrize("record_s", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("suffix", [".edf", ".bdf"])
def test_rate_is_samples_over_record_length(tmp_path: Path, record_s: float, suffix: str) -> None:
    digits = random_digits(800)
    path = write_edf(tmp_path / f"a{suffix}", [Signal("A1", digits, 100)], record_s)
    header, recording = read_edf_header(path), open_recording(path)
    assert (header.rates, header.duration) == ([100], 8)
    assert (recording.sfreq, recording.n_times, recording.duration) == (100, 800, 8)
    np.testing.assert_allclose(recording.read()[0], digits * 0.1, rtol=1e-5)


@pytest.mark.parametrize(
    ("unit", "microvolts"),
    [
        ("V", 1e6),
        ("mV", 1e3),
        ("uV", 1.0),
        ("UV", 1.0),
        ("µV", 1.0),
        ("Âµ" + "V", 1.0),  # UTF-8 in a Latin-1 header
        ("microV", 1.0),
        ("nV", 1e-3),
    ],
)
def test_every_unit_becomes_microvolts_once(tmp_path: Path, unit: str, microvolts: float) -> None:
    digits = random_digits(200)
    path = write_edf(tmp_path / "a.edf", [Signal("A1", digits, 100, unit)])
    np.testing.assert_allclose(open_recording(path).read()[0], digits * 0.1 * microvolts, rtol=1e-5)


def test_units_may_differ_between_channels(tmp_path: Path) -> None:
    digits = random_digits(200)
    path = write_edf(tmp_path / "a.edf", [Signal("A1", digits, 100, "nV"), Signal("A2", digits, 100, "mV")])
    backwards = open_recording(path, ["A2", "A1"]).read()
    np.testing.assert_allclose(backwards, [digits * 0.1 * 1e3, digits * 0.1 * 1e-3], rtol=1e-5)
    np.testing.assert_allclose(open_recording(path).read(ch_names=["A2"])[0], digits * 0.1 * 1e3, rtol=1e-5)


def test_missing_unit_is_never_guessed(tmp_path: Path) -> None:
    digits = random_digits(200)
    path = write_edf(tmp_path / "a.edf", [Signal("A1", digits, 100, ""), Signal("A2", digits, 100, "uV")])
    assert open_recording(path).ch_names == ["A2"]
    with pytest.raises(BenchError, match=r"a\.edf: channel A1 has the unit '', expected a voltage: say dataset\.unit"):
        open_recording(path, ["A1"])
    np.testing.assert_allclose(open_recording(path, ["A1"], unit="mV").read()[0], digits * 100, rtol=1e-5)


def test_what_the_file_calls_volts_can_be_overridden(tmp_path: Path) -> None:
    digits = random_digits(200)
    path = write_edf(tmp_path / "a.edf", [Signal("A1", digits, 100, "V")])
    np.testing.assert_allclose(open_recording(path, unit="µV").read()[0], digits * 0.1, rtol=1e-5)
    with pytest.raises(BenchError, match=r"dataset\.unit=Ohm: unknown unit, expected V, mV, µV or nV"):
        open_recording(path, unit="Ohm")


def test_channel_that_is_no_voltage(tmp_path: Path) -> None:
    path = write_edf(
        tmp_path / "a.edf", [Signal("A1", random_digits(200), 100), Signal("SpO2", random_digits(200), 100, "%")]
    )
    assert open_recording(path).ch_names == ["A1"]
    with pytest.raises(BenchError, match="channel SpO2 has the unit '%', expected a voltage: mark it MISC"):
        open_recording(path, ["SpO2"])
    alone = write_edf(tmp_path / "b.edf", [Signal("SpO2", random_digits(200), 100, "%")])
    with pytest.raises(BenchError, match=r"b\.edf: no channel with a voltage \(units: %\)"):
        open_recording(alone)


def test_annotation_channels_are_dropped_before_a_rate_is_taken(tmp_path: Path) -> None:
    # 16 annotation samples a second beside 100: no common rate is ever made of them
    signals = [Signal("A1", random_digits(300), 100), Signal("A2", random_digits(300, 1), 100)]
    path = write_edf(tmp_path / "a.edf", signals, onsets=[0, 1, 2], reserved="EDF+C")
    assert read_edf_header(path).labels == ["A1", "A2"]
    recording = open_recording(path)
    assert (recording.sfreq, recording.ch_names) == (100, ["A1", "A2"])
    np.testing.assert_allclose(recording.read()[1], signals[1].digits * 0.1, rtol=1e-5)


@pytest.mark.parametrize("suffix", [".edf", ".bdf"])
def test_gap_is_refused_and_a_false_alarm_is_not(tmp_path: Path, suffix: str) -> None:
    signals = [Signal("A1", random_digits(300), 100)]
    mark = suffix[1:].upper() + "+D"
    gap = write_edf(tmp_path / f"gap{suffix}", signals, onsets=[0, 1, 12], reserved=mark)
    with pytest.raises(
        BenchError, match=rf"gap{suffix}: gap in a discontinuous .* record 2 starts at 12 s, expected 2 s: split"
    ):
        open_recording(gap)
    whole = write_edf(tmp_path / f"whole{suffix}", signals, onsets=[5, 6, 7], reserved=mark)
    np.testing.assert_allclose(open_recording(whole).read()[0], signals[0].digits * 0.1, rtol=1e-5)


def test_truncated_and_empty_files(tmp_path: Path) -> None:
    path = write_edf(tmp_path / "a.edf", [Signal("A1", random_digits(300), 100)])
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(
        BenchError, match=rf"a\.edf: truncated: {len(whole) - 1} bytes, its header announces {len(whole)}: copy"
    ):
        open_recording(path)
    for n_bytes in (0, 100, 256, 400):
        path.write_bytes(whole[:n_bytes])
        with pytest.raises(BenchError, match=rf"a\.edf: not a whole EDF or BDF header \({n_bytes} bytes\)"):
            open_recording(path)
    empty = write_edf(tmp_path / "b.edf", [Signal("A1", random_digits(300), 100)], n_records=0)
    with pytest.raises(BenchError, match=r"b\.edf: no data records \(0 of 1 s\)"):
        open_recording(empty)


def test_recording_still_in_progress_is_as_long_as_its_data(tmp_path: Path) -> None:
    path = write_edf(tmp_path / "a.edf", [Signal("A1", random_digits(300), 100)], n_records=-1)
    assert read_edf_header(path).duration == 3
    assert open_recording(path).n_times == 300


def test_only_the_channels_asked_for_need_one_rate(tmp_path: Path) -> None:
    signals = [
        Signal("A1", random_digits(400), 200),
        Signal("EKG", random_digits(100), 50),
        Signal("A2", random_digits(400, 1), 200),
    ]
    path = write_edf(tmp_path / "a.edf", signals)
    with pytest.raises(
        BenchError, match=r"a\.edf: channels of different rates \(50, 200 Hz; EKG is one\): list the channels"
    ):
        open_recording(path)
    recording = open_recording(path, ["A2", "A1"])
    assert (recording.sfreq, recording.n_times) == (200, 400)
    # as stored: not one of MNE's joint resamplings of all signals to the highest rate
    np.testing.assert_allclose(recording.read(), [signals[2].digits * 0.1, signals[0].digits * 0.1], rtol=1e-5)
    slow = open_recording(path, ["EKG"])
    assert (slow.sfreq, slow.n_times) == (50, 100)


def test_labels_that_stand_twice_are_numbered(tmp_path: Path) -> None:
    signals = [Signal(label, random_digits(100, i), 100) for i, label in enumerate(("A1", "B1", "A1"))]
    path = write_edf(tmp_path / "a.edf", signals)
    assert read_edf_header(path).labels == open_recording(path).ch_names == ["A1-0", "B1", "A1-1"]
    np.testing.assert_allclose(open_recording(path, ["A1-1"]).read()[0], signals[2].digits * 0.1, rtol=1e-5)
    with pytest.raises(BenchError, match="no channel A1 "):
        open_recording(path, ["A1"])


def test_one_channel_of_many_takes_the_memory_of_one(tmp_path: Path) -> None:
    signals = [Signal(f"A{i}", random_digits(100_000, i), 1000) for i in range(64)]  # 49 MB as float64
    path = write_edf(tmp_path / "a.edf", signals)
    open_recording(path, ["A5"]).read(0, 10)  # first use imports modules
    tracemalloc.start()
    try:
        signal = open_recording(path, ["A5"]).read()
        peak_mb = tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(signal[0], signals[5].digits * 0.1, rtol=1e-5)
    assert peak_mb < 20
