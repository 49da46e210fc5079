"""A published table beside ours as HTML, Markdown, LaTeX and CSV."""

from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd

from omni_bench.files import write_atomically
from omni_bench.results.comparison import published_table
from omni_bench.results.markup import latex_table, markdown_table
from omni_bench.results.page import environment, metric_name, number

HEAD = ["row", "metric", "ours", "95 % interval", "published", "difference", "published in interval", "remark"]
NUMERIC = [False, False, True, True, True, True, False, False]

COUNTED = ("n_", "top", "importance_rank")
"""How metrics begin that count something."""


def write_comparison(experiment: str, cells: pd.DataFrame, to: Path) -> list[Path]:
    """Write a comparison (of `comparison.compare`) as ``<experiment>.html, .md, .tex, .csv``.

    Returns
    -------
    The files, the page first.
    """
    table = published_table(experiment)
    rows = comparison_rows(cells)
    n_ours = int(cells["ours"].notna().sum())
    title = f"{experiment}: ours beside {table.source}"
    summary = f"{n_ours} of {len(cells)} cells have a value of ours. {table.intervals}"
    page = (
        environment()
        .get_template("comparison.html")
        .render(
            title=title,
            summary=summary,
            head=HEAD,
            numeric=NUMERIC,
            groups=[(label, list(part)) for label, part in groupby(rows, key=lambda row: row[0])],
        )
    )
    texts = {
        "html": page,
        "md": f"## {title}\n\n{summary}\n\n{markdown_table(HEAD, rows, NUMERIC)}",
        "tex": latex_table(HEAD, rows, NUMERIC, title),
        "csv": cells.to_csv(index=False),
    }
    to.mkdir(parents=True, exist_ok=True)
    files = {ending: to / f"{experiment.replace('/', '_')}.{ending}" for ending in texts}
    for ending, text in texts.items():
        write_atomically(files[ending], text)
    return list(files.values())


def comparison_rows(cells: pd.DataFrame) -> list[list[str]]:
    """Cells of a comparison as texts under `HEAD`."""
    return [_texts(cell) for cell in cells.to_dict("records")]


def _texts(cell: dict[str, Any]) -> list[str]:
    text = _count if cell["metric"].startswith(COUNTED) else number
    interval = f"{number(cell['ci_low'])} to {number(cell['ci_high'])}" if cell["ci_low"] == cell["ci_low"] else ""
    inside = "" if pd.isna(cell["inside"]) else "yes" if cell["inside"] else "no"
    ours, *values = [text(cell[name]) for name in ("ours", "published", "difference")]
    # on which data it ran comes before everything that is said of it
    data = f"{cell['dataset']}, {cell['n_seeds']:g} seeds" if isinstance(cell["dataset"], str) else ""
    remark = "; ".join(filter(None, [data, cell["remark"]]))
    return [cell["row"], metric_name(cell["metric"]), ours, interval, *values, inside, remark]


def _count(value: float) -> str:
    return number(value).removesuffix(".000")
