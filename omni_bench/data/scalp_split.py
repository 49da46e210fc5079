"""Splits of the scalp benchmark (OmniEEG-Bench): by person, by trial within a person, and with few training trials.

All draw at most ``max_per_class`` units per person and class first; a unit that is not drawn is in no part (NA).
"""

import numpy as np
import pandas as pd

from omni_bench.data.splits import stratified_choice
from omni_bench.errors import BenchError


def cross_subject(
    units: pd.DataFrame, patients: pd.DataFrame, *, seed: int, max_per_class: int | None = 40
) -> pd.Series:
    """Persons 8:1:1, spread over sources and over the sets of classes that persons have.

    Sizes are rounded half to even; validation and test have one person at least.

    Raises
    ------
    BenchError
        Fewer than three persons.
    """
    drawn = capped(units, max_per_class, seed)
    persons = units.groupby("person").agg(source=("source", "first"), classes=("label", _classes))
    n = len(persons)
    if n < 3:
        raise BenchError(f"protocol=cross_subject needs 3 persons, the task has {n}: say protocol=multi_subject")
    strata = persons["source"] + "/" + persons["classes"]
    n_train, n_val, n_test = sizes(n)
    test = stratified_choice(strata, n_test / n, seed)
    rest = strata.drop(test)
    val = stratified_choice(rest, n_val / len(rest), seed)
    parts = pd.Series("train", index=persons.index, dtype="str")
    parts[test], parts[val] = "test", "val"
    assert (parts == "train").sum() == n_train
    return units["person"].map(parts).where(drawn)


def multi_subject(
    units: pd.DataFrame, patients: pd.DataFrame, *, seed: int, max_per_class: int | None = 40
) -> pd.Series:
    """Trials of every person 8:1:1, spread over classes; all persons are pooled.

    Trials that overlap in time stay together. A person with fewer than three separate trials is trained on only.
    """
    drawn = capped(units, max_per_class, seed)
    split = pd.Series(pd.NA, index=units.index, dtype="str")
    blocks = overlap_blocks(units)
    for number, (_, own) in enumerate(units[drawn].sort_values("unit_id").groupby("person")):
        members = blocks[own.index]
        strata = own["label"].astype("string").fillna("").groupby(members).first()
        parts = pd.Series("train", index=strata.index, dtype="str")
        if len(strata) >= 3:
            _, n_val, n_test = sizes(len(strata))
            test = stratified_choice(strata, n_test / len(strata), seed + number)
            rest = strata.drop(test)
            parts[test] = "test"
            parts[stratified_choice(rest, n_val / len(rest), seed + number)] = "val"
        split[own.index] = members.map(parts)
    return split


def few_shot(
    units: pd.DataFrame, patients: pd.DataFrame, *, seed: int, fraction: float, max_per_class: int | None = 40
) -> pd.Series:
    """`cross_subject` with a fraction of the training units of each class, one at least; a larger one holds a smaller.

    Raises
    ------
    BenchError
        ``fraction`` is not above 0 and at most 1; see also `cross_subject`.
    """
    if not 0 < fraction <= 1:
        raise BenchError(f"protocol.split.fraction={fraction:g}, expected above 0 and at most 1")
    split = cross_subject(units, patients, seed=seed, max_per_class=max_per_class)
    train = units[split == "train"].sort_values("unit_id")
    rank = _rank(train, train["label"].astype("string").fillna(""), seed)
    size = train["label"].astype("string").fillna("").pipe(lambda label: label.groupby(label).transform("size"))
    kept = rank < (size * fraction).round().clip(lower=1)
    split[train.index[~kept]] = pd.NA
    return split


def capped(units: pd.DataFrame, max_per_class: int | None, seed: int) -> pd.Series:
    """Which units are among at most ``max_per_class`` of their person and class, drawn by seed; all where it is None."""
    if max_per_class is None:
        return pd.Series(True, index=units.index)
    ordered = units.sort_values("unit_id")
    groups = ordered["person"].astype("string") + "/" + ordered["label"].astype("string").fillna("")
    return (_rank(ordered, groups, seed) < max_per_class).reindex(units.index)


def sizes(n: int) -> tuple[int, int, int]:
    """Train, validation and test of ``n`` things at 8:1:1, each one at least."""
    train = min(max(round(0.8 * n), 1), n - 2)
    val = min(max(round(0.1 * n), 1), n - train - 1)
    return train, val, n - train - val


def overlap_blocks(units: pd.DataFrame) -> pd.Series:
    """Number of the run of overlapping trials that each unit belongs to; trials that only touch are separate.

    ``units`` has ``recording``, ``onset`` and ``duration`` in seconds.
    """
    ordered = units.sort_values(["recording", "onset"])
    ends = ordered["onset"] + ordered["duration"].fillna(0)
    before = ends.groupby(ordered["recording"]).transform(lambda e: e.cummax().shift(fill_value=-np.inf))
    return (ordered["onset"] >= before - 1e-6).cumsum().reindex(units.index)


def _rank(units: pd.DataFrame, groups: pd.Series, seed: int) -> pd.Series:
    """Place of each unit in its group's random order; ``units`` in an order of their own."""
    draw = pd.Series(np.random.default_rng(seed).random(len(units)), index=units.index)
    return draw.groupby(groups).rank(method="first") - 1


def _classes(labels: pd.Series) -> str:
    return ",".join(sorted(map(str, labels.dropna().unique())))
