"""Finished runs as one table, from their ``result.json`` and the cards; no run's other files are opened."""

import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from omni_bench.errors import BenchError
from omni_bench.locate import card_root
from omni_bench.results.marks import Mark, marks_of
from omni_bench.results.overlap import pretraining_overlap

if TYPE_CHECKING:
    import pandas as pd

LEVELS = ("fraction", "p", "n_persons")
"""Options that curves run over: share of training samples, share of masked channels, training patients."""
SWEPT = (*LEVELS, "held_out")
"""Options that are part of a protocol's name on the board whatever their value."""


COSTS = {"timing": ("step_s", "fit_s", "samples_per_s"), "memory": ("peak_rss_mb", "peak_device_mb")}
"""What a run cost, by the part of its record: seconds, windows predicted per second, MB."""


@dataclass(frozen=True)
class Results:
    """What lies below a folder of results.

    Attributes
    ----------
    runs
        One row per completed run; see `row_of`.
    left_out
        One line per record that is no completed run, and why.
    """

    runs: "pd.DataFrame"
    left_out: list[str]


def records_below(folder: Path, record_name: str = "result.json") -> Iterator[tuple[Path, dict[str, Any] | None]]:
    """Every file of that name below a folder with its content, None where it cannot be read; in the order of names."""
    with os.scandir(folder) as entries:
        found = sorted((entry.name, entry.is_dir()) for entry in entries)
    if (record_name, False) in found:
        file = folder / record_name
        try:
            record = json.loads(file.read_bytes(), parse_constant=float)
        except (OSError, ValueError):
            record = None
        yield file, record if isinstance(record, dict) else None
        return
    for name, is_folder in found:
        if is_folder:
            yield from records_below(folder / name, record_name)


def read_results(folder: Path) -> Results:
    """Read every run below a folder.

    Raises
    ------
    BenchError
        There is no such folder, or no result in it.
    """
    import pandas as pd

    if not folder.is_dir():
        raise BenchError(f"results={folder}: no such folder: name the output_dir of runs, or a folder of result.json")
    rows, left_out = [], []
    for file, record in records_below(folder):
        where = file.parent.relative_to(folder).as_posix()
        if record is None:
            left_out.append(f"{where}: result.json cannot be read")
        elif record.get("status") != "completed":
            left_out.append(f"{where}: {record.get('status')}")
        else:
            try:
                rows.append(row_of(record) | {"where": where})
            except (KeyError, TypeError, AttributeError) as error:
                left_out.append(f"{where}: no valid record ({type(error).__name__}: {error}): see check={file}")
    if not rows and not left_out:
        raise BenchError(f"results={folder}: no result.json below it: finish a run first, or name another folder")
    return Results(pd.DataFrame(rows, columns=None if rows else ["task"]), left_out)


def row_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """A completed run as one row.

    A task's family, first metric, chance and label status come from its card; the record's own words count where the
    task has no card.

    Returns
    -------
    ``task`` (as on the board: with held-out source, window and rate where they are not the card's), ``dataset``,
    ``family``, ``metric``, ``chance``, ``model``, ``protocol`` (with the options it was run under), ``base_protocol``,
    ``level`` (value of one of `LEVELS`, NaN = none), ``adaptation``, ``seed``, ``value``,
    ``ci_low``, ``ci_high``, ``n``, ``overlap``, ``marks`` (tuple of `Mark`), ``finished``, ``config_hash``,
    ``experiment``, ``parameters`` and the names of `COSTS` (NaN = not recorded).
    """
    card = _card("task", record["task"])
    options = record.get("options") or {}
    metric, chance = primary_metric(record)
    entry = record["metrics"].get(metric) or {}
    protocol = record["protocol"]
    stated = _stated_options(protocol, options)
    model = record["model"] + (f" (compat={record['compat']})" if record.get("compat") else "")
    return {
        "task": record["task"] + _variant(card, options, stated),
        "dataset": record["dataset"],
        "family": _family(record, card),
        "metric": metric,
        "chance": chance,
        "model": model,
        "protocol": " ".join([protocol, *(f"{key}={_text(value)}" for key, value in stated.items())]),
        "base_protocol": protocol,
        "level": next((float(options[key]) for key in LEVELS if key in options), math.nan),
        "adaptation": record["adaptation"],
        "seed": record["seed"],
        **{key: _number(entry.get(key)) for key in ("value", "ci_low", "ci_high")},
        "n": int(entry.get("n") or 0),
        "overlap": _overlaps(record),
        "marks": tuple(marks_of(record) + _task_marks(record, card)),
        "finished": record.get("finished") or "",
        "config_hash": record["config_hash"],
        "experiment": record.get("experiment"),
        "parameters": _number(record.get("parameters")),
        **{name: _number((record.get(part) or {}).get(name)) for part, names in COSTS.items() for name in names},
    }


def primary_metric(record: Mapping[str, Any]) -> tuple[str, float]:
    """Name of the metric that a task is ranked by, and its chance level.

    Balanced accuracy against 1 / number of classes unless the task's card says otherwise.
    """
    card = _card("task", record["task"])
    facts = card.get("facts") or {}
    regression = card.get("kind") == "regression"
    metric = facts.get("primary") or record.get("primary") or ("r2" if regression else "balanced_accuracy")
    chance = facts.get("chance", record.get("chance"))
    if chance is None:
        per_class = (record["counts"].get("test") or {}).get("per_class") or {}
        n_classes = len(card["classes"]) if isinstance(card.get("classes"), list) else len(per_class)
        chance = 0.0 if regression or not n_classes else 1 / n_classes
    return metric, float(chance)


def _overlaps(record: Mapping[str, Any]) -> bool:
    """Whether a model has met the dataset in pretraining: as the record says, else by the model's card."""
    stated = record.get("pretraining_overlap")
    if stated is not None or not (record.get("weights") or {}).get("pretrained"):
        return bool(stated)
    return bool(pretraining_overlap(_card("model", record["model"]).get("facts") or {}, record["dataset"]))


def _family(record: Mapping[str, Any], card: Mapping[str, Any]) -> str:
    """That of the dataset in the benchmark's own words, else the task's."""
    facts = _card("dataset", record["dataset"]).get("facts") or {}
    # intracranial is what a card says by saying nothing
    own = card.get("family", "intracranial") if card else record.get("family", "unlisted")
    return facts.get("family", own)


def model_facts() -> "pd.DataFrame":
    """Year, parameters and pretraining of every model card, indexed by model."""
    import pandas as pd

    keys = ["year", "parameters", "pretraining_datasets", "pretraining_persons", "pretraining_hours"]
    names = sorted(file.stem for file in (card_root() / "conf" / "model").glob("*.yaml"))
    facts = {name: _card("model", name).get("facts") or {} for name in names}
    table = pd.DataFrame({name: {key: found.get(key) for key in keys} for name, found in facts.items()}).T
    return table.apply(pd.to_numeric, errors="coerce").rename_axis("model")


@cache
def _card(group: str, name: str) -> dict[str, Any]:
    file = card_root() / "conf" / group / f"{name}.yaml"
    if not file.is_file():
        return {}
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    content: dict[str, Any] = yaml.load(file.read_text(encoding="utf-8"), loader) or {}
    own: dict[str, Any] = content.get(group) or content
    bases = [entry.removesuffix("@_here_") for entry in content.get("defaults", []) if isinstance(entry, str)]
    inherited = [_card(group, base) for base in bases if base != "_self_"]
    return {key: value for card in (*inherited, own) for key, value in card.items()}


def _stated_options(protocol: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a protocol that its name must carry: the swept ones, and those that are not the card's."""
    card = _card("protocol", protocol)
    default = {**(card.get("split") or {}), **(card.get("corruption") or {})}
    own = {key: value for key, value in options.items() if key not in ("window_s", "sfreq")}
    return {key: value for key, value in own.items() if key in SWEPT or _departs(value, default.get(key, value))}


def _departs(value: Any, default: Any) -> bool:
    # what a card takes from elsewhere in the configuration is no default of its own
    return value != default and not str(default).startswith("${")


def _variant(card: Mapping[str, Any], options: Mapping[str, Any], stated: dict[str, Any]) -> str:
    """What the task's name carries where windows, rate or held-out source make it another one.

    The held-out source leaves the protocol's options: it is another test, not another way to test.
    """
    parts = []
    if "held_out" in stated:
        parts.append(f"on {stated.pop('held_out')}")
    if card and options.get("window_s") not in (None, card.get("window_s")):
        parts.append(f"{options['window_s']:g} s")
    sfreq = (card.get("preprocessing") or {}).get("sfreq")
    if isinstance(sfreq, int | float) and options.get("sfreq") not in (None, sfreq):
        parts.append(f"{options['sfreq']:g} Hz")
    return f" ({', '.join(parts)})" if parts else ""


def _task_marks(record: Mapping[str, Any], card: Mapping[str, Any]) -> list[Mark]:
    status = card.get("status") or record.get("task_status") or "ok"
    marks = [] if status == "ok" else [Mark(f"labels {status}", "the task card says so")]
    version = card.get("version", record.get("task_version"))
    if record.get("task_version") != version:
        marks.append(Mark("old task version", f"run under version {record.get('task_version')}, now {version}"))
    return marks


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)
