"""What a run prints at its end."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from omni_bench.results.record import read_record

if TYPE_CHECKING:
    import pandas as pd
    from omegaconf import DictConfig

    from omni_bench.data.cohort import Cohort
    from omni_bench.data.store import Stored
    from omni_bench.results.audit import Finding
    from omni_bench.results.leaderboard import Leaderboard


def finished_result(cfg: "DictConfig") -> dict[str, Any] | None:
    """The result of a run that is already done, printed; None where there is still something to do."""
    folder = Path(cfg.paths.output_dir).expanduser() / cfg.run_name
    finished = read_record(folder)
    if finished is None or finished["status"] != "completed":
        return None
    if not (folder / "report.html").is_file():  # broken off after the last number
        from omni_bench.results.report import write_report

        write_report(folder)
    print("already done: nothing to compute")
    print_result(finished, folder)
    return finished


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
    notes: dict[str, list[str]] = {}
    for name, metric in result["metrics"].items():
        if metric.get("note"):
            notes.setdefault(metric["note"], []).append(name)
    for note, names in notes.items():
        console.print(f"{', '.join(names)}: {note}", style="yellow", highlight=False)
    for line in result["warnings"]:
        console.print(line, style="yellow", highlight=False)
    marks = [mark for mark in ("synthetic", "reduced") if result[mark]]
    if marks:
        console.print(f"{' and '.join(marks)} run: not a benchmark result", style="yellow")
    for name in ("result.json", "predictions.parquet", "figures", "report.html"):
        if (folder / name).exists():
            console.print(str(folder / name), highlight=False, soft_wrap=True)


def print_prepared(cohort: "Cohort", stored: "Mapping[str, Stored]", verified: bool) -> None:
    """Print what a preparation read, what it left out and why, and where the store is."""
    console = Console()
    table = Table(
        title=f"{cohort.name}: {len(cohort)} recordings of {len(cohort.patients)} patients", title_justify="left"
    )
    for column in ("source", "patients", "recordings", "channels", "hours", "GB stored"):
        table.add_column(column, justify="left" if column == "source" else "right")
    recordings = cohort.recordings.merge(cohort.patients[["subject", "source"]], on="subject")
    for source, part in recordings.groupby("source"):
        files = [stored[name] for name in part["recording"]]
        counts = (part["subject"].nunique(), len(part), sum(len(file.ch_names) for file in files))
        sizes = (sum(file.duration for file in files) / 3600, sum(file.path.stat().st_size for file in files) / 1e9)
        table.add_row(str(source), *(str(count) for count in counts), *(f"{size:.2f}" for size in sizes))
    console.print(table)
    for entry in cohort.excluded:
        console.print(f"left out: {entry['n']} {entry['what']}: {entry['reason']}", style="yellow", highlight=False)
    folder = next(iter(stored.values())).path.parent
    console.print(f"{folder}{' (every signal equals its hash)' if verified else ''}", highlight=False, soft_wrap=True)


def print_detected(summary: "pd.DataFrame", folder: Path) -> None:
    """Print events and rates of every recording, and where the tables are."""
    console = Console()
    table = Table(title=f"{summary['events'].sum()} events in {len(summary)} recordings", title_justify="left")
    for column in ("recording", "channels", "minutes", "events", "events / min, median channel"):
        table.add_column(column, justify="left" if column == "recording" else "right", no_wrap=True)
    for row in summary.itertuples(index=False):
        table.add_row(row.recording, str(row.channels), f"{row.minutes:.2f}", str(row.events), f"{row.median_rate:.2f}")
    console.print(table)
    console.print(str(folder), highlight=False, soft_wrap=True)


def print_cohort(table: "pd.DataFrame", excluded: list[dict[str, Any]], file: Path) -> None:
    """Print a dataset's counts beside the published ones, one table per table of the paper."""
    console = Console()
    for name, part in table.groupby("table", sort=False):
        title = f"Table {name}" if str(name).isdigit() else str(name)
        shown = Table(title=f"{title}: ours | published", title_justify="left")
        wide = part.pivot_table(["ours", "published"], ["split", "source"], "quantity", sort=False, dropna=False)
        quantities = list(dict.fromkeys(part["quantity"]))
        for column in ("split", "source", *quantities):
            shown.add_column(column.replace("_", " "), justify="left" if column in ("split", "source") else "right")
        for (split, source), row in wide.iterrows():
            cells = [f"{_count(row.get(('ours', q)))} | {_count(row.get(('published', q)))}" for q in quantities]
            shown.add_row(str(split), str(source), *cells)
        console.print(shown)
    for entry in excluded:
        console.print(f"left out: {entry['n']} {entry['what']}: {entry['reason']}", style="yellow", highlight=False)
    console.print(str(file), highlight=False, soft_wrap=True)


def print_leaderboard(board: "Leaderboard", page: Path) -> None:
    """Print every ranking, what is left out, and where the page is."""
    from omni_bench.results.leaderboard import RANK_HEAD, rank_rows

    console = Console()
    for own in board.boards:
        rows = rank_rows(board, own)
        if not rows:
            continue
        marked = "" if own.ranked else " · marked results, ranked apart"
        table = Table(title=f"{own.title}{marked}", title_justify="left")
        for column in RANK_HEAD:
            table.add_column(column, justify="left" if column == "model" else "right")
        for row in rows:
            table.add_row(*map(escape, row))
        console.print(table)
    if not len(board.ranks):
        console.print("no two models share a task: nothing to rank", style="yellow")
    if board.left_out:
        console.print(f"{len(board.left_out)} records are no completed run; the page lists them", style="yellow")
    console.print(str(page), highlight=False, soft_wrap=True)


def print_comparison(experiment: str, cells: "pd.DataFrame", files: list[Path]) -> None:
    """Print a published table beside ours, and where the files are."""
    from omni_bench.results.comparison_page import HEAD, NUMERIC, comparison_rows

    console = Console()
    rows = comparison_rows(cells)
    notes = list(dict.fromkeys(row[-1] for row in rows if row[-1]))
    table = Table(title=experiment, title_justify="left")
    for column, right in zip([*HEAD[:-1], "note"], [*NUMERIC[:-1], True], strict=True):
        table.add_column(column, justify="right" if right else "left")
    for *texts, remark in rows:
        table.add_row(*map(escape, texts), str(notes.index(remark) + 1) if remark else "")
    console.print(table)
    for i, note in enumerate(notes, 1):
        console.print(f"{i}: {note}", style="yellow", markup=False, highlight=False)
    for file in files:
        console.print(str(file), highlight=False, soft_wrap=True)


def print_audit(findings: "list[Finding]", file: Path) -> None:
    """Print every finding, and where the page is."""
    from omni_bench.results.audit_page import table_rows

    console = Console()
    for finding in findings:
        rows, numeric = table_rows(finding.table)
        table = Table(title=finding.title, title_justify="left", caption=finding.sources, caption_justify="left")
        for column, right in zip(finding.table, numeric, strict=True):
            table.add_column(str(column), justify="right" if right else "left")
        for row in rows:
            table.add_row(*map(escape, row))
        console.print(table)
        console.print(finding.text, markup=False, highlight=False)
    console.print(str(file), highlight=False, soft_wrap=True)


def _count(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:.2f}".removesuffix(".00")


def _number(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:.3f}"


def _interval(metric: dict[str, Any]) -> str:
    low, high = metric["ci_low"], metric["ci_high"]
    return "" if low is None or math.isnan(low) else f"{low:.3f} to {high:.3f}"
