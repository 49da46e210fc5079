"""Splits of intracranial cohorts that have no official one: balanced by person, leave-one-dataset-out, few persons."""

import numpy as np
import pandas as pd

from omni_bench.data.splits import official_split, stratified_choice
from omni_bench.errors import BenchError

N_DRAWS = 100
"""Candidates of which the most balanced split is taken. On the 326 persons of the five open sources the squared distance
between the shares of test and all persons is 29e-4 with 1 draw, 3e-4 with 50, 2.5e-4 with 100, 2e-4 with 200."""


def balanced_split(
    units: pd.DataFrame, patients: pd.DataFrame, *, seed: int, test_fraction: float = 0.4, val_fraction: float = 0.2
) -> pd.Series:
    """Split by person, balanced over source, outcome, number of channels and modality (the Omni-iEEG paper's rule).

    Candidates are drawn stratified by source and outcome; the one whose test persons differ least from all persons in
    source, outcome, modality and thirds of the number of channels is taken. Validation persons are drawn so from the
    training ones.

    Parameters
    ----------
    units
        With ``person``, ``channel`` and, where it is known, ``modality``; persons without a unit are left out.
    seed
        Of all draws.
    test_fraction, val_fraction
        Share of the test persons among all, and of the validation persons among the others. 0.4 is the paper's.

    Raises
    ------
    BenchError
        Fewer than three persons, or a fraction that is not between 0 and 1.
    """
    persons = _persons(units, patients)
    if len(persons) < 3:
        raise BenchError(
            f"protocol.split: {len(persons)} persons cannot be split into train, val and test: three are needed"
        )
    for option, fraction in (("test_fraction", test_fraction), ("val_fraction", val_fraction)):
        if not 0 < fraction < 1:
            raise BenchError(f"protocol.split.{option}={fraction}: expected a number between 0 and 1")
    n_test = min(max(1, round(test_fraction * len(persons))), len(persons) - 2)
    rng = np.random.default_rng(seed)
    parts = pd.Series("train", index=persons.index)
    parts[_most_balanced(persons, n_test / len(persons), rng)] = "test"
    rest = persons[parts == "train"]
    parts[_most_balanced(rest, val_fraction, rng)] = "val"
    return units["person"].map(parts)


def leave_one_dataset_out(
    units: pd.DataFrame, patients: pd.DataFrame, *, seed: int, held_out: str, val_fraction: float = 0.2
) -> pd.Series:
    """Test on one source, train on all others; validation persons are drawn from the others, stratified.

    A person of the held-out source who also stands in another source is never trained on: those other units are in no
    part (NA).

    Parameters
    ----------
    held_out
        Name of the source.

    Raises
    ------
    BenchError
        No such source among the units, or fewer than two persons are left to train and validate on.
    """
    sources = sorted(set(units["source"]))
    if held_out not in sources:
        raise BenchError(
            f"protocol.split.held_out={held_out}: no such source in the data (it has {', '.join(sources)})"
        )
    tested = set(units.loc[units["source"] == held_out, "person"])
    others = patients[~patients["person"].isin(tested) & patients["person"].isin(units["person"])]
    persons = others.groupby("person")
    if len(persons) < 2:
        raise BenchError(
            f"protocol.split.held_out={held_out}: {len(persons)} persons are left, two are needed to train and validate"
        )
    strata = persons["source"].first() + persons["outcome"].first().astype("string").fillna("unknown")
    parts = pd.Series("train", index=strata.index)
    parts[stratified_choice(strata, val_fraction, seed)] = "val"
    return units["person"].map(parts).mask(units["source"] == held_out, "test")


def few_shot_patients(
    units: pd.DataFrame, patients: pd.DataFrame, *, seed: int, n_persons: int, val_fraction: float = 0.2
) -> pd.Series:
    """`official_split` with ``n_persons`` of its training persons; the others are in no part (NA).

    Persons are drawn at random, but the first is one with labels of every class, if there is any. More persons hold fewer.

    Raises
    ------
    BenchError
        ``n_persons`` is not between 1 and the number of training persons with a label; see also `official_split`.
    """
    split = official_split(units, patients, seed=seed, val_fraction=val_fraction)
    classes = units[split == "train"].groupby("person")["label"].nunique().sort_index()
    classes = classes[classes > 0]
    if not 1 <= n_persons <= len(classes):
        raise BenchError(
            f"protocol.split.n_persons={n_persons}, expected 1 to {len(classes)}, the training persons with a label"
        )
    order = np.random.default_rng(seed).permutation(classes.index)
    complete = classes[order] == classes.max()
    first = order[int(np.argmax(complete))]
    kept = [first, *(person for person in order if person != first)][:n_persons]
    return split.mask((split == "train") & ~units["person"].isin(kept))


def _persons(units: pd.DataFrame, patients: pd.DataFrame) -> pd.DataFrame:
    """One row per person with a unit: what a split is balanced over, as text."""
    by_person = patients[patients["person"].isin(units["person"])].groupby("person")
    persons = pd.DataFrame(
        {
            "source": by_person["source"].agg(lambda names: "+".join(sorted(set(names)))),
            "outcome": by_person["outcome"].first().astype("string").fillna("unknown"),
        }
    )
    n_channels = units.groupby("person")["channel"].nunique().reindex(persons.index)
    persons["n_channels"] = pd.cut(n_channels.rank(pct=True), [0, 1 / 3, 2 / 3, 1]).astype("string")
    if "modality" in units:
        persons["modality"] = units.groupby("person")["modality"].first().astype("string").fillna("unknown")
    return persons


def _most_balanced(persons: pd.DataFrame, fraction: float, rng: np.random.Generator) -> pd.Index:
    strata = persons["source"] + persons["outcome"]
    draws = [stratified_choice(strata, fraction, int(rng.integers(2**32))) for _ in range(N_DRAWS)]
    levels = pd.get_dummies(persons).to_numpy(dtype=float)
    shares = [levels[persons.index.isin(chosen)].mean(axis=0) for chosen in draws]
    return draws[int(np.argmin(((np.array(shares) - levels.mean(axis=0)) ** 2).sum(axis=1)))]
