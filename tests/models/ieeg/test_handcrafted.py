"""Handcrafted features against loops with numpy and scipy, hand-made signals, and invariants."""

import itertools

import numpy as np
import pytest
import scipy.signal
import scipy.stats
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from omni_bench.models.handcrafted import BANDS, FEATURE_NAMES, Handcrafted, handcrafted_features

SFREQ = 1000.0


def features_of(x: np.ndarray, sfreq: float = SFREQ) -> dict[str, np.ndarray]:
    values = handcrafted_features(torch.from_numpy(np.atleast_2d(x).astype(np.float32)), sfreq).numpy()
    return dict(zip(FEATURE_NAMES, values.T, strict=True))


def by_loop(x: np.ndarray, sfreq: float) -> dict[str, float]:
    """One channel in float64."""
    slope, n = np.diff(x), len(x)
    curvature = np.diff(slope)
    mobility = np.sqrt(slope.var() / x.var())
    signs = np.sign(x - x.mean())
    freqs, density = scipy.signal.welch(x, sfreq, nperseg=int(2 * sfreq))
    width = freqs[1]
    return {
        "mean": x.mean(),
        "median": np.sort(x)[(n - 1) // 2],
        "variance": x.var(),
        "std": x.std(),
        "rms": np.sqrt(np.mean(x**2)),
        "line_length": sum(abs(b - a) for a, b in itertools.pairwise(x)) / ((n - 1) / sfreq),
        "zero_crossing_rate": sum(a != b for a, b in itertools.pairwise(signs)) / ((n - 1) / sfreq),
        "hjorth_activity": x.var(),
        "hjorth_mobility": mobility,
        "hjorth_complexity": np.sqrt(curvature.var() / slope.var()) / mobility,
        "skewness": scipy.stats.skew(x),
        "kurtosis": scipy.stats.kurtosis(x, fisher=False),
        "spectral_entropy": scipy.stats.entropy(density) / np.log(len(density)),
        "peak_frequency": freqs[density.argmax()],
        "total_power": density.sum() * width,
        **{
            f"log_power_{band}": np.log10(density[(freqs >= low) & (freqs < high)].sum() * width)
            for band, (low, high) in BANDS.items()
        },
    }


@pytest.mark.parametrize("sfreq", [1000.0, 500.0, 512.0])
def test_equals_loops(sfreq: float) -> None:
    rng = np.random.default_rng(0)
    n_times = int(7.3 * sfreq)
    walks = 3 * rng.standard_normal((2, n_times)).cumsum(axis=1)
    signals = np.concatenate([walks, 40 + rng.gamma(2.0, 30.0, (2, n_times)), rng.standard_normal((1, n_times))])
    ours = features_of(signals, sfreq)
    for i, signal in enumerate(signals.astype(np.float32).astype(np.float64)):
        for name, expected in by_loop(signal, sfreq).items():
            np.testing.assert_allclose(ours[name][i], expected, rtol=2e-3, atol=2e-4, err_msg=f"{name} of signal {i}")


def test_sine() -> None:
    """50 µV at 40 Hz: known moments; the derivative of a sine is a sine, so complexity is 1."""
    frequency, amplitude = 40.0, 50.0
    time = np.arange(10_000) / SFREQ
    features = features_of(amplitude * np.sin(2 * np.pi * frequency * time + 0.3))
    step = 2 * np.sin(np.pi * frequency / SFREQ)
    expected = {
        "mean": 0,
        "variance": amplitude**2 / 2,
        "rms": amplitude / np.sqrt(2),
        "line_length": 4 * amplitude * frequency,
        "zero_crossing_rate": 2 * frequency,
        "hjorth_mobility": step,
        "hjorth_complexity": 1,
        "skewness": 0,
        "kurtosis": 1.5,
        "peak_frequency": frequency,
        "total_power": amplitude**2 / 2,
        "log_power_gamma": np.log10(amplitude**2 / 2),
    }
    for name, value in expected.items():
        np.testing.assert_allclose(features[name], value, rtol=5e-3, atol=1e-3, err_msg=name)
    assert features["log_power_gamma"] > 4 + features["log_power_beta"]
    assert features["spectral_entropy"] < 0.2


def test_white_noise_is_spectrally_flat() -> None:
    features = features_of(np.random.default_rng(1).standard_normal(300_000))
    assert features["spectral_entropy"] > 0.99
    np.testing.assert_allclose(features["kurtosis"], 3, atol=0.05)
    np.testing.assert_allclose(features["zero_crossing_rate"], SFREQ / 2, rtol=0.02)
    np.testing.assert_allclose(features["hjorth_mobility"], np.sqrt(2), rtol=0.01)


@pytest.mark.parametrize("level", [0.0, -120.0])
def test_flat_signal_is_finite(level: float) -> None:
    features = features_of(np.full(4000, level))
    assert all(np.isfinite(values).all() for values in features.values())
    assert features["mean"] == level
    assert features["median"] == level
    for name in ("variance", "line_length", "hjorth_mobility", "hjorth_complexity", "skewness", "spectral_entropy"):
        assert features[name] == 0, name


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.1, 100), st.floats(-200, 200))
def test_shape_features_ignore_scale_and_offset(seed: int, scale: float, offset: float) -> None:
    x = 10 * np.random.default_rng(seed).standard_normal(4000)
    before, after = features_of(x), features_of(scale * x + offset)
    for name in ("hjorth_mobility", "hjorth_complexity", "skewness", "kurtosis", "peak_frequency", "spectral_entropy"):
        np.testing.assert_allclose(after[name], before[name], rtol=1e-2, atol=1e-2, err_msg=name)
    np.testing.assert_allclose(after["std"], scale * before["std"], rtol=1e-3)
    np.testing.assert_allclose(after["mean"], scale * before["mean"] + offset, rtol=1e-3, atol=1e-2)


def test_paper_reads_features_unscaled() -> None:
    x = torch.from_numpy(np.random.default_rng(2).standard_normal((8, 1, 4000)).astype(np.float32)) * 30
    raw = handcrafted_features(x[:, 0], SFREQ)
    assert torch.equal(Handcrafted(1, 1, 4000, SFREQ, compat="paper").embed(x), raw)
    scaled = Handcrafted(1, 1, 4000, SFREQ).train().embed(x)
    torch.testing.assert_close(scaled.mean(dim=0), torch.zeros(21), atol=1e-3, rtol=0)
    varying = raw.std(dim=0) > 1e-2
    torch.testing.assert_close(scaled.std(dim=0, correction=0)[varying], torch.ones(21)[varying], atol=0.05, rtol=0)
