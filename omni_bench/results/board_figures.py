"""Pictures of the leaderboard: each function returns a chart with its text alternative and its data, or None."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import EngFormatter, NullFormatter

from omni_bench.evaluation.statistics import RankComparison
from omni_bench.results.figures import COLOURS, DASHES, INK, MUTED, PAPER, quiet
from omni_bench.results.page import metric_name

MARKERS = "osD^vPX*"
RADAR_MODELS = 6
"""Lines that a radar still shows apart."""
BAR_IN = 0.13
"""Inches of a bar's row."""


@dataclass(frozen=True)
class Chart:
    """A figure with its data as a table; `name` is unique on the page."""

    name: str
    title: str
    alt: str
    caption: str
    figure: Figure
    data: pd.DataFrame


@quiet
def task_bars(name: str, cells: pd.DataFrame) -> Chart:
    """Bars of every task and model with their intervals, and a tick at chance.

    Parameters
    ----------
    cells
        Of one metric: ``task, entry, value, ci_low, ci_high, chance``.
    """
    tasks = list(dict.fromkeys(cells["task"]))
    models = list(dict.fromkeys(cells.sort_values("entry")["entry"]))
    n_columns = 1 if len(tasks) < 4 else 2 if len(tasks) < 12 else 3
    per_column = -(-len(tasks) // n_columns)
    groups = {task: part.set_index("entry").loc[lambda t: t.index[::-1]] for task, part in cells.groupby("task")}
    height = max(
        sum(len(groups[task]) + 2 for task in tasks[i : i + per_column]) for i in range(0, len(tasks), per_column)
    )
    figure = Figure(figsize=(9.6, 1.1 + BAR_IN * height), layout="constrained")
    axes = figure.subplots(1, n_columns, squeeze=False)[0]
    styles = {model: (COLOURS[i % 6], 1 - 0.3 * (i // 6 % 3)) for i, model in enumerate(models)}
    for column, ax in enumerate(axes):
        y, places = 0.0, []
        for task in tasks[column * per_column : (column + 1) * per_column]:
            part = groups[task]
            rows = y + np.arange(len(part))
            # one collection of thick lines per task draws far faster than a patch per bar
            shades = [to_rgba(*styles[model]) for model in part.index]
            ax.hlines(rows, 0, part["value"], color=shades, lw=0.72 * BAR_IN * 72, capstyle="butt")
            ax.hlines(rows, part["ci_low"], part["ci_high"], color=INK, lw=0.9)
            ax.vlines(part["chance"].iloc[0], y - 0.6, y + len(part) - 0.4, color=MUTED, ls=":", lw=1.4)
            places.append((y + (len(part) - 1) / 2, task))
            y += len(part) + 1
        ax.set_yticks([place for place, _ in places], [task for _, task in places], fontsize=8)
        ax.set(ylim=(y - 0.4, -1), xlabel=metric_name(str(cells["metric"].iloc[0])))
        ax.set_xlim(min(0.0, float(np.nanmin(cells[["value", "ci_low"]]))), max(1.0, float(np.nanmax(cells["value"]))))
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="x", lw=0.6)
        ax.set_axisbelow(True)
    handles = [Patch(color=colour, alpha=alpha, label=model) for model, (colour, alpha) in styles.items()]
    figure.legend(handles=handles, loc="outside upper center", ncols=4, fontsize=8)
    alt = f"Bars of {metric_name(str(cells['metric'].iloc[0]))} of {len(models)} models on {len(tasks)} tasks"
    caption = "Lines: 95 % intervals. Dotted: chance."
    columns = ["task", "dataset", "entry", "metric", "value", "ci_low", "ci_high", "chance", "n_seeds"]
    return Chart(name, "Tasks", alt, caption, figure, cells[columns])


@quiet
def family_radar(name: str, table: pd.DataFrame) -> Chart | None:
    """Average rank of the best models in each family of tasks; outside = first. None with fewer than 3 families.

    Parameters
    ----------
    table
        Families × models, average ranks, models best first.
    """
    if len(table) < 3:
        return None
    shown = table.iloc[:, :RADAR_MODELS]
    figure = Figure(figsize=(6.2, 5.2), layout="constrained")
    axes: Any = figure.add_subplot(projection="polar")
    angles = np.linspace(0, 2 * np.pi, len(shown), endpoint=False)
    for i, (model, ranks) in enumerate(shown.items()):
        values = ranks.to_numpy(dtype=float)
        closed = [*range(len(shown)), 0]
        style = DASHES[i % len(DASHES)]
        axes.plot(angles[closed], values[closed], style, marker=MARKERS[i], ms=4, lw=1.6, label=model)
    axes.set_theta_zero_location("N")
    axes.set_xticks(angles, shown.index)
    axes.set_rlim(float(np.nanmax(table)) + 0.5, 1)
    axes.tick_params(axis="y", labelsize=7)
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    cells = "; ".join(
        f"{model}: " + ", ".join(f"{family} {rank:.2f}" for family, rank in ranks.items())
        for model, ranks in shown.items()
    )
    alt = f"Radar of average ranks in {len(table)} families of tasks. {cells}"
    note = f" The {RADAR_MODELS} best models are drawn, the data hold all." if table.shape[1] > RADAR_MODELS else ""
    caption = f"Average rank by the rule published; the rim is rank 1.{note}"
    return Chart(name, "Families of tasks", alt, caption, figure, table.T.rename_axis("model"))


def cliques(ranks: pd.Series, critical_difference: float) -> list[tuple[int, int]]:
    """First and last place of each largest group of neighbours whose ranks lie within the critical difference.

    Parameters
    ----------
    ranks
        Average ranks, sorted.
    """
    values = ranks.to_numpy(dtype=float)
    ends = [int(np.flatnonzero(values - value <= critical_difference)[-1]) for value in values]
    return [(i, end) for i, end in enumerate(ends) if end > i and end not in ends[:i]]


@quiet
def critical_difference(name: str, comparison: RankComparison) -> Chart:
    """Critical-difference diagram (Demšar 2006, Figure 1): models that a bar joins do not differ."""
    ranks = comparison.average_ranks
    n, left = len(ranks), -(-len(ranks) // 2)
    groups = cliques(ranks, comparison.critical_difference)
    low, high = 1, n
    depth = 0.5 + 0.24 * len(groups)
    figure = Figure(figsize=(8.4, 1.3 + 0.24 * left + 0.1 * len(groups)), layout="constrained")
    axes = figure.subplots()
    axes.hlines(0, low, high, color=INK, lw=1)
    for tick in range(low, high + 1):
        axes.vlines(tick, 0, -0.12, color=INK, lw=1)
        axes.text(tick, -0.2, str(tick), ha="center", va="bottom", fontsize=8)
    axes.plot([low, low + comparison.critical_difference], [-1.1, -1.1], color=INK, lw=2, marker="|", ms=7)
    axes.text(
        low + comparison.critical_difference / 2,
        -1.25,
        f"CD = {comparison.critical_difference:.2f}",
        ha="center",
        fontsize=8,
    )
    for place, (model, rank) in enumerate(ranks.items()):
        on_left = place < left
        y = depth + 0.55 * (place if on_left else n - 1 - place)
        edge = low - 0.05 * n if on_left else high + 0.05 * n
        axes.plot([rank, rank, edge], [0, y, y], color=MUTED, lw=0.9)
        text = f"{model}  {rank:.2f} " if on_left else f" {rank:.2f}  {model}"
        axes.text(edge, y, text, ha="right" if on_left else "left", va="center", fontsize=8.5)
    for row, (first, last) in enumerate(groups):
        y = 0.28 + 0.24 * row
        axes.plot([ranks.iloc[first] - 0.04, ranks.iloc[last] + 0.04], [y, y], color=COLOURS[0], lw=3.5)
    margin = 0.5 * n
    axes.set(xlim=(low - margin, high + margin), ylim=(depth + 0.55 * left, -1.8))
    axes.axis("off")
    joined = "; ".join(", ".join(map(str, ranks.index[first : last + 1])) for first, last in groups) or "none"
    alt = (
        f"Critical-difference diagram of {n} models over {comparison.n_datasets} tasks, CD {comparison.critical_difference:.2f}. "
        f"Not told apart: {joined}"
    )
    caption = (
        f"Friedman χ² = {comparison.statistic:.2f}, p = {comparison.p:.2g}, on the {comparison.n_datasets} tasks with every model; "
        f"plain ranks. A bar joins models whose ranks differ by less than Nemenyi's critical difference at {comparison.alpha:g}."
    )
    return Chart(name, "Critical difference", alt, caption, figure, ranks.to_frame().rename_axis("model"))


@quiet
def stability(name: str, table: pd.DataFrame) -> Chart:
    """Average rank of each model with the interval over draws of tasks.

    Parameters
    ----------
    table
        Of `ranks.rank_stability`.
    """
    figure = Figure(figsize=(5.6, 0.8 + 0.26 * len(table)), layout="constrained")
    axes = figure.subplots()
    y = np.arange(len(table))
    axes.hlines(y, table["low"], table["high"], color=COLOURS[0], lw=2.2, alpha=0.5)
    axes.plot(table["average_rank"], y, "o", color=COLOURS[0], mec=PAPER, ms=6)
    axes.set_yticks(y, [f"{model}  ({share:.0%} first)" for model, share in table["first"].items()])
    axes.set(xlabel="average rank", ylim=(len(table) - 0.5, -0.5))
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", lw=0.6)
    rows = "; ".join(f"{model} {row['low']:.2f} to {row['high']:.2f}" for model, row in table.iterrows())
    alt = f"Average ranks with 95 % of bootstrap draws of tasks. {rows}"
    caption = "Tasks are drawn with replacement, 1000 times; in brackets the share of draws in which a model is first."
    return Chart(name, "Stability of ranks", alt, caption, figure, table.rename_axis("model"))


@quiet
def level_curves(name: str, title: str, xlabel: str, table: pd.DataFrame) -> Chart:
    """A score against a level (share of training samples, share of masked channels), a line per model.

    Parameters
    ----------
    table
        Levels × models, mean over the tasks that every model has at every level.
    """
    figure = Figure(figsize=(6.8, 3.8), layout="constrained")
    axes = figure.subplots()
    for i, (model, line) in enumerate(table.items()):
        axes.plot(line.index, line, DASHES[i // 6 % 4], marker=MARKERS[i % 8], ms=5, lw=1.6, label=model)
    axes.set(xlabel=xlabel, ylabel="mean score")
    axes.set_xticks(table.index, [f"{level:g}" for level in table.index])
    axes.grid(lw=0.6)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8)
    lines = {model: line.dropna() for model, line in table.items()}
    ends = ", ".join(f"{model} {line.iloc[0]:.3f} to {line.iloc[-1]:.3f}" for model, line in lines.items())
    alt = f"{title}: from {xlabel} {table.index[0]:g} to {table.index[-1]:g}. {ends}"
    return Chart(name, title, alt, "Mean over the tasks that every model has at every level.", figure, table)


@quiet
def adaptation_ranks(name: str, table: pd.DataFrame) -> Chart:
    """Average rank under one adaptation against that under another.

    Parameters
    ----------
    table
        Models × two adaptations, average ranks over the same tasks.
    """
    across, up = table.columns
    figure = Figure(figsize=(5.2, 4.8), layout="constrained")
    axes = figure.subplots()
    axes.axline((1, 1), slope=1, color=MUTED, ls=":", lw=1)
    _named_points(axes, table[across], table[up])
    axes.set(xlabel=f"average rank, {across.replace('_', ' ')}", ylabel=f"average rank, {up.replace('_', ' ')}")
    rows = "; ".join(f"{model} {row[across]:.2f} and {row[up]:.2f}" for model, row in table.iterrows())
    alt = f"Average ranks under {across} and {up}. {rows}"
    caption = (
        "Ranks over the cells that both have; below the dotted line a model gains by the adaptation on the vertical."
    )
    return Chart(name, "Ranks by adaptation", alt, caption, figure, table.rename_axis("model"))


@quiet
def property_ranks(name: str, title: str, xlabel: str, table: pd.DataFrame) -> Chart:
    """Average rank against a property of the models, on a logarithmic axis.

    Parameters
    ----------
    table
        Per model: the property, ``average_rank``.
    """
    figure = Figure(figsize=(5.6, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.set_xscale("log")
    values = table.iloc[:, 0]
    _named_points(axes, values, table["average_rank"])
    axes.xaxis.set_major_formatter(EngFormatter(sep=" "))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set(xlabel=xlabel, ylabel="average rank")
    axes.invert_yaxis()
    rows = "; ".join(
        f"{model} {value:g}, rank {table.loc[model, 'average_rank']:.2f}" for model, value in values.items()
    )
    caption = "A handful of models that differ in much else: a trend here is no effect of this property."
    return Chart(name, title, f"{title}. {rows}", caption, figure, table.rename_axis("model"))


def _named_points(axes: Axes, x: pd.Series, y: pd.Series) -> None:
    axes.plot(x, y, "o", color=COLOURS[0], mec=PAPER, ms=7)
    for i, model in enumerate(y.sort_values().index):
        # neighbours in rank name themselves on either side
        place: dict[str, Any] = {"xytext": (6, -3), "ha": "left"} if i % 2 else {"xytext": (-6, -3), "ha": "right"}
        axes.annotate(str(model), (x[model], y[model]), textcoords="offset points", fontsize=8, **place)
    axes.margins(0.22, 0.08)
    axes.grid(lw=0.6)
