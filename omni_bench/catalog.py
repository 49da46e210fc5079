"""`python -m omni_bench.catalog`: the dataset and task cards as tables."""

import csv
import io
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from omni_bench.cards import cards
from omni_bench.errors import BenchError
from omni_bench.explain import near
from omni_bench.files import write_atomically
from omni_bench.locate import card_root

USAGE = """
python -m omni_bench.catalog                                    all datasets and tasks
python -m omni_bench.catalog tasks status=unconfirmed           those whose columns hold these words
python -m omni_bench.catalog datasets access=open subtype=sleep ...
python -m omni_bench.catalog datasets format=csv                table | csv | markdown
python -m omni_bench.catalog docs=docs                          write datasets.md and taxonomy.md
"""

Row = dict[str, str]
DIMENSIONS = ("trait_state", "slow_fast", "passive_active")
REQUIRED = ("title", "citation", "licence", "access", "version")
REQUIRED_FACTS = (
    *("family", "subtype", *DIMENSIONS, "layout", "sfreq", "channels", "montage", "reference", "unit", "line_freq"),
    *("persons", "sessions", "reader", "checked", "faults"),
)
"""What the card of a benchmark dataset states."""
FORMATS = ("table", "csv", "markdown")
KINDS = ("datasets", "tasks")


@cache
def card(group: str, name: str) -> Mapping[str, Any]:
    """Content of a card over that of its base, references unresolved; ``dataset`` is the one that a task chooses."""
    file = card_root() / "conf" / group / f"{name}.yaml"
    found = yaml.load(file.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    content: dict[str, Any] = {}
    for default in found.pop("defaults", []):
        if isinstance(default, str) and default.startswith("base/"):
            content = {**card(group, default.partition("@")[0])}
        elif isinstance(default, dict) and "override /dataset@_global_.dataset" in default:
            content["dataset"] = default["override /dataset@_global_.dataset"]
    return {**content, **found}


def datasets() -> list[Row]:
    """One row per dataset card; what it does not state is empty."""
    rows = []
    for name in cards("dataset"):
        content = card("dataset", name)
        facts = content.get("facts") or {}
        row = {"dataset": name, "title": content.get("title", ""), "family": _family(content)}
        row |= {
            key: _text(facts.get(key)) for key in ("subtype", *DIMENSIONS, "persons", "sessions", "channels", "sfreq")
        }
        row |= {key: _text(content.get(key)) for key in ("access", "licence", "citation")}
        rows.append(row | {key: _text(facts.get(key)) for key in ("reader", "checked")})
    return rows


def tasks() -> list[Row]:
    """One row per task card."""
    families = {name: _family(card("dataset", name)) for name in cards("dataset")}
    rows = []
    for name, first_line in cards("task").items():
        content = card("task", name)
        chosen = content.get("dataset", "")
        classes = content.get("classes") or []
        rows.append(
            {
                "task": name,
                "title": content.get("title", ""),
                "dataset": chosen,
                "family": families.get(chosen) or _family(content),
                "kind": content["kind"],
                "classes": str(len(classes)) if classes else "",
                "window_s": _text(content.get("window_s")),
                "chance": _text((content.get("facts") or {}).get("chance")),
                "status": content.get("status", "ok"),
                "predicts": first_line.rstrip("."),
            }
        )
    return rows


def benchmark_datasets() -> list[str]:
    """Datasets that the tasks of the scalp benchmark choose."""
    chosen = {card("task", name).get("dataset", "") for name in cards("task") if _is_scalp_task(name)}
    return sorted(chosen - {""})


def _is_scalp_task(name: str) -> bool:
    content = card("task", name)
    return content.get("family") == "scalp" and "published" in (content.get("facts") or {})


def _family(content: Mapping[str, Any]) -> str:
    own = (content.get("facts") or {}).get("family")
    return own or content.get("family", "intracranial") + (" (synthetic)" if content.get("synthetic") else "")


def _text(value: Any) -> str:
    return "" if value is None else " ".join(str(value).split())


def chosen_rows(rows: Sequence[Row], filters: Mapping[str, str]) -> list[Row]:
    """Rows whose columns hold the words, in any case."""
    return [row for row in rows if all(word.lower() in row[key].lower() for key, word in filters.items())]


def as_csv(rows: Sequence[Row]) -> str:
    """Comma-separated, with a header."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def as_markdown(rows: Sequence[Row], columns: Sequence[str] | None = None) -> str:
    """A pipe table."""
    columns = columns or (list(rows[0]) if rows else [])
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    lines += ["| " + " | ".join(row[column].replace("|", r"\|") for column in columns) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def datasets_page() -> str:
    """docs/datasets.md."""
    names = benchmark_datasets()
    rows = datasets()
    own = [row for row in rows if row["dataset"] in names]
    others = [row for row in rows if row["dataset"] not in names]
    scalp = [row for row in tasks() if _is_scalp_task(row["task"])]
    parts = [
        "# Datasets and tasks\n",
        "Made from the cards by `python -m omni_bench.catalog docs=docs`. *checked* says what a reader was compared with: real",
        "files, documentation, or neither. A task's *status* is `unconfirmed` where its label rule is not known for sure; its",
        "card then has the rule as an option, and results carry the mark.\n",
        f"## Scalp benchmark: {len(own)} datasets\n",
        as_markdown(
            own, ["dataset", "title", "persons", "channels", "sfreq", "access", "licence", "reader", "checked"]
        ),
        f"## Scalp benchmark: {len(scalp)} tasks\n",
        as_markdown(scalp, ["task", "dataset", "predicts", "kind", "classes", "window_s", "chance", "status"]),
        "## Other datasets\n",
        as_markdown(others, ["dataset", "title", "family", "access", "licence"]),
        PREPROCESSED,
        "## Other tasks\n",
        as_markdown(
            [row for row in tasks() if row not in scalp], ["task", "predicts", "family", "kind", "window_s", "status"]
        ),
        "## Known faults\n",
    ]
    for name in names:
        faults = (card("dataset", name).get("facts") or {}).get("faults") or []
        if faults:
            parts.append(f"`{name}`\n\n" + "\n".join(f"- {_text(fault)}" for fault in faults) + "\n")
    return "\n".join(parts)


PREPROCESSED = """\
## Windows that are preprocessed already

Any classification task runs on a store of windows that were made for it; class indices are taken as the task's, nothing is
filtered or referenced again, and `task.window_s` must be the store's.

| card | protocols | models |
| --- | --- | --- |
| `packaged_h5` | `official_split`: no person ids | those without channel names, or all with `dataset.read.ch_names` |
| `omnieeg_hdf5` | all | all where `dataset_info.json` lists channel names, otherwise as above |
| `omnieeg_zarr` | all | all; needs the package zarr |

Models without channel names are `band_power`, `tangent_space`, `eegnet`, `eegconformer` and `cbramod`.

## Channels

Recordings of one dataset keep the channels that all of them have, in the first one's order; fewer than half of the largest
set is refused. `task.preprocessing.channels` (or `model.channels`) names wanted channels, `channel_policy` says what becomes
of those that a recording lacks:

| policy | a channel that is not there |
| --- | --- |
| `exact` | is refused |
| `intersection` | is left out, for all recordings |
| `zero` | is zero |
| `nearest` | is the closest one |
| `spline` | is MNE's spherical spline of all others |
| `bipolar` | a pair such as `F7-T7` is the difference of its electrodes, zero without them |

Fewer than half of the wanted channels are refused; for `nearest` and `spline` one within 3 cm counts. Names are compared
without case, `EEG`, blanks, dots and reference suffixes, T3 to T6 as T7, T8, P7, P8. BioSemi's plug positions (`A1` to
`B32`; `A1` to `D32` and more) and EGI's `E1` to `E256` have the positions of their caps. What was absent, left or made stands
in the result's `excluded`.

## Stores

A recording is read and filtered once: all its channels, referenced and band-passed as the task says, are stored at
`task.preprocessing.base_sfreq` (512 Hz for the scalp tasks) or their own rate, whichever is lower. What a model asks for, its
rate and its channels, is derived from that with an anti-aliasing filter, and kept as well. A base is made wherever the task
asks for one, so that a number never hangs on what happened to be stored; the base folder may be deleted, what derived from
it stays. `task.preprocessing.base_sfreq=null` derives nothing and saves the room; results agree to single precision for
recordings of up to 512 Hz.
"""


def taxonomy_page() -> str:
    """docs/taxonomy.md."""
    names = benchmark_datasets()
    rows = sorted(
        (row for row in datasets() if row["dataset"] in names), key=lambda row: (row["family"], row["subtype"])
    )
    parts = [
        "# Taxonomy of the scalp datasets\n",
        "Six families, and three dimensions: a *trait* is stable in a person, a *state* is of the moment; *slow* is a steady",
        "condition of many seconds, *fast* is locked to an event; *passive* is rest or perception, *active* a task. Made from",
        "the cards by `python -m omni_bench.catalog docs=docs`.\n",
    ]
    for family in dict.fromkeys(row["family"] for row in rows):
        members = [row for row in rows if row["family"] == family]
        parts += [f"## {family} ({len(members)})\n", as_markdown(members, ["subtype", "dataset", "title", *DIMENSIONS])]
    return "\n".join(parts)


def _print(title: str, rows: Sequence[Row], form: str) -> None:
    if form == "csv":
        print(as_csv(rows), end="")
    elif form == "markdown":
        print(as_markdown(rows), end="")
    else:
        from rich.console import Console
        from rich.table import Table

        shown = (
            "dataset",
            "task",
            "title",
            "family",
            "kind",
            "classes",
            "window_s",
            "persons",
            "access",
            "status",
            "checked",
        )
        columns = [key for key in (rows[0] if rows else {}) if key in shown]
        table = Table(*columns, title=f"{len(rows)} {title}")
        for row in rows:
            table.add_row(*(row[key] for key in columns))
        Console(width=None if sys.stdout.isatty() else 200).print(table)


def run(arguments: Sequence[str]) -> None:
    """The command with its arguments.

    Raises
    ------
    BenchError
        An argument that it does not know.
    """
    kinds = [argument for argument in arguments if "=" not in argument]
    filters = dict(argument.split("=", 1) for argument in arguments if "=" in argument)
    form, folder = filters.pop("format", "table"), filters.pop("docs", None)
    for kind in kinds:
        if kind not in KINDS:
            raise BenchError(
                f"{kind}: expected {' or '.join(KINDS)}, or a filter such as subtype=sleep{near(kind, KINDS)}"
            )
    if form not in FORMATS:
        raise BenchError(f"format={form}: expected {', '.join(FORMATS)}")
    if folder is not None:
        for name, page in (("datasets.md", datasets_page()), ("taxonomy.md", taxonomy_page())):
            write_atomically(Path(folder) / name, page)
            print(Path(folder) / name)
        return
    tables = {kind: datasets() if kind == "datasets" else tasks() for kind in kinds or KINDS}
    columns = list(dict.fromkeys(key for rows in tables.values() for key in rows[0]))
    for key in filters:
        if key not in columns:
            raise BenchError(f"{key}=: no such column{near(key, columns)} (there are {', '.join(columns)})")
    tables = {kind: rows for kind, rows in tables.items() if filters.keys() <= rows[0].keys()}
    if not tables:
        raise BenchError(f"{', '.join(filters)}: no table has all of these columns: name fewer")
    found = {kind: chosen_rows(rows, filters) for kind, rows in tables.items()}
    if not any(found.values()):
        raise BenchError(f"{' '.join('='.join(pair) for pair in filters.items())}: no row holds these words")
    for kind, rows in found.items():
        _print(kind, rows, form)


def main() -> None:
    """Console entry."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(USAGE.strip())
        return
    try:
        run(sys.argv[1:])
    except BenchError as error:
        print(f"omni_bench: {error}", file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
