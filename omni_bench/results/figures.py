"""Pictures of one run, drawn from its tables: every function returns a matplotlib figure and keeps no state."""

import io
import re
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

INK, MUTED, RULE, SHADE, PAPER = "#1b2530", "#66727f", "#d4dae1", "#e6ebf1", "#fefefe"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Okabe & Ito's palette, which the common forms of colour blindness can tell apart; line styles differ beside it."""
DASHES = ("-", "--", "-.", ":")
THEMED = {
    INK: "ink",
    MUTED: "muted",
    RULE: "rule",
    SHADE: "shade",
    PAPER: "paper",
    COLOURS[0]: "blue",
    COLOURS[1]: "red",
}
"""Colours that the page replaces by its own variables, so that figures follow its light or dark theme."""
STYLE: Any = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(color=COLOURS),
    "text.color": INK,
    # names of channels and patients may hold a dollar sign
    "text.parse_math": False,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": RULE,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "omni_bench",
}
PNG_DPI = 200
LEGIBLE_CLASSES = 24
"""A picture of more classes names only some of them, or none."""
FMIN = 10.0
COLUMNS = 1000
"""Columns of a trace or a map: more than a printed page shows."""

quiet = mpl.rc_context(STYLE)


@quiet
def png(figure: Figure) -> bytes:
    """The figure on white as a PNG file of `PNG_DPI`; the same bytes each time."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=PNG_DPI, facecolor="white", metadata={"Software": None})
    return buffer.getvalue()


@quiet
def svg(figure: Figure) -> str:
    """The figure as an ``<svg>`` element for a page that sets the CSS variables ``--fig-<name>`` of `THEMED`."""
    buffer = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    figure.savefig(buffer, format="svg", dpi=120, transparent=True, metadata=nothing)
    tag, _, body = buffer.getvalue().partition("<svg")[2].partition(">")
    view_box = re.search(r'viewBox="[^"]*"', tag)
    assert view_box
    # several figures on one page: no element id twice, but for the content-addressed ones that are referred to
    text = f"<svg {view_box[0]}>" + re.sub(r'<g id="[^"]*"', "<g", body)
    # hundredths of a point are finer than any screen or print
    text = re.sub(r' (d|x|y)="[^"]*"', lambda attribute: re.sub(r"(\.\d\d)\d+", r"\1", attribute[0]), text)
    for colour, name in THEMED.items():
        text = text.replace(colour, f"var(--fig-{name})")
    return text


def curve_points(scores: pd.DataFrame, classes: Sequence[str]) -> pd.DataFrame:
    """Points of the ROC and precision–recall curves: of the second class by `score`, or of each class against the rest.

    Parameters
    ----------
    scores
        One row per unit: `label` (index into `classes`, NA = unscored), and `score` or each class's `prob_<class>`.

    Returns
    -------
    Columns `class, curve, x, y, threshold`: curve ``roc`` has the false-positive and the true-positive rate as `x` and
    `y`, ``pr`` has recall and precision. A class without positive or without negative units has no rows.
    """
    from sklearn.metrics import precision_recall_curve, roc_curve

    columns = {1: "score"} if "score" in scores else {k: f"prob_{name}" for k, name in enumerate(classes)}
    parts = []
    for index, column in columns.items():
        known = scores[scores["label"].notna() & scores[column].notna()]
        truth, value = known["label"].to_numpy(dtype=int) == index, known[column].to_numpy(dtype=float)
        if not truth.any() or truth.all():
            continue
        x, y, threshold = roc_curve(truth, value)
        parts.append(pd.DataFrame({"class": classes[index], "curve": "roc", "x": x, "y": y, "threshold": threshold}))
        y, x, threshold = precision_recall_curve(truth, value, drop_intermediate=True)
        threshold = np.append(threshold, np.inf)
        parts.append(pd.DataFrame({"class": classes[index], "curve": "pr", "x": x, "y": y, "threshold": threshold}))
    return (
        pd.concat(parts, ignore_index=True)
        if parts
        else pd.DataFrame(columns=["class", "curve", "x", "y", "threshold"])
    )


@quiet
def roc_pr(scores: pd.DataFrame, classes: Sequence[str]) -> Figure:
    """ROC and precision–recall curves of `curve_points`, with the operating point of a binary task's `predicted`."""
    figure = Figure(figsize=(8.4, 3.9), layout="constrained")
    roc, pr = figure.subplots(1, 2)
    points = curve_points(scores, classes)
    names = points["class"].unique()
    for i, name in enumerate(names):
        for axes, curve in ((roc, "roc"), (pr, "pr")):
            part = points[(points["class"] == name) & (points["curve"] == curve)]
            steps = "default" if curve == "roc" else "steps-post"
            style = DASHES[i // len(COLOURS) % len(DASHES)]
            label = name if len(names) <= LEGIBLE_CLASSES else None
            axes.plot(part["x"], part["y"], style, label=label, lw=1.8, drawstyle=steps, clip_on=False)
    roc.plot([0, 1], [0, 1], ":", color=MUTED, lw=1, label="chance")
    if "score" in scores:
        _mark_operating_point(scores, roc, pr)
    for axes, title, x, y in (
        (roc, "ROC", "false-positive rate (1 − specificity)", "true-positive rate (sensitivity)"),
        (pr, "Precision–recall", "recall (sensitivity)", "precision"),
    ):
        axes.set(title=title, xlabel=x, ylabel=y, xlim=(0, 1), ylim=(0, 1.02), aspect="equal")
        axes.grid(lw=0.6)
        axes.set_axisbelow(True)
    roc.legend(loc="lower right", fontsize=8)
    if "score" in scores:
        pr.legend(loc="lower left", fontsize=8)
    return figure


def _mark_operating_point(scores: pd.DataFrame, roc: Axes, pr: Axes) -> None:
    known = scores[scores["label"].notna() & scores["score"].notna()]
    truth = known["label"].to_numpy(dtype=bool)
    share = truth.mean()
    pr.axhline(share, color=MUTED, ls=":", lw=1, label="chance (share of positives)")
    called = known["predicted"].fillna(0).to_numpy(dtype=bool)
    mark: dict[str, Any] = {
        "marker": "o",
        "ls": "",
        "mfc": PAPER,
        "mec": INK,
        "mew": 1.6,
        "ms": 7,
        "label": "at the threshold",
        "zorder": 4,
        "clip_on": False,
    }
    if known["predicted"].notna().all():
        roc.plot(called[~truth].mean(), called[truth].mean(), **mark)
        if called.any():
            pr.plot(called[truth].mean(), truth[called].mean(), **mark)


@quiet
def confusion(counts: pd.DataFrame) -> Figure:
    """Confusion matrix, true classes in rows; a cell's shade is its share of the row.

    With more than `LEGIBLE_CLASSES`, a bar of shades stands for the cells' numbers and only some classes have their name.
    """
    n = len(counts)
    shown = min(n, LEGIBLE_CLASSES)
    numbered = n == shown
    width, height = (0.7, 0.45) if n < 10 else (0.42, 0.3)
    size = (2.2 + width * n, 0.9 + height * n) if numbered else (9.2, 8.2)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    values = counts.to_numpy(dtype=float)
    share = np.divide(
        values,
        values.sum(axis=1, keepdims=True),
        out=np.zeros_like(values),
        where=values.sum(axis=1, keepdims=True) > 0,
    )
    shades = axes.imshow(
        share, cmap="Blues", vmin=0, vmax=1.25 if numbered else 1, aspect="auto" if numbered else "equal"
    )
    if not numbered:
        figure.colorbar(shades, ax=axes, label="share of the row", shrink=0.6, aspect=30)
    for row, column in np.ndindex(n, n) if numbered else ():
        # cell text has the picture's colours, which no theme changes
        colour = "#ffffff" if share[row, column] > 0.6 else "#000000"
        axes.text(
            column,
            row,
            f"{int(values[row, column])}",
            ha="center",
            va="center",
            color=colour,
            fontsize=9 if n < 10 else 6,
        )
    named = range(0, n, -(-n // shown))
    turned: Any = {} if n < 4 else {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    axes.set_xticks(named, counts.columns[named], **turned)
    axes.set_yticks(named, counts.index[named])
    axes.set(xlabel="predicted", ylabel="true")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return figure


@quiet
def predicted_against_target(scores: pd.DataFrame) -> Figure:
    """Predicted value of each unit against its target, with the line of identity."""
    figure = Figure(figsize=(4.4, 4.1), layout="constrained")
    axes = figure.subplots()
    axes.plot(scores["target"], scores["predicted"], "o", ms=4, mec=PAPER, mew=0.5, rasterized=len(scores) > 5000)
    axes.axline((float(scores["target"].mean()),) * 2, slope=1, color=MUTED, ls=":", lw=1, label="predicted = target")
    axes.set(xlabel="target", ylabel="predicted")
    axes.grid(lw=0.6)
    axes.legend(fontsize=8)
    return figure


@quiet
def resection_by_outcome(patients: pd.DataFrame) -> Figure:
    """Resection ratio of each patient, grouped by surgical outcome, with the medians."""
    figure = Figure(figsize=(6.4, 3.3), layout="constrained")
    axes = figure.subplots()
    known = patients[patients["resection_ratio"].notna()]
    outcome = known["outcome"].astype("boolean")
    groups = [
        ("not seizure-free", ~outcome.fillna(True), COLOURS[1], "D"),
        ("seizure-free", outcome.fillna(False), COLOURS[0], "o"),
    ]
    if outcome.isna().any():
        groups.append(("outcome unknown", outcome.isna(), MUTED, "x"))
    labels = []
    for row, (name, chosen, colour, marker) in enumerate(groups):
        ratios = known.loc[chosen, "resection_ratio"].sort_values().to_numpy(dtype=float)
        labels.append(f"{name}\nn = {len(ratios)}")
        edge = colour if marker == "x" else PAPER
        axes.plot(ratios, row + _swarm(ratios), marker, color=colour, ms=7, mec=edge, mew=0.8, alpha=0.9, clip_on=False)
        if len(ratios):
            axes.plot([np.median(ratios)] * 2, [row - 0.36, row + 0.36], color=INK, lw=2, zorder=1)
    axes.set_yticks(range(len(groups)), labels)
    axes.set(
        xlim=(0, 1),
        ylim=(-0.5, len(groups) - 0.5),
        xlabel="resection ratio (share of the patient's score that was resected)",
    )
    axes.grid(axis="x", lw=0.6)
    axes.tick_params(axis="y", length=0)
    axes.legend(
        handles=[Line2D([], [], color=INK, lw=2, label="median")],
        loc="upper left",
        bbox_to_anchor=(0, 1.12),
        fontsize=8,
    )
    return figure


def _swarm(values: np.ndarray, width: float = 0.03, step: float = 0.11) -> np.ndarray:
    """Offsets across the axis, to either side in turn, for sorted values that lie closer than `width` together."""
    place = np.zeros(len(values), dtype=int)
    for i in range(1, len(values)):
        place[i] = (place[i - 1] + 1) % 7 if values[i] - values[i - 1] < width else 0
    return step * ((place + 1) // 2) * (-1) ** place


@quiet
def training_curves(metrics: pd.DataFrame) -> Figure:
    """One panel per quantity (`loss`, ...) of the table `step, epoch, metric, value`, its splits as lines."""
    table = metrics.assign(
        quantity=metrics["metric"].str.rpartition("/")[2], split=metrics["metric"].str.rpartition("/")[0]
    )
    quantities = sorted(table["quantity"].unique(), key=lambda name: (name != "loss", name))
    n_columns = min(3, len(quantities))
    n_rows = -(-len(quantities) // n_columns)
    figure = Figure(figsize=(max(4.2, 3.3 * n_columns), 2.6 * n_rows), layout="constrained")
    panels = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for axes, quantity in zip(panels, quantities, strict=False):
        part = table[table["quantity"] == quantity]
        for colour, dash, (split, line) in zip(
            COLOURS, ("-", "--", "-.", ":", "-", "--"), part.groupby("split"), strict=False
        ):
            few = "o" if len(line) <= 30 else None
            axes.plot(
                line["step"], line["value"], dash, color=colour, marker=few, ms=4, lw=1.6, label=split or quantity
            )
        axes.set(title=quantity.replace("_", " "), xlabel="step")
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.grid(lw=0.6)
        axes.legend(fontsize=8)
    for axes in panels[len(quantities) :]:
        axes.set_visible(False)
    return figure


@quiet
def trace_and_map(signal: np.ndarray, sfreq: float, title: str) -> Figure:
    """A window of one channel as trace and as Morlet map from 10 to 300 Hz (at most the Nyquist frequency).

    The map shows decibels above each frequency's median over the window, so that 1/f falls away and short oscillations
    stand out; a pixel is the largest amplitude of its stretch of time, so that a ripple of some hundredths of a second
    is not lost in a minute.

    Parameters
    ----------
    signal
        float32 `(n_times,)` in µV.
    sfreq
        In Hz.
    """
    figure = Figure(figsize=(9.6, 4.1), layout="constrained")
    trace, image = figure.subplots(2, 1, sharex=True, height_ratios=(1, 1.7))
    starts = np.arange(0, len(signal), max(1, len(signal) // COLUMNS))
    low, high = np.minimum.reduceat(signal, starts), np.maximum.reduceat(signal, starts)
    trace.plot(np.repeat(starts / sfreq, 2), np.stack([low, high], axis=1).ravel(), color=INK, lw=0.6)
    trace.set(title=title, ylabel="µV")
    trace.grid(axis="x", lw=0.6)
    fmax = min(300.0, sfreq / 2)
    if fmax <= FMIN or not np.isfinite(signal).all():
        why = "not all samples are finite" if fmax > FMIN else f"sampled at {sfreq:g} Hz"
        image.text(0.5, 0.5, f"no map: {why}", transform=image.transAxes, ha="center", color=MUTED)
        return figure
    shown = image.imshow(
        _contrast(signal, sfreq, fmax, starts),
        extent=(0, len(signal) / sfreq, FMIN, fmax),
        aspect="auto",
        interpolation="nearest",
        cmap="magma",
        vmin=0,
        vmax=20,
    )
    image.set(xlabel="time (s)", ylabel="frequency (Hz)")
    image.grid(visible=False)
    figure.colorbar(shown, ax=image, label="dB above median", pad=0.01, aspect=15, ticks=range(0, 21, 5))
    return figure


def _contrast(signal: np.ndarray, sfreq: float, fmax: float, starts: np.ndarray) -> np.ndarray:
    """Largest amplitude from each of `starts` to the next, dB above the row's median; NaN where that is 0."""
    import torch

    from omni_bench.signal import morlet_map

    with torch.no_grad():
        amplitude = morlet_map(
            torch.from_numpy(np.array(signal, dtype=np.float32)), sfreq, fmin=FMIN, fmax=fmax
        ).numpy()
    median = np.median(amplitude, axis=1, keepdims=True)
    peak = np.maximum.reduceat(amplitude, starts, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return 20 * np.log10(np.where(median > 0, peak / median, np.nan))
