"""Which properties of models go with their ranks (OmniEEG-Bench, section 4.4 and Figure 7).

Datasets stand in for independent replicates of a comparison of a handful of models, so a small p value says that
datasets agree on an order of these models, not that the property causes it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from omni_bench.errors import BenchError
from omni_bench.results.published import published_scores, read_published
from omni_bench.results.ranks import dataset_ranks

PRETRAINED_ON_BY_MOST = ["TUAB", "TUEP", "TUEV", "TUSL"]


@dataclass(frozen=True)
class FactorEffect:
    """Median over datasets of an effect on rank (negative = better rank), and its Wilcoxon signed-rank p."""

    median: float
    p: float
    n_datasets: int


def factor_correlation(ranks: pd.DataFrame, factor: pd.Series) -> FactorEffect:
    """Spearman correlation of a property with rank on each dataset, tested against 0 over datasets.

    Parameters
    ----------
    ranks
        Datasets × models, 1 = best.
    factor
        Value per model; models without one are left out.
    """
    from scipy.stats import spearmanr

    known = ranks[factor.dropna().index.intersection(ranks.columns)]
    rhos = []
    for row in known.to_numpy():
        ranked = ~np.isnan(row)
        values = factor[known.columns[ranked]]
        if ranked.sum() > 2 and len(np.unique(values)) > 1 and len(np.unique(row[ranked])) > 1:
            rhos.append(spearmanr(values, row[ranked]).statistic)
    return _effect(np.array(rhos))


def group_difference(ranks: pd.DataFrame, group: Sequence[str]) -> FactorEffect:
    """Mean rank of a group of models minus that of the others on each dataset, tested against 0 over datasets."""
    unknown = [model for model in group if model not in ranks]
    if unknown:
        raise BenchError(f"group of models: {unknown[0]!r} has no ranks (found {', '.join(ranks.columns)})")
    difference = ranks[list(group)].mean(axis=1) - ranks.drop(columns=list(group)).mean(axis=1)
    return _effect(difference.dropna().to_numpy())


def published_factors() -> pd.DataFrame:
    """Factor analysis recomputed from OmniEEG-Bench Table 5.

    Rank rule `strict`, without the TUH datasets that most models were pretrained on: the settings under which the
    paper's figures come out.

    Returns
    -------
    One row per factor with `median`, `p`, `n_datasets`. Parameters come three times: as printed, with BENDR at the
    157.1 M that are run, and without BENDR.
    """
    scores, chance = published_scores(5)
    ranks = dataset_ranks(scores, chance, rule="strict").drop(index=PRETRAINED_ON_BY_MOST)
    models = read_published("omni_eegbench/models").set_index("model")
    factors = {
        "pretraining datasets": models["n_datasets"],
        "log parameters": np.log(models["params_printed_millions"]),
        "log parameters, BENDR at 157.1 M": np.log(models["params_run_millions"]),
        "log parameters, without BENDR": np.log(models["params_printed_millions"].drop("BENDR")),
        "year": models["year"],
        "hours": models["hours"],
        "subjects": models["subjects"],
    }
    effects = {name: factor_correlation(ranks, factor) for name, factor in factors.items()}
    return pd.DataFrame.from_dict(effects, orient="index").rename_axis("factor")


def _effect(values: np.ndarray) -> FactorEffect:
    from scipy.stats import wilcoxon

    if not values.any():
        return FactorEffect(float(np.median(values)) if len(values) else np.nan, np.nan, len(values))
    return FactorEffect(float(np.median(values)), float(wilcoxon(values).pvalue), len(values))
