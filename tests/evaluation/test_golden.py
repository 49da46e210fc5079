"""Every rule against the golden tables of the Omni-iEEG metrics."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from evaluation_tables import channel_units, window_predictions

from omni_bench.evaluation import evaluate_classification, evaluate_region, macro_f1
from omni_bench.evaluation.rates import window_scores

EXACT = {"rel": 1e-12, "abs": 1e-12}
GOLDEN = Path(__file__).parents[1] / "golden" / "metrics"
CHANNELS: dict[str, Any] = json.loads((GOLDEN / "channel_metrics.json").read_text())
RATIOS: dict[str, Any] = json.loads((GOLDEN / "resection_ratio.json").read_text())
EVENTS: dict[str, Any] = json.loads((GOLDEN / "event_three_class.json").read_text())
NAMES = {
    "precision": "precision_macro",
    "recall": "recall_macro",
    "f1": "f1_macro",
    "f1_score": "f1_macro",
    "precision_macro": "precision_macro",
    "recall_macro": "recall_macro",
    "f1_macro": "f1_macro",
    "balanced_accuracy": "balanced_accuracy",
    "specificity": "specificity",
    "sensitivity": "sensitivity",
    "auc": "auc",
    "navie_auc": "auc",
    "roc_auc": "auc",
}


def channel_case(case: dict[str, Any]) -> tuple[pd.DataFrame, pd.DataFrame]:
    y, score = case["y_pathological"], np.array(case["score"], dtype=float)
    rows = [
        {"subject": "sub-1", "channel": f"C{i}", "soz": bool(label), "resected": bool(label), "outcome": True}
        for i, label in enumerate(y)
    ]
    units = channel_units(rows)
    return window_predictions(units["unit_id"], score), units


def two_classes(name: str) -> bool:
    return not name.startswith("single_class") and name != "nan_score"


@pytest.mark.parametrize("name", filter(two_classes, CHANNELS))
@pytest.mark.parametrize("rule", ["paper_definition", "official_segment_code", "official_event_code"])
def test_channel_metrics(name: str, rule: str) -> None:
    predictions, units = channel_case(CHANNELS[name])
    expected = CHANNELS[name][rule]
    orientation = "normal" if rule == "official_event_code" else "pathological"
    result = evaluate_region(predictions, units, threshold_rule="youden_test", orientation=orientation, n_boot=0)
    compared = {NAMES[key]: value for key, value in expected.items() if key in NAMES}
    assert len(compared) >= 5
    assert {key: result.metrics[key].value for key in compared} == pytest.approx(compared, **EXACT)
    threshold = float(expected.get("threshold", expected.get("optimal_threshold")))
    assert result.threshold == {"rule": "youden_test", "value": pytest.approx(threshold, **EXACT)}
    if rule == "paper_definition":
        confusion = [[expected["tn"], expected["fp"]], [expected["fn"], expected["tp"]]]
        assert result.confusion is not None
        assert result.confusion.to_numpy().tolist() == confusion


@pytest.mark.parametrize("name", ["single_class_positive", "single_class_negative"])
def test_one_class_is_undefined_and_says_so(name: str) -> None:
    predictions, units = channel_case(CHANNELS[name])
    result = evaluate_region(predictions, units, threshold_rule="youden_test")
    assert result.threshold is None
    assert np.isnan(result.metrics["auc"].value)
    assert "one class only: all 3 scored units are " + name.split("_")[-1] in result.metrics["auc"].note
    assert result.metrics["f1_macro"].note == "no threshold"


def test_channel_without_a_score_is_left_out_and_counted() -> None:
    predictions, units = channel_case(CHANNELS["nan_score"])
    result = evaluate_region(predictions, units, threshold_rule="youden_test", n_boot=0)
    assert result.metrics["auc"].value == 1.0
    assert result.metrics["auc"].n == 3
    assert "1 of 4 labelled channels have no score and are left out" in result.notes


def ratio_case(case: dict[str, Any]) -> tuple[pd.DataFrame, pd.DataFrame]:
    rows, scores = [], []
    for i, (patient, outcome) in enumerate(zip(case["patients"], case["outcome"], strict=True)):
        counts = patient.get("n_segments", [1] * len(patient["score"]))
        for j, (score, resected, n) in enumerate(zip(patient["score"], patient["resected"], counts, strict=True)):
            flag = {1: True, 0: False, -1: pd.NA}[outcome]
            rows.append({"subject": f"sub-{i:02d}", "channel": f"C{j}", "resected": bool(resected), "outcome": flag})
            scores.append([np.nan if score is None else score] * n)
    units = channel_units(rows)
    ids = np.repeat(units["unit_id"].to_numpy(), [len(s) for s in scores])
    return window_predictions(list(ids), np.concatenate(scores)), units


@pytest.mark.parametrize("name", RATIOS)
@pytest.mark.parametrize("rule", ["paper", "reference"])
def test_resection_ratio(name: str, rule: str) -> None:
    predictions, units = ratio_case(RATIOS[name])
    options = (
        {} if rule == "paper" else {"ratio_weight": "total", "zero_total": "one", "unknown_resection": "preserved"}
    )
    result = evaluate_region(predictions, units, n_boot=0, **options)
    key = "paper_resection_ratio" if rule == "paper" else "official_ratio_sum_over_segments"
    ratios = np.array(RATIOS[name][key], dtype=float)
    assert result.patients is not None
    assert result.patients["resection_ratio"].to_numpy() == pytest.approx(ratios, nan_ok=True, **EXACT)
    assert ((result.patients["reason"] != "") == np.isnan(ratios)).all()
    official = RATIOS[name]["official"]
    assert official["event_code_auc"] == official["segment_code_auc"]
    auc = RATIOS[name]["paper_outcome_auc_over_defined_ratios"] if rule == "paper" else official["event_code_auc"]
    outcome = result.metrics["outcome_auc"]
    assert outcome.value == pytest.approx(np.nan if auc is None else auc, nan_ok=True, **EXACT)
    assert bool(outcome.note) == (auc is None)


def test_aggregation_of_windows(golden: Path) -> None:
    windows = pd.read_csv(golden / "metrics" / "aggregation_input.csv")
    expected = pd.read_csv(golden / "metrics" / "aggregation_expected.csv")
    rows = expected.rename(columns={"patient": "subject", "run": "recording"})[["subject", "recording", "channel"]]
    units = channel_units(rows.to_dict("records"))
    ids = windows["patient"] + "/" + windows["run"] + "/" + windows["channel"]
    totals = window_scores(window_predictions(ids, windows["p_pathological"].to_numpy()), units)
    assert totals["size"].tolist() == expected["n_segments_with_a_value"].tolist()
    assert totals["total"].to_numpy() == pytest.approx(expected["sum"].to_numpy(), **EXACT)
    predictions = window_predictions(ids, windows["p_pathological"].to_numpy())
    for unit in ("patient_channel", "recording_channel"):
        scores = evaluate_region(predictions, units, unit=unit, n_boot=0).scores
        assert scores["score"].to_numpy() == pytest.approx(expected["mean"].to_numpy(), nan_ok=True, **EXACT)


@pytest.mark.parametrize("name", EVENTS)
def test_event_classes(name: str) -> None:
    case, classes = EVENTS[name], ["artifact", "non_spk_hfo", "spk_hfo"]
    ids = [f"e{i}" for i in range(len(case["y"]))]
    units = pd.DataFrame({"unit_id": ids, "person": "sub-1", "split": "test", "label": pd.array(case["y"], "Int64")})
    predictions = pd.DataFrame(
        {"unit_id": ids, **{f"prob_{c}": p for c, p in zip(classes, np.transpose(case["prob"]), strict=True)}}
    )
    result = evaluate_classification(predictions, units, classes=classes, n_boot=0)
    for key in ("precision_macro", "recall_macro", "f1_macro", "accuracy"):
        assert result.metrics[key].value == pytest.approx(case[key], **EXACT)
    auc = np.nan if case["auc_macro_ovr"] is None else case["auc_macro_ovr"]
    assert result.metrics["auc"].value == pytest.approx(auc, nan_ok=True, **EXACT)
    assert ("no test unit of class spk_hfo" in result.metrics["auc"].note) == np.isnan(auc)
    assert result.scores["predicted"].tolist() == case["pred"]
    assert result.confusion is not None
    assert result.confusion.to_numpy().tolist() == case["confusion"]
    assert macro_f1(np.array(case["prob"]), np.array(case["y"])) == pytest.approx(case["f1_macro"], **EXACT)
