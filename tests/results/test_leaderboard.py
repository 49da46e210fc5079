"""The leaderboard's numbers: from records to cells, boards, ranks and files."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from omni_bench.errors import BenchError
from omni_bench.results.board_charts import board_charts
from omni_bench.results.board_figures import cliques
from omni_bench.results.boards import ALL, boards_of, cells_of, rank_table
from omni_bench.results.collect import read_results
from omni_bench.results.leaderboard import build_leaderboard, write_leaderboard
from omni_bench.results.markup import latex_table, markdown_table
from omni_bench.results.ranks import rank_stability
from omni_bench.results.submission import SCHEMA_FILE, check_results, faults_of, schema_text
from tests.records import finished, published_records, write_records


def cells(tmp_path: Path, records: list[dict[str, Any]], seeds: int = 1) -> pd.DataFrame:
    return cells_of(read_results(write_records(tmp_path / "runs", records)).runs, seeds)


@pytest.mark.parametrize("table", [5, 6, 7])
def test_board_of_the_papers_own_tables_has_the_recomputed_ranks(tmp_path: Path, golden: Path, table: int) -> None:
    recomputed = pd.read_csv(golden / "ranks" / "average_ranks_recomputed_from_paper_tables.csv")
    chosen = recomputed[(recomputed["paper_table"] == table) & (recomputed["rows"] == "all rows")]
    board = build_leaderboard(write_records(tmp_path, published_records(table)), seeds=3)
    ranks = board.ranks[board.ranks["family"] == ALL]
    assert ranks["ranked"].all()
    found = ranks.assign(model=ranks["model"].str.removesuffix(" (from scratch)")).set_index("model")
    for rule, name in (("published", "lechance"), ("strict", "ltchance"), ("plain", "none")):
        expected = chosen[chosen["rule"] == name].set_index("model")
        assert found[rule].to_dict() == pytest.approx(expected["avg_rank"].to_dict(), abs=1e-3)
        assert found["n_tasks"].to_dict() == expected["n_ranked"].to_dict()
    assert found["published"].is_monotonic_increasing


def test_seeds_make_a_cell(tmp_path: Path) -> None:
    runs = [
        finished("t", "m", 0.6, seed=0, config_hash="a"),
        finished("t", "m", 0.9, seed=1, config_hash="b", finished="2026-01-01"),
        finished("t", "m", 0.8, seed=1, config_hash="c", finished="2026-02-01"),
    ]
    (cell,) = cells(tmp_path, runs, seeds=2).to_dict("records")
    assert cell["value"] == pytest.approx(0.7)
    assert (cell["ci_low"], cell["ci_high"]) == pytest.approx((0.65, 0.75))
    assert (cell["n_seeds"], cell["status"]) == (2, "ranked")
    assert cell["marks"] == "several configurations"


@pytest.mark.parametrize(
    ("changes", "status", "mark"),
    [
        ({}, "ranked", ""),
        ({"weights": {"source": "random", "pretrained": False, "sha256": None}}, "apart", "random start weights"),
        (
            {"weights": {"source": "random", "pretrained": False, "sha256": None}, "adaptation": "from_scratch"},
            "ranked",
            "random start weights",
        ),
        ({"threshold": {"rule": "youden_test", "value": 0.4}}, "apart", "fallback threshold"),
        ({"fallback": "multi_subject"}, "apart", "fallback protocol"),
        ({"synthetic": True}, "apart", "synthetic data"),
        ({"reduced": True}, "apart", "reduced settings"),
        ({"task_status": "unconfirmed"}, "apart", "labels unconfirmed"),
        ({"task": "region", "task_version": 0}, "apart", "old task version"),
        ({"pretraining_overlap": ["own"]}, "skipped", "pretraining overlap"),
    ],
)
def test_marks_and_where_they_put_a_cell(tmp_path: Path, changes: dict[str, Any], status: str, mark: str) -> None:
    (cell,) = cells(tmp_path, [finished("t", "m", 0.7) | changes]).to_dict("records")
    assert (cell["status"], cell["marks"]) == (status, mark)
    assert not mark or mark in cell["reasons"]


def test_cells_say_what_they_cost(tmp_path: Path) -> None:
    costs = [
        {"parameters": 100, "timing": {"step_s": 0.1, "fit_s": 8.0}, "memory": {"peak_rss_mb": 500.0}},
        {"parameters": 100, "timing": {"step_s": 0.3, "fit_s": 10.0}, "memory": {"peak_rss_mb": 700.0}},
    ]
    runs = [finished("t", "a", 0.7, seed=seed) | cost for seed, cost in enumerate(costs)]
    board = build_leaderboard(write_records(tmp_path / "runs", [*runs, finished("t", "b", 0.6)]), seeds=1)
    write_leaderboard(board, tmp_path / "out", seeds=1)
    table = pd.read_csv(tmp_path / "out" / "cells.csv").set_index("model")
    spent = ["parameters", "step_s", "fit_s", "peak_rss_mb"]
    assert table.loc["a", spent].tolist() == pytest.approx([100, 0.2, 9, 600])
    assert table.loc["b", [*spent, "samples_per_s", "peak_device_mb"]].isna().all()


def test_incomplete_seeds_are_ranked_apart(tmp_path: Path) -> None:
    runs = [finished("t", model, 0.7, seed=seed) for model in ("a", "b") for seed in range(3)]
    runs += [finished("t", model, 0.9, seed=0) for model in ("c", "d")]
    table = cells(tmp_path, runs, seeds=3).set_index("model")
    assert table["marks"].to_dict() == {"a": "", "b": "", "c": "1 of 3 seeds", "d": "1 of 3 seeds"}
    ranks = rank_table(boards_of(table.reset_index()))
    whole = ranks[ranks["family"] == ALL].set_index("model")
    assert whole["ranked"].to_dict() == {"a": True, "b": True, "c": False, "d": False}
    assert (whole["published"] == 1.5).all()


def test_baselines_rank_with_every_adaptation(tmp_path: Path) -> None:
    runs = [
        finished("t", "net", 0.7, adaptation="linear_probe"),
        finished("t", "net", 0.8, adaptation="full_finetune"),
        finished("t", "net", 0.6, adaptation="from_scratch"),
    ]
    boards = boards_of(cells(tmp_path, runs))
    entries = {board.adaptation: set(board.scores) for board in boards}
    assert entries == {
        "linear_probe": {"net", "net (from scratch)"},
        "full_finetune": {"net", "net (from scratch)"},
        ALL: {"net (linear probe)", "net (full finetune)", "net (from scratch)"},
    }
    table = rank_table(boards)
    of_all = table[(table["adaptation"] == ALL) & (table["family"] == ALL)]
    assert of_all["model"].tolist() == ["net (full finetune)", "net (linear probe)", "net (from scratch)"]


def test_a_task_with_one_model_ranks_nobody(tmp_path: Path) -> None:
    runs = [finished("t", "a", 0.7), finished("t", "b", 0.8), finished("u", "a", 0.9)]
    ranks = rank_table(boards_of(cells(tmp_path, runs)))
    of_all = ranks[ranks["family"] == ALL].set_index("model")
    assert of_all["published"].to_dict() == {"b": 1.0, "a": 2.0}
    assert of_all["n_tasks"].to_dict() == {"b": 1, "a": 1}


def test_other_windows_rates_and_sources_are_other_tasks(tmp_path: Path) -> None:
    of_card = {"window_s": 60, "sfreq": 1000, "val_fraction": 0.2, "min_test_s": 0}
    official = {"protocol": "official_split"}
    runs = [
        finished("region", "m", 0.7, **official, options=of_card),
        finished("region", "m", 0.7, **official, options=of_card | {"sfreq": 500}),
        finished("region", "m", 0.7, **official, options=of_card | {"window_s": 30, "min_test_s": 122}),
        finished("region", "m", 0.7, protocol="leave_one_dataset_out", options={"held_out": "hup"}),
        finished("t", "m", 0.7, protocol="few_shot", options={"fraction": 0.1}),
        finished(
            "t", "m", 0.7, protocol="channel_masking", options={"max_per_class": 20, "p": 0.4, "splits": ["test"]}
        ),
    ]
    table = cells(tmp_path, runs)
    assert set(zip(table["task"], table["protocol"], strict=True)) == {
        ("region", "official_split"),
        ("region (500 Hz)", "official_split"),
        ("region (30 s)", "official_split min_test_s=122"),
        ("region (on hup)", "leave_one_dataset_out"),
        ("t", "few_shot fraction=0.1"),
        ("t", "channel_masking max_per_class=20 p=0.4"),
    }
    assert table.loc[table["task"] == "region", ["chance", "family"]].to_numpy().tolist() == [[0.5, "intracranial"]]


def test_scalp_tasks_take_family_chance_and_status_from_their_cards(tmp_path: Path) -> None:
    (cell,) = cells(tmp_path, [finished("hbn", "m", 0.2, dataset="hbn", chance=0.9)]).to_dict("records")
    assert cell["family"] == "III consciousness and state"
    assert cell["chance"] == pytest.approx(1 / 13, abs=1e-4)
    assert cell["marks"] == "labels unconfirmed"


@pytest.mark.parametrize(
    ("model", "dataset", "pretrained", "stated", "skipped"),
    [
        ("cbramod", "tuab", True, None, True),
        ("cbramod", "tuab", False, None, False),
        ("cbramod", "tuab", True, False, False),
        ("cbramod", "ad65", True, None, False),
        ("labram", "physionet_mi", True, None, True),
        ("unlisted", "tuab", True, None, False),
    ],
)
def test_pretraining_overlap_by_the_models_card(
    tmp_path: Path, model: str, dataset: str, pretrained: bool, stated: bool | None, skipped: bool
) -> None:
    weights = {"source": "hub", "pretrained": pretrained, "sha256": None}
    run = finished("t", model, 0.7, dataset=dataset, weights=weights, pretraining_overlap=stated)
    (cell,) = cells(tmp_path, [run]).to_dict("records")
    assert (cell["status"] == "skipped") == skipped


def test_rank_stability() -> None:
    ranks = pd.DataFrame({"a": [1, 1, 1, 1.0], "b": [2, 3, 2, 2.0], "c": [3, 2, 3, np.nan]})
    table = rank_stability(ranks, n_boot=500)
    assert table.index.tolist() == ["a", "b", "c"]
    assert table.loc["a"].tolist() == [1, 1, 1, 1]
    assert table.loc["b", "low"] == 2
    assert 2.5 <= table.loc["b", "high"] <= 3
    pd.testing.assert_frame_equal(table, rank_stability(ranks, n_boot=500))
    equal = rank_stability(pd.DataFrame({"a": [1.5, 1.5], "b": [1.5, 1.5]}))
    assert equal["first"].tolist() == [0.5, 0.5]


def test_cliques_of_demsar() -> None:
    # average ranks there: no pair differs by the 1.25 of 0.05; the groups of Figure 1(a) are those of 0.10
    ranks = pd.Series([1.964, 2.000, 2.893, 3.143])
    assert cliques(ranks, 1.25) == [(0, 3)]
    assert cliques(ranks, 1.12) == [(0, 2), (2, 3)]
    assert cliques(ranks, 0.01) == []


def test_charts_hold_their_data_and_say_it_in_words(tmp_path: Path) -> None:
    board = build_leaderboard(write_records(tmp_path, published_records(6)), seeds=3)
    (own,) = board.boards
    charts = {chart.title: chart for chart in board_charts(own)}
    assert set(charts) == {"Stability of ranks", "Families of tasks", "Critical difference", "Tasks"}
    assert len({chart.name for chart in charts.values()}) == 4
    assert "CBraMod" in charts["Critical difference"].alt
    radar = charts["Families of tasks"].data
    expected = board.ranks[(board.ranks["family"] == "Type-IV") & (board.ranks["model"] == "REVE")]["published"]
    assert radar.loc["REVE", "Type-IV"] == pytest.approx(expected.iloc[0])
    assert len(charts["Tasks"].data) == own.scores.notna().sum().sum()


def test_files_agree_and_text_stays_text(tmp_path: Path) -> None:
    evil = "a|b_</script><b>&%"
    runs = [finished("t", evil, 0.9), finished("t", "plain", 0.6)]
    board = build_leaderboard(write_records(tmp_path / "runs", runs), seeds=1)
    page = write_leaderboard(board, tmp_path / "out", seeds=1)
    assert page.name == "index.html"
    ranks = pd.read_csv(tmp_path / "out" / "ranks.csv")
    assert ranks[ranks["family"] == ALL]["model"].tolist() == [evil, "plain"]
    markdown = (tmp_path / "out" / "leaderboard.md").read_text()
    assert r"| 1 | a\|b_&lt;/script&gt;&lt;b&gt;&amp;% | 1.00 | 1.00 | 1.00 | 1 of 1 |" in markdown
    assert r"1 & a|b\_</script><b>\&\% & 1.00" in (tmp_path / "out" / "leaderboard.tex").read_text()
    text = page.read_text()
    assert "</script><b>" not in text
    assert text.count("<script>") == text.count("</script>") == 1


def test_tables_of_markup() -> None:
    assert markdown_table(["a", "n"], [["x", "1"]], [False, True]) == "| a | n |\n| --- | ---: |\n| x | 1 |\n"
    latex = latex_table(["a_b", "n"], [["50 %", "−1"]], [False, True], "c & d")
    assert r"\begin{tabular}{lr}" in latex
    assert r"a\_b & n \\" in latex
    assert r"50 \% & $-$1 \\" in latex
    assert r"\caption{c \& d}" in latex


def test_what_is_no_completed_run_is_listed(tmp_path: Path) -> None:
    folder = write_records(
        tmp_path, [finished("t", "a", 0.7), finished("t", "b", 0.7, status="failed"), {"model": "c", "seed": 0}]
    )
    (folder / "d").mkdir()
    (folder / "d" / "result.json").write_text("{")
    found = read_results(folder)
    assert len(found.runs) == 1
    assert sorted(line.split(": ")[1] for line in found.left_out) == ["None", "failed", "result.json cannot be read"]
    with pytest.raises(BenchError, match="no such folder"):
        read_results(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BenchError, match=r"no result\.json below it"):
        read_results(tmp_path / "empty")


def test_shipped_schema_is_that_of_the_check() -> None:
    assert SCHEMA_FILE.read_text() == schema_text()


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({}, ""),
        ({"seed": "0"}, "seed: Input should be a valid integer, found '0'"),
        ({"status": "failed"}, "status: String should match pattern"),
        ({"model": "<b>"}, "model: String should match pattern"),
        (
            {"metrics": {"auc": {"value": 1, "ci_low": 0, "ci_high": 1, "ci_unit": None, "n": 3}}},
            "no balanced_accuracy",
        ),
        (
            {"metrics": {"balanced_accuracy": {"value": 1, "ci_low": 1, "ci_high": 0, "ci_unit": None, "n": 3}}},
            "ci_low = 1 is above ci_high = 0",
        ),
        ({"counts": {}}, "no test split"),
    ],
)
def test_check_of_third_party_results(tmp_path: Path, changes: dict[str, Any], fault: str) -> None:
    record = finished("t", "m", 0.7) | changes
    assert fault in "\n".join(faults_of(record))
    assert bool(fault) == bool(faults_of(record))
    file = tmp_path / "r.json"
    file.write_text(json.dumps(record))
    if fault:
        with pytest.raises(BenchError, match="1 of 1 results have faults"):
            check_results(tmp_path)
    else:
        assert check_results(file) == 1


def test_command(tmp_path: Path) -> None:
    folder = write_records(tmp_path / "a b", [finished("t", "x[1]", 0.9), finished("t", "y", 0.6)])
    command = [sys.executable, "-X", "importtime", "-m", "omni_bench.leaderboard"]
    done = subprocess.run([*command, f"results={folder}", "seeds=1"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "x[1]" in done.stdout
    assert (folder / "leaderboard" / "index.html").is_file()
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "pandas" in imported
    assert not {"torch", "mne", "transformers", "lightning"} & imported
    wrong = subprocess.run(
        [*command[:1], *command[3:], f"results={tmp_path}/none"], capture_output=True, text=True, check=False
    )
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("omni_bench: results=")
