"""Average ranks of models over datasets."""

import numpy as np
import pandas as pd

from omni_bench.errors import BenchError

RULES = ("published", "strict", "plain")


def dataset_ranks(scores: pd.DataFrame, chance: pd.Series, rule: str = "published") -> pd.DataFrame:
    """Rank of each model on each dataset; 1 = best, ties share their average rank, missing cells have none.

    Parameters
    ----------
    scores
        Datasets × models, higher = better; NaN = missing or skipped for pretraining overlap.
    chance
        Chance level per dataset.
    rule
        `published`: models at or below chance all get the last rank, the number of models ranked on that dataset
        (reproduces OmniEEG-Bench's printed order); `strict`: only those below chance; `plain`: chance plays no part.

    Raises
    ------
    BenchError
        On an unknown rule, and on a dataset without a chance level.
    """
    if rule not in RULES:
        raise BenchError(f"rule={rule!r} is not a known rank rule: choose one of {', '.join(RULES)}")
    ranks = scores.rank(axis=1, ascending=False, method="average")
    if rule == "plain":
        return ranks
    level = chance.reindex(scores.index)
    if level.isna().any():
        raise BenchError(f"no chance level for dataset {level.index[level.isna()][0]!r}: add it, or rank by rule=plain")
    lost = scores.le(level, axis=0) if rule == "published" else scores.lt(level, axis=0)
    return ranks.mask(lost, scores.notna().sum(axis=1), axis=0)


def average_rank(scores: pd.DataFrame, chance: pd.Series, rule: str = "published") -> pd.Series:
    """Mean of a model's ranks over the datasets where it has one, best model first; see `dataset_ranks`."""
    return dataset_ranks(scores, chance, rule).mean().rename("average_rank").sort_values(kind="stable")


def rank_stability(ranks: pd.DataFrame, n_boot: int = 1000, seed: int = 0) -> pd.DataFrame:
    """How far average ranks hang on which datasets are in: datasets drawn with replacement.

    Parameters
    ----------
    ranks
        Datasets × models, of `dataset_ranks`.

    Returns
    -------
    Per model, best first: ``average_rank``, ``low`` and ``high`` (95 % of draws), ``first`` (share of draws in which
    the model stands first; shared first places count in part). Draws without any rank of a model leave it out.
    """
    values = ranks.to_numpy(dtype=float)
    n = len(values)
    drawn = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=n_boot).astype(float)
    with np.errstate(invalid="ignore"):
        averages = drawn @ np.nan_to_num(values) / (drawn @ ~np.isnan(values))
    best = averages == np.nanmin(averages, axis=1, keepdims=True)
    low, high = np.nanpercentile(averages, [2.5, 97.5], axis=0)
    table = pd.DataFrame(
        {
            "average_rank": ranks.mean().to_numpy(),
            "low": low,
            "high": high,
            "first": (best / best.sum(axis=1, keepdims=True)).mean(axis=0),
        },
        index=ranks.columns,
    )
    return table.sort_values("average_rank", kind="stable")
