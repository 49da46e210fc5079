"""Who is trained on, validated on and tested on.

A protocol's split is a function of ``(units, patients, seed)`` that returns ``train``, ``val`` or ``test`` per unit, NA
for a unit in no part. What it had to bend to serve a dataset it says as a `SplitNote`, which ends in the run's record.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from omni_bench.errors import BenchError


class SplitNote(UserWarning):
    """What a protocol had to bend."""


class NotServed(BenchError):
    """The protocol has no meaning for this dataset; its card may name another split for that."""


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


def stratified_choice(strata: pd.Series, fraction: float, seed: int | Sequence[int]) -> pd.Index:
    """Persons that make up ``fraction`` of all, spread over strata: at least one person, all only where there is one.

    Persons are shuffled inside their stratum and laid in one row, stratum after stratum; every 1/fraction-th is taken, so
    that a stratum gives its share to within one person. The draw does not depend on the order of ``strata``.
    """
    rng = np.random.default_rng(seed)
    order = stratified_order(strata, rng)
    n = max(1, min(round(fraction * len(strata)), len(strata) - 1))
    positions = np.floor((np.arange(n) + rng.random()) * len(strata) / n).astype(int)
    return order[positions]


def stratified_order(strata: pd.Series, rng: np.random.Generator) -> pd.Index:
    """Persons in one row, stratum after stratum, shuffled inside each."""
    strata = strata.sort_index()
    draws = pd.DataFrame({"stratum": strata, "draw": rng.permutation(len(strata))})
    return draws.sort_values(["stratum", "draw"]).index


def sizes(n: int, train: float = 0.8, val: float = 0.1) -> tuple[int, int, int]:
    """Train, validation and test of ``n`` things, at least three; rounded half to even, each one at least."""
    n_train = min(max(round(train * n), 1), n - 2)
    n_val = min(max(round(val * n), 1), n - n_train - 1)
    return n_train, n_val, n - n_train - n_val


def overlap_blocks(units: pd.DataFrame) -> pd.Series:
    """Number of the run of overlapping trials that each unit belongs to; trials that only touch are separate.

    ``units`` has ``unit_id``, ``recording``, ``onset`` and ``duration`` in seconds.
    """
    ordered = units.sort_values(["recording", "onset", "unit_id"])
    ends = ordered["onset"] + ordered["duration"].fillna(0)
    before = ends.groupby(ordered["recording"]).transform(lambda e: e.cummax().shift(fill_value=-np.inf))
    return (ordered["onset"] >= before - 1e-6).cumsum().reindex(units.index)


def absent_classes(units: pd.DataFrame, classes: Sequence[str]) -> list[str]:
    """One line for each of validation and test that lacks a class; their metrics then say nothing of it."""
    lines = []
    for split in ("val", "test"):
        present = set(units.loc[units["split"] == split, "label"].dropna())
        absent = [name for i, name in enumerate(classes) if i not in present]
        if present and absent:
            lines.append(f"no {split} unit of class {', '.join(absent)}: {split} metrics say nothing of it")
    return lines


def check_leaks(units: pd.DataFrame, group: str) -> None:
    """Raise BenchError if one ``group`` (a column of ``units``, such as ``person``) stands in two splits."""
    splits = units.groupby(group)["split"].nunique()
    if (splits > 1).any():
        raise BenchError(f"leak: {group} {splits.idxmax()} stands in {splits.max()} splits; nothing was trained")


def check_overlap(windows: pd.DataFrame) -> None:
    """Raise BenchError if windows of one recording that overlap in time stand in two splits."""
    torn = windows.groupby("recording")["split"].transform("nunique") > 1
    if torn.any():
        rows = windows[torn & windows["split"].notna()]
        blocks = overlap_blocks(rows[["unit_id", "recording", "duration"]].assign(onset=rows["start"]))
        splits = rows.groupby(blocks)["split"].transform("nunique")
        if (splits > 1).any():
            name = rows.loc[splits.idxmax(), "sample_id"]
            raise BenchError(f"leak: window {name} overlaps one of another split; nothing was trained")
