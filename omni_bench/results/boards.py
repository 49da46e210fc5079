"""Boards: the cells of a protocol and an adaptation, ranked; marked results are ranked apart."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from omni_bench.results.collect import COSTS
from omni_bench.results.marks import UNTRAINED
from omni_bench.results.ranks import RULES, dataset_ranks

CELL = ["task", "dataset", "protocol", "adaptation", "model"]
SPENT = ["parameters", *(name for names in COSTS.values() for name in names)]
SHARED = ["family", "metric", "chance", "base_protocol", "level"]
ALL = "all"


@dataclass(frozen=True, eq=False)
class Board:
    """One ranking.

    Attributes
    ----------
    protocol, adaptation
        Adaptation ``all`` ranks every model in each adaptation it was run in; another one ranks its models together
        with those that start from nothing.
    ranked
        False for the board of marked results, which are ranked among themselves.
    cells
        Of `cells_of`, with ``entry``, the model's name on this board.
    scores
        (task, dataset) × entries, NaN = missing or skipped for pretraining overlap.
    chance, family
        Per (task, dataset).
    """

    protocol: str
    adaptation: str
    ranked: bool
    cells: pd.DataFrame
    scores: pd.DataFrame
    chance: pd.Series
    family: pd.Series

    def ranks(self, rule: str = "published") -> pd.DataFrame:
        """Ranks on each (task, dataset) with more than one model; see `dataset_ranks`."""
        compared = self.scores[self.scores.notna().sum(axis=1) > 1]
        return dataset_ranks(compared, self.chance, rule)

    @property
    def title(self) -> str:
        """Protocol and adaptation for people."""
        adaptation = "all adaptations" if self.adaptation == ALL else self.adaptation.replace("_", " ")
        return f"{self.protocol.replace('_', ' ')} · {adaptation}"


def cells_of(runs: pd.DataFrame, seeds: int) -> pd.DataFrame:
    """Seeds of a cell put together.

    Of several runs of one seed the one that finished last stands, and the cell says so.

    Parameters
    ----------
    runs
        Of `collect.read_results`.
    seeds
        Runs with different seeds that a complete cell has.

    Returns
    -------
    One row per cell of `CELL` with `SHARED`; ``value``, the mean over seeds, and ``ci_low, ci_high``, the mean limits
    of the seeds' intervals (NaN where a seed has none); ``n_seeds, n``; ``marks`` and ``reasons`` (texts, empty =
    none); ``overlap``; ``status``: ``ranked``, ``apart`` (a mark disqualifies), ``skipped`` (overlap, or no value);
    ``parameters`` and the names of `COSTS`, means over the seeds.
    """
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for run in runs.sort_values(["finished", "config_hash"], kind="stable").to_dict("records"):
        groups.setdefault(tuple(run[name] for name in CELL), []).append(run)
    return pd.DataFrame([_cell(key, groups[key], seeds) for key in sorted(groups)])


def _cell(key: tuple[str, ...], runs: list[dict[str, Any]], seeds: int) -> dict[str, Any]:
    by_seed = {run["seed"]: run for run in runs}
    kept = list(by_seed.values())
    marks = {mark.name: mark for run in kept for mark in run["marks"]}
    names, reasons = list(marks), [f"{mark.name}: {mark.why}" for mark in marks.values()]
    apart = any(mark.disqualifies for mark in marks.values())
    if len(kept) < seeds:
        apart = True
        names.append(f"{len(kept)} of {seeds} seeds")
        reasons.append(f"{names[-1]}: the cell is not complete")
    if len({run["config_hash"] for run in runs}) > len(kept):
        names.append("several configurations")
        reasons.append("several configurations: of the runs of one seed, the one that finished last stands here")
    overlap = any(run["overlap"] for run in kept)
    if overlap:
        names.append("pretraining overlap")
        reasons.append("pretraining overlap: the model has met this dataset, so the cell is skipped in every rank")
    # rounding undoes what adding up does: three runs at chance are at chance
    means = {name: round(float(np.mean([run[name] for run in kept])), 12) for name in ("value", "ci_low", "ci_high")}
    return {
        **dict(zip(CELL, key, strict=True)),
        **{name: kept[-1][name] for name in SHARED},
        **means,
        "n_seeds": len(kept),
        "n": max(run["n"] for run in kept),
        "marks": "; ".join(names),
        "reasons": ". ".join(reasons),
        "overlap": overlap,
        "status": "skipped" if overlap or np.isnan(means["value"]) else "apart" if apart else "ranked",
        **{name: float(np.mean([run[name] for run in kept])) for name in SPENT},
    }


def boards_of(cells: pd.DataFrame) -> list[Board]:
    """All boards: per protocol one per adaptation that starts from learned weights, and one of all where that is another."""
    boards = []
    for protocol, part in cells.groupby("protocol", sort=True):
        learned = [name for name in part["adaptation"].unique() if name not in UNTRAINED]
        choices = {name: part[part["adaptation"].isin([name, *UNTRAINED])] for name in sorted(learned)}
        if len(choices) != 1:
            choices[ALL] = part
        for adaptation, chosen in choices.items():
            for ranked in (True, False):
                group = chosen[chosen["status"] == ("ranked" if ranked else "apart")]
                if len(group):
                    boards.append(_board(str(protocol), adaptation, ranked, group))
    return boards


def _board(protocol: str, adaptation: str, ranked: bool, cells: pd.DataFrame) -> Board:
    cells = cells.assign(entry=_entries(cells, adaptation))
    index = ["task", "dataset"]
    scores = cells.pivot_table(index=index, columns="entry", values="value", sort=True)
    facts = cells.drop_duplicates(index).set_index(index).reindex(scores.index)
    return Board(
        protocol, adaptation, ranked, cells, scores.rename_axis(columns="model"), facts["chance"], facts["family"]
    )


def _entries(cells: pd.DataFrame, own: str) -> list[str]:
    """Names of models on a board, with their adaptation where it is neither the board's own nor the only one."""
    if len(set(cells["adaptation"])) == 1:
        own = cells["adaptation"].iloc[0]
    pairs = zip(cells["model"], cells["adaptation"], strict=True)
    return [model if adaptation == own else f"{model} ({adaptation.replace('_', ' ')})" for model, adaptation in pairs]


def rank_table(boards: Sequence[Board]) -> pd.DataFrame:
    """Average ranks on every board, over all families together and over each.

    Returns
    -------
    ``protocol, adaptation, ranked, family`` (`all` = every family), ``model, n_tasks, n_all`` (tasks ranked on, and of
    the board), one column per rule of `ranks.RULES`; best first by the first rule.
    """
    rows = [row for board in boards for row in _board_rows(board)]
    columns = ["protocol", "adaptation", "ranked", "family", "model", "n_tasks", "n_all", *RULES]
    return pd.DataFrame(rows, columns=columns)


def _board_rows(board: Board) -> Iterator[tuple[Any, ...]]:
    ranks = {rule: board.ranks(rule) for rule in RULES}
    family = board.family.reindex(ranks["published"].index)
    for name in [ALL, *sorted(family.unique())]:
        chosen = family.index if name == ALL else family.index[family == name]
        means = pd.DataFrame({rule: ranks[rule].loc[chosen].mean() for rule in RULES})
        counts = ranks["published"].loc[chosen].notna().sum()
        for model, averages in means.sort_values("published", kind="stable").iterrows():
            if counts[model]:
                yield (
                    board.protocol,
                    board.adaptation,
                    board.ranked,
                    name,
                    model,
                    int(counts[model]),
                    len(chosen),
                    *averages,
                )
