"""Protocols and labels that only tests need."""

from typing import Any

import numpy as np
import pandas as pd

from omni_bench.evaluation import region_label


def everyone_is_tested(units: pd.DataFrame, patients: pd.DataFrame, *, seed: int) -> pd.Series:
    """A split that puts all persons into the test part."""
    return pd.Series("test", index=units.index)


def shuffled_region_label(units: pd.DataFrame, **rules: Any) -> pd.Series:
    """The region task's labels, dealt anew among the scored channels."""
    label = region_label(units, **rules)
    scored = label.notna()
    label[scored] = np.random.default_rng(0).permutation(label[scored].to_numpy())
    return label
