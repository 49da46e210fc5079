"""AUC differences of two scores of the same units: DeLong's test, and a bootstrap of persons.

DeLong's variance takes units as independent: right for the outcome AUC (one unit per patient), too narrow for the
channels of patients, for which the bootstrap is meant.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from omni_bench.evaluation.bootstrap import draw_persons
from omni_bench.evaluation.ranking import ranking_metrics


@dataclass(frozen=True)
class AucDifference:
    """AUC of score a minus AUC of score b, with a 95 % interval and a two-sided p value."""

    auc_a: float
    auc_b: float
    difference: float
    ci_low: float
    ci_high: float
    p: float


def delong_covariance(positive: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """AUCs of several scores of the same units and their covariance (DeLong et al. 1988).

    Structural components come from midranks (Sun and Xu 2014, algorithm 2), in O(n log n).

    Parameters
    ----------
    positive
        `(n,)` booleans.
    scores
        `(n_scores, n)`.

    Returns
    -------
    `(n_scores,)` and `(n_scores, n_scores)`; the covariance is NaN with fewer than 2 units in a class,
    the AUC with none.
    """
    from scipy.stats import rankdata

    positive = np.asarray(positive, dtype=bool)
    scores = np.atleast_2d(np.asarray(scores, dtype=float))
    n_positive, n_negative = int(positive.sum()), int((~positive).sum())
    if not n_positive or not n_negative:
        return np.full(len(scores), np.nan), np.full((len(scores), len(scores)), np.nan)
    ranks = rankdata(scores, axis=1)
    of_positive = (ranks[:, positive] - rankdata(scores[:, positive], axis=1)) / n_negative
    of_negative = 1 - (ranks[:, ~positive] - rankdata(scores[:, ~positive], axis=1)) / n_positive
    auc = of_positive.mean(axis=1)
    if min(n_positive, n_negative) < 2:
        return auc, np.full((len(scores), len(scores)), np.nan)
    covariance = np.cov(of_positive) / n_positive + np.cov(of_negative) / n_negative
    return auc, np.atleast_2d(covariance)


def delong_interval(positive: np.ndarray, score: np.ndarray) -> tuple[float, float, float]:
    """AUC and its 95 % interval, cut to [0, 1]."""
    auc, covariance = delong_covariance(positive, score)
    low, high = _interval(auc[0], covariance[0, 0])
    return float(auc[0]), max(low, 0.0), min(high, 1.0)


def delong_test(positive: np.ndarray, score_a: np.ndarray, score_b: np.ndarray) -> AucDifference:
    """DeLong's paired test; p is NaN where the difference has no variance."""
    from scipy.stats import norm

    auc, covariance = delong_covariance(positive, np.stack([score_a, score_b]))
    difference = float(auc[0] - auc[1])
    variance = float(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    p = 2 * norm.sf(abs(difference) / np.sqrt(variance)) if variance > 1e-15 else np.nan
    return AucDifference(float(auc[0]), float(auc[1]), difference, *_interval(difference, variance), float(p))


def bootstrap_auc_difference(
    positive: np.ndarray,
    score_a: np.ndarray,
    score_b: np.ndarray,
    persons: pd.Series,
    n_boot: int = 1000,
    seed: int = 0,
) -> AucDifference:
    """Difference with persons drawn with replacement, both scores on the same draws.

    p is twice the smaller share of draws on either side of 0, the sample itself counted in; draws with one class only
    are left out.
    """
    draws = draw_persons(persons, n_boot, seed)
    auc_a, auc_b = (
        ranking_metrics(np.asarray(positive, dtype=bool), np.asarray(s, dtype=float), draws.weights, draws.columns)[0]
        for s in (score_a, score_b)
    )
    difference = auc_a - auc_b
    drawn = difference[1:][~np.isnan(difference[1:])]
    low, high, p = np.nan, np.nan, np.nan
    if draws.weights.shape[1] > 1 and len(drawn):
        low, high = np.percentile(drawn, [2.5, 97.5])
        p = min(1.0, 2 * (1 + min((drawn <= 0).sum(), (drawn >= 0).sum())) / (1 + len(drawn)))
    return AucDifference(float(auc_a[0]), float(auc_b[0]), float(difference[0]), float(low), float(high), float(p))


def _interval(value: float, variance: float) -> tuple[float, float]:
    from scipy.stats import norm

    half = norm.ppf(0.975) * np.sqrt(max(variance, 0.0)) if not np.isnan(variance) else np.nan
    return float(value - half), float(value + half)
