import numpy as np
import pytest

from omni_bench.models.electrodes import (
    benchmark_positions,
    interpolation_matrix,
    standard_positions,
)
from omni_bench.signal.electrode_names import electrode_name


@pytest.mark.parametrize(
    ("raw", "name"),
    [("EEG Fp1-REF", "FP1"), (" C3 ", "C3"), ("Fc5.", "FC5"), ("EEG T3-LE", "T3"), ("C3-A2", "C3"), ("F7-T7", "F7-T7")],
)
def test_electrode_name(raw, name):
    assert electrode_name(raw) == name


def test_benchmark_table_is_three_names_late():
    shifted, true = benchmark_positions(), standard_positions()
    np.testing.assert_allclose(shifted["FP1"], [-0.0806, -0.0291, -0.0413], atol=1e-4)  # left preauricular point
    for name, earlier in {"AF9": "FP1", "AF7": "FPZ", "AF5": "FP2"}.items():
        np.testing.assert_array_equal(shifted[name], true[earlier])
    assert all((shifted[old] == shifted[new]).all() for old, new in [("T3", "T7"), ("A2", "M2"), ("T1", "T2")])


PLACES = {"A": np.array([0.0, 0, 0]), "B": np.array([0.03, 0, 0]), "C": np.array([0, 0.06, 0]), "A2": np.zeros(3)}


def test_electrode_at_hand_is_taken_as_it_is():
    np.testing.assert_array_equal(interpolation_matrix(["A"], ["B", "A", "C"], PLACES), [[0, 1, 0]])
    np.testing.assert_array_equal(interpolation_matrix(["A"], ["A2", "A", "C"], PLACES), [[0.5, 0.5, 0]])


def test_absent_electrode_is_weighted_by_inverse_distance():
    """1/0.03 : 1/0.06 = 2 : 1; a channel without a place has no weight, or that of its stand-in coordinate."""
    np.testing.assert_allclose(interpolation_matrix(["A"], ["B", "C", "X"], PLACES), [[2 / 3, 1 / 3, 0]], rtol=1e-4)
    weights = interpolation_matrix(["A"], ["B", "X"], PLACES, unknown=(0.0, 0.0, 1.0))
    np.testing.assert_allclose(weights, [[1 / 0.03 / (1 / 0.03 + 1), 1 / (1 / 0.03 + 1)]], rtol=1e-4)
