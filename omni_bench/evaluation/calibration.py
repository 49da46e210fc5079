"""Calibration: do predicted probabilities come true as often as they say?"""

import numpy as np
import pandas as pd

from omni_bench.evaluation.bootstrap import draw_persons


def reliability(
    truth: np.ndarray, probability: np.ndarray, persons: pd.Series, n_bins: int = 10, n_boot: int = 1000, seed: int = 0
) -> pd.DataFrame:
    """Observed share of positives in bins of equal width of the predicted probability.

    Parameters
    ----------
    truth
        `(n,)` booleans: the unit is of the class, or, for the most probable class, it was right.
    probability
        `(n,)` in [0, 1]; 1 belongs to the last bin.
    persons
        Person of each unit: intervals resample persons.

    Returns
    -------
    One row per bin that has units: ``low, high`` (edges), ``n``, ``predicted`` (mean), ``observed``, ``ci_low,
    ci_high`` (95 %; NaN with one person).
    """
    place = np.minimum((probability * n_bins).astype(int), n_bins - 1)
    draws = draw_persons(persons, n_boot, seed)
    weights = draws.weights[:, draws.columns]
    rows = []
    for k in np.unique(place):
        inside = place == k
        drawn = weights[:, inside]
        with np.errstate(invalid="ignore"):
            observed = draws.metric(drawn @ truth[inside].astype(float) / drawn.sum(axis=1))
        rows.append(
            (
                k / n_bins,
                (k + 1) / n_bins,
                int(inside.sum()),
                probability[inside].mean(),
                observed.value,
                observed.ci_low,
                observed.ci_high,
            )
        )
    return pd.DataFrame(rows, columns=["low", "high", "n", "predicted", "observed", "ci_low", "ci_high"])


def expected_calibration_error(bins: pd.DataFrame) -> float:
    """Mean distance of observed from predicted over the bins of `reliability`, weighted by units (Naeini et al. 2015)."""
    return float(np.average((bins["observed"] - bins["predicted"]).abs(), weights=bins["n"]))
