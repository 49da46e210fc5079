"""Per-sample features that the detectors compare with a threshold."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def odd_window(seconds: float, sfreq: float) -> int:
    """Window length in samples, one longer where it would be even."""
    n = round(seconds * sfreq)
    return n + 1 - n % 2


def _moving_sum(values: Floats, width: int) -> Floats:
    """Sums over ``width`` neighbours (last axis, ``n - width + 1`` values), without the drift of a running sum."""
    n = values.shape[-1] - width + 1
    total = values[..., :n].copy()
    for shift in range(1, width):
        total += values[..., shift : shift + n]
    return total


def moving_rms(x: Floats, width: int) -> Floats:
    """Root mean square over ``width`` samples: the value of each whole window, ``n - width + 1`` of them."""
    total = _moving_sum(x * x, width)
    total /= width
    return np.sqrt(total, out=total)


def centred_rms_zero_ends(x: Floats, width: int) -> Floats:
    """Centred RMS as the reference has it: samples before the record count as 0, the last half window is 0."""
    n, half = x.shape[-1], (width - 1) // 2
    squares = x * x
    rms = np.zeros_like(x)
    for ahead in range(-half, half + 1):
        rms[..., max(-ahead, 0) : n - max(ahead, 0)] += squares[..., max(ahead, 0) : n + min(ahead, 0)]
    rms[..., n - half :] = 0
    rms /= width
    return np.sqrt(rms, out=rms)


def line_length(x: Floats, width: int) -> Floats:
    """Mean absolute step between neighbours over ``width`` steps: ``n - width`` values."""
    return _moving_sum(np.abs(np.diff(x)), width) / width
