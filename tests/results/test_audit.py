"""The audit against hand computation and the figures that the facts state."""

import math
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import precision_recall_fscore_support

from omni_bench.results import audit as findings
from omni_bench.results.audit import audit, hanley_mcneil_error, threshold_metrics
from omni_bench.results.audit_page import audit_page

DOCS = Path(__file__).parents[2] / "docs" / "audit.md"


def test_threshold_metrics_are_those_of_a_confusion_matrix() -> None:
    truth = np.repeat([1, 1, 0, 0], [30, 10, 20, 140])
    called = np.repeat([1, 0, 1, 0], [30, 10, 20, 140])
    precision, recall, f1, _ = precision_recall_fscore_support(truth, called, average="macro")
    found = threshold_metrics(30 / 40, 140 / 160, 40, 160)
    assert found == pytest.approx({"precision": precision, "recall": recall, "f1": f1})
    # by hand: (30/50 + 140/150) / 2
    assert found["precision"] == pytest.approx(0.7666667)


def test_standard_error_of_hanley_and_mcneil() -> None:
    # 51 abnormal and 58 normal images with AUC 0.893: 0.032 from the ratings themselves, to which the equation is near
    assert hanley_mcneil_error(0.893, 51, 58) == pytest.approx(0.032, abs=1e-3)
    # q1 = 1/3, q2 = 1/3 at 0.5: (1/4 + 31/12 + 62/12) / 2016
    assert hanley_mcneil_error(0.5, 63, 32) == pytest.approx(math.sqrt((1 / 4 + (62 + 31) / 12) / 2016))


def test_corrected_specificities() -> None:
    table = findings.swapped_specificity().table.set_index("model")
    # 2 × macro recall − printed figure, by hand from Table 5
    corrected = {
        "eHFO": 2 * 0.6466 - 0.4101,
        "PyHFO_spkHFO": 2 * 0.6431 - 0.4089,
        "PyHFO-Omni_spkHFO": 2 * 0.6991 - 0.6951,
    }
    assert corrected == pytest.approx({"eHFO": 0.8831, "PyHFO_spkHFO": 0.8773, "PyHFO-Omni_spkHFO": 0.7031})
    swapped = table[table["reading that fits"] == "swapped"]
    assert swapped["specificity"].to_dict() == pytest.approx(corrected)
    assert swapped["sensitivity"].tolist() == swapped["printed specificity"].tolist()
    for column in ("precision", "F1"):
        assert (swapped[f"{column}, swapped"] - swapped[column]).abs().max() < 2e-4
    upright = table[table["reading that fits"] == "as printed"]
    assert set(upright.index) == {"SEEG-NET", "CLAP", "TimeConv-CNN"}
    assert upright.loc["TimeConv-CNN", "sensitivity"] == pytest.approx(0.6678)
    assert "807 pathological and 7297 normal" in findings.swapped_specificity().text


def test_outcome_intervals() -> None:
    finding = findings.outcome_intervals()
    row = finding.table[(finding.table["table"] == "5") & (finding.table["model"] == "PyHFO-Omni_spkHFO")].iloc[0]
    assert row["standard error"] == pytest.approx(0.0504, abs=1e-4)
    assert (row["low"], row["high"]) == pytest.approx((0.645, 0.8426), abs=1e-4)
    assert "63 seizure-free with 32 other" in finding.text


def test_sum_of_table_2() -> None:
    table = findings.table2_sum().table.set_index("column")
    assert 10070 + 449 + 120 + 121 + 7964 + 102 + 4 + 348 == 19178
    assert table.loc["spkhfo"].to_dict() == {"printed total": 19180, "sum": 19178, "difference": 2}
    assert (table.drop(index="spkhfo")["difference"] == 0).all()


def test_rows_that_the_chance_column_explains() -> None:
    finding = findings.chance_column()
    assert finding.table.groupby("table").size().to_dict() == {5: 24, 7: 13}
    assert finding.table["column explains it"].value_counts().to_dict() == {"yes": 36, "unknown": 1}
    row = finding.table[(finding.table["table"] == 5) & (finding.table["dataset"] == "Physionet-MI")].iloc[0]
    assert (row["1 / classes"], row["highest in italics"], row["repository's column"]) == (0.25, 0.499, 0.5)


def test_frozen_baselines() -> None:
    table = findings.frozen_baselines().table
    assert len(table) == 64
    assert (table["equal"] == "yes").sum() == 46


def test_size_correlation_with_and_without_bendr() -> None:
    values = findings.size_correlation().table["median Spearman ρ"].round(2).tolist()
    assert values == [-0.21, 0.12, -0.10]


def test_printed_ranks_are_not_quite_reproduced() -> None:
    table = findings.ranks_by_rule().table
    fine_tuned = table[table["table"] == 7].set_index("model")["difference"].dropna()
    assert fine_tuned.abs().idxmax() == "CBraMod"
    assert fine_tuned["CBraMod"] == pytest.approx(4.365 - 4.51, abs=1e-3)
    assert fine_tuned.drop("CBraMod").abs().max() < 0.06
    multi = table[table["table"] == 6].set_index("model")["difference"].dropna()
    assert multi.to_dict() == pytest.approx({"CBraMod": 0.04, "REVE": -0.05, "BrainOmni": 0.02}, abs=0.006)


def test_page_of_the_documentation_is_the_one_that_the_command_writes() -> None:
    assert DOCS.read_text(encoding="utf-8") == audit_page(audit())
