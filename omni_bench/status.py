"""`python -m omni_bench.status`: what of a sweep is done, failed or missing, and how long the rest takes."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from omni_bench.api import compose_config, compose_jobs, sweep_jobs
from omni_bench.cli import main_of_sweep
from omni_bench.errors import BenchError
from omni_bench.explain import explain
from omni_bench.results.record import read_record

USAGE = """
python -m omni_bench.status +experiment=omni_eegbench/leaderboard paths.data=DIR   runs of an experiment
python -m omni_bench.status model=a,b seed=0,1,2                                   runs of a sweep
python -m omni_bench.status paths.output_dir=outputs                               whatever was ever started there
"""

STATES = {"completed": "done", "failed": "failed", "running": "begun"}
"""Status in a record → how it is shown; a run that was killed is begun."""


@dataclass(frozen=True)
class Run:
    """One run: its directory's name below the outputs, its model and adaptation, and its state."""

    name: str
    model: str
    adaptation: str
    state: str
    seconds: float = 0.0
    error: str = ""


def runs_of_sweep(overrides: list[str]) -> Iterator[Run]:
    """The runs that a sweep of these overrides starts, in its order."""
    jobs = sweep_jobs(overrides)
    for job, cfg in track(zip(jobs, compose_jobs(jobs), strict=True), "runs", total=len(jobs), transient=True):
        kind = (cfg.model.name, cfg.adaptation.name)
        try:
            name = str(cfg.run_name)
        except Exception as error:
            line = explain(error)
            if line is None:
                raise
            # it waits for another run, or can never start; in any case it is not there
            yield Run(" ".join(job), *kind, "missing", error=line)
            continue
        record = read_record(Path(cfg.paths.output_dir).expanduser() / name)
        yield _run_of(name, record) if record else Run(name, *kind, "missing")


def runs_below(folder: Path) -> Iterator[Run]:
    """Every run that has a record below a folder.

    Raises
    ------
    BenchError
        There is none.
    """
    files = sorted(folder.rglob("result.json"))
    if not files:
        raise BenchError(f"paths.output_dir={folder}: no result.json below it: name a folder of runs, or an experiment")
    for file in files:
        if record := read_record(file.parent):
            yield _run_of(file.parent.relative_to(folder).as_posix(), record)


def _run_of(name: str, record: dict[str, Any]) -> Run:
    seconds = sum(value for step, value in record.get("timing", {}).items() if step in STEPS)
    error = record.get("error") or ""
    return Run(name, record["model"], record["adaptation"], STATES[record["status"]], seconds, error)


STEPS = ("prepare_s", "fit_s", "predict_s", "evaluate_s")


def seconds_left(runs: list[Run]) -> float | None:
    """Seconds that the unfinished runs take one after the other, None where nothing is finished yet.

    A run takes the median of the finished ones of its model and adaptation, or of all where there is none.
    """
    done = [run for run in runs if run.state == "done"]
    if not done:
        return None
    times: dict[tuple[str, str], list[float]] = {}
    for run in done:
        times.setdefault((run.model, run.adaptation), []).append(run.seconds)
    overall = median(run.seconds for run in done)
    return sum(median(times.get((run.model, run.adaptation), [overall])) for run in runs if run.state != "done")


def print_status(runs: list[Run], most_errors: int = 20) -> None:
    """Print counts per model, errors, and the time left."""
    console = Console()
    states = (*STATES.values(), "missing")
    table = Table(title=f"{sum(run.state == 'done' for run in runs)} of {len(runs)} runs done", title_justify="left")
    table.add_column("model")
    for state in states:
        table.add_column(state, justify="right")
    for model in dict.fromkeys(run.model for run in runs):
        own = [run.state for run in runs if run.model == model]
        table.add_row(model, *(str(own.count(state)) for state in states))
    console.print(table)
    errors = [run for run in runs if run.error]
    for run in errors[:most_errors]:
        console.print(f"{run.state}: {run.name}: {run.error}", style="yellow", highlight=False, soft_wrap=True)
    if len(errors) > most_errors:
        console.print(f"and {len(errors) - most_errors} more", style="yellow")
    left = seconds_left(runs)
    if left is None:
        console.print("time left: unknown, no run is finished")
    elif left:
        console.print(f"time left: about {_duration(left)}, one run after the other", highlight=False)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def _status(overrides: list[str]) -> None:
    if any(not override.startswith("paths.") for override in overrides):
        runs = runs_of_sweep(overrides)
    else:
        runs = runs_below(Path(compose_config(overrides).paths.output_dir).expanduser())
    print_status(list(runs))


main = main_of_sweep(_status, USAGE)

if __name__ == "__main__":
    main()
