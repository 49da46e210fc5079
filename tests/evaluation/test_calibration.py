import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import calibration_curve

from omni_bench.evaluation.calibration import expected_calibration_error, reliability


def test_bins_are_those_of_scikit_learn() -> None:
    # the worked example of its documentation
    truth = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1], dtype=bool)
    probability = np.array([0.1, 0.2, 0.3, 0.4, 0.65, 0.7, 0.8, 0.9, 1.0])
    bins = reliability(truth, probability, pd.Series(range(9)), n_bins=3)
    assert bins["observed"].tolist() == pytest.approx([0, 0.5, 1])
    assert bins["predicted"].tolist() == pytest.approx([0.2, 0.525, 0.85])
    assert bins["n"].tolist() == [3, 2, 4]
    observed, predicted = calibration_curve(truth, probability, n_bins=3)
    np.testing.assert_allclose(bins[["observed", "predicted"]], np.stack([observed, predicted], axis=1))
    # (3 * 0.2 + 2 * 0.025 + 4 * 0.15) / 9
    assert expected_calibration_error(bins) == pytest.approx(1.25 / 9)


def test_persons_are_resampled_whole() -> None:
    truth, probability = np.tile([True, False], 50), np.full(100, 0.5)
    alike = reliability(truth, probability, pd.Series(np.repeat(range(50), 2)))
    apart = reliability(np.repeat([True, False], 50), probability, pd.Series(np.repeat(range(10), 10)))
    assert alike[["observed", "ci_low", "ci_high"]].to_numpy().tolist() == [[0.5, 0.5, 0.5]]
    assert apart["ci_high"].iloc[0] - apart["ci_low"].iloc[0] > 0.5
    alone = reliability(truth, probability, pd.Series(["one"] * 100))
    assert alone["ci_low"].isna().all()
