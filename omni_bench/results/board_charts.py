"""Which pictures a board gets: each only where its runs exist."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from omni_bench.errors import BenchError
from omni_bench.evaluation.statistics import RankComparison, compare_ranks
from omni_bench.results import board_figures as figures
from omni_bench.results.board_figures import Chart
from omni_bench.results.boards import Board
from omni_bench.results.collect import model_facts
from omni_bench.results.ranks import rank_stability

SWEEPS = {
    "few_shot": ("Few-shot curves", "share of training samples"),
    "few_shot_patients": ("Few-shot curves", "training patients"),
    "channel_masking": ("Masking curves", "share of masked channels"),
}
LEARNED = ("linear_probe", "full_finetune")
PROPERTIES = {
    "parameters": ("Size and rank", "parameters"),
    "pretraining_hours": ("Pretraining data and rank", "hours of pretraining data"),
}
FEW_TASKS = 3
"""Tasks below which draws of tasks say nothing."""
MOST_BARS = 16
"""Models on a board up to which every task has its bars; the boards of single adaptations hold the same cells."""


def board_charts(board: Board) -> Iterator[Chart]:
    """Charts of one board."""
    prefix = "_".join([board.protocol, board.adaptation, *([] if board.ranked else ["marked"])])
    prefix = "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in prefix)
    ranks = board.ranks()
    order = ranks.mean().sort_values(kind="stable").index
    families = ranks.groupby(board.family.reindex(ranks.index)).mean()[order].rename_axis("family")
    if len(ranks) >= FEW_TASKS:
        yield figures.stability(f"{prefix}_stability", rank_stability(ranks))
    if (radar := figures.family_radar(f"{prefix}_families", families)) is not None:
        yield radar
    if (comparison := comparison_of(board)) is not None:
        yield figures.critical_difference(f"{prefix}_critical_difference", comparison)
    yield from _property_charts(prefix, ranks.mean())
    if ranks.shape[1] <= MOST_BARS:
        for metric, part in board.cells.groupby("metric"):
            yield figures.task_bars(f"{prefix}_tasks_{metric}", part)


def comparison_of(board: Board) -> RankComparison | None:
    """Friedman's test on the tasks with every model; None with fewer than 3 models or 2 such tasks."""
    try:
        return compare_ranks(board.scores)
    except BenchError:
        return None


def sweep_charts(cells: pd.DataFrame) -> Iterator[Chart]:
    """Curves over the levels of few-shot and masking protocols, for every adaptation that has two levels; marked apart."""
    usable = cells[cells["level"].notna() & (cells["status"] != "skipped")]
    for (protocol, adaptation, status), part in usable.groupby(["base_protocol", "adaptation", "status"]):
        table = common_levels(part)
        if protocol in SWEEPS and len(table) > 1:
            title, label = SWEEPS[protocol]
            title = f"{title}, {adaptation.replace('_', ' ')}{'' if status == 'ranked' else ', marked results'}"
            name = f"{protocol}_{adaptation}_curves{'' if status == 'ranked' else '_marked'}"
            yield figures.level_curves(name, title, label, table)


def common_levels(cells: pd.DataFrame) -> pd.DataFrame:
    """Mean score per level and model over the tasks that every model has at every level."""
    wide = cells.pivot_table(index=["task", "dataset"], columns=["level", "model"], values="value")
    complete = wide.dropna()
    return complete.mean().reset_index(name="value").pivot_table(index="level", columns="model", values="value")


def adaptation_charts(boards: list[Board]) -> Iterator[Chart]:
    """Ranks of linear probes against ranks of fine-tuned models, per protocol, over the cells that both have."""
    found = {(board.protocol, board.ranked, board.adaptation): board for board in boards}
    for (protocol, ranked, adaptation), board in found.items():
        other = found.get((protocol, ranked, LEARNED[1]))
        if adaptation != LEARNED[0] or other is None:
            continue
        rows = board.scores.index.intersection(other.scores.index)
        models = [name for name in board.scores if name in other.scores and not name.endswith(")")]
        scores = [side.scores.loc[rows, models] for side in (board, other)]
        both = scores[0].notna() & scores[1].notna()
        pair = {
            name: replace(side, scores=known.where(both)).ranks().mean()
            for name, side, known in zip(LEARNED, (board, other), scores, strict=True)
        }
        table = pd.DataFrame(pair).dropna()
        if len(table) > 1:
            suffix = "" if ranked else "_marked"
            yield figures.adaptation_ranks(f"{protocol}_adaptations{suffix}", table)


def _property_charts(prefix: str, average: pd.Series) -> Iterator[Chart]:
    facts = model_facts()
    names = {entry: str(entry).split(" (")[0] for entry in average.index}
    if len(set(names.values())) < len(names):
        return
    for key, (title, label) in PROPERTIES.items():
        values = pd.Series({entry: facts[key].get(name, np.nan) for entry, name in names.items()}, dtype=float)
        table = pd.DataFrame({key: values, "average_rank": average}).dropna()
        if len(table) > 2 and len(set(table[key])) > 1:
            yield figures.property_ranks(f"{prefix}_{key}", title, label, table.sort_values("average_rank"))
