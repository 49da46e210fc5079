"""Whether windows look like microvolts to the network that reads them."""

import math

from torch import Tensor

UNITS = {"V": 1e6, "mV": 1e3, "nV": 1e-3}
"""Unit → its size in µV."""
FACTOR = 100
"""So many times off the card's figure is no EEG of any person: amplitudes differ by ten at most."""


def unit_warning(x: Tensor, model: str, mad_uv: float) -> str | None:
    """One line if the scale of a batch contradicts its model's card.

    Parameters
    ----------
    x : (batch, n_chans, n_times)
        Meant to be µV.
    mad_uv
        Median absolute deviation that the model card expects of a channel.

    Returns
    -------
    None within a factor of 100 of ``mad_uv``, and where all channels are flat.
    """
    deviation = (x - x.median(-1, keepdim=True).values).abs().median(-1).values
    deviation = deviation[deviation > 0]
    if not len(deviation):
        return None
    found = float(deviation.median())
    if mad_uv / FACTOR < found < mad_uv * FACTOR:
        return None
    unit = min(UNITS, key=lambda name: abs(math.log(found * UNITS[name] / mad_uv)))
    return (
        f"the first batch has a median absolute deviation of {found:.2g} µV, model={model} expects about {mad_uv:g} µV: "
        f"the data seem to be in {unit}, say dataset.unit={unit}"
    )
