"""Protocols and labels that only tests need."""

from typing import Any

import numpy as np
import pandas as pd

from omni_bench.evaluation import region_label


def everyone_is_tested(units: pd.DataFrame, patients: pd.DataFrame, *, seed: int, **_: Any) -> pd.Series:
    """A split that puts all persons into the test part."""
    return pd.Series("test", index=units.index)


def shuffled_region_label(units: pd.DataFrame, *, deal: int = 0, **rules: Any) -> pd.Series:
    """The region task's labels, dealt anew so that both true classes get the same share of each label.

    A plain permutation of a few dozen channels is by chance related to the truth, and a strong effect is then learned
    from it, forwards or backwards.
    """
    label = region_label(units, **rules)
    channels = units[["subject", "channel"]].assign(label=label)
    firsts = channels.drop_duplicates(["subject", "channel"]).dropna(subset="label")
    rng = np.random.default_rng(deal)
    for value in (0, 1):
        rows = firsts.index[firsts["label"] == value]
        firsts.loc[rows, "label"] = rng.permutation(np.arange(len(rows)) % 2)
    dealt = channels.drop(columns="label").merge(firsts, on=["subject", "channel"], how="left")["label"]
    return dealt.set_axis(units.index).where(label.notna())
