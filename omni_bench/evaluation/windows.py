"""Tasks on the state of a whole recording: ictal, sleep."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from omni_bench.errors import BenchError
from omni_bench.evaluation.binary import (
    binary_metrics,
    confusion_table,
    labels_and_scores,
    predicted_classes,
    without_score,
)
from omni_bench.evaluation.record import Evaluation
from omni_bench.evaluation.tables import (
    check_choice,
    check_columns,
    evaluated_rows,
    probability_columns,
    unit_positions,
)
from omni_bench.evaluation.thresholds import choose_threshold, threshold_notes


def evaluate_binary_windows(
    predictions: pd.DataFrame,
    units: pd.DataFrame,
    *,
    classes: Sequence[str],
    rule: str = "paper",
    threshold_rule: str = "youden_val",
    threshold: float = 0.5,
    inherited_threshold: float | None = None,
    n_boot: int = 1000,
    seed: int = 0,
) -> Evaluation:
    """Score each window of a recording by its channels' mean and cut it by Youden's index (Omni-iEEG, section 4).

    Parameters
    ----------
    predictions
        One row per channel and window: `unit_id`, `start` (s), `prob_<class>`.
    units
        Rows with `recording` and `label` (1 = the second of `classes`); the label belongs to the window, so all
        channels of a recording that share a `start` share it.
    classes
        Negative class, positive class.
    rule
        `paper`: mean probability, positive from the threshold on; `reference`: mean logit, positive only above the
        threshold, as the released code does.
    threshold_rule, threshold, inherited_threshold
        See `choose_threshold`.
    """
    check_choice("rule", rule, ("paper", "reference"))
    check_columns(units, "units", ["unit_id", "person", "recording", "split", "label"])
    check_columns(predictions, "predictions", ["start"])
    if len(classes) != 2:
        raise BenchError(f"classes={list(classes)}: a binary task has two, negative and positive")
    column = probability_columns(predictions, [classes[1]])[0]
    windows = _recording_windows(predictions, units, column, logit=rule == "reference")
    test = evaluated_rows(windows)
    cut = choose_threshold(
        threshold_rule,
        labels_and_scores(windows[windows["split"] == "val"]),
        labels_and_scores(test),
        fixed=threshold,
        inherited=inherited_threshold,
        strict=rule == "reference",
    )
    metrics, confusion = binary_metrics(test, cut, n_boot, seed)
    return Evaluation(
        metrics=metrics,
        threshold=None if cut is None else {"rule": cut.rule, "value": cut.value},
        scores=test.assign(predicted=predicted_classes(test["score"], cut)).reset_index(drop=True),
        confusion=confusion_table(confusion, list(classes)),
        notes=[*without_score(test, "windows"), *threshold_notes(threshold_rule, cut is None)],
    )


def _recording_windows(predictions: pd.DataFrame, units: pd.DataFrame, column: str, logit: bool) -> pd.DataFrame:
    """One row per recording and window start: mean score over channels, label, split."""
    score = predictions[column].to_numpy(dtype=float)
    if logit:
        with np.errstate(divide="ignore"):
            score = np.log(score) - np.log1p(-score)
    kept = [name for name in ("source", "subject", "person", "split", "label") if name in units]
    samples = units[["recording", *kept]].iloc[unit_positions(predictions, units)].reset_index(drop=True)
    samples = samples.assign(start=predictions["start"].to_numpy(), score=score)
    groups = samples.groupby(["recording", "start"], sort=True, observed=True)
    conflict = (groups["label"].min() != groups["label"].max()).fillna(False).astype(bool)
    if conflict.any():
        recording, start = conflict.index[int(np.argmax(conflict))]
        raise BenchError(f"units table: channels of {recording} disagree on the label of the window at {start} s")
    windows = groups[kept].first().join(groups["score"].agg(["mean", "count"]))
    windows = windows.rename(columns={"mean": "score", "count": "n_channels"}).reset_index()
    windows.insert(0, "unit_id", windows["recording"].astype(str) + "@" + windows["start"].astype(str))
    return windows
