"""Metrics of predicted classes, computed from confusion matrices."""

import numpy as np


def confusion_counts(
    truth: np.ndarray, predicted: np.ndarray, n_classes: int, columns: np.ndarray, n_groups: int
) -> np.ndarray:
    """Confusion matrix of each group, `(n_groups, n_classes, n_classes)`; true class first."""
    cell = (columns * n_classes + truth) * n_classes + predicted
    return np.bincount(cell, minlength=n_groups * n_classes**2).reshape(n_groups, n_classes, n_classes)


def confusion_metrics(counts: np.ndarray) -> dict[str, np.ndarray]:
    """Accuracy, balanced accuracy, Cohen's kappa, macro precision, recall and F1.

    The macro means run over the classes that occur in truth or prediction; a class's undefined precision, recall or F1
    is 0 there (Omni-iEEG, section 5). Balanced accuracy runs over the classes that occur in truth. All but accuracy
    are NaN where fewer than two classes occur in truth.

    Parameters
    ----------
    counts
        `(..., n_classes, n_classes)`, true class first.

    Returns
    -------
    Arrays `(...)`.
    """
    hits = np.diagonal(counts, axis1=-2, axis2=-1).astype(float)
    true, called = counts.sum(axis=-1), counts.sum(axis=-2)
    total = true.sum(axis=-1)
    recall, precision, f1 = _ratio(hits, true), _ratio(hits, called), _ratio(2 * hits, true + called)
    occurs = (true + called) > 0
    n_true, n_occurs = (true > 0).sum(axis=-1), occurs.sum(axis=-1)
    accuracy = _ratio(hits.sum(axis=-1), total, undefined=np.nan)
    by_chance = _ratio((true * called).sum(axis=-1), total.astype(float) ** 2, undefined=np.nan)
    metrics = {
        "balanced_accuracy": _ratio(recall.sum(axis=-1), n_true),
        "precision_macro": _ratio(precision.sum(axis=-1), n_occurs),
        "recall_macro": _ratio(recall.sum(axis=-1), n_occurs),
        "f1_macro": _ratio(f1.sum(axis=-1), n_occurs),
        "kappa": _ratio(accuracy - by_chance, 1 - by_chance, undefined=np.nan),
    }
    return {"accuracy": accuracy} | {name: np.where(n_true > 1, value, np.nan) for name, value in metrics.items()}


def macro_f1(prob: np.ndarray, y: np.ndarray) -> float:
    """Macro F1 of the most probable class, as `evaluate_classification` reports it: the monitor during training.

    Parameters
    ----------
    prob
        `(n, n_classes)`, or `(n,)` probabilities of class 1 (then cut at 0.5).
    y
        `(n,)` class indices.

    Returns
    -------
    NaN where fewer than two classes occur in `y`.
    """
    return _of_probabilities("f1_macro", prob, y)


def balanced_accuracy(prob: np.ndarray, y: np.ndarray) -> float:
    """Mean recall of the classes in `y` by the most probable class; arguments and NaN as of `macro_f1`."""
    return _of_probabilities("balanced_accuracy", prob, y)


def _of_probabilities(metric: str, prob: np.ndarray, y: np.ndarray) -> float:
    prob, y = np.asarray(prob), np.asarray(y, dtype=int)
    predicted = (prob >= 0.5).astype(int) if prob.ndim == 1 else prob.argmax(axis=1)
    n_classes = 2 if prob.ndim == 1 else prob.shape[1]
    counts = confusion_counts(y, predicted, n_classes, np.zeros(len(y), dtype=int), 1)
    return float(confusion_metrics(counts)[metric][0])


def _ratio(part: np.ndarray, whole: np.ndarray, undefined: float = 0.0) -> np.ndarray:
    return np.divide(part, whole, out=np.full(np.shape(part), undefined), where=np.asarray(whole) != 0)
