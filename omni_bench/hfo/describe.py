"""Numbers that describe an event, and the table that holds them."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import fft

from omni_bench.hfo.candidates import Candidate

Floats = NDArray[np.float64]
BATCH = 256
"""Events transformed together: a table of many hours must not need memory for all of their spectra."""


def peak_frequencies(segments: Sequence[Floats], sfreq: float, band: tuple[float, float]) -> Floats:
    """Frequency of the largest value in each segment's spectrum within the band, on a grid of 1 Hz or finer."""
    n_fft = fft.next_fast_len(int(np.ceil(sfreq)), real=True)
    result = np.empty(len(segments))
    short = [i for i, segment in enumerate(segments) if len(segment) <= n_fft]
    for first in range(0, len(short), BATCH):
        members = short[first : first + BATCH]
        padded = np.zeros((len(members), n_fft))
        for row, i in zip(padded, members, strict=True):
            row[: len(segments[i])] = segments[i]
        result[members] = _loudest(padded, sfreq, band)
    for i, segment in enumerate(segments):
        if len(segment) > n_fft:
            result[i] = _loudest(segment[None], sfreq, band)[0]
    return result


def _loudest(x: Floats, sfreq: float, band: tuple[float, float]) -> Floats:
    frequencies = fft.rfftfreq(x.shape[1], 1 / sfreq)
    first, last = np.searchsorted(frequencies, band[0]), np.searchsorted(frequencies, band[1], side="right")
    return frequencies[first + np.abs(fft.rfft(x)[:, first:last]).argmax(1)]


def event_table(
    events: Sequence[Candidate], ch_names: Sequence[str], sfreq: float, detector: str, band: tuple[float, float]
) -> pd.DataFrame:
    """Event table of `detect` from events in their final order."""
    start = np.array([event.start for event in events], dtype=np.int64)
    end = np.array([event.stop for event in events], dtype=np.int64)
    columns = {
        "channel": np.array([ch_names[event.channel] for event in events], dtype=object),
        "start": start,
        "end": end,
        "onset": start / sfreq,
        "duration": (end - start) / sfreq,
        "detector": np.full(len(events), detector, dtype=object),
        "band_low": np.full(len(events), band[0]),
        "band_high": np.full(len(events), band[1]),
        "peak_frequency": peak_frequencies([event.x for event in events], sfreq, band),
        "amplitude": np.array([np.abs(event.x).max() for event in events], dtype=float),
    }
    return pd.DataFrame(columns)
