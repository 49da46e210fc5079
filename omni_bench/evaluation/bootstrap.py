"""Person-clustered bootstrap: persons are drawn, all their units come along.

Every statistic is computed for all draws at once from a matrix of weights, one row per draw and one column per person.
Row 0 holds ones: it is the sample itself, so the reported value and its interval come out of one formula.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from omni_bench.evaluation.record import Metric


@dataclass(frozen=True)
class Draws:
    """Bootstrap draws of persons.

    Attributes
    ----------
    weights
        `(1 + n_boot, n_persons)`, how often each person was drawn; row 0 is all ones.
    columns
        `(n_units,)`, the column of `weights` that each unit's person has.
    """

    weights: np.ndarray
    columns: np.ndarray

    def metric(self, values: np.ndarray, undefined: str = "", note: str = "") -> Metric:
        """Metric with a 95 % percentile interval from a statistic's values over all draws.

        Parameters
        ----------
        values
            `(1 + n_boot,)`, the value of the sample first.
        undefined
            Why the value may be NaN.
        note
            What a reader must know of a defined value.
        """
        value, drawn = float(values[0]), values[1:]
        notes = [note] if note else []
        low = high = np.nan
        defined = drawn[~np.isnan(drawn)]
        if np.isnan(value):
            notes = [undefined]
        elif self.weights.shape[1] < 2:
            notes.append("no interval: one person only")
        elif len(defined):
            low, high = np.percentile(defined, [2.5, 97.5])
            if len(defined) < len(drawn):
                notes.append(f"interval skips {len(drawn) - len(defined)} of {len(drawn)} resamples: undefined there")
        return Metric(value, float(low), float(high), "person", len(self.columns), "; ".join(notes))


def draw_persons(persons: pd.Series, n_boot: int, seed: int) -> Draws:
    """Draw as many persons as there are, with replacement, `n_boot` times.

    Parameters
    ----------
    persons
        Person of each unit.
    """
    columns, distinct = pd.factorize(persons, sort=True)
    n = len(distinct)
    drawn = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=n_boot) if n else np.ones((n_boot, 0))
    return Draws(np.vstack([np.ones((1, n)), drawn]), columns)
