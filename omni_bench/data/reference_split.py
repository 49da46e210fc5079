"""Splits as the published code of OmniEEG-Bench draws them (``compat=reference``), where they depart from the paper.

Persons and trials are shuffled without regard to classes; at most ``max_per_class`` units per person and class are drawn
after splitting and in the training part only; few-shot is within persons at 6:2:2, of one fixed split and without that cap.
Trials that overlap in time stay together here too.
"""

import hashlib

import numpy as np
import pandas as pd

from omni_bench.data.splits import NotServed, overlap_blocks, sizes

FEW_SHOT_SPLIT_SEED = 42


def cross_subject(units: pd.DataFrame, *, seed: int, max_per_class: int | None) -> pd.Series:
    """Sorted persons, shuffled, cut at 8:1:1.

    Raises
    ------
    NotServed
        Fewer than three persons.
    """
    persons = np.sort(units["person"].unique().astype(str))
    if len(persons) < 3:
        raise NotServed(f"protocol=cross_subject needs 3 persons, the task has {len(persons)}")
    np.random.default_rng(seed).shuffle(persons)
    parts = dict(zip(persons, np.repeat(["train", "val", "test"], sizes(len(persons))), strict=True))
    return _capped_in_training(units, units["person"].map(parts), max_per_class, seed)


def multi_subject(
    units: pd.DataFrame, *, seed: int, max_per_class: int | None, train: float = 0.8, val: float = 0.1
) -> pd.Series:
    """Trials of each person, shuffled by the seed and the person's name, cut, and pooled; fewer than three all train."""
    split = pd.Series("train", index=units.index, dtype="str")
    blocks = overlap_blocks(units)
    for person, own in units.sort_values(["recording", "onset", "unit_id"]).groupby("person"):
        separate = blocks[own.index].unique()
        if len(separate) < 3:
            continue
        name = int(hashlib.sha1(str(person).encode(), usedforsecurity=False).hexdigest(), 16)
        np.random.default_rng(seed + name % 1_000_003).shuffle(separate)
        parts = np.repeat(["train", "val", "test"], sizes(len(separate), train, val))
        split[own.index] = blocks[own.index].map(dict(zip(separate, parts, strict=True)))
    return _capped_in_training(units, split, max_per_class, seed)


def few_shot(units: pd.DataFrame, *, seed: int, fraction: float) -> pd.Series:
    """The first max(1, round(fraction · n)) of each class's shuffled training trials; only the draw depends on ``seed``."""
    split = multi_subject(units, seed=FEW_SHOT_SPLIT_SEED, max_per_class=None, train=0.6, val=0.2)
    rng = np.random.default_rng(seed)
    train = units[split == "train"].sort_values("unit_id")
    for _, own in train.groupby(train["label"].astype("string").fillna("")):
        split[rng.permutation(own.index)[max(1, round(len(own) * fraction)) :]] = pd.NA
    return split


def _capped_in_training(units: pd.DataFrame, split: pd.Series, max_per_class: int | None, seed: int) -> pd.Series:
    if max_per_class is None:
        return split
    rng = np.random.default_rng(seed)
    split = split.copy()
    train = units[split == "train"].sort_values("unit_id")
    for _, own in train.groupby(["person", train["label"].astype("string").fillna("")]):
        split[rng.permutation(own.index)[max_per_class:]] = pd.NA
    return split
