"""Who is trained on, validated on and tested on.

A protocol's split is a function of ``(units, patients, seed)`` that returns ``train``, ``val`` or ``test`` per unit.
"""

import numpy as np
import pandas as pd

from omni_bench.errors import BenchError


def official_split(
    units: pd.DataFrame, patients: pd.DataFrame, *, seed: int, val_fraction: float = 0.2, min_test_s: float = 0.0
) -> pd.Series:
    """The dataset's own train and test patients, with validation persons drawn from the training ones.

    Validation persons are drawn stratified by source and outcome, as far as their numbers allow; one of them at least has
    labels of every class, if any training person has. A dataset without an official split is all test.

    Parameters
    ----------
    seed
        Of the draw of validation persons; the official part has none.
    min_test_s
        Units of shorter recordings (``duration`` in s) are not tested: they are in no part (NA).

    Raises
    ------
    BenchError
        A person stands in two parts, or in none although others do.
    """
    persons = patients.sort_values("subject").groupby("person")
    n_parts = persons["split"].nunique()
    if (n_parts > 1).any():
        raise BenchError(f"person {n_parts.idxmax()} stands in {n_parts.max()} splits: correct the split file")
    parts = persons["split"].first()
    if parts.notna().any() and parts.isna().any():
        raise BenchError(
            f"person {parts.index[parts.isna()][0]} stands in no split, but others do: correct the split file"
        )
    parts = parts.fillna("test")
    train = parts.index[parts == "train"]
    if len(train) > 1 and not (parts == "val").any():
        strata = persons["source"].first() + persons["outcome"].first().astype("string").fillna("unknown")
        chosen = stratified_choice(strata[train], val_fraction, seed)
        classes = units.groupby("person")["label"].nunique().reindex(train)
        complete = classes.index[classes == units["label"].nunique()]
        if len(complete) and not chosen.isin(complete).any():
            chosen = chosen[:-1].append(stratified_choice(strata[complete], 0, seed))
        parts[chosen] = "val"
    split = units["person"].map(parts)
    return split.mask((split == "test") & (units["duration"] < min_test_s)) if min_test_s else split


def stratified_choice(strata: pd.Series, fraction: float, seed: int) -> pd.Index:
    """Persons that make up ``fraction`` of all, spread over strata: at least one person, all only where there is one.

    Persons are shuffled inside their stratum and laid in one row, stratum after stratum; every 1/fraction-th is taken, so
    that a stratum gives its share to within one person. The draw does not depend on the order of ``strata``.
    """
    strata = strata.sort_index()
    rng = np.random.default_rng(seed)
    order = pd.DataFrame({"stratum": strata, "draw": rng.permutation(len(strata))}).sort_values(["stratum", "draw"])
    n = max(1, min(round(fraction * len(strata)), len(strata) - 1))
    positions = np.floor((np.arange(n) + rng.random()) * len(strata) / n).astype(int)
    return order.index[positions]


def check_leaks(units: pd.DataFrame, group: str) -> None:
    """Raise BenchError if one ``group`` (a column of ``units``, such as ``person``) stands in two splits."""
    splits = units.groupby(group)["split"].nunique()
    if (splits > 1).any():
        raise BenchError(f"leak: {group} {splits.idxmax()} stands in {splits.max()} splits; nothing was trained")
