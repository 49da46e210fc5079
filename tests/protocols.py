"""Protocols and labels that only tests need."""

from typing import Any

import numpy as np
import pandas as pd

from omni_bench.evaluation import region_label


def everyone_is_tested(units: pd.DataFrame, patients: pd.DataFrame, *, seed: int, **_: Any) -> pd.Series:
    """A split that puts all persons into the test part."""
    return pd.Series("test", index=units.index)


def shuffled_region_label(units: pd.DataFrame, *, deal: int = 0, **rules: Any) -> pd.Series:
    """The region task's labels, dealt anew within each patient so that both true classes get the same share of each label.

    A plain permutation of a few dozen channels is by chance related to the truth, and a strong effect is then learned
    from it, forwards or backwards; dealt over all patients, what training has too many of, test has too few of.
    """
    label = region_label(units, **rules)
    channels = units[["subject", "channel"]].assign(label=label)
    firsts = channels.drop_duplicates(["subject", "channel"]).dropna(subset="label")
    rng = np.random.default_rng(deal)
    for rows in firsts.groupby(["subject", "label"]).groups.values():
        firsts.loc[rows, "label"] = rng.permutation((np.arange(len(rows)) + rng.integers(2)) % 2)
    dealt = channels.drop(columns="label").merge(firsts, on=["subject", "channel"], how="left")["label"]
    return dealt.set_axis(units.index).where(label.notna())
