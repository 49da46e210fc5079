"""compat="reference" gives the integers of HFODetector 0.0.25."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import signal

from omni_bench.hfo import detect, filters, gabor, reference
from omni_bench.hfo.envelopes import centred_rms_zero_ends, odd_window
from tests.hfo.synthetic import golden_recording

SHARED_DETECTORS = "golden/ieeg/detectors"


@pytest.fixture(scope="module")
def facts(golden: Path) -> dict:
    return json.loads((golden / "hfo/params.json").read_text())


@pytest.fixture(scope="module", params=["synth_a_1000hz", "synth_a_2000hz", "synth_b_1000hz", "synth_b_2000hz"])
def recording(request):
    tag = request.param
    x = golden_recording(tag[:7])
    if tag.endswith("_1000hz"):
        x = signal.resample_poly(x, 1, 2, axis=-1).astype(np.float32)
    return tag, x, 1000.0 if tag.endswith("_1000hz") else 2000.0, [f"S{i + 1}" for i in range(len(x))]


def assert_golden_events(folder: Path, facts: dict, tag: str, x, sfreq: float, names: list[str]) -> None:
    tables = [pd.read_csv(folder / f"{kind}_{tag}.csv") for kind in ("events", "events_extra")]
    expected = pd.concat(tables)
    tags = {"ste", "mni", "hil", "ste_v1", "mni_v1", "hil_v1", *tables[1]["detector"]}  # a tag may have no event
    for name in sorted(tags):
        kind = name.split("_")[0]
        params = facts[kind] if name == kind else facts["variants"][name]
        found = detect(x, sfreq, names, detector=kind, compat="reference", **params)
        wanted = expected.loc[expected["detector"] == name, ["channel", "start", "end"]].to_numpy().tolist()
        assert found[["channel", "start", "end"]].to_numpy().tolist() == wanted, name


def test_synthetic_events_are_the_golden_ones(recording, facts, golden):
    assert_golden_events(golden / "hfo", facts, *recording)


@pytest.mark.parametrize("rate", [1000, 2000])
@pytest.mark.parametrize("name", ["real", "synth_a", "synth_b"])
def test_stored_recordings_give_the_golden_events(name, rate, facts, shared):
    tag = f"{name}_{rate}hz"
    with np.load(shared / SHARED_DETECTORS / f"{tag}.npz") as data:
        x, names = data["data_uV"], [str(channel) for channel in data["channels"]]
    assert_golden_events(shared / SHARED_DETECTORS, facts, tag, x, float(rate), names)


def test_the_recipe_makes_the_stored_signals(shared):
    for name in ("synth_a", "synth_b"):
        with np.load(shared / SHARED_DETECTORS / f"{name}_2000hz.npz") as data:
            np.testing.assert_array_equal(golden_recording(name), data["data_uV"])


def test_filtered_signal_and_thresholds_are_the_golden_ones(recording, facts):
    tag, x, sfreq, names = recording
    band = tuple(facts["bands"][f"{sfreq:.0f}"])
    for trace, name in zip(x, names, strict=True):
        wanted = facts["intermediates"][tag][name]
        filtered = filters.zero_state(trace.astype(float), sfreq, band)
        np.testing.assert_allclose(filtered[:5], wanted["filtered_first5"], atol=1e-10)
        middle = len(filtered) // 2
        np.testing.assert_allclose(filtered[middle : middle + 5], wanted["filtered_mid5"], atol=1e-10)
        assert np.abs(filtered).mean() == pytest.approx(wanted["filtered_mean_abs"], rel=1e-12)
        assert filtered.std() == pytest.approx(wanted["filtered_std"], rel=1e-12)
        rms = centred_rms_zero_ends(filtered[None], odd_window(0.003, sfreq))
        assert rms.mean() + 5 * rms.std() == pytest.approx(wanted["ste_rms_threshold"], rel=1e-12)
        length, hop = round(0.125 * sfreq), round(0.0625 * sfreq)
        limit = 0.67 * gabor.reference_maximum(length, sfreq, *band, 0)
        low = gabor.entropy(gabor.windows(filtered, length, hop), gabor.bank(length, sfreq, *band)) < limit
        baseline = gabor.cover(low, length, hop, len(filtered))
        assert baseline.sum() == wanted["mni_baseline_samples"]


def test_filter_orders_and_impulse_responses(facts):
    for wanted in facts["filters"]:
        sfreq, band = float(wanted["fs"]), tuple(wanted["band"])
        assert len(filters.design(sfreq, *band)) == wanted["order"]
        response = wanted["two_pass_impulse_response_around_peak"]
        impulse = np.zeros(round(2 * sfreq))
        impulse[response["impulse_at"]] = 1
        part = slice(response["first_index"], response["first_index"] + len(response["values"]))
        np.testing.assert_allclose(filters.zero_state(impulse, sfreq, band)[part], response["values"], atol=1e-12)


@pytest.mark.parametrize(("n_times", "tolerance"), [(7001, 1e-11), (1_000_300, 1e-10)])
def test_fast_filter_equals_the_recursion(n_times, tolerance):
    """Also where the record is longer than one step of the convolution."""
    x = 50 * np.random.default_rng(1).standard_normal(n_times)
    sections = filters.design(1000.0, 80.0, 300.0)
    recursive = signal.sosfilt(sections, signal.sosfilt(sections, x)[::-1])[::-1]
    np.testing.assert_allclose(filters.zero_state(x, 1000.0, (80.0, 300.0)), recursive, atol=tolerance)


def test_maximum_entropies_for_every_known_seed(facts):
    known = {**facts["mni_wavelet_entropy_max"], **facts["mni_wavelet_entropy_spread"]}
    assert len(known) == 12
    for label, value in known.items():
        rate, band, seed = label.split("_")
        sfreq, (low, high) = float(rate[:-2]), (float(edge) for edge in band.split("-"))
        found = gabor.reference_maximum(round(0.125 * sfreq), sfreq, low, high, int(seed[4:]))
        assert found == pytest.approx(value, rel=1e-10), label


@pytest.mark.parametrize("n_times", [1000, 1001, 997])
def test_hilbert_envelope_wraps_around_the_record(n_times):
    """The rule's envelope is scipy's analytic signal, for even, odd and prime lengths."""
    x = np.random.default_rng(2).standard_normal(n_times)
    np.testing.assert_allclose(reference.quadrature(x), signal.hilbert(x).imag, atol=1e-12)


def test_only_published_detectors_have_a_reference():
    from omni_bench.errors import BenchError

    with pytest.raises(BenchError, match="rms"):
        detect(np.random.default_rng(0).standard_normal((1, 5000)), 2000, detector="rms", compat="reference")
