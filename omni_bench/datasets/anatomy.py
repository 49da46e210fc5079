"""Raw anatomical labels → lobes and regions, by the table of the Omni-iEEG paper (``anatomical_mapping.csv``)."""

from functools import cache
from pathlib import Path

import pandas as pd

from omni_bench.data.tables import read_table
from omni_bench.errors import BenchError
from omni_bench.explain import near

TABLE = Path(__file__).with_name("anatomical_mapping.csv")
COLUMNS = {5: "subcategory", 12: "Proposal_2", 16: "Proposal_1"}
LOBES = ("frontal", "temporal", "parietal", "occipital", "limbic")
UNKNOWN = "-1"


@cache
def region_table() -> pd.DataFrame:
    """Raw label → region per number of classes, NA where the scheme leaves a label out."""
    table = read_table(TABLE, ["label", *COLUMNS.values()]).set_index("label")
    return table.mask(table == UNKNOWN).rename(columns={name: str(n) for n, name in COLUMNS.items()})


def region_classes(n_classes: int) -> list[str]:
    """Class names in the order of their ids: the five lobes, or 12 or 16 regions by first appearance in the table.

    Raises
    ------
    BenchError
        Another number of classes.
    """
    if n_classes not in COLUMNS:
        raise BenchError(f"anatomical regions: {n_classes} classes, expected {', '.join(map(str, COLUMNS))}")
    return list(LOBES) if n_classes == 5 else region_table()[str(n_classes)].dropna().unique().tolist()


def regions(labels: pd.Series, n_classes: int = 5) -> pd.Series:
    """Regions of raw labels, NA where the label is unknown or the scheme leaves it out.

    The 5 lobes leave out what is no cortex or hippocampus; the 12 and 16 regions keep it as Other/Subcortical.

    Parameters
    ----------
    labels
        Raw labels, for instance ``superiortemporal``; spelling variants that occur are rows of the table.
    n_classes
        5, 12 or 16.

    Raises
    ------
    BenchError
        A label that is not in the table, or another number of classes.
    """
    region_classes(n_classes)
    table = region_table()
    strange = labels.dropna()[lambda found: ~found.isin(table.index)]
    if len(strange):
        raise BenchError(
            f"anatomical label {strange.iloc[0]!r} is not in {TABLE.name}{near(strange.iloc[0], table.index)}"
        )
    return labels.map(table[str(n_classes)]).astype("string")
