"""What an evaluation returns."""

from dataclasses import dataclass, field

import pandas as pd


@dataclass(frozen=True)
class Metric:
    """One reported number.

    Attributes
    ----------
    value
        NaN where undefined; `note` then says why.
    ci_low, ci_high
        95 % percentile interval over resamples of `ci_unit`; NaN where there is none.
    n
        Units that the number counts.
    """

    value: float
    ci_low: float
    ci_high: float
    ci_unit: str
    n: int
    note: str = ""


@dataclass(frozen=True)
class Evaluation:
    """All that is reported of one run.

    Attributes
    ----------
    threshold
        `{"rule": ..., "value": ...}`; None where the task has no threshold or none could be chosen.
    scores
        One row per unit of the test split: ids, label (NA = unscored), score or class probabilities, predicted.
    patients
        One row per patient of the test split with resection ratio and outcome; None for other tasks.
    confusion
        Counts, true classes in rows, predicted classes in columns; None for regression.
    """

    metrics: dict[str, Metric]
    threshold: dict[str, str | float] | None
    scores: pd.DataFrame
    patients: pd.DataFrame | None = None
    confusion: pd.DataFrame | None = None
    notes: list[str] = field(default_factory=list)
