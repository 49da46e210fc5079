"""Average ranks of models over datasets."""

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
