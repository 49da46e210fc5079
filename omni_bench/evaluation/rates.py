"""What a channel's score is made of: totals over its windows or its events."""

import numpy as np
import pandas as pd

from omni_bench.errors import BenchError
from omni_bench.evaluation.tables import check_columns, probability_columns, unit_positions, unit_totals


def window_scores(predictions: pd.DataFrame, units: pd.DataFrame, positive: str = "pathological") -> pd.DataFrame:
    """Total probability of class `positive` over a unit's windows, and how many windows there are.

    Returns
    -------
    `total`, `size`, on the index of `units`; `total / size` is the mean probability.
    """
    columns = probability_columns(predictions, [positive])
    return unit_totals(predictions, units, columns).set_axis(["total", "size"], axis=1)


def rate_scores(events: pd.DataFrame, units: pd.DataFrame, positive: str = "pathological") -> pd.DataFrame:
    """Number of events of class `positive` in a unit, and the unit's minutes.

    Parameters
    ----------
    events
        One row per event in the layout of the predictions table, `unit_id` naming the channel that it lies on. An
        event counts if `prob_<positive>` is the first largest of its probabilities.
    units
        One row per channel with `duration` in seconds; a channel without an event has its row and counts 0.

    Returns
    -------
    `total`, `size`, on the index of `units`; `total / size` is the rate per minute (both NaN where the duration is
    unknown or 0).
    """
    check_columns(units, "units", ["duration"])
    column = probability_columns(events, [positive])[0]
    classes = [name for name in events.columns if str(name).startswith("prob_")]
    if len(classes) < 2:
        raise BenchError(f"predictions table: only {column} (found no second prob_ column): predict all classes")
    probability = events[classes].to_numpy(dtype=float)
    if np.isnan(probability).any():
        raise BenchError("predictions table: an event without probabilities (NaN): predict again")
    is_positive = probability.argmax(axis=1) == classes.index(column)
    counts = np.bincount(unit_positions(events, units)[is_positive], minlength=len(units))
    minutes = units["duration"].astype("float64") / 60
    rates = pd.DataFrame({"total": counts.astype(float), "size": minutes}, index=units.index)
    return rates.where(minutes > 0)
