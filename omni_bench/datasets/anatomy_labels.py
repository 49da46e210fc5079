"""Anatomical region of a channel as a class label."""

import pandas as pd

from omni_bench.datasets.anatomy import region_classes, regions


def anatomy_label(units: pd.DataFrame, n_classes: int) -> pd.Series:
    """Index of each channel's region among the 5 lobes, or the 12 or 16 regions; NA where it is unknown or left out.

    Parameters
    ----------
    units
        With ``anatomical``, the raw label.

    Returns
    -------
    Int64 series on the index of ``units``.
    """
    numbers = {name: i for i, name in enumerate(region_classes(n_classes))}
    return regions(units["anatomical"], n_classes).map(numbers).astype("Int64").rename("label")
