"""The leaderboard: tables and one page that holds all, from the records of runs alone."""

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from omni_bench.errors import BenchError
from omni_bench.evaluation.statistics import compare_over_datasets, interval_chance_tests, share_above_chance
from omni_bench.files import sweep_parts, write_atomically
from omni_bench.results.board_charts import adaptation_charts, board_charts, sweep_charts
from omni_bench.results.board_figures import Chart
from omni_bench.results.boards import ALL, Board, boards_of, cells_of, rank_table
from omni_bench.results.collect import read_results
from omni_bench.results.markup import latex_table, markdown_table
from omni_bench.results.page import environment
from omni_bench.results.ranks import RULES

RULE_WORDS = {
    "published": "models at or below chance share the last rank (OmniEEG-Bench)",
    "strict": "only models below chance share the last rank",
    "plain": "chance plays no part",
}
RANK_HEAD = ["place", "model", *RULES, "tasks"]


@dataclass(frozen=True)
class Leaderboard:
    """Everything that the page shows.

    Attributes
    ----------
    cells
        Of `boards.cells_of`.
    ranks
        Of `boards.rank_table`.
    """

    cells: pd.DataFrame
    ranks: pd.DataFrame
    boards: list[Board]
    left_out: list[str]


def build_leaderboard(results: Path, seeds: int) -> Leaderboard:
    """Read the runs below a folder and rank them.

    Raises
    ------
    BenchError
        There is no such folder, or no completed run in it.
    """
    read = read_results(results)
    if read.runs.empty:
        raise BenchError(
            f"results={results}: no completed run below it, {len(read.left_out)} others ({read.left_out[0]}): finish one first"
        )
    cells = cells_of(read.runs, seeds)
    boards = boards_of(cells)
    return Leaderboard(cells, rank_table(boards), boards, read.left_out)


def write_leaderboard(board: Leaderboard, to: Path, seeds: int) -> Path:
    """Write ``ranks.csv, cells.csv, tests.csv, leaderboard.md, leaderboard.tex, index.html``, ``figures/*.csv``.

    Returns
    -------
    Path of the page.
    """
    (to / "figures").mkdir(parents=True, exist_ok=True)
    for folder in (to, to / "figures"):
        sweep_parts(folder)
    charts: list[tuple[Board | None, Chart]] = [(own, chart) for own in board.boards for chart in board_charts(own)]
    charts += [(None, chart) for chart in [*sweep_charts(board.cells), *adaptation_charts(board.boards)]]
    for _, chart in charts:
        write_atomically(to / "figures" / f"{chart.name}.csv", _csv(chart))
    write_atomically(to / "ranks.csv", board.ranks.to_csv(index=False))
    write_atomically(to / "cells.csv", board.cells.drop(columns="reasons", errors="ignore").to_csv(index=False))
    pairs = {own: pair_tests(own) for own in board.boards}
    write_atomically(to / "tests.csv", pd.concat(pairs.values()).to_csv(index=False) if pairs else "")
    tables = [(own.title + ("" if own.ranked else " · marked results"), rank_rows(board, own)) for own in board.boards]
    numeric = [True, False, True, True, True, True]
    stated = "".join(f"- `{rule}`: {words}\n" for rule, words in RULE_WORDS.items())
    markdown = [f"## {title}\n\n{markdown_table(RANK_HEAD, rows, numeric)}" for title, rows in tables]
    write_atomically(
        to / "leaderboard.md", "\n".join([f"# Leaderboard\n\nAverage ranks by three rules:\n\n{stated}", *markdown])
    )
    write_atomically(
        to / "leaderboard.tex", "\n".join(latex_table(RANK_HEAD, rows, numeric, title) for title, rows in tables)
    )
    write_atomically(to / "index.html", _page(board, charts, pairs, seeds))
    return to / "index.html"


def rank_rows(board: Leaderboard, own: Board) -> list[list[str]]:
    """A board's ranking over all families as texts under `RANK_HEAD`."""
    ranks = board.ranks
    chosen = ranks[
        (ranks["protocol"] == own.protocol)
        & (ranks["adaptation"] == own.adaptation)
        & (ranks["ranked"] == own.ranked)
        & (ranks["family"] == ALL)
    ]
    return [
        [str(place), row["model"], *(f"{row[rule]:.2f}" for rule in RULES), f"{row['n_tasks']} of {row['n_all']}"]
        for place, row in enumerate(chosen.to_dict("records"), 1)
    ]


def pair_tests(own: Board) -> pd.DataFrame:
    """Wilcoxon signed-rank tests of every pair of a board's models over tasks, Holm over the pairs; smallest p first."""
    tests = compare_over_datasets(own.scores).sort_values("p_holm", kind="stable")
    return tests.assign(protocol=own.protocol, adaptation=own.adaptation, ranked=own.ranked)


def chance_shares(own: Board) -> list[dict[str, Any]]:
    """Share of a board's cells above chance per family, one-sided by their intervals, Holm over all its cells."""
    cells = own.cells.assign(dataset=own.cells["task"] + " " + own.cells["dataset"], model=own.cells["entry"])
    shares = share_above_chance(interval_chance_tests(cells))
    return shares.rename_axis("family").reset_index().to_dict("records")


def _csv(chart: Chart) -> str:
    return chart.data.to_csv(index=chart.data.index.name is not None)


def _page(
    board: Leaderboard, charts: list[tuple[Board | None, Chart]], pairs: dict[Board, pd.DataFrame], seeds: int
) -> str:
    from omni_bench.results.figures import svg

    pictures = [
        {
            "board": own,
            "chart": chart,
            "svg": Markup(svg(chart.figure)),
            "data": base64.b64encode(_csv(chart).encode()).decode(),
        }
        for own, chart in charts
    ]
    return (
        environment()
        .get_template("leaderboard.html")
        .render(
            ranks=board.ranks.to_dict("records"),
            cells=board.cells.to_dict("records"),
            boards=board.boards,
            shares={own: chance_shares(own) for own in board.boards},
            pairs={own: table.to_dict("records") for own, table in pairs.items()},
            choices={name: sorted(board.ranks[name].unique()) for name in ("protocol", "adaptation", "family")},
            pictures=pictures,
            rules=RULE_WORDS,
            seeds=seeds,
            left_out=board.left_out,
        )
    )
