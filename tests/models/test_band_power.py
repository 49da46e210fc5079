"""Band power of signals whose power is known."""

import numpy as np
import pytest

from omni_bench.models.band_power import BANDS, log_band_power


@pytest.mark.parametrize(("hz", "band"), [(2, "delta"), (6, "theta"), (10, "alpha"), (20, "beta"), (50, "gamma")])
def test_power_of_a_sine_lies_in_its_band(hz: float, band: str) -> None:
    """Amplitude 4 µV is 8 µV² of power, spread over the whole hertz that the band has."""
    sfreq, widths = 256.0, {"delta": 3, "theta": 4, "alpha": 5, "beta": 17, "gamma": 50}
    signal = (4 * np.sin(2 * np.pi * hz * np.arange(2560) / sfreq)).astype(np.float32)
    power = log_band_power(signal, sfreq)
    names = [name for name, (low, _) in BANDS.items() if low < sfreq / 2]
    assert power.shape == (len(names),)
    assert names[int(np.argmax(power))] == band
    np.testing.assert_allclose(10 ** power[names.index(band)], 8 / widths[band], rtol=0.02)


def test_a_flat_signal_has_a_number() -> None:
    assert np.isfinite(log_band_power(np.zeros((2, 512), np.float32), 256.0)).all()
