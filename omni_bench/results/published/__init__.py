"""Figures that papers print; README.md beside this file names the table that each file comes from."""

from pathlib import Path

import pandas as pd


def read_published(name: str) -> pd.DataFrame:
    """Read one published table, for instance `omni_eegbench/table5`."""
    return pd.read_csv(Path(__file__).parent / f"{name}.csv")


def published_scores(table: int) -> tuple[pd.DataFrame, pd.Series]:
    """Balanced accuracies of OmniEEG-Bench Table 5, 6 or 7.

    Returns
    -------
    Scores, datasets × models in the order of the paper (NaN = a dash), and chance (1 / number of labels) per dataset,
    rounded to the 3 decimals that the scores are printed with: a model that calls one class is then at chance.
    """
    cells = read_published(f"omni_eegbench/table{table}")
    scores = cells.pivot_table(index="dataset", columns="model", values="mean", sort=False, dropna=False)
    chance = 1 / cells.groupby("dataset", sort=False)["n_labels"].first()
    return scores, chance.round(3).rename("chance")
