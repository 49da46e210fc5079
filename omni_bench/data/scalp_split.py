"""Splits of the scalp benchmark (OmniEEG-Bench): by person, by trial within a person, in folds, with few training trials.

All draw at most ``max_per_class`` units per person and class first; a unit that is not drawn is in no part (NA). With
``compat="reference"`` they are those of the published code, see `omni_bench.data.reference_split`.
"""

import warnings

import numpy as np
import pandas as pd

from omni_bench.data import reference_split
from omni_bench.data.splits import (
    NotServed,
    SplitNote,
    overlap_blocks,
    sizes,
    stratified_choice,
    stratified_order,
)
from omni_bench.errors import BenchError

N_DRAWS = 100
"""Draws of persons of which the first that leaves no class out is taken. Of 10 persons of whom two have the second of two
classes, test lacks it for 79 % of 300 seeds with 1 draw, for 21 % with 10 and for none with 100; of whom five have it, for 47 %
with 1 draw and for none with 10."""


def cross_subject(
    units: pd.DataFrame,
    patients: pd.DataFrame,
    *,
    seed: int,
    max_per_class: int | None = 40,
    compat: str | None = None,
) -> pd.Series:
    """Persons 8:1:1, spread over sources and over the sets of classes that persons have.

    Sizes are rounded half to even; validation and test have one person at least. Of up to `N_DRAWS` draws the first is
    taken that leaves the fewest classes out of training, then of test, then of validation.

    Raises
    ------
    NotServed
        Fewer than three persons.
    BenchError
        Test would hold one class of several.
    """
    if compat == "reference":
        return reference_split.cross_subject(units, seed=seed, max_per_class=max_per_class)
    persons = _persons(units, "cross_subject")
    n_train, n_val, n_test = sizes(len(persons))
    if len(persons) < 10:
        _note(f"{len(persons)} persons: 8:1:1 becomes {n_train}/{n_val}/{n_test}")
    parts = _fewest_absent(units, persons, n_val, n_test, seed)
    return _checked(units, units["person"].map(parts).where(capped(units, max_per_class, seed)))


def multi_subject(
    units: pd.DataFrame,
    patients: pd.DataFrame,
    *,
    seed: int,
    max_per_class: int | None = 40,
    compat: str | None = None,
) -> pd.Series:
    """Trials of every person 8:1:1, spread over classes; all persons are pooled.

    Trials that overlap in time stay together. A person with fewer than three separate trials is trained on only.

    Raises
    ------
    BenchError
        No person has three separate trials, or test would hold one class of several.
    """
    if compat == "reference":
        return reference_split.multi_subject(units, seed=seed, max_per_class=max_per_class)
    drawn = capped(units, max_per_class, seed)
    split = pd.Series(pd.NA, index=units.index, dtype="str")
    blocks = overlap_blocks(units)
    few = 0
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
        else:
            few += 1
        split[own.index] = members.map(parts)
    if not (split == "test").any():
        raise BenchError(
            "protocol=multi_subject needs a person with 3 separate trials, the task has none: say protocol=cross_subject"
        )
    if few:
        _note(f"{few} persons with fewer than 3 separate trials are trained on only")
    return _checked(units, split)


def k_fold(
    units: pd.DataFrame,
    patients: pd.DataFrame,
    *,
    seed: int,
    fold: int,
    k: int | None = 5,
    max_per_class: int | None = 40,
) -> pd.Series:
    """Test on one of ``k`` groups of persons, spread as in `cross_subject`; a tenth of all persons validates.

    Parameters
    ----------
    fold
        From 0 to ``k`` - 1. The folds of one seed are disjoint and hold all persons.
    k
        None is one fold per person, in the order of their names: leave one subject out.

    Raises
    ------
    NotServed
        Fewer than three persons.
    BenchError
        ``k`` or ``fold`` is out of its range, or test would hold one class of several.
    """
    persons = _persons(units, "k_fold")
    n = len(persons)
    n_folds = n if k is None else k
    if not 2 <= n_folds <= n:
        raise BenchError(f"protocol.split.k={k}, expected 2 to {n}, the number of persons")
    if not 0 <= fold < n_folds:
        raise BenchError(f"protocol.split.fold={fold}, expected 0 to {n_folds - 1}")
    order = persons.index if k is None else stratified_order(persons["stratum"], np.random.default_rng(seed))
    tested = order[fold::n_folds]
    rest = persons["stratum"].drop(tested)
    parts = pd.Series("train", index=persons.index, dtype="str")
    parts[tested] = "test"
    parts[stratified_choice(rest, sizes(n)[1] / len(rest), [seed, fold])] = "val"
    return _checked(units, units["person"].map(parts).where(capped(units, max_per_class, seed)))


def few_shot(
    units: pd.DataFrame,
    patients: pd.DataFrame,
    *,
    seed: int,
    fraction: float,
    max_per_class: int | None = 40,
    within: bool = False,
    compat: str | None = None,
) -> pd.Series:
    """A fraction of the training units of each class, one at least; a larger one holds a smaller.

    Parameters
    ----------
    within
        Of `multi_subject`; by default of `cross_subject`.

    Raises
    ------
    BenchError
        ``fraction`` is not above 0 and at most 1; see also `cross_subject` and `multi_subject`.
    """
    if not 0 < fraction <= 1:
        raise BenchError(f"protocol.split.fraction={fraction:g}, expected above 0 and at most 1")
    if compat == "reference":
        return reference_split.few_shot(units, seed=seed, fraction=fraction)
    split = (multi_subject if within else cross_subject)(units, patients, seed=seed, max_per_class=max_per_class)
    train = units[split == "train"].sort_values("unit_id")
    label = train["label"].astype("string").fillna("")
    size = label.groupby(label).transform("size")
    share = (size * fraction).round()
    if (share < 1).any():
        n_lacking = label[share < 1].nunique()
        _note(f"fraction {fraction:g} is less than a training unit of {n_lacking} classes: each has one")
    kept = _rank(train, label, seed) < share.clip(lower=1)
    split[train.index[~kept]] = pd.NA
    return split


def capped(units: pd.DataFrame, max_per_class: int | None, seed: int) -> pd.Series:
    """Which units are among at most ``max_per_class`` of their person and class, drawn by seed; all where it is None."""
    if max_per_class is None:
        return pd.Series(True, index=units.index)
    if max_per_class < 1:
        raise BenchError(f"protocol.split.max_per_class={max_per_class}, expected at least 1, or null for all")
    ordered = units.sort_values("unit_id")
    groups = ordered["person"].astype("string") + "/" + ordered["label"].astype("string").fillna("")
    return (_rank(ordered, groups, seed) < max_per_class).reindex(units.index)


def _persons(units: pd.DataFrame, protocol: str) -> pd.DataFrame:
    """One row per person, by name: the stratum, of its source and its classes."""
    persons = units.groupby("person").agg(source=("source", "first"), classes=("label", _classes))
    if len(persons) < 3:
        raise NotServed(f"protocol={protocol} needs 3 persons, the task has {len(persons)}")
    return pd.DataFrame({"stratum": persons["source"] + "/" + persons["classes"]})


def _fewest_absent(units: pd.DataFrame, persons: pd.DataFrame, n_val: int, n_test: int, seed: int) -> pd.Series:
    """The part of each person, from the first draw with the fewest absent classes."""
    strata, n = persons["stratum"], len(persons)
    holds = pd.crosstab(units["person"], units["label"]).reindex(persons.index, fill_value=0) > 0
    best, least = None, None
    for draw in range(N_DRAWS):
        seeds = [seed, draw] if draw else seed
        parts = pd.Series("train", index=persons.index, dtype="str")
        test = stratified_choice(strata, n_test / n, seeds)
        rest = strata.drop(test)
        parts[test] = "test"
        parts[stratified_choice(rest, n_val / len(rest), seeds)] = "val"
        absent = tuple(int((~holds[parts == part].any()).sum()) for part in ("train", "test", "val"))
        if least is None or absent < least:
            best, least = parts, absent
        if not any(absent):
            break
    assert best is not None
    return best


def _checked(units: pd.DataFrame, split: pd.Series) -> pd.Series:
    """The split, unless its test part has one class of several."""
    tested = set(units.loc[split == "test", "label"].dropna())
    if len(tested) == 1 and set(units["label"].dropna()) != tested:
        raise BenchError(
            "every test unit is of one class, so nothing can be told apart: "
            "use protocol=k_fold with a smaller protocol.split.k, or another split_seed"
        )
    return split


def _rank(units: pd.DataFrame, groups: pd.Series, seed: int) -> pd.Series:
    """Place of each unit in its group's random order; ``units`` in an order of their own."""
    draw = pd.Series(np.random.default_rng(seed).random(len(units)), index=units.index)
    return draw.groupby(groups).rank(method="first") - 1


def _classes(labels: pd.Series) -> str:
    return ",".join(sorted(map(str, labels.dropna().unique())))


def _note(line: str) -> None:
    warnings.warn(line, SplitNote, stacklevel=3)
