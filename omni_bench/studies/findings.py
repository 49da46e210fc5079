"""What a study hands back: a table for people, and rows for its record and the report beside published figures."""

import math
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from omni_bench.evaluation.record import Metric


@dataclass(frozen=True)
class Row:
    """Metrics of what ``options`` name, for instance of one way to permute, as a run's record holds them."""

    options: dict[str, Any]
    metrics: dict[str, Metric]


@dataclass(frozen=True)
class Findings:
    """All that is reported of a study.

    Attributes
    ----------
    table
        As printed and as written by the study.
    rows
        What reports read, kept in ``study.json``.
    weights
        Of the network that a study asks, as in a run's record.
    """

    table: pd.DataFrame
    rows: list[Row]
    weights: dict[str, Any] | None = field(default=None)


def plain_metric(value: float, unit: str, n: int, note: str = "") -> Metric:
    """A number that has no interval."""
    return Metric(float(value), math.nan, math.nan, unit, n, note)
