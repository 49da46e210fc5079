"""What preprocessing keeps and what it takes away."""

import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pybv import write_brainvision

from omni_bench.data.preprocess import Preprocessing, preprocess
from omni_bench.data.recording import Recording, open_recording
from omni_bench.errors import BenchError


def recording_of(folder: Path, signal: np.ndarray, sfreq: float) -> Recording:
    """A file with ``signal`` in µV ``(n_channels, n_times)``, exact to float32."""
    names = [f"A{i + 1}" for i in range(len(signal))]
    write_brainvision(
        data=signal * 1e-6,
        sfreq=sfreq,
        ch_names=names,
        fname_base="a",
        folder_out=str(folder),
        resolution=1e-3,
        overwrite=True,
    )
    return open_recording(folder / "a.vhdr")


def processed(
    recording: Recording, steps: Preprocessing, line_freq: float | None = None, memory_mb: int = 2048
) -> np.ndarray:
    return np.concatenate(list(preprocess(recording, steps, line_freq, memory_mb)))


def tone(frequency: float, sfreq: float, seconds: float, amplitude: float = 100.0) -> np.ndarray:
    return amplitude * np.sin(2 * np.pi * frequency * np.arange(round(seconds * sfreq)) / sfreq)


def amplitude(signal: np.ndarray, frequency: float, sfreq: float) -> float:
    """Of one frequency, by projection, the edges left out."""
    inner = signal[round(sfreq) : -round(sfreq)]
    return float(2 * abs(np.mean(inner * np.exp(-2j * np.pi * frequency * np.arange(len(inner)) / sfreq))))


@pytest.mark.parametrize(
    ("frequency", "kept"), [(10, True), (100, True), (380, True), (620, False), (700, False), (900, False)]
)
def test_resampling_is_anti_aliased(tmp_path: Path, frequency: float, kept: bool) -> None:
    raw = recording_of(tmp_path, tone(frequency, 2000, 10)[None], 2000)
    out = processed(raw, Preprocessing(sfreq=1000, notch=False))[0]
    assert len(out) == 10_000
    image = frequency if kept else 1000 - frequency
    assert amplitude(out, image, 1000) == pytest.approx(100 if kept else 0, abs=1)
    if kept:  # and in phase
        np.testing.assert_allclose(out[1000:-1000], tone(frequency, 1000, 10)[1000:-1000], atol=1.5)


@pytest.mark.parametrize("sfreq", [512.0, 1024.6, 2000.0, 999.4121])
def test_event_stays_at_its_time(tmp_path: Path, sfreq: float) -> None:
    times = np.arange(round(20 * sfreq)) / sfreq
    events = [2.0, 7.3, 18.1]
    signal = sum(100 * np.exp(-0.5 * ((times - t) / 0.01) ** 2) for t in events)
    out = processed(recording_of(tmp_path, signal[None], sfreq), Preprocessing(sfreq=1000, notch=False))[0]
    for event in events:
        near = slice(round(event * 1000) - 60, round(event * 1000) + 60)
        centre = np.average(np.arange(near.start, near.stop), weights=np.clip(out[near], 0, None))
        assert abs(centre - event * 1000) < 0.5


def test_odd_rate_keeps_the_clock_over_an_hour(tmp_path: Path) -> None:
    sfreq, hour = 999.4121, 3600.0
    times = np.arange(round(hour * sfreq)) / sfreq
    signal = sum(100 * np.exp(-0.5 * ((times - t) / 0.02) ** 2) for t in (10.0, hour - 10.0))
    out = processed(recording_of(tmp_path, signal[None], sfreq), Preprocessing(sfreq=1000, notch=False))[0]
    assert len(out) == pytest.approx(hour * 1000, abs=1)
    for event in (10_000, 3_590_000):
        near = np.arange(event - 100, event + 100)
        assert abs(np.average(near, weights=np.clip(out[near], 0, None)) - event) < 0.5


@pytest.mark.parametrize("line", [50.0, 60.0])
def test_notch_takes_the_sites_line_and_little_else(tmp_path: Path, line: float) -> None:
    kept = [line - 5, line + 5, 20.0]
    signal = sum(tone(frequency, 500, 20) for frequency in [line, *kept])
    out = processed(recording_of(tmp_path, signal[None], 500), Preprocessing(), line)[0]
    assert amplitude(out, line, 500) < 1
    for frequency in kept:
        assert amplitude(out, frequency, 500) == pytest.approx(100, rel=0.01)


def test_no_line_frequency_no_notch(tmp_path: Path) -> None:
    signal = tone(50, 500, 20)[None]
    np.testing.assert_allclose(processed(recording_of(tmp_path, signal, 500), Preprocessing(), None), signal, atol=0.01)


def test_band_pass(tmp_path: Path) -> None:
    signal = sum(tone(frequency, 500, 30) for frequency in (0.1, 20, 150)) + 1000
    out = processed(recording_of(tmp_path, signal[None], 500), Preprocessing(notch=False, low=1, high=70))[0]
    assert out.dtype == np.float32
    assert np.isfinite(out).all()
    assert amplitude(out, 20, 500) == pytest.approx(100, rel=0.01)
    assert amplitude(out, 150, 500) < 1
    assert abs(out[2000:-2000].mean()) < 1
    assert amplitude(out, 0.1, 500) < 2


def test_low_cut_off_at_a_high_rate_is_finite(tmp_path: Path) -> None:
    # filters of such a ratio lose all digits in float32
    noise = np.random.default_rng(0).normal(0, 50, (1, 200_000))
    out = processed(recording_of(tmp_path, noise + 5000, 5000), Preprocessing(notch=False, low=0.2))
    assert np.isfinite(out).all()
    np.testing.assert_allclose(out[0, 50_000:-50_000], noise[0, 50_000:-50_000], atol=5)


EVERYTHING = Preprocessing(sfreq=400, notch=True, low=1, high=150, reference="average")


def test_block_size_never_changes_a_number(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).normal(0, 50, (7, 6000))
    raw = recording_of(tmp_path, noise, 500)
    whole = processed(raw, EVERYTHING, 50)
    per_channel_mb = 6000 * 48 / 2**20
    for memory_mb in (0, 3 * per_channel_mb):  # one channel, three channels at a time
        blocks = list(preprocess(raw, EVERYTHING, 50, memory_mb))  # type: ignore[arg-type]
        assert len(blocks) == (7 if memory_mb == 0 else 3)
        np.testing.assert_array_equal(np.concatenate(blocks), whole)


def test_block_size_does_not_decide_whether_the_unit_is_plausible(tmp_path: Path) -> None:
    signal = np.random.default_rng(0).normal(0, 50, (5, 2000))
    signal[2] *= 1e-5  # alone in its block, this one would look like a wrong unit
    raw = recording_of(tmp_path, signal, 500)
    np.testing.assert_array_equal(
        processed(raw, Preprocessing(notch=False), memory_mb=0), processed(raw, Preprocessing(notch=False))
    )


def test_average_reference_sums_to_zero(tmp_path: Path) -> None:
    signal = np.random.default_rng(0).normal(0, 50, (6, 3000)) + tone(10, 500, 6)
    out = processed(recording_of(tmp_path, signal, 500), Preprocessing(notch=False, reference="average"))
    np.testing.assert_allclose(out.sum(axis=0), 0, atol=1e-3)
    np.testing.assert_allclose(out, signal - signal.mean(axis=0), atol=0.01)


@pytest.fixture
def with_broken(tmp_path: Path) -> Callable[[], tuple[Recording, np.ndarray]]:
    def make() -> tuple[Recording, np.ndarray]:
        signal = np.random.default_rng(0).normal(0, 50, (4, 3000))
        signal[1], signal[2, 77] = 12.5, np.nan
        return recording_of(tmp_path, signal, 500), signal

    return make


@pytest.mark.parametrize("reference", [None, "average"])
@pytest.mark.parametrize("memory_mb", [0, 100])
def test_broken_channels_become_zeros_and_spoil_no_other(
    with_broken: Callable[[], tuple[Recording, np.ndarray]], reference: str | None, memory_mb: int
) -> None:
    raw, signal = with_broken()
    broken: dict[str, str] = {}
    out = np.concatenate(
        list(preprocess(raw, Preprocessing(notch=False, reference=reference), None, memory_mb, broken))
    )
    assert broken == {"A2": "flat", "A3": "NaN or infinite values"}
    assert not out[1:3].any()
    good = signal[[0, 3]]
    np.testing.assert_allclose(out[[0, 3]], good - good.mean(axis=0) if reference else good, atol=0.01)


def test_broken_channel_is_one_line(with_broken: Callable[[], tuple[Recording, np.ndarray]]) -> None:
    raw, _ = with_broken()
    with pytest.raises(
        BenchError, match=r"a\.vhdr: channel A2: flat: mark it bad in channels\.tsv, or say on_error=skip"
    ):
        processed(raw, Preprocessing(notch=False))


def test_rate_below_the_tasks_need(tmp_path: Path) -> None:
    raw = recording_of(tmp_path, np.random.default_rng(0).normal(0, 50, (1, 400)), 200)
    with pytest.raises(BenchError, match=r"a\.vhdr: 200 Hz, the task needs 990 Hz or more"):
        processed(raw, Preprocessing(sfreq=1000, min_sfreq=990))


def test_wrong_unit_is_found_whatever_the_blocks(tmp_path: Path) -> None:
    raw = recording_of(tmp_path, np.random.default_rng(0).normal(0, 50, (3, 400)), 200)
    raw.scale = raw.scale * 1e6
    for memory_mb in (0, 100):
        with pytest.raises(BenchError, match=r"a\.vhdr: median channel amplitude is .*e\+07 µV"):
            processed(raw, Preprocessing(notch=False), memory_mb=memory_mb)


def test_memory_stays_below_what_it_was_given(tmp_path: Path) -> None:
    signal = (
        np.random.default_rng(0).normal(0, 50, (24, 100_000)).astype(np.float32)
    )  # 110 MB in all as the steps hold it
    raw = recording_of(tmp_path, signal, 1000)
    steps = Preprocessing(sfreq=500, low=1, high=200)
    for _ in preprocess(raw, steps, 50, 16):  # first use imports modules
        break
    tracemalloc.start()
    try:
        for _ in preprocess(raw, steps, 50, 16):
            pass
        peak_mb = tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()
    assert peak_mb < 16


def test_channels_are_made_of_filtered_ones(tmp_path: Path) -> None:
    """Sums of filtered channels are filtered sums, however many channels are filtered at a time."""
    signal = np.random.default_rng(0).normal(0, 20, (4, 5000))
    raw = recording_of(tmp_path, signal, 500)
    whole = processed(raw, EVERYTHING)
    steps = replace(EVERYTHING, channels=("A1-A3", "A4-A3"), channel_policy="bipolar")
    made = processed(raw, steps)
    np.testing.assert_allclose(made, [whole[0] - whole[2], whole[3] - whole[2]], atol=1e-3)
    np.testing.assert_array_equal(made, processed(raw, steps, memory_mb=0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"channels": ("Cz",)}, "channels without a channel_policy"),
        ({"channel_policy": "spline"}, "channel_policy=spline: of which channels"),
    ],
)
def test_half_said_channels(options: dict[str, object], message: str) -> None:
    with pytest.raises(BenchError, match=message):
        Preprocessing(**options)
