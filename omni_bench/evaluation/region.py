"""The pathological region task: channels against SOZ and outcome (Omni-iEEG, task 2)."""

import pandas as pd

from omni_bench.evaluation.binary import (
    binary_metrics,
    confusion_table,
    labels_and_scores,
    predicted_classes,
    without_score,
)
from omni_bench.evaluation.labels import region_label
from omni_bench.evaluation.rates import rate_scores, window_scores
from omni_bench.evaluation.record import Evaluation
from omni_bench.evaluation.resection import outcome_auc, resection_ratios
from omni_bench.evaluation.tables import check_choice, check_columns, evaluated_rows, merge_patient_channels
from omni_bench.evaluation.thresholds import choose_threshold, threshold_notes

_COLUMNS = ["unit_id", "source", "subject", "person", "channel", "split", "good", "soz", "resected", "outcome"]


def evaluate_region(
    predictions: pd.DataFrame,
    units: pd.DataFrame,
    *,
    positive: str = "pathological",
    score: str = "mean",
    unit: str = "patient_channel",
    preserved_soz: str = "positive",
    threshold_rule: str = "youden_val",
    threshold: float = 0.5,
    inherited_threshold: float | None = None,
    orientation: str = "pathological",
    ratio_weight: str = "score",
    zero_total: str = "undefined",
    unknown_resection: str = "excluded",
    n_boot: int = 1000,
    seed: int = 0,
) -> Evaluation:
    """Score channels and compare them with the SOZ, and resections with outcome.

    Defaults are the sound reading of the paper; each `reference` choice is what the released code does.

    Parameters
    ----------
    predictions
        One row per window (`score="mean"`) or event (`score="rate"`) with `unit_id` and `prob_<class>`.
    units
        One row per channel of a recording.
    positive
        Class whose probability is the score.
    score
        `mean` probability over the channel's windows, or `rate` of events of class `positive` per minute.
    unit
        `patient_channel`: windows of all recordings of a patient's channel together; `recording_channel` (reference):
        a channel counts once per recording.
    preserved_soz
        See `region_label`.
    threshold_rule, threshold, inherited_threshold
        See `choose_threshold`; `threshold` is the value of rule `fixed`.
    orientation
        `pathological`; or `normal` (reference, event models only): the threshold detects normal channels, the lowest
        rate wins ties, and "specificity" is the recall of pathological channels.
    ratio_weight, zero_total, unknown_resection
        See `resection_ratios`; references `total`, `one`, `preserved`.
    n_boot, seed
        Resamples of persons.
    """
    check_choice("unit", unit, ("patient_channel", "recording_channel"))
    check_choice("score", score, ("mean", "rate"))
    check_choice("orientation", orientation, ("pathological", "normal"))
    check_columns(units, "units", _COLUMNS)
    totals = (window_scores if score == "mean" else rate_scores)(predictions, units, positive)
    channels = units.assign(total=totals["total"], size=totals["size"])
    channels = channels[channels["good"].fillna(False).astype(bool)]
    if unit == "patient_channel":
        channels = merge_patient_channels(channels, ["total", "size"]).assign(good=True)
    channels = channels.assign(
        score=(channels["total"] / channels["size"]).where(channels["size"] > 0),
        label=region_label(channels, preserved_soz),
    )
    test = evaluated_rows(channels)
    cut = choose_threshold(
        threshold_rule,
        labels_and_scores(channels[channels["split"] == "val"]),
        labels_and_scores(test),
        fixed=threshold,
        inherited=inherited_threshold,
        orientation="positive" if orientation == "pathological" else "negative",
    )
    metrics, confusion = binary_metrics(test, cut, n_boot, seed)
    notes = without_score(test, "channels")
    if orientation == "normal":
        metrics["sensitivity"], metrics["specificity"] = metrics["specificity"], metrics["sensitivity"]
        notes.append("orientation=normal: sensitivity and specificity take normal channels as the positive class")
    patients = resection_ratios(test, weight=ratio_weight, zero_total=zero_total, unknown_resection=unknown_resection)
    metrics["outcome_auc"] = outcome_auc(patients, n_boot, seed)
    return Evaluation(
        metrics=metrics,
        threshold=None if cut is None else {"rule": cut.rule, "value": cut.value},
        scores=test.assign(predicted=predicted_classes(test["score"], cut)).reset_index(drop=True),
        patients=patients,
        confusion=confusion_table(confusion, ["normal", positive]),
        notes=[*notes, *_patient_notes(patients), *threshold_notes(threshold_rule, cut is None)],
    )


def _patient_notes(patients: pd.DataFrame) -> list[str]:
    notes = []
    unknown = int(patients["outcome"].isna().sum())
    if unknown:
        notes.append(f"{unknown} of {len(patients)} test patients have no known outcome and no part in outcome_auc")
    reasons = patients.loc[patients["outcome"].notna() & (patients["reason"] != ""), "reason"]
    for reason, n in reasons.value_counts().items():
        notes.append(f"resection ratio undefined for {n} patients with known outcome: {reason}")
    return notes
