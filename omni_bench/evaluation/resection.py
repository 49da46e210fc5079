"""Resection ratio and surgical outcome (Omni-iEEG, task 2)."""

import numpy as np
import pandas as pd

from omni_bench.errors import BenchError
from omni_bench.evaluation.bootstrap import draw_persons
from omni_bench.evaluation.ranking import ranking_metrics
from omni_bench.evaluation.record import Metric
from omni_bench.evaluation.tables import PATIENT, check_choice


def resection_ratios(
    channels: pd.DataFrame,
    *,
    weight: str = "score",
    zero_total: str = "undefined",
    unknown_resection: str = "excluded",
) -> pd.DataFrame:
    """Share of a patient's pathological score that was resected.

    Parameters
    ----------
    channels
        All good channels with `source, subject, person, outcome, soz, resected` and `score` (mean per window or rate),
        `total` (sum over windows or count of events).
    weight
        What is summed: `score`, each channel alike, as the paper says (a channel without a score leaves the ratio
        undefined); or `total`, as the released code does (long recordings weigh more, channels without a score
        nothing).
    zero_total
        Ratio of a patient all of whose channels score 0: `undefined`, or `one` as the released code has it.
    unknown_resection
        Channels whose resection is unknown: `excluded`, or counted as `preserved` as the released code does.

    Returns
    -------
    One row per patient: `source, subject, person, outcome, n_channels, n_soz, n_resected, resection_ratio, reason`
    (why there is no ratio; empty otherwise).
    """
    check_choice("ratio_weight", weight, ("score", "total"))
    check_choice("zero_total", zero_total, ("undefined", "one"))
    check_choice("unknown_resection", unknown_resection, ("excluded", "preserved"))
    resected = channels["resected"].fillna(False).to_numpy(dtype=bool)
    counted = channels["resected"].notna().to_numpy() | (unknown_resection == "preserved")
    size = channels[weight].to_numpy(dtype=float)
    parts = channels[[*PATIENT, "person", "outcome"]].assign(
        n_channels=1,
        n_soz=channels["soz"].fillna(False).astype(int),
        n_resected=resected.astype(int),
        n_counted=counted.astype(int),
        n_unscored=(counted & np.isnan(size)).astype(int),
        resected_sum=np.where(resected & counted, size, 0.0),
        sum=np.where(counted, size, 0.0),
    )
    groups = parts.groupby(PATIENT, sort=True, observed=True)
    _check_outcomes(groups["outcome"].nunique())
    patients = groups[["person", "outcome"]].first()
    patients = patients.join(groups[["n_channels", "n_soz", "n_resected", "n_counted", "n_unscored"]].sum())
    total = groups["sum"].sum()
    patients["resection_ratio"] = (groups["resected_sum"].sum() / total).where(total != 0)
    unscored = patients["n_unscored"] > 0
    if zero_total == "one":
        patients.loc[(total == 0) & (patients["n_counted"] > 0), "resection_ratio"] = 1.0
    if weight == "score":
        patients.loc[unscored, "resection_ratio"] = np.nan
    undefined = patients["resection_ratio"].isna()
    patients["reason"] = np.select(
        [~undefined, patients["n_counted"] == 0, unscored & (weight == "score")],
        ["", "resection unknown", "a channel without a score"],
        default="all scores are 0",
    )
    return patients.drop(columns=["n_counted", "n_unscored"]).reset_index()


def outcome_auc(patients: pd.DataFrame, n_boot: int, seed: int) -> Metric:
    """ROC AUC of the resection ratio for seizure freedom, over patients with both known."""
    known = patients[patients["outcome"].notna() & patients["resection_ratio"].notna()]
    free = known["outcome"].to_numpy(dtype=bool)
    draws = draw_persons(known["person"], n_boot, seed)
    auc, _ = ranking_metrics(free, known["resection_ratio"].to_numpy(dtype=float), draws.weights, draws.columns)
    if len(known):
        undefined = f"one outcome only: {int(free.sum())} of {len(free)} operated patients are seizure-free"
    else:
        undefined = "no operated patient with known outcome and a defined resection ratio"
    return draws.metric(auc, undefined)


def _check_outcomes(n_outcomes: pd.Series) -> None:
    if (n_outcomes > 1).any():
        source, subject = n_outcomes.index[int(np.argmax(n_outcomes > 1))]
        raise BenchError(f"units table: {subject} ({source}) has two outcomes: an outcome belongs to a patient")
