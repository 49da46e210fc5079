"""Windows that are no microvolts are told from those that are."""

import pytest
import torch

from omni_bench.models.scale import unit_warning


def windows(scale: float) -> torch.Tensor:
    """Channels of which the median absolute deviation is ``scale``, one of them far from zero, and a flat one."""
    x = torch.tensor([-2.0, -1, 0, 1, 2]).repeat(2, 3, 20)
    x[:, 1] += 1000
    x[:, 2] = 0
    return x * scale


@pytest.mark.parametrize(("scale", "unit"), [(1e-5, "V"), (1e-2, "mV"), (0.1, "mV"), (2e3, "nV"), (1e4, "nV")])
def test_a_scale_100_times_off_names_the_unit(scale: float, unit: str) -> None:
    line = unit_warning(windows(scale), "labram", 10)
    assert line is not None
    assert line.endswith(f"model=labram expects about 10 µV: the data seem to be in {unit}, say dataset.unit={unit}")
    assert f"{scale:.2g} µV, " in line


@pytest.mark.parametrize("scale", [0.2, 1, 10, 900])
def test_amplitudes_of_eeg_pass(scale: float) -> None:
    assert unit_warning(windows(scale), "labram", 10) is None


def test_flat_windows_have_no_unit() -> None:
    assert unit_warning(torch.full((2, 3, 50), 7.0), "labram", 10) is None
