"""Building blocks against direct, slow definitions."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import signal, stats

from omni_bench.hfo import filters, gabor, gamma
from omni_bench.hfo.convolution import Convolver
from omni_bench.hfo.envelopes import centred_rms_zero_ends, line_length, odd_window
from omni_bench.hfo.runs import Runs, count_peaks, merge, runs

masks = st.integers(1, 3).flatmap(
    lambda rows: st.integers(1, 20).flatmap(
        lambda columns: st.lists(st.booleans(), min_size=rows * columns, max_size=rows * columns).map(
            lambda flat: np.array(flat).reshape(rows, columns)
        )
    )
)


@given(masks)
def test_runs_are_maximal_and_cover_the_mask(mask):
    found = runs(mask)
    rebuilt = np.zeros_like(mask)
    for channel, start, stop in zip(*found, strict=True):
        assert stop > start
        assert start == 0 or not mask[channel, start - 1]
        assert stop == mask.shape[1] or not mask[channel, stop]
        rebuilt[channel, start:stop] = True
    np.testing.assert_array_equal(rebuilt, mask)


@given(masks, st.integers(0, 6))
def test_merging_closes_exactly_the_short_gaps(mask, gap):
    closed = mask.copy()
    for row in closed:
        true = np.flatnonzero(row)
        for left, right in pairwise(true):
            if right - left - 1 < gap:
                row[left:right] = True
    for merged, wanted in zip(merge(runs(mask), gap), runs(closed), strict=True):
        np.testing.assert_array_equal(merged, wanted)


@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=15), min_size=1, max_size=4), st.integers(0, 4))
def test_peaks_are_those_of_scipy(segments, height):
    values = np.zeros((2, 60))
    channel, start, stop = [], [], []
    for i, segment in enumerate(segments):
        channel.append(i % 2)
        start.append(i // 2 * 20)
        stop.append(start[-1] + len(segment))
        values[channel[-1], start[-1] : stop[-1]] = segment
    found = count_peaks(values, Runs(*map(np.array, (channel, start, stop))), np.full(len(segments), float(height)))
    assert found.tolist() == [len(signal.find_peaks(segment, height=height)[0]) for segment in segments]


@settings(deadline=None)
@given(st.integers(1, 400), st.integers(1, 300), st.integers(0, 100), st.integers(0, 2**32 - 1))
def test_convolver_is_linear_convolution(n, n_kernel, first, seed):
    rng = np.random.default_rng(seed)
    x, kernel = rng.standard_normal(n), rng.standard_normal(n_kernel)
    whole = np.convolve(x, kernel)
    convolver = Convolver(len(whole))
    out = np.empty(max(len(whole) - first, 0))
    convolver.apply(convolver.response(kernel), x, out, first=first)
    np.testing.assert_allclose(out, whole[first:], atol=1e-11)


def test_convolver_changes_the_sign_of_what_wraps():
    convolver = Convolver(100)
    n = convolver.length
    kernel = np.zeros(n)
    kernel[3] = 1  # delay by three
    x = np.arange(n, dtype=float)
    out = np.empty(n)
    convolver.apply(convolver.response(kernel), x, out)
    np.testing.assert_allclose(out, [-(n - 3), -(n - 2), -(n - 1), *range(n - 3)], atol=1e-9)


def test_windows_of_the_detectors_have_the_published_lengths():
    assert [odd_window(0.003, 1000), odd_window(0.003, 2000)] == [3, 7]
    assert [odd_window(0.002, 1000), odd_window(0.002, 2000)] == [3, 5]


def test_rms_by_hand():
    x = np.array([[3.0, 0, 0, 6, 0]])
    np.testing.assert_allclose(centred_rms_zero_ends(x, 3), [[3**0.5, 3**0.5, 12**0.5, 12**0.5, 0]])


def test_line_length_by_hand():
    np.testing.assert_allclose(line_length(np.array([[0.0, 1, -1, -1, 4]]), 2), [[1.5, 1.0, 2.5]])


def test_entropy_is_that_of_the_gabor_transform():
    """Straight from the definition: autocorrelation, transform per frequency, mean squared modulus."""
    sfreq, low, high, length = 1000.0, 80.0, 300.0, 125
    segment = np.random.default_rng(0).standard_normal(length)
    autocorrelation = np.correlate(segment, segment, "full") / np.sum(segment**2)
    m = len(autocorrelation)
    omega = 2 * np.pi * sfreq * np.arange(m) / m
    powers = []
    for f in np.arange(80, 301, 5):
        spread = 3 / f
        window = np.where(np.arange(m) <= m // 2, np.exp(-0.5 * (omega - 2 * np.pi * f) ** 2 * spread**2), 0)
        window *= np.sqrt(m) / np.linalg.norm(window)
        coefficients = np.abs(np.fft.ifft(np.fft.fft(autocorrelation) * window)) / np.sqrt(spread)
        powers.append(np.mean(coefficients**2))
    p = np.array(powers) / np.sum(powers)
    found = gabor.entropy(segment[None], gabor.bank(length, sfreq, low, high))
    assert found[0] == pytest.approx(-np.sum(p * np.log(p)), rel=1e-12)


@pytest.mark.parametrize("shape", [0.3, 2.0, 40.0])
def test_gamma_fit_is_the_maximum_likelihood_one(shape):
    values = stats.gamma.rvs(shape, scale=3, size=500, random_state=np.random.default_rng(1))
    found, scale = gamma.fit(values.mean(), np.log(values).mean())
    wanted, _, wanted_scale = stats.gamma.fit(values, floc=0)
    assert (found, scale) == pytest.approx((wanted, wanted_scale), rel=1e-6)


def test_shape_search_reaches_the_likelihood_maximum_and_5_3_where_there_is_none():
    values = stats.gamma.rvs(4.0, scale=1, size=2000, random_state=np.random.default_rng(2))
    exact, _ = gamma.fit(values.mean(), np.log(values).mean())
    numbers = (2000.0, values.mean(), np.log(values).mean(), values.min(), values.max())
    blocks = [np.array([number, number]) for number in numbers]
    blocks[3][1] = 0  # a zero sample makes every shape equally unlikely
    found = gamma.reference_shape(*blocks)
    assert found[0] == pytest.approx(exact, rel=2e-3)
    assert found[1] == pytest.approx(5 / 3, rel=1e-3)


@pytest.mark.parametrize(("sfreq", "band"), [(1000.0, (80.0, 300.0)), (2000.0, (80.0, 500.0))])
def test_default_kernel_passes_the_band_and_stops_the_line(sfreq, band):
    taps = filters.kernel(sfreq, *band)
    np.testing.assert_allclose(taps, taps[::-1], atol=1e-15)  # zero phase
    frequency, response = signal.freqz(taps, worN=2**16, fs=sfreq)
    gain = np.abs(response)
    inside = (frequency > band[0] + 1) & (frequency < band[1] - 1)
    np.testing.assert_allclose(gain[inside], 1, atol=1e-3)
    assert gain[(frequency < band[0] - 2) | (frequency > band[1] + 2)].max() < 1e-3
    assert gain[frequency < 61].max() < 1e-6


def test_quadrature_is_a_quarter_turn_of_the_kernel():
    sfreq, band = 1000.0, (80.0, 300.0)
    t = np.arange(-2000, 2001) / sfreq
    for frequency in (100, 200, 290):
        cosine = np.cos(2 * np.pi * frequency * t)
        assert filters.kernel(sfreq, *band) @ cosine == pytest.approx(1, abs=1e-4)
        sine = np.sin(2 * np.pi * frequency * t)
        assert filters.quadrature(sfreq, *band) @ sine == pytest.approx(1, abs=1e-3)
        assert filters.quadrature(sfreq, *band) @ cosine == pytest.approx(0, abs=1e-4)
