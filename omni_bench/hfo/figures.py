"""Figures of one event and of one recording's rates."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from omni_bench.hfo.filters import KERNEL_SECONDS, zero_phase

SOZ_COLOURS = {True: "tab:red", False: "tab:blue", None: "0.6"}
SOZ_LABELS = {True: "SOZ", False: "outside SOZ", None: "SOZ unknown"}


def event_figure(
    trace: NDArray[np.floating], sfreq: float, event: Mapping[str, Any] | pd.Series, half_width: float = 0.25
) -> Figure:
    """Raw trace, band-passed trace and time-frequency map around one event.

    Parameters
    ----------
    trace : array, shape (n_times,)
        The event's channel in µV, whole or at least 2 s beyond the figure on either side.
    sfreq : float
        Hz.
    event : mapping or row of an event table
        ``channel, start, end, detector, band_low, band_high``; start and end in samples of ``trace``.
    half_width : float
        Seconds shown on either side of the event's middle.
    """
    import torch

    from omni_bench.signal import morlet_map

    centre = (event["start"] + event["end"]) // 2
    shown = slice(max(0, centre - round(half_width * sfreq)), min(len(trace), centre + round(half_width * sfreq)))
    first = max(0, shown.start - round(KERNEL_SECONDS * sfreq))
    wide = np.asarray(trace[first : shown.stop + round(KERNEL_SECONDS * sfreq)], dtype=float)
    inside = slice(shown.start - first, shown.stop - first)
    band = float(event["band_low"]), float(event["band_high"])
    filtered = zero_phase(wide, sfreq, band)[inside]
    fmax = min(1.2 * band[1], sfreq / 2)
    samples = torch.as_tensor(wide, dtype=torch.float32)
    amplitude = morlet_map(samples, sfreq, n_freqs=128, fmin=10, fmax=fmax).numpy()[:, inside]

    ms = (np.arange(shown.start, shown.stop) - centre) / sfreq * 1e3
    figure = Figure(figsize=(7, 7), layout="constrained")
    raw_axes, band_axes, map_axes = figure.subplots(3, 1, sharex=True, height_ratios=[1, 1, 1.3])
    raw_axes.plot(ms, trace[shown], color="black", linewidth=0.8)
    raw_axes.set_ylabel("raw (µV)")
    raw_axes.set_title(f"{event['channel']}, {event['detector']}, {event['start'] / sfreq:.3f} s")
    band_axes.plot(ms, filtered, color="black", linewidth=0.8)
    band_axes.set_ylabel(f"{band[0]:g}-{band[1]:g} Hz (µV)")
    image = map_axes.imshow(
        amplitude, aspect="auto", extent=(ms[0], ms[-1], 10, fmax), cmap="viridis", interpolation="nearest"
    )
    map_axes.set(xlabel="time from the event's middle (ms)", ylabel="frequency (Hz)")
    figure.colorbar(image, ax=map_axes, label="amplitude")
    for axes in (raw_axes, band_axes):
        axes.axvspan(
            *((np.array([event["start"], event["end"]]) - centre) / sfreq * 1e3), color="tab:orange", alpha=0.25
        )
    for edge in band:
        map_axes.axhline(edge, color="white", linestyle=":", linewidth=0.8)
    return figure


def rates_figure(rates: pd.DataFrame, soz: Mapping[str, bool | None]) -> Figure:
    """Rate of each channel with its interval, coloured by seizure-onset zone.

    ``rates`` as `omni_bench.hfo.rates` gives them; a channel that ``soz`` lacks, or has as None, is shown as unknown.
    """
    figure = Figure(figsize=(max(5, 0.18 * len(rates) + 1.5), 4), layout="constrained")
    axes = figure.subplots()
    position = np.arange(len(rates))
    zone = [soz.get(channel) for channel in rates["channel"]]
    errors = np.array([rates["rate"] - rates["ci_low"], rates["ci_high"] - rates["rate"]])
    for value, colour in SOZ_COLOURS.items():
        members = np.array([known is value for known in zone], dtype=bool)
        if members.any():
            axes.bar(position[members], rates["rate"][members], color=colour, label=SOZ_LABELS[value])
    axes.errorbar(position, rates["rate"], yerr=errors, fmt="none", ecolor="black", elinewidth=0.8, capsize=2)
    axes.set_xticks(position, rates["channel"], rotation=90, fontsize=7)
    for label, value in zip(axes.get_xticklabels(), zone, strict=True):
        label.set_color(SOZ_COLOURS[value])  # shows the zone of silent channels too
    axes.set(ylabel="events per minute", xlim=(-0.7, len(rates) - 0.3))
    axes.legend()
    return figure
