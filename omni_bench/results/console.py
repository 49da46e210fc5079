"""What a run prints at its end."""

import math
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table


def print_result(result: dict[str, Any], folder: Path) -> None:
    """Print metrics with their intervals, marks, warnings and paths."""
    console = Console()
    title = " · ".join(str(result[key]) for key in ("dataset", "task", "model", "protocol", "adaptation"))
    table = Table(title=f"{title} · seed {result['seed']}", title_justify="left")
    for column in ("metric", "value", "95 % interval", "n"):
        table.add_column(column, justify="left" if column == "metric" else "right")
    for name, metric in result["metrics"].items():
        table.add_row(name, _number(metric["value"]), _interval(metric), str(metric["n"]))
    console.print(table)
    for name, metric in result["metrics"].items():
        if metric.get("note"):
            console.print(f"{name}: {metric['note']}", style="yellow", highlight=False)
    for line in result["warnings"]:
        console.print(line, style="yellow", highlight=False)
    marks = [mark for mark in ("synthetic", "reduced") if result[mark]]
    if marks:
        console.print(f"{' and '.join(marks)} run: not a benchmark result", style="yellow")
    for name in ("result.json", "predictions.parquet", "report.html"):
        if (folder / name).is_file():
            console.print(str(folder / name), highlight=False, soft_wrap=True)


def _number(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:.3f}"


def _interval(metric: dict[str, Any]) -> str:
    low, high = metric["ci_low"], metric["ci_high"]
    return "" if low is None or math.isnan(low) else f"{low:.3f} to {high:.3f}"
