"""The Morlet map against golden figures of the published transform and against its formula."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional

from omni_bench.signal import MorletMap, min_max, morlet_map

TOLERANCE = 5e-6  # of a map's maximum


def published(x: np.ndarray, sfreq: float, n_freqs: int, fmin: float, fmax: float) -> np.ndarray:
    """The published recipe in float64, one FFT of the whole extension."""
    n = len(x)
    half = math.ceil(n / 2) + 1
    left = (2 * x[0] - x[:half][::-1])[:-1]
    right = (2 * x[-1] - x[n - half - 1 :][::-1])[1:]
    extended = np.concatenate([left, x, right])
    extended = extended[: len(extended) - (len(extended) % 2 == 0)]
    period = len(extended)
    omega = 2 * np.pi * sfreq * np.arange(period // 2 + 1) / (period - 1)
    spectrum = np.fft.fft(extended)
    rows = []
    for freq in np.linspace(fmax, fmin, n_freqs):
        scale = 3 / freq
        window = np.zeros(period)
        window[: period // 2 + 1] = np.exp(-0.5 * ((omega - 2 * np.pi * freq) * scale) ** 2)
        window *= np.sqrt(period) / np.linalg.norm(window)
        rows.append(np.abs(np.fft.ifft(spectrum * window))[n // 2 : n // 2 + n] / np.sqrt(scale))
    return np.array(rows)


@pytest.mark.parametrize(
    ("n_times", "sfreq", "fmin", "fmax"),
    [
        (400, 1000.0, 10.0, 300.0),  # windows shorter than a wavelet's reach
        (2000, 1000.0, 10.0, 300.0),
        (9000, 1000.0, 10.0, 300.0),  # shorter FFT than the published one
        (9000, 500.0, 10.0, 150.0),
        (2000, 1000.0, 10.0, 500.0),  # cut off by Nyquist: the published length is kept
    ],
)
def test_equals_the_published_formula(n_times: int, sfreq: float, fmin: float, fmax: float) -> None:
    x = np.cumsum(np.random.default_rng(n_times).standard_normal(n_times))
    expected = published(x, sfreq, 12, fmin, fmax)
    ours = MorletMap(n_times, sfreq, 12, fmin, fmax).double()(torch.from_numpy(x)).numpy()
    # filters are kept in float32
    assert np.abs(ours - expected).max() < 1e-7 * expected.max()


def test_shorter_fft_is_really_used() -> None:
    assert MorletMap(60_000, 1000.0).n_fft < 65_000
    assert MorletMap(60_000, 1000.0, fmax=500.0).n_fft == 120_001


def test_golden_event(golden) -> None:
    figures = np.load(golden / "tfr" / "maps.npz")
    crop = morlet_map(torch.from_numpy(figures["event_waveform"]), 1000.0)[:, 715:1285]
    expected = figures["event_spectrum_rows_step8_cols_step5"]
    np.testing.assert_allclose(crop[::8, ::5].numpy(), expected, atol=TOLERANCE * float(crop.max()))
    image = functional.interpolate(crop[None, None], size=(224, 224), mode="bilinear")
    np.testing.assert_allclose(
        min_max(image)[0, 0, ::8].numpy(), figures["event_image_rows_step8"], atol=TOLERANCE * 255
    )


def test_golden_segment(golden) -> None:
    figures = np.load(golden / "tfr" / "maps.npz")
    spectrum = morlet_map(torch.from_numpy(figures["segment_waveform"]), 1000.0)
    rows, columns = figures["segment_probe_row"], figures["segment_probe_col"]
    top = float(spectrum.max())
    np.testing.assert_allclose(spectrum[rows, columns].numpy(), figures["segment_probe_spectrum"], atol=TOLERANCE * top)
    np.testing.assert_allclose(spectrum.mean(dim=1).numpy(), figures["segment_row_mean"], atol=TOLERANCE * top)
    np.testing.assert_allclose(
        min_max(spectrum)[rows, columns].numpy(), figures["segment_probe_image"], atol=TOLERANCE * 255
    )


def test_golden_minute(shared) -> None:
    folder = shared / "golden" / "ieeg"
    figures = np.load(folder / "tfr" / "segment_60s.npz")
    signal = np.load(folder / "detectors" / "synth_b_1000hz.npz")["data_uV"][0, :60_000]
    spectrum = morlet_map(torch.from_numpy(signal), 1000.0)
    rows, columns = figures["probe_row"], figures["probe_col"]
    top = float(spectrum.max())
    np.testing.assert_allclose(spectrum[rows, columns].numpy(), figures["probe_spectrum"], atol=TOLERANCE * top)
    np.testing.assert_allclose(min_max(spectrum)[rows, columns].numpy(), figures["probe_image"], atol=TOLERANCE * 255)
    np.testing.assert_allclose(spectrum.mean(dim=1).numpy(), figures["row_mean"], rtol=1e-5)


def test_gradient_reaches_the_signal() -> None:
    transform = MorletMap(300, 1000.0, 4, 40.0, 200.0).double()
    x = torch.randn(300, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(4, 300, dtype=torch.float64)
    (transform(x) * weights).sum().backward()
    step = 1e-6 * torch.eye(300, dtype=torch.float64)[7]
    with torch.no_grad():
        slope = ((transform(x + step) - transform(x - step)) * weights).sum() / 2e-6
    assert x.grad is not None
    torch.testing.assert_close(x.grad[7], slope, rtol=1e-5, atol=1e-7)


def test_batch_equals_one_by_one() -> None:
    x = torch.randn(3, 2, 1500)
    together = morlet_map(x, 1000.0, 20)
    apart = torch.stack([torch.stack([morlet_map(row, 1000.0, 20) for row in item]) for item in x])
    torch.testing.assert_close(together, apart, rtol=1e-4, atol=1e-4)


def test_constant_image_is_zero() -> None:
    assert min_max(torch.full((2, 1, 4, 5), 3.0)).eq(0).all()
