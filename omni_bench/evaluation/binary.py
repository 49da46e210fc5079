"""Metrics of a score against two classes, with intervals over persons."""

import numpy as np
import pandas as pd

from omni_bench.evaluation.bootstrap import draw_persons
from omni_bench.evaluation.confusion import confusion_counts, confusion_metrics
from omni_bench.evaluation.ranking import ranking_metrics
from omni_bench.evaluation.record import Metric
from omni_bench.evaluation.thresholds import Threshold


def scored(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows that have both a label and a score."""
    return rows[rows["label"].notna() & rows["score"].notna()]


def labels_and_scores(rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Boolean labels and float scores of the scored rows."""
    known = scored(rows)
    return known["label"].to_numpy(dtype=bool), known["score"].to_numpy(dtype=float)


def without_score(rows: pd.DataFrame, what: str) -> list[str]:
    """Note on labelled rows that no sample gave a score."""
    n_labelled = int(rows["label"].notna().sum())
    n_missing = n_labelled - len(scored(rows))
    return [f"{n_missing} of {n_labelled} labelled {what} have no score and are left out"] if n_missing else []


def predicted_classes(score: pd.Series, threshold: Threshold | None) -> pd.Series:
    """1 / 0 by the threshold; NA without a score or a threshold."""
    predicted = pd.Series(pd.NA, index=score.index, dtype="Int64")
    if threshold is not None:
        known = score.notna()
        predicted[known] = threshold.predict(score[known].to_numpy(dtype=float)).astype(int)
    return predicted


def binary_metrics(
    rows: pd.DataFrame, threshold: Threshold | None, n_boot: int, seed: int
) -> tuple[dict[str, Metric], np.ndarray]:
    """Ranking and threshold metrics of the scored rows.

    The threshold is held fixed over the resamples.

    Parameters
    ----------
    rows
        Columns `label` (1, 0, NA), `score` (float, NaN = none), `person`.

    Returns
    -------
    Metrics, and the 2 × 2 confusion matrix (true class first, zeros without a threshold).
    """
    rows = scored(rows)
    label, score = labels_and_scores(rows)
    draws = draw_persons(rows["person"], n_boot, seed)
    auc, average_precision = ranking_metrics(label, score, draws.weights, draws.columns)
    values = {"auc": auc, "average_precision": average_precision}
    undefined = _why_undefined(label)
    metrics = {name: draws.metric(value, undefined) for name, value in values.items()}
    if threshold is None:
        counts = np.zeros((draws.weights.shape[1], 2, 2), dtype=int)
        undefined = "no threshold"
    else:
        predicted = threshold.predict(score).astype(int)
        counts = confusion_counts(label.astype(int), predicted, 2, draws.columns, draws.weights.shape[1])
    drawn = np.tensordot(draws.weights, counts, axes=1)
    with np.errstate(invalid="ignore"):
        sensitivity = drawn[:, 1, 1] / drawn[:, 1].sum(axis=1)
        specificity = drawn[:, 0, 0] / drawn[:, 0].sum(axis=1)
    at_threshold = confusion_metrics(drawn) | {"sensitivity": sensitivity, "specificity": specificity}
    metrics |= {name: draws.metric(value, undefined) for name, value in at_threshold.items()}
    return metrics, counts.sum(axis=0)


def confusion_table(counts: np.ndarray, classes: list[str]) -> pd.DataFrame:
    """Counts with class names, true class in rows."""
    return pd.DataFrame(counts, index=pd.Index(classes, name="true"), columns=pd.Index(classes, name="predicted"))


def _why_undefined(label: np.ndarray) -> str:
    if not len(label):
        return "no scored unit in the test split"
    if label.all() or not label.any():
        return f"one class only: all {len(label)} scored units are {'positive' if label[0] else 'negative'}"
    return ""
