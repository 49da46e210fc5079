"""Tests over cells, models and datasets.

Demšar (2006), "Statistical comparisons of classifiers over multiple data sets", JMLR 7, is the source of the
comparisons over datasets.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from omni_bench.errors import BenchError
from omni_bench.evaluation.tables import check_columns


def holm(p: pd.Series) -> pd.Series:
    """Holm's (1979) step-down adjusted p values; NaN stays NaN and counts for no test."""
    # statsmodels' multipletests collects garbage at every call, seconds once thousands of results are in memory
    known = p.astype(float).dropna().sort_values(kind="stable")
    return (known * np.arange(len(known), 0, -1)).cummax().clip(upper=1).reindex(p.index)


def chance_tests(replicates: pd.DataFrame, alpha: float = 0.05) -> pd.DataFrame:
    """Test each cell of a table of models and datasets against chance: one-sided t test, Holm over all cells.

    Parameters
    ----------
    replicates
        One row per replicate of a cell: `dataset, model, family, value, chance`. Replicates must be independent:
        persons say more than seeds, which share the test data.

    Returns
    -------
    One row per cell: `dataset, model, family, n, mean, chance, t, p, p_holm, above_chance`. `t` and `p` are NaN with
    fewer than 2 replicates and where all replicates are equal, for want of a variance.
    """
    from scipy.stats import ttest_1samp

    check_columns(replicates, "replicates", ["dataset", "model", "family", "value", "chance"])
    rows = []
    for (dataset, model), cell in replicates.groupby(["dataset", "model"], sort=False):
        values, chance = cell["value"].to_numpy(dtype=float), float(cell["chance"].iloc[0])
        testable = len(values) > 1 and np.ptp(values) > 0
        t, p = ttest_1samp(values, chance, alternative="greater") if testable else (np.nan, np.nan)
        rows.append((dataset, model, cell["family"].iloc[0], len(values), values.mean(), chance, t, p))
    cells = pd.DataFrame(rows, columns=["dataset", "model", "family", "n", "mean", "chance", "t", "p"])
    cells["p_holm"] = holm(cells["p"])
    cells["above_chance"] = cells["p_holm"] < alpha
    return cells


def interval_chance_tests(cells: pd.DataFrame, alpha: float = 0.05) -> pd.DataFrame:
    """Test each cell against chance by its 95 % interval: one-sided normal test, Holm over all cells.

    The interval's width gives the standard error (Altman and Bland 2011, BMJ 343:d2304), so persons are the replicates
    where the interval comes from resampling persons, and one run is enough.

    Parameters
    ----------
    cells
        One row per cell: `dataset, model, family, value, ci_low, ci_high, chance`.

    Returns
    -------
    The rows with `z, p, p_holm, above_chance`. `z` and `p` are NaN where the interval is absent or has no width.
    """
    from scipy.stats import norm

    check_columns(cells, "cells", ["dataset", "model", "family", "value", "ci_low", "ci_high", "chance"])
    error = (cells["ci_high"] - cells["ci_low"]) / (2 * norm.ppf(0.975))
    z = (cells["value"] - cells["chance"]) / error.where(error > 0)
    tested = cells.assign(z=z, p=norm.sf(z))
    tested["p_holm"] = holm(tested["p"])
    return tested.assign(above_chance=tested["p_holm"] < alpha)


def share_above_chance(cells: pd.DataFrame) -> pd.DataFrame:
    """Share of cells above chance per family, of all cells of `chance_tests` or `interval_chance_tests`.

    Returns
    -------
    Indexed by family: `n_cells`, `n_untestable`, `share`.
    """
    groups = cells.assign(untestable=cells["p"].isna()).groupby("family", sort=False)
    shares = groups.agg(n_cells=("model", "size"), n_untestable=("untestable", "sum"), share=("above_chance", "mean"))
    return shares.astype({"n_untestable": int})


def compare_over_datasets(scores: pd.DataFrame) -> pd.DataFrame:
    """Wilcoxon signed-rank test of each pair of models over the datasets that both have, Holm over all pairs.

    Zero differences are split between both signs (Demšar, section 3.1.3).

    Parameters
    ----------
    scores
        Datasets × models, higher = better; NaN = missing.

    Returns
    -------
    One row per pair: `model_a, model_b, n_datasets, wins, ties, losses` (of a), `median_difference` (a - b),
    `rank_biserial` ((R+ - R-) / (R+ + R-): 1 = a always better), `p`, `p_holm`.
    """
    from scipy.stats import rankdata, wilcoxon

    rows = []
    for a, b in combinations(scores.columns, 2):
        difference = (scores[a] - scores[b]).dropna().to_numpy(dtype=float)
        difference = difference.round(12)  # equal differences of printed scores tie again
        n, signs = len(difference), np.sign(difference)
        ranks = rankdata(np.abs(difference))
        effect = float((ranks * signs).sum() / ranks.sum()) if n else np.nan
        p = float(wilcoxon(difference, zero_method="zsplit").pvalue) if signs.any() else np.nan
        median = float(np.median(difference)) if n else np.nan
        rows.append(
            (a, b, n, int((signs > 0).sum()), int((signs == 0).sum()), int((signs < 0).sum()), median, effect, p)
        )
    names = ["model_a", "model_b", "n_datasets", "wins", "ties", "losses", "median_difference", "rank_biserial", "p"]
    pairs = pd.DataFrame(rows, columns=names)
    return pairs.assign(p_holm=holm(pairs["p"]))


@dataclass(frozen=True)
class RankComparison:
    """Friedman's test with Nemenyi's comparisons.

    Attributes
    ----------
    average_ranks
        Per model, 1 = best, sorted.
    n_datasets
        Datasets on which every model has a score; the others are left out.
    statistic, p
        Friedman's chi-square, corrected for ties.
    critical_difference
        Models whose average ranks differ by more differ at level `alpha`.
    pairwise_p
        Nemenyi's p, models × models, 1 on the diagonal.
    """

    average_ranks: pd.Series
    n_datasets: int
    statistic: float
    p: float
    alpha: float
    critical_difference: float
    pairwise_p: pd.DataFrame


def compare_ranks(scores: pd.DataFrame, alpha: float = 0.05) -> RankComparison:
    """Friedman's test over datasets and Nemenyi's critical difference (Demšar, section 3.2.2).

    Parameters
    ----------
    scores
        Datasets × models, higher = better; datasets with a missing score are left out.

    Raises
    ------
    BenchError
        With fewer than 3 models or 2 complete datasets.
    """
    from scipy.stats import friedmanchisquare, studentized_range

    complete = scores.dropna()
    n, k = complete.shape
    if k < 3 or n < 2:
        raise BenchError(
            f"Friedman's test: {n} datasets with scores of all {k} models (needs 2 datasets, 3 models): "
            "leave out models with missing cells"
        )
    ranks = complete.rank(axis=1, ascending=False).mean().sort_values(kind="stable")
    statistic, p = friedmanchisquare(*complete.to_numpy(dtype=float).T)
    unit = np.sqrt(k * (k + 1) / (6 * n))
    distance = np.abs(np.subtract.outer(ranks.to_numpy(), ranks.to_numpy()))
    pairwise = studentized_range.sf(distance / unit * np.sqrt(2), k, np.inf)
    return RankComparison(
        average_ranks=ranks.rename("average_rank"),
        n_datasets=n,
        statistic=float(statistic),
        p=float(p),
        alpha=alpha,
        critical_difference=float(studentized_range.ppf(1 - alpha, k, np.inf) / np.sqrt(2) * unit),
        pairwise_p=pd.DataFrame(pairwise, index=ranks.index, columns=ranks.index),
    )
