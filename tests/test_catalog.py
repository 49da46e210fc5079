"""What the cards say, all of it, and the pages made of them."""

import csv
import io
import subprocess
import sys
from pathlib import Path

import pytest

from omni_bench import catalog
from omni_bench.cards import cards
from omni_bench.errors import BenchError

ROOT = Path(__file__).parents[1]


def test_the_benchmarks_size() -> None:
    """54 datasets and 58 tasks, and SEED-VIG once more as a regression."""
    tasks = [row for row in catalog.tasks() if row["dataset"] in catalog.benchmark_datasets()]
    assert len(catalog.benchmark_datasets()) == 54
    assert len([row for row in tasks if row["kind"] != "regression"]) == 58
    assert [row["dataset"] for row in tasks if row["kind"] == "regression"] == ["seed_vig"]
    assert {row["family"].split()[0] for row in tasks} == {"I", "II", "III", "IV", "V", "VI"}


def test_every_dataset_card_is_complete() -> None:
    lacking = []
    for name in catalog.benchmark_datasets():
        content = catalog.card("dataset", name)
        facts = content.get("facts") or {}
        lacking += [f"{name}: {key}" for key in catalog.REQUIRED if not content.get(key)]
        lacking += [f"{name}: facts.{key}" for key in catalog.REQUIRED_FACTS if facts.get(key) in (None, "")]
        values = {"trait_state": "trait state", "slow_fast": "slow fast", "passive_active": "passive active"}
        lacking += [f"{name}: facts.{key}" for key, words in values.items() if facts.get(key) not in words.split()]
        if not isinstance(facts.get("faults"), list):
            lacking.append(f"{name}: facts.faults is no list")
    assert lacking == []


def test_every_task_card_is_complete() -> None:
    lacking = []
    for row in catalog.tasks():
        if row["dataset"] not in catalog.benchmark_datasets():
            continue
        needed = ("title", "family", "kind", "window_s", "status", "predicts")
        lacking += [f"{row['task']}: {key}" for key in needed if not row[key]]
        if row["status"] not in ("ok", "unconfirmed", "suspect", "withdrawn"):
            lacking.append(f"{row['task']}: status {row['status']}")
        if row["kind"] != "regression" and float(row["chance"]) != pytest.approx(1 / int(row["classes"]), abs=1e-4):
            lacking.append(f"{row['task']}: chance {row['chance']} of {row['classes']} classes")
    assert lacking == []


@pytest.mark.parametrize("group", ["dataset", "task"])
def test_nothing_is_left_to_do(group: str) -> None:
    folder = ROOT / "conf" / group
    assert [name for name in cards(group) if "TODO" in (folder / f"{name}.yaml").read_text(encoding="utf-8")] == []


@pytest.mark.parametrize(
    ("name", "page"), [("datasets.md", catalog.datasets_page), ("taxonomy.md", catalog.taxonomy_page)]
)
def test_pages_are_those_of_the_cards(name: str, page: object) -> None:
    written = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert callable(page)
    assert written == page(), "make them again: python -m omni_bench.catalog docs=docs"


def test_filters(capsys: pytest.CaptureFixture[str]) -> None:
    catalog.run(["datasets", "subtype=sleep", "format=csv"])
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["dataset"] for row in rows] == ["hmc", "isruc_1", "isruc_2", "isruc_3", "sleep_edf"]
    catalog.run(["tasks", "dataset=mpi_lemon", "format=markdown"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| lemon_age", "| lemon_extraversion", "| lemon_gender"]
    catalog.run(["family=synthetic", "format=csv"])
    assert {"demo_eeg", "demo_ieeg"} <= {line.split(",")[0] for line in capsys.readouterr().out.splitlines()}


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("task", "task: expected datasets or tasks"),
        ("format=xml", "format=xml: expected table, csv, markdown"),
        ("familly=sleep", "familly=: no such column; did you mean 'family'"),
    ],
)
def test_arguments_that_do_not_exist(argument: str, message: str) -> None:
    with pytest.raises(BenchError, match=message):
        catalog.run(["datasets", argument])


def test_filters_that_no_table_has_are_refused() -> None:
    with pytest.raises(BenchError, match="familly=: no such column; did you mean 'family'"):
        catalog.run(["familly=sleep"])
    with pytest.raises(BenchError, match="persons, chance: no table has all of these columns"):
        catalog.run(["persons=10", "chance=0.5"])
    with pytest.raises(BenchError, match="family=sleep: no row holds these words"):
        catalog.run(["family=sleep"])


def test_command_imports_nothing_heavy() -> None:
    script = (
        "import sys; sys.argv = ['catalog', 'tasks', 'status=suspect']; from omni_bench import catalog; catalog.main(); "
        "assert not {'torch', 'pandas', 'mne', 'lightning'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
