"""Labels of channels and recordings, from what the units table says of them."""

import pandas as pd

from omni_bench.evaluation.tables import check_choice, check_columns


def region_label(units: pd.DataFrame, preserved_soz: str = "positive") -> pd.Series:
    """1 = pathological, 0 = normal, NA = unscored (Omni-iEEG, task 2).

    SOZ channels are pathological; channels that a seizure-free patient's resection left in place are normal. Bad
    channels, and all others, are unscored.

    Parameters
    ----------
    units
        Nullable boolean columns `good`, `soz`, `resected`, `outcome` (True = seizure-free); NA = unknown.
    preserved_soz
        A SOZ channel that was preserved in a seizure-free patient meets both definitions: `positive` as the paper
        words it, `negative` as the released code decides it.

    Returns
    -------
    Int64 series on the index of `units`.
    """
    check_choice("preserved_soz", preserved_soz, ("positive", "negative"))
    check_columns(units, "units", ["good", "soz", "resected", "outcome"])
    flags = units[["good", "soz", "resected", "outcome"]].astype("boolean")
    soz = flags["soz"].fillna(False)
    normal = ~flags["resected"].fillna(True) & flags["outcome"].fillna(False)
    label = pd.Series(pd.NA, index=units.index, dtype="Int64", name="label")
    first, second = (normal, soz) if preserved_soz == "positive" else (soz, normal)
    label[first] = int(first is soz)
    label[second] = int(second is soz)
    label[~flags["good"].fillna(False)] = pd.NA
    return label


def state_label(units: pd.DataFrame, column: str, positive: object = True) -> pd.Series:
    """1 where a recording's state, such as `ictal` or `state`, is `positive`, 0 where it is another, NA where unknown.

    Returns
    -------
    Int64 series on the index of `units`.
    """
    check_columns(units, "units", [column])
    return (units[column] == positive).astype("Int64").rename("label")
