"""Published tables beside ours: every printed cell has our value or a reason."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from omni_bench.cards import cards, experiments
from omni_bench.errors import BenchError
from omni_bench.results.comparison import TABLES, compare, published_table
from omni_bench.results.comparison_page import HEAD, comparison_rows, write_comparison
from tests.browser import opened
from tests.records import finished, write_records

OFFICIAL: dict[str, Any] = {"protocol": "official_split", "adaptation": "from_scratch", "dataset": "omni_ieeg"}
OPTIONS = {"window_s": 60, "sfreq": 1000, "min_test_s": 0, "val_fraction": 0.2}


def metrics(**values: float | None) -> dict[str, Any]:
    return {
        name: {
            "value": value,
            "ci_low": None if value is None else value - 0.1,
            "ci_high": None if value is None else value + 0.1,
            "ci_unit": "person",
            "n": 95,
            **({"note": "no operated patient"} if value is None else {}),
        }
        for name, value in values.items()
    }


def region(model: str, seed: int = 0, **changes: Any) -> dict[str, Any]:
    found = metrics(auc=0.8, f1_macro=0.6, outcome_auc=None)
    return finished("region", model, 0.7, seed=seed, options=OPTIONS, metrics=found, **OFFICIAL) | changes


@pytest.mark.parametrize("experiment", TABLES)
def test_every_printed_cell_has_a_reason_where_nothing_ran(tmp_path: Path, experiment: str) -> None:
    table = published_table(experiment)
    cells = compare(experiment, tmp_path)
    assert len(cells) == len(table.rows) * len(table.metrics) > 0
    assert cells["ours"].isna().all()
    assert cells["remark"].str.contains("no finished run|no run: it needs the paper's own checkpoint").all()
    assert not cells.duplicated(["row", "metric"]).any()


@pytest.mark.parametrize("experiment", TABLES)
def test_what_is_wanted_exists_as_cards(experiment: str) -> None:
    table = published_table(experiment)
    wanted = [table.wanted(row) for row in table.rows.to_dict("records")]
    for group in ("task", "model", "protocol", "adaptation"):
        assert {found[group] for found in wanted if group in found} <= set(cards(group))


def test_every_experiment_of_a_printed_table_is_known() -> None:
    assert {name for name in experiments() if name.startswith("omni_ieeg/")} <= set(TABLES)


def test_ours_published_difference_and_interval(tmp_path: Path) -> None:
    runs = [region("clap", seed) for seed in range(2)]
    runs[1]["metrics"] = metrics(auc=0.7, f1_macro=0.5, outcome_auc=None)
    runs.append(region("clap", synthetic=True, dataset="demo_ieeg", finished="2027-01-01"))
    runs.append(region("clap", options=OPTIONS | {"sfreq": 500}, finished="2027-01-01"))
    cells = compare("omni_ieeg/table5", write_records(tmp_path, runs)).set_index(["row", "metric"])
    auc = cells.loc[("segment · CLAP", "auc")]
    assert auc[["ours", "ci_low", "ci_high"]].tolist() == pytest.approx([0.75, 0.65, 0.85])
    assert auc["published"] == 0.7684
    assert auc["difference"] == pytest.approx(0.75 - 0.7684)
    assert (auc["n_seeds"], auc["dataset"], auc["remark"], auc["inside"]) == (2, "omni_ieeg", "", True)
    assert cells.loc[("segment · CLAP", "f1_macro"), "ours"] == pytest.approx(0.55)
    assert cells.loc[("segment · CLAP", "outcome_auc"), "remark"] == "not defined: no operated patient"
    assert cells.loc[("segment · CLAP", "specificity"), "remark"] == "not defined: the run has no specificity"
    assert cells.loc[("event · eHFO", "auc"), "remark"].startswith("no run: it needs the paper's own checkpoint")
    assert "recall of pathological channels" in cells.loc[("event · eHFO", "specificity"), "remark"]
    assert cells.loc[("segment · SEEG-NET", "auc"), "remark"] == "no finished run in these results"


def test_a_marked_run_stands_where_there_is_no_other(tmp_path: Path) -> None:
    folder = write_records(tmp_path, [region("clap", synthetic=True, reduced=True, dataset="demo_ieeg")])
    cells = compare("omni_ieeg/table5", folder).set_index(["row", "metric"])
    cell = cells.loc[("segment · CLAP", "auc")]
    assert (cell["ours"], cell["dataset"], cell["remark"]) == (0.8, "demo_ieeg", "synthetic data; reduced settings")


def test_rows_find_their_own_window_and_source(tmp_path: Path) -> None:
    runs = [
        region("timeconv_cnn", options=OPTIONS | {"window_s": seconds, "min_test_s": 122}, metrics=metrics(auc=auc))
        for seconds, auc in ((30, 0.71), (120, 0.72))
    ]
    runs += [
        region("clap", protocol="leave_one_dataset_out", options={"held_out": name}, metrics=metrics(auc=auc))
        for name, auc in (("openieeg", 0.61), ("sourcesink", 0.62))
    ]
    folder = write_records(tmp_path, runs)
    lengths = compare("omni_ieeg/table11", folder).set_index(["row", "metric"])["ours"]
    assert lengths.xs("auc", level="metric").fillna(0).to_dict() == {"30": 0.71, "60": 0, "120": 0.72}
    sources = compare("omni_ieeg/table10", folder).set_index(["row", "metric"])["ours"]
    assert sources[("openieeg · CLAP", "auc")] == 0.61
    assert sources[("sourcesink · CLAP", "auc")] == 0.62
    assert compare("omni_ieeg/table5", folder)["ours"].isna().all()


def test_scalp_tables_by_task_and_adaptation(tmp_path: Path) -> None:
    runs = [
        finished("ad65", "cbramod", 0.5, adaptation="linear_probe"),
        finished("ad65", "cbramod", 0.6, adaptation="full_finetune"),
        finished("ad65", "eegnet", 0.4, adaptation="from_scratch"),
    ]
    folder = write_records(tmp_path, runs)
    probe = compare("omni_eegbench/leaderboard", folder).set_index("row")
    tuned = compare("omni_eegbench/finetune", folder).set_index("row")
    assert probe.loc["AD65 · CBraMod", "ours"] == 0.5
    assert tuned.loc[["AD65 · CBraMod", "AD65 · EEGNet"], "ours"].tolist() == [0.6, 0.4]
    dash = probe[probe["published"].isna()]
    assert len(dash) == 57 * 10 - 520
    assert dash["remark"].str.endswith("not printed").all()


def studied(experiment: str, rows: list[tuple[dict[str, Any], dict[str, float]]], **changes: Any) -> dict[str, Any]:
    """A finished study whose values carry an interval of ±0.1."""
    named = [{"options": options, "metrics": metrics(**values)} for options, values in rows]
    return finished("region", "timeconv_cnn", None, experiment=experiment, rows=named, metrics={}, **OFFICIAL) | changes


def test_studies_stand_beside_what_their_text_prints(tmp_path: Path) -> None:
    rows = [({"permute": "person"}, {"p": 0.30, "homogeneity": 0.4}), ({"permute": "window"}, {"p": 0.02})]
    write_records(tmp_path, [studied("omni_ieeg/permutation", rows, seed=seed) for seed in range(2)], "study.json")
    write_records(tmp_path / "runs", [region("clap", experiment="omni_ieeg/permutation")])
    cells = compare("omni_ieeg/permutation", tmp_path).set_index(["row", "metric"])
    of_windows = cells.loc[("window", "p")]
    assert of_windows[["ours", "published", "difference"]].tolist() == pytest.approx([0.02, 0.88, -0.86])
    assert (of_windows["n_seeds"], of_windows["inside"], of_windows["remark"]) == (2, False, "")
    assert cells.loc[("person", "p"), "remark"] == "not printed"
    assert cells.loc[("person", "homogeneity"), "ours"] == 0.4
    assert cells.loc[("window", "n_windows"), "remark"] == "not defined: the run has no n_windows"
    page, markdown, *_ = write_comparison("omni_ieeg/permutation", cells.reset_index(), tmp_path / "out")
    assert "Clopper and Pearson" in page.read_text()
    assert "bootstrap of persons" not in page.read_text()
    assert "| window | p value | 0.020 | −0.080 to 0.120 | 0.880 | −0.860 | no |" in markdown.read_text()


def test_counts_are_shown_whole_and_bands_found_by_their_edges(tmp_path: Path) -> None:
    heard = studied("omni_ieeg/hearable", [({"name": "Helicopter"}, {"top1_soz": 90.0, "n_soz": 276.0})])
    bands = [({"low": 30, "high": 80}, {"importance_rank": 1.0}), ({"low": 10, "high": 30}, {"importance_rank": 2.0})]
    write_records(tmp_path, [heard, studied("omni_ieeg/shap", bands)], "study.json")
    rows = comparison_rows(compare("omni_ieeg/hearable", tmp_path))
    assert [rows[0][i] for i in (1, 2, 4, 5)] == ["Heard first, SOZ", "90", "87", "3"]
    assert "theirs by YAMNet" in rows[0][-1]
    rank = compare("omni_ieeg/shap", tmp_path).iloc[0]
    assert (rank["row"], rank["ours"], rank["published"]) == ("10 · 30", 2, 1)


def test_files_hold_every_cell_and_escape_text(tmp_path: Path) -> None:
    folder = write_records(tmp_path / "runs", [region("clap", dataset="<b>&_")])
    cells = compare("omni_ieeg/table5", folder)
    page, markdown, latex, table = write_comparison("omni_ieeg/table5", cells, tmp_path / "out")
    assert pd.read_csv(table)["published"].tolist() == cells["published"].tolist()
    assert "<b>" not in page.read_text()
    assert page.read_text().count("<tr>") == len(cells) + 1
    assert len([line for line in markdown.read_text().splitlines() if line.startswith("|")]) == len(cells) + 2
    assert r"<b>\&\_, 1 seeds" in latex.read_text()
    row = next(texts for texts in comparison_rows(cells) if texts[0] == "segment · CLAP" and texts[1] == "ROC AUC")
    assert row == ["segment · CLAP", "ROC AUC", "0.800", "0.700 to 0.900", "0.768", "0.032", "yes", "<b>&_, 1 seeds"]
    assert len(row) == len(HEAD)


def test_page_needs_no_network(tmp_path: Path) -> None:
    folder = write_records(tmp_path / "runs", [region("clap")])
    page_file, *_ = write_comparison("omni_ieeg/table5", compare("omni_ieeg/table5", folder), tmp_path)
    for dark in (False, True):
        with opened(page_file, dark) as (page, requests):
            row = page.locator("tbody", has_text="CLAP").locator("tr", has_text="ROC AUC")
            assert row.locator("td").all_inner_texts()[1:5] == ["0.800", "0.700 to 0.900", "0.768", "0.032"]
            assert requests == [page_file.as_uri()]


def test_command(tmp_path: Path) -> None:
    folder = write_records(tmp_path, [region("clap")])
    command = [sys.executable, "-m", "omni_bench.report", "experiment=omni_ieeg/table5", f"results={folder}"]
    wide = os.environ | {"COLUMNS": "160"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=wide)
    assert done.returncode == 0, done.stderr
    assert (folder / "tables" / "omni_ieeg_table5.html").is_file()
    assert done.stdout.count("Outcome AUC") == 6


def test_bad_input_is_named(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=r"experiment=omni_ieeg/tabel5: .* did you mean 'omni_ieeg/table5'"):
        compare("omni_ieeg/tabel5", tmp_path)
    with pytest.raises(BenchError, match="no such folder"):
        compare("omni_ieeg/table5", tmp_path / "none")
