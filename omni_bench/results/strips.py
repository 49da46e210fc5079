"""Strips of channel scores: what a model says of each contact of a patient, beside SOZ and resection."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from omni_bench.results.figures import COLOURS, INK, MUTED, PAPER, RULE, SHADE, quiet

PATIENT = ["source", "subject"]
WIDTH_IN, STRIP_IN, TITLE_IN, LEGEND_IN, MARGIN_IN = 9.6, 0.52, 0.36, 0.3, 0.32
"""Inches: width of the figure, height of a strip, of the name above it and of the legend, width of the margin."""
TWO_COLUMNS = 16
"""Channels in the longest strip up to which two patients share a line."""
NAMED_CHANNELS = 45
"""Channels in the longest row up to which each is named; in longer rows only the shafts are."""
SOZ: dict[str, Any] = {"marker": "D", "color": COLOURS[1], "mec": PAPER, "mew": 0.6, "ms": 6.5}
OTHER: dict[str, Any] = {"marker": "o", "color": COLOURS[0], "mec": PAPER, "mew": 0.6, "ms": 5.5}
UNKNOWN: dict[str, Any] = {"marker": "o", "color": PAPER, "mec": COLOURS[0], "mew": 1.2, "ms": 5}
UNSCORED: dict[str, Any] = {"marker": "x", "color": INK, "ms": 5}


def in_shaft_order(scores: pd.DataFrame) -> pd.DataFrame:
    """Rows by patient, then along each shaft; adds the column `shaft`."""
    from omni_bench.signal.channel_names import shaft

    contacts = [shaft(str(name)) for name in scores["channel"]]
    keyed = scores.assign(shaft=[name for name, _ in contacts], contact=[number for _, number in contacts])
    return keyed.sort_values([*PATIENT, "shaft", "contact"], kind="stable").drop(columns="contact")


@quiet
def channel_strips(scores: pd.DataFrame, threshold: float | None = None) -> Figure:
    """Scores of each patient's channels along the shafts, one row per patient.

    Parameters
    ----------
    scores
        One row per channel: `source, subject, channel, score` (NaN = none), `soz, resected` (NA = unknown), and
        `outcome` (NA = unknown) where there is one.
    threshold
        Drawn where it is finite.
    """
    patients = [part for _, part in in_shaft_order(scores).groupby(PATIENT, sort=False)]
    widest = max(len(patient) for patient in patients)
    low, high = _limits(scores["score"])
    longest = int(scores["channel"].astype(str).str.len().max()) if widest <= NAMED_CHANNELS else 4
    upright = longest > 4 or widest > 30
    n_columns = 2 if widest <= TWO_COLUMNS and len(patients) > 1 else 1
    n_rows = -(-len(patients) // n_columns)
    names = 0.06 * (longest + 1) if upright else 0.2
    row = TITLE_IN + STRIP_IN + names
    figure = Figure(figsize=(WIDTH_IN, LEGEND_IN + row * n_rows))
    cells = figure.subplots(n_rows, n_columns, squeeze=False)
    figure.subplots_adjust(
        left=MARGIN_IN / WIDTH_IN,
        right=1 - 0.1 / WIDTH_IN,
        top=1 - (LEGEND_IN + TITLE_IN) / figure.get_figheight(),
        bottom=names / figure.get_figheight(),
        wspace=0.12,
        hspace=row / STRIP_IN - 1,
    )
    for axes in cells.ravel()[len(patients) :]:
        axes.set_visible(False)
    for axes, patient in zip(cells.ravel(), patients, strict=False):
        axes.set(xlim=(-0.7, max(widest, 8) - 0.3), ylim=(low, high))
        axes.set_yticks([low, high], [f"{low:.3g}", f"{high:.3g}"], fontsize=6)
        axes.tick_params(axis="y", length=0, pad=2, labelcolor=MUTED)
        axes.get_yticklabels()[1].set_va("top")
        axes.spines[["left", "bottom"]].set_visible(False)
        _draw(axes, patient)
        if threshold is not None and np.isfinite(threshold):
            axes.plot([-0.5, len(patient) - 0.5], [threshold] * 2, "--", color=MUTED, lw=0.9, zorder=1)
        _name_contacts(axes, patient, each=widest <= NAMED_CHANNELS, rotation=90 if upright else 0)
        _name_patient(axes, patient)
    figure.legend(
        handles=_legend(scores, threshold), loc="upper left", ncols=6, fontsize=8, handletextpad=0.4, borderaxespad=0.2
    )
    return figure


def _limits(score: pd.Series) -> tuple[float, float]:
    """Limits of the score axis, from 0 where that is nearer than the scores are wide."""
    if score.isna().all():
        return 0.0, 1.0
    low, high = float(score.min()), float(score.max())
    margin = 0.08 * (high - low) or 0.5
    return (0.0 if 0 <= low <= high - low else low - margin), high + margin


def _draw(axes: Axes, patient: pd.DataFrame) -> None:
    x, score = np.arange(len(patient)), patient["score"].to_numpy(dtype=float)
    soz, unknown = patient["soz"].fillna(False).to_numpy(dtype=bool), patient["soz"].isna().to_numpy()
    resected = patient["resected"].fillna(False).to_numpy(dtype=bool)
    unscored = np.isnan(score)
    low, high = axes.get_ylim()
    axes.bar(x[resected], high - low, bottom=low, width=1, color=SHADE, zorder=0)
    axes.hlines(
        np.full(resected.sum(), low),
        x[resected] - 0.5,
        x[resected] + 0.5,
        color=INK,
        lw=3,
        zorder=3,
        capstyle="butt",
        clip_on=False,
    )
    axes.plot([-0.5, len(patient) - 0.5], [low, low], color=MUTED, lw=0.8, zorder=1)
    stems = np.stack([np.full(len(x), low), score, np.full(len(x), np.nan)], axis=1)
    for chosen, style in ((soz, SOZ), (~soz & ~unknown, OTHER), (unknown, UNKNOWN)):
        colour = COLOURS[1] if style is SOZ else COLOURS[0]
        axes.plot(np.repeat(x[chosen], 3), stems[chosen].ravel(), color=colour, lw=1.2, zorder=2)
        axes.plot(x[chosen], score[chosen], ls="", zorder=4, clip_on=False, **style)
    axes.plot(x[unscored], np.full(unscored.sum(), 0.85 * low + 0.15 * high), ls="", zorder=4, **UNSCORED)


def _name_contacts(axes: Axes, patient: pd.DataFrame, each: bool, rotation: int) -> None:
    shafts = patient["shaft"].to_numpy()
    borders = np.flatnonzero(shafts[1:] != shafts[:-1]) + 1
    axes.vlines(borders - 0.5, *axes.get_ylim(), color=RULE, lw=0.8, zorder=1)
    if each:
        axes.set_xticks(range(len(patient)), patient["channel"].astype(str), fontsize=6.5, rotation=rotation)
    else:
        groups = np.split(np.arange(len(patient)), borders)
        middles, names = [group.mean() for group in groups], [shafts[group[0]][:6] for group in groups]
        axes.set_xticks(middles, names, fontsize=6.5, rotation=rotation)
    axes.tick_params(axis="x", length=0, pad=3)


def _name_patient(axes: Axes, patient: pd.DataFrame) -> None:
    facts = [str(patient["source"].iloc[0])]
    if "outcome" in patient:
        outcome = patient["outcome"].iloc[0]
        facts.append("outcome unknown" if pd.isna(outcome) else "seizure-free" if outcome else "not seizure-free")
    for column, name in (("soz", "SOZ"), ("resected", "resection")):
        if patient[column].isna().all():
            facts.append(f"{name} unknown")
    title = axes.set_title(str(patient["subject"].iloc[0]), fontsize=8.5, pad=3)
    beside: dict[str, Any] = {"xycoords": title, "textcoords": "offset points", "va": "baseline"}
    axes.annotate(" · ".join(facts), (1, 0), (6, 2), fontsize=7, color=MUTED, **beside)


def _legend(scores: pd.DataFrame, threshold: float | None) -> list[Line2D | Patch]:
    handles: list[Line2D | Patch] = [
        Line2D([], [], ls="", label="SOZ", **SOZ),
        Line2D([], [], ls="", label="not SOZ", **OTHER),
    ]
    if scores["soz"].isna().any():
        handles.append(Line2D([], [], ls="", label="SOZ unknown", **UNKNOWN))
    if scores["score"].isna().any():
        handles.append(Line2D([], [], ls="", label="no score", **UNSCORED))
    handles.append(Patch(facecolor=SHADE, edgecolor=INK, label="resected"))
    if threshold is not None and np.isfinite(threshold):
        handles.append(Line2D([], [], ls="--", color=MUTED, label=f"threshold {threshold:.3f}"))
    return handles
