"""Gamma distributions fitted to RMS values."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]
Value = TypeVar("Value", Floats, np.float64)

LOG_SMALLEST = float(np.log(np.nextafter(0, 1)))
"""Logarithm of the smallest positive double: the reference's linear-space density is 0 below it."""


def fit(mean: Value, mean_log: Value) -> tuple[Value, Value]:
    """Maximum-likelihood shape and scale from the mean and the mean logarithm of positive values.

    Newton steps on ``log a - digamma(a) = log mean - mean log`` from Minka's (2002) starting value.
    """
    gap = np.log(mean) - mean_log
    shape = (3 - gap + np.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)
    for _ in range(8):
        slope = 1 / shape - special.polygamma(1, shape)
        shape = shape - (np.log(shape) - special.digamma(shape) - gap) / slope
    return shape, mean / shape


def _reference_likelihood(
    shape: Floats, n: Floats, mean: Floats, mean_log: Floats, low: Floats, high: Floats
) -> Floats:
    """Log likelihood with scale ``mean / shape``, -inf where the density underflows, NaN for a shape of 0 or less."""
    with np.errstate(invalid="ignore", divide="ignore"):
        shape = np.where(shape > 0, shape, np.nan)
        constant = -special.gammaln(shape) - shape * np.log(mean / shape)
        value = n * (constant + (shape - 1) * mean_log - shape)
        # the density has one maximum, so it is smallest at one of the two ends
        ends = [constant + (shape - 1) * np.log(q) - q * shape / mean for q in (low, high)]
        underflow = (np.minimum(*ends) < LOG_SMALLEST) | (low <= 0)
    return np.where(np.isnan(shape), np.nan, np.where(underflow, -np.inf, value))


def reference_shape(n: Floats, mean: Floats, mean_log: Floats, low: Floats, high: Floats) -> Floats:
    """Shapes that the reference's two-point search ends at (accurate to about 1e-3), one per block.

    A block is its size ``n``, mean, mean logarithm, minimum and maximum.
    """
    front, back = np.full(len(n), 2.0), np.full(len(n), 1.0)
    active = np.abs(back - front) / np.maximum(1, np.abs(front)) > 1e-3
    while active.any():
        block = [values[active] for values in (n, mean, mean_log, low, high)]
        a, b = front[active], back[active]
        value_a, value_b = _reference_likelihood(a, *block), _reference_likelihood(b, *block)
        reflected = 2 * a - b
        value_r = _reference_likelihood(reflected, *block)
        expanded = 2 * reflected - a
        outward = np.where(_reference_likelihood(expanded, *block) > value_a, expanded, reflected)
        contracted = (np.where(value_r > value_b, reflected, b) + a) / 2
        inward = np.where(_reference_likelihood(contracted, *block) > value_a, contracted, (a + b) / 2)
        front[active], back[active] = np.where(value_r > value_a, outward, inward), a
        active = np.abs(back - front) / np.maximum(1, np.abs(front)) > 1e-3
    return front


def reference_shrinking_threshold(values: Floats, percentile: float, min_over: float) -> float:
    """Threshold of the reference where there is no baseline: fit, zero the tail above the percentile, repeat.

    ``values`` (any order, none negative) lose their tail while it holds more than ``min_over + 1`` values; the result
    is the last tail's lower end, and 0 once all are gone.
    """
    q = np.sort(values)
    n = len(q)
    first = np.cumsum(q)
    second = np.cumsum(q * q)
    kept: int | np.intp = n  # q[:kept] is left, the rest counts as zero
    threshold = q[-1]
    while kept and q[kept - 1] > 0:
        mean = first[kept - 1] / n
        if kept == n and q[0] > 0:
            shape, scale = fit(mean, np.log(q).mean())
        else:
            variance = (second[kept - 1] / mean**2 - n) / (n - 1)
            shape, scale = 1 / variance, variance * mean
        below = np.searchsorted(q[:kept], scale * special.gammaincinv(shape, percentile), side="right")
        lowest = q[below - 1] if below else 0.0  # the zeros lie below every percentile
        tail = np.searchsorted(q[:kept], lowest)
        over = kept - tail if lowest > 0 else n
        if over - 1 <= min_over:
            break
        kept, threshold = tail, lowest
    return float(threshold)
