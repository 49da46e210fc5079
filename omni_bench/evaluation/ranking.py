"""ROC AUC and average precision over many weightings of one sample, sorted once."""

import numpy as np

_BLOCK = 2_000_000  # weights expanded at a time (16 MB): larger blocks leave the cache and are slower


def ranking_metrics(
    positive: np.ndarray, score: np.ndarray, weights: np.ndarray, columns: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Area under the ROC curve (ties count half) and average precision for each row of weights.

    Parameters
    ----------
    positive
        `(n,)` booleans.
    score
        `(n,)`, higher = more likely positive.
    weights
        `(n_rows, n_groups)` weights of groups.
    columns
        `(n,)` group of each unit.

    Returns
    -------
    Two arrays `(n_rows,)`; NaN where a row leaves only one class.

    Raises
    ------
    ValueError
        On a NaN score.
    """
    if np.isnan(score).any():
        raise ValueError("NaN score")
    order = np.argsort(-score, kind="stable")
    positive, columns = positive[order], columns[order]
    starts = np.flatnonzero(np.r_[True, np.diff(score[order]) != 0])[: len(score)]
    results = np.full((2, len(weights)), np.nan)
    step = max(1, _BLOCK // max(len(score), 1))
    for first in range(0, len(weights) if len(score) else 0, step):
        rows = slice(first, first + step)
        results[:, rows] = _block(positive, weights[rows][:, columns].astype(float), starts)
    return results[0], results[1]


def _block(positive: np.ndarray, weights: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """AUC and average precision for `(n_rows, n)` weights in order of falling score, ties starting at `starts`."""
    hits = np.add.reduceat(weights * positive, starts, axis=1)
    size = np.add.reduceat(weights, starts, axis=1)
    true = np.cumsum(hits, axis=1)
    called = np.cumsum(size, axis=1)
    n_positive = true[:, -1]
    n_negative = called[:, -1] - n_positive
    misses = size - hits
    ordered_pairs = (misses * (true - hits / 2)).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        auc = ordered_pairs / (n_positive * n_negative)
        precision = np.where(called > 0, true / called, 0.0)
        average_precision = (hits * precision).sum(axis=1) / n_positive
    average_precision[n_negative == 0] = np.nan
    return np.stack([auc, average_precision])
