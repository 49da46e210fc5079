"""Who is trained on, validated on and tested on.

A protocol's split is a function of ``(units, patients, seed)`` that returns ``train``, ``val`` or ``test`` per unit.
"""

import numpy as np
import pandas as pd

from omni_bench.errors import BenchError


def official_split(units: pd.DataFrame, patients: pd.DataFrame, *, seed: int, val_fraction: float = 0.2) -> pd.Series:
    """The dataset's own train and test patients, with validation persons drawn from the training ones.

    Validation persons are drawn stratified by source and outcome, as far as their numbers allow. A dataset without an
    official split, or without a training part, is all test.

    Parameters
    ----------
    seed
        Of the draw of validation persons; the official part has none.

    Raises
    ------
    BenchError
        A person stands in two parts.
    """
    persons = patients.groupby("person")
    parts = persons["split"].agg(lambda split: "+".join(sorted(set(split.dropna()))) or "test")
    torn = parts[parts.str.contains("+", regex=False)]
    if len(torn):
        raise BenchError(f"person {torn.index[0]} stands in the splits {torn.iloc[0]}: correct the split file")
    train = parts.index[parts == "train"]
    if len(train) and not (parts == "val").any():
        strata = persons["source"].first() + persons["outcome"].first().astype("string").fillna("unknown")
        parts[stratified_choice(strata[train], val_fraction, seed)] = "val"
    return units["person"].map(parts)


def stratified_choice(strata: pd.Series, fraction: float, seed: int) -> pd.Index:
    """Persons that make up ``fraction`` of all, spread over strata: at least one person, never all of them.

    Persons are shuffled inside their stratum and laid in one row, stratum after stratum; every 1/fraction-th is taken.
    """
    rng = np.random.default_rng(seed)
    order = pd.DataFrame({"stratum": strata, "draw": rng.permutation(len(strata))}).sort_values(["stratum", "draw"])
    n = min(max(1, round(fraction * len(strata))), len(strata) - 1)
    positions = np.floor((np.arange(n) + rng.random()) * len(strata) / max(n, 1)).astype(int)
    return order.index[positions]


def check_leaks(units: pd.DataFrame, group: str) -> None:
    """Raise BenchError if one ``group`` (a column of ``units``, such as ``person``) stands in two splits."""
    splits = units.groupby(group)["split"].nunique()
    if (splits > 1).any():
        raise BenchError(f"leak: {group} {splits.idxmax()} stands in {splits.max()} splits; nothing was trained")
