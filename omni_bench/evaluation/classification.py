"""Tasks with any number of classes: events, anatomy, and the scalp tasks."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from omni_bench.errors import BenchError
from omni_bench.evaluation.binary import confusion_table
from omni_bench.evaluation.bootstrap import Draws, draw_persons
from omni_bench.evaluation.confusion import confusion_counts, confusion_metrics
from omni_bench.evaluation.ranking import ranking_metrics
from omni_bench.evaluation.record import Evaluation, Metric
from omni_bench.evaluation.tables import (
    check_choice,
    check_columns,
    evaluated_rows,
    merge_patient_channels,
    probability_columns,
    unit_totals,
)


def evaluate_classification(
    predictions: pd.DataFrame,
    units: pd.DataFrame,
    *,
    classes: Sequence[str],
    unit: str = "unit",
    n_boot: int = 1000,
    seed: int = 0,
) -> Evaluation:
    """Compare the most probable class of each unit with its label.

    A unit's probabilities are the mean over its samples; the first class wins ties. Units without a label are left
    out; units without a sample are left out and counted.

    Parameters
    ----------
    predictions
        `unit_id` and `prob_<class>` for each of `classes`.
    units
        `label` holds the index into `classes`.
    unit
        `unit`: rows as they are; `patient_channel`: windows of all recordings of a patient's channel together.

    Returns
    -------
    Metrics `accuracy, balanced_accuracy, precision_macro, recall_macro, f1_macro, kappa` (see `confusion_metrics`) and
    `auc`, the unweighted mean of the one-vs-rest AUCs, NaN where a class is absent from the labels.
    """
    check_choice("unit", unit, ("unit", "patient_channel"))
    check_columns(units, "units", ["unit_id", "person", "split", "label"])
    columns = probability_columns(predictions, classes)
    rows = pd.concat([units, unit_totals(predictions, units, columns)], axis=1)
    rows = evaluated_rows(rows)
    if unit == "patient_channel":
        rows = merge_patient_channels(rows, [*columns, "n_samples"])
    rows = rows[rows["label"].notna()]
    notes = []
    unscored = rows["n_samples"] == 0
    if unscored.any():
        notes.append(f"{int(unscored.sum())} of {len(rows)} labelled units have no sample and are left out")
    rows = rows[~unscored].reset_index(drop=True)
    means = rows[columns].div(rows["n_samples"], axis=0)
    truth = rows["label"].to_numpy(dtype=int)
    if ((truth < 0) | (truth >= len(classes))).any():
        stray = truth[(truth < 0) | (truth >= len(classes))][0]
        raise BenchError(f"units table: label {stray} is no index into the {len(classes)} classes of the task card")
    probability = means.to_numpy(dtype=float)
    predicted = probability.argmax(axis=1) if len(rows) else truth
    draws = draw_persons(rows["person"], n_boot, seed)
    n_persons = draws.weights.shape[1]
    counts = confusion_counts(truth, predicted, len(classes), draws.columns, n_persons)
    absent = [name for index, name in enumerate(classes) if index not in truth]
    metrics = {
        name: _metric(draws, values, absent)
        for name, values in confusion_metrics(np.tensordot(draws.weights, counts, axes=1)).items()
    }
    # in one piece: a column at a time leaves a frame of as many pieces as there are classes
    known = rows.drop(columns=[*columns, "n_samples"])
    called = pd.Series(predicted, dtype="Int64", name="predicted")
    metrics["auc"] = _metric(draws, _macro_auc(truth, probability, draws), absent)
    return Evaluation(
        metrics=metrics,
        threshold=None,
        scores=pd.concat([known, means, rows["n_samples"], called], axis=1),
        confusion=confusion_table(counts.sum(axis=0), list(classes)),
        notes=notes,
    )


def _macro_auc(truth: np.ndarray, probability: np.ndarray, draws: Draws) -> np.ndarray:
    """Unweighted mean of the one-vs-rest AUCs for each draw; NaN where a class is absent."""
    classes = range(probability.shape[1])
    if any(index not in truth for index in classes):
        return np.full(len(draws.weights), np.nan)
    aucs = [ranking_metrics(truth == k, probability[:, k], draws.weights, draws.columns)[0] for k in classes]
    return np.mean(aucs, axis=0)


def _metric(draws: Draws, values: np.ndarray, absent: list[str]) -> Metric:
    if not len(draws.columns):
        return draws.metric(values, "no scored unit in the test split")
    note = f"no test unit of class {', '.join(absent)}" if absent else ""
    return draws.metric(values, note, note)
