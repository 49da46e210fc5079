"""Pictures of one patient's scores: every function returns a matplotlib figure and keeps no state."""

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from omni_bench.results.figures import COLOURS, DASHES, INK, MUTED, PAPER, RULE, quiet
from omni_bench.results.strips import NAMED_CHANNELS, OTHER, SOZ, UNKNOWN
from omni_bench.signal.channel_names import shaft

WIDTH_IN = 9.6
NAME = 14
"""Letters of a name that a figure shows."""
NOTHING = "#c3c9d0"
"""Colour where there is no score, on light and on dark pages."""
MAP = mpl.colormaps["viridis"].with_extremes(bad=NOTHING)
LOOSE = "other"
"""Where the shaft view puts channels whose name ends in no number."""


def short(name: str) -> str:
    """A name that fits beside an axis."""
    return name if len(name) <= NAME else f"{name[: NAME - 1]}…"


@quiet
def ranked(
    channels: pd.DataFrame, value: str, low: str, high: str, label: str, threshold: float | None = None
) -> Figure:
    """Values of channels with their intervals, in the order of the table, the first on top.

    Parameters
    ----------
    channels
        ``channel``, the three columns that are named, and ``resected`` (NA = unknown).
    """
    n = len(channels)
    figure = Figure(figsize=(WIDTH_IN, 0.85 + 0.19 * n), layout="constrained")
    axes = figure.subplots()
    place = np.arange(n)
    axes.hlines(place, channels[low], channels[high], color=MUTED, lw=1.1)
    resected, unknown = channels["resected"].fillna(False).to_numpy(dtype=bool), channels["resected"].isna().to_numpy()
    handles = []
    for chosen, style, name in (
        (resected, SOZ, "resected"),
        (~resected & ~unknown, OTHER, "not resected"),
        (unknown, UNKNOWN, ""),
    ):
        if chosen.any():
            axes.plot(channels.loc[chosen, value], place[chosen], ls="", zorder=3, **style)
            handles += [Line2D([], [], ls="", label=name, **style)] if name else []
    if threshold is not None and np.isfinite(threshold):
        axes.axvline(threshold, color=INK, ls="--", lw=0.9, zorder=1)
        handles.append(Line2D([], [], color=INK, ls="--", lw=0.9, label=f"threshold {threshold:.3f}"))
    axes.set_yticks(place, [short(str(name)) for name in channels["channel"]], fontsize=7.5)
    axes.set(ylim=(n - 0.3, -0.7), xlabel=label)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", lw=0.6)
    axes.set_axisbelow(True)
    if handles:
        figure.legend(handles=handles, loc="outside upper left", ncols=3, fontsize=8)
    return figure


@quiet
def heat_strip(parts: Sequence[tuple[str, pd.DataFrame, float]], label: str, limits: tuple[float, float]) -> Figure:
    """Score of each channel in each window, one panel per recording; grey where there is none.

    Parameters
    ----------
    parts
        Name of a recording, its scores (channels × starts of windows in s, all parts with the same channels), and the
        length of a window in seconds.
    limits
        Of the colours.
    """
    names = [str(name) for name in parts[0][1].index]
    each = len(names) <= NAMED_CHANNELS
    figure = Figure(figsize=(WIDTH_IN, min(8.6, 1.1 + len(names) * (0.15 if each else 0.06))), layout="constrained")
    widths = [max(part.shape[1], 1) for _, part, _ in parts]
    panels = figure.subplots(1, len(parts), sharey=True, squeeze=False, width_ratios=widths)[0]
    rows = np.arange(len(names) + 1) - 0.5
    electrodes = np.array([shaft(name)[0] for name in names])
    borders = np.flatnonzero(electrodes[1:] != electrodes[:-1]) + 0.5
    for axes, (name, part, width) in zip(panels, parts, strict=True):
        starts = part.columns.to_numpy(dtype=float)
        edges = np.append(starts, starts[-1] + width)
        values = part.to_numpy(dtype=float)
        shown = axes.pcolormesh(
            edges, rows, values, cmap=MAP, vmin=limits[0], vmax=limits[1], edgecolors="none", rasterized=True
        )
        axes.set(xlabel="time (s)", ylim=(len(names) - 0.5, -0.5))
        if len(parts) > 1:
            axes.set_title(name[-max(8, 88 * part.shape[1] // sum(widths)) :], fontsize=7.5)
        axes.spines[:].set_visible(False)
        axes.hlines(borders, edges[0], edges[-1], color=PAPER, lw=0.8)
    _name_rows(panels[0], names, each)
    figure.colorbar(shown, ax=panels[-1], label=label, pad=0.01, aspect=25)
    return figure


def _name_rows(axes: mpl.axes.Axes, names: list[str], each: bool) -> None:
    if each:
        axes.set_yticks(range(len(names)), [short(name) for name in names], fontsize=7)
    else:
        electrodes = pd.Series([shaft(name)[0] for name in names])
        middles = pd.Series(range(len(names))).groupby(electrodes, sort=False).mean()
        axes.set_yticks(middles, [short(name) for name in middles.index], fontsize=7)
    axes.tick_params(axis="y", length=0)


def contacts(channels: Sequence[str]) -> pd.DataFrame:
    """Place of each channel in the shaft view: ``shaft`` and ``contact``; those without a number are counted in `LOOSE`."""
    found = [shaft(str(name)) for name in channels]
    table = pd.DataFrame(found, columns=["shaft", "contact"]).assign(channel=list(channels))
    loose = (table["contact"] == 0) | table.duplicated(["shaft", "contact"])
    table.loc[loose, "shaft"] = LOOSE
    table.loc[loose, "contact"] = np.arange(1, int(loose.sum()) + 1)
    return table


@quiet
def shafts(channels: pd.DataFrame, label: str, limits: tuple[float, float]) -> Figure:
    """Contacts of each electrode in their order from the tip, coloured by score.

    Parameters
    ----------
    channels
        ``channel, score`` (NaN = none) and ``resected`` (NA = unknown).
    """
    table = contacts(channels["channel"].tolist()).assign(
        score=channels["score"].to_numpy(dtype=float), resected=channels["resected"].fillna(False).to_numpy(dtype=bool)
    )
    electrodes = sorted(table["shaft"].unique(), key=lambda name: (name == LOOSE, name))
    widest = int(table["contact"].max())
    figure = Figure(figsize=(WIDTH_IN, 1.3 + 0.36 * len(electrodes)), layout="constrained")
    axes = figure.subplots()
    norm = mpl.colors.Normalize(*limits)
    axes.set(xlim=(0.3, max(widest, 12) + 0.7), ylim=(len(electrodes) - 0.4, -0.6))
    for row in table.itertuples(index=False):
        place, known = electrodes.index(row.shaft), np.isfinite(row.score)
        colour = MAP(norm(row.score)) if known else NOTHING
        box = {"edgecolor": INK, "lw": 2.2, "zorder": 3} if row.resected else {"edgecolor": "none"}
        axes.add_patch(Rectangle((row.contact - 0.44, place - 0.4), 0.88, 0.8, facecolor=colour, **box))
        dark = known and norm(row.score) < 0.6
        text = short(str(row.channel))[:7] if row.shaft == LOOSE else str(row.contact)
        size = 7 if widest <= 24 else 5
        # the text lies on the map's colours, which no theme changes
        axes.text(row.contact, place, text if known else f"{text}×", ha="center", va="center", fontsize=size,
                  color="#ffffff" if dark else "#000000", zorder=4)  # fmt: skip
    axes.set_yticks(range(len(electrodes)), [short(name) for name in electrodes])
    axes.set_xticks([])
    axes.tick_params(axis="y", length=0)
    axes.spines[:].set_visible(False)
    bar: dict[str, Any] = {"location": "bottom", "shrink": 0.45, "aspect": 30, "anchor": (0.0, 1.0), "pad": 0.03}
    figure.colorbar(mpl.cm.ScalarMappable(norm, MAP), ax=axes, label=label, **bar)
    handles = [Patch(facecolor="none", edgecolor=INK, lw=2.2, label="resected")] if table["resected"].any() else []
    if table["score"].isna().any():
        handles.append(Patch(facecolor=NOTHING, label="× no score"))
    if handles:
        figure.legend(handles=handles, loc="outside upper left", ncols=2, fontsize=8)
    return figure


@quiet
def over_time(parts: Sequence[tuple[str, pd.DataFrame]], duration: float, label: str) -> Figure:
    """Outputs of windows of all channels over time, one panel per recording.

    Parameters
    ----------
    parts
        Name of a recording and its outputs: starts of windows (s) × outputs.
    duration
        Of a window in seconds.
    """
    figure = Figure(figsize=(WIDTH_IN, 0.5 + 2.1 * len(parts)), layout="constrained")
    panels = figure.subplots(len(parts), 1, squeeze=False, sharey=True)[:, 0]
    for axes, (name, part) in zip(panels, parts, strict=True):
        for i, output in enumerate(part.columns):
            style = DASHES[i // len(COLOURS) % len(DASHES)]
            few = {"marker": "o", "ms": 4, "mec": PAPER, "mew": 0.5} if len(part) <= 60 else {}
            axes.plot(
                part.index + duration / 2,
                part[output],
                style,
                color=COLOURS[i % len(COLOURS)],
                lw=1.3,
                label=output,
                **few,
            )
        axes.set(title=name, ylabel=label)
        axes.grid(lw=0.6, color=RULE)
    panels[-1].set_xlabel("middle of the window (s)")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=6, fontsize=8)
    return figure
