"""The metric formulas against scikit-learn, and the other tasks' evaluations."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logit
from scipy.stats import pearsonr
from sklearn import metrics as sk

from omni_bench.errors import BenchError
from omni_bench.evaluation import (
    evaluate_binary_windows,
    evaluate_classification,
    evaluate_regression,
    macro_f1,
)
from omni_bench.evaluation.bootstrap import draw_persons
from omni_bench.evaluation.confusion import confusion_counts, confusion_metrics
from omni_bench.evaluation.ranking import ranking_metrics
from omni_bench.evaluation.thresholds import youden_threshold, youden_threshold_of_normal

units_of_persons = st.lists(st.tuples(st.booleans(), st.integers(0, 5), st.integers(0, 3)), min_size=4, max_size=40)


@settings(max_examples=60, deadline=None)
@given(units_of_persons)
def test_ranking_metrics_equal_weighted_scikit_learn(rows: list[tuple[bool, int, int]]) -> None:
    y, score, group = (np.array(column) for column in zip(*rows, strict=True))
    weights = np.vstack([np.ones(4), [2, 0, 1, 3], [0, 0, 0, 0], [1, 0, 0, 0]])
    auc, average_precision = ranking_metrics(y, score.astype(float), weights, group)
    for row, w in enumerate(weights[:, group]):
        known = w > 0
        if len(np.unique(y[known])) < 2:
            assert np.isnan([auc[row], average_precision[row]]).all()
        else:
            assert auc[row] == pytest.approx(sk.roc_auc_score(y, score, sample_weight=w), abs=1e-12)
            expected = sk.average_precision_score(y, score, sample_weight=w)
            assert average_precision[row] == pytest.approx(expected, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=3, max_size=40))
def test_confusion_metrics_equal_scikit_learn(rows: list[tuple[int, int]]) -> None:
    truth, predicted = np.array(rows).T
    counts = confusion_counts(truth, predicted, 4, np.zeros(len(rows), dtype=int), 1)[0]
    values = confusion_metrics(counts)
    assert values["accuracy"] == pytest.approx(sk.accuracy_score(truth, predicted))
    if len(np.unique(truth)) < 2:
        assert np.isnan([values[name] for name in values if name != "accuracy"]).all()
        return
    macro = sk.precision_recall_fscore_support(truth, predicted, average="macro", zero_division=0)[:3]
    assert [values[f"{name}_macro"] for name in ("precision", "recall", "f1")] == pytest.approx(macro)
    present = [sk.recall_score(truth, predicted, labels=[k], average=None)[0] for k in np.unique(truth)]
    assert values["balanced_accuracy"] == pytest.approx(np.mean(present))
    assert values["kappa"] == pytest.approx(sk.cohen_kappa_score(truth, predicted))


@settings(max_examples=60, deadline=None)
@given(units_of_persons)
def test_youden_thresholds_reach_the_best_index(rows: list[tuple[bool, int, int]]) -> None:
    y, score, _ = (np.array(column) for column in zip(*rows, strict=True))
    if len(np.unique(y)) < 2:
        assert np.isnan(youden_threshold(y, score))
        return

    def index(called: np.ndarray) -> float:
        return float(called[y].mean() - called[~y].mean())

    cuts = [np.inf, *np.unique(score)[::-1]]
    indices = [index(score >= cut) for cut in cuts]
    best = cuts[next(i for i, value in enumerate(indices) if value >= max(indices) - 1e-12)]
    assert index(score >= youden_threshold(y, score)) == pytest.approx(max(indices))
    assert youden_threshold(y, score) <= best
    assert index(score > youden_threshold_of_normal(y, score)) == pytest.approx(max(indices))


def classification_tables(n: int, n_classes: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    label = rng.integers(n_classes, size=n)
    probability = rng.dirichlet(np.ones(n_classes), size=n) + 0.4 * np.eye(n_classes)[label]
    ids = [f"u{i}" for i in range(n)]
    units = pd.DataFrame({"unit_id": ids, "person": [f"p{i % 7}" for i in range(n)], "split": "test", "label": label})
    predictions = pd.DataFrame({"unit_id": ids} | {f"prob_c{k}": probability[:, k] for k in range(n_classes)})
    return predictions, units.astype({"label": "Int64"})


def test_classification_values_and_intervals() -> None:
    predictions, units = classification_tables(140, 3, seed=0)
    result = evaluate_classification(predictions, units, classes=["c0", "c1", "c2"], n_boot=40, seed=1)
    y, p = units["label"].to_numpy(dtype=int), predictions.filter(like="prob_").to_numpy()
    p = p / p.sum(axis=1, keepdims=True)
    assert result.metrics["f1_macro"].value == pytest.approx(sk.f1_score(y, p.argmax(axis=1), average="macro"))
    one_vs_rest = [sk.roc_auc_score(y == k, predictions[f"prob_c{k}"]) for k in range(3)]
    assert result.metrics["auc"].value == pytest.approx(np.mean(one_vs_rest))
    draws = draw_persons(units["person"], 40, seed=1).weights[1:, [i % 7 for i in range(140)]]
    kappas = [sk.cohen_kappa_score(y, p.argmax(axis=1), sample_weight=w) for w in draws]
    metric = result.metrics["kappa"]
    assert (metric.ci_low, metric.ci_high) == pytest.approx(tuple(np.percentile(kappas, [2.5, 97.5])))


def test_classification_averages_samples_and_leaves_out_what_it_cannot_score() -> None:
    units = pd.DataFrame(
        {
            "unit_id": list("abcd"),
            "person": ["p1", "p1", "p2", "p2"],
            "split": "test",
            "label": pd.array([0, 1, 1, pd.NA], "Int64"),
        }
    )
    predictions = pd.DataFrame(
        {"unit_id": list("aabd"), "prob_x": [0.9, 0.2, 0.3, 1.0], "prob_y": [0.1, 0.8, 0.7, 0.0]}
    )
    result = evaluate_classification(predictions, units, classes=["x", "y"], n_boot=0)
    assert result.scores["unit_id"].tolist() == ["a", "b"]
    assert result.scores["prob_x"].tolist() == pytest.approx([0.55, 0.3])
    assert result.metrics["accuracy"].value == 1.0
    assert result.metrics["accuracy"].n == 2
    assert "1 of 3 labelled units have no sample and are left out" in result.notes
    with pytest.raises(BenchError, match="label 1 is no index into the 1 classes"):
        evaluate_classification(predictions, units, classes=["x"])


@pytest.mark.filterwarnings("error::pandas.errors.PerformanceWarning")
def test_scores_of_many_classes_come_in_one_piece() -> None:
    classes = [f"c{k}" for k in range(160)]
    unit = [str(k) for k in range(160)]
    units = pd.DataFrame({"unit_id": unit, "person": unit, "split": "test", "label": range(160)})
    columns = [f"prob_{name}" for name in classes]
    predictions = pd.DataFrame(np.eye(160), columns=columns).assign(unit_id=unit)
    scores = evaluate_classification(predictions, units, classes=classes, n_boot=0).scores
    assert scores.columns.tolist() == [*units, *columns, "n_samples", "predicted"]
    assert scores["predicted"].tolist() == scores["label"].tolist()


def test_anatomy_takes_a_patients_channel_once() -> None:
    units = pd.DataFrame(
        {
            "unit_id": ["r1/A", "r2/A", "r1/B"],
            "source": "demo",
            "subject": "sub-1",
            "person": "sub-1",
            "channel": ["A", "A", "B"],
            "split": "test",
            "label": pd.array([1, 1, 0], "Int64"),
        }
    )
    predictions = pd.DataFrame({"unit_id": ["r1/A", "r2/A", "r2/A", "r1/B"], "prob_x": [0.9, 0.3, 0.2, 0.8]})
    predictions["prob_y"] = 1 - predictions["prob_x"]
    result = evaluate_classification(predictions, units, classes=["x", "y"], unit="patient_channel", n_boot=0)
    assert result.scores.set_index("channel").loc["A", "prob_x"] == pytest.approx(1.4 / 3)
    assert result.metrics["accuracy"].value == 1.0
    assert evaluate_classification(predictions, units, classes=["x", "y"], n_boot=0).metrics["accuracy"].n == 3


def recording_tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two validation and two test recordings of two channels, two windows each."""
    units, predictions = [], []
    means = {"v0": [0.2, 0.3], "v1": [0.6, 0.7], "t0": [0.1, 0.6], "t1": [0.9, 0.4]}
    for recording, scores in means.items():
        for channel, offset in (("A", 0.1), ("B", -0.1)):
            unit = {"unit_id": f"{recording}/{channel}", "recording": recording, "person": f"p-{recording}"}
            units.append(unit | {"split": "val" if recording[0] == "v" else "test", "label": int(recording[1])})
            for i, score in enumerate(scores):
                predictions.append(
                    {"unit_id": f"{recording}/{channel}", "start": 60.0 * i, "prob_ictal": score + offset}
                )
    return pd.DataFrame(predictions), pd.DataFrame(units).astype({"label": "Int64"})


def test_binary_windows_are_means_over_channels() -> None:
    predictions, units = recording_tables()
    result = evaluate_binary_windows(predictions, units, classes=["interictal", "ictal"], n_boot=0)
    assert result.threshold == {"rule": "youden_val", "value": pytest.approx(0.6)}
    assert result.scores["score"].tolist() == pytest.approx([0.1, 0.6, 0.9, 0.4])
    assert result.scores["n_channels"].tolist() == [2, 2, 2, 2]
    assert result.metrics["auc"].value == 0.75
    assert result.metrics["balanced_accuracy"].value == pytest.approx(0.5)


def test_reference_windows_average_logits_and_cut_strictly() -> None:
    predictions, units = recording_tables()
    classes = ["interictal", "ictal"]
    result = evaluate_binary_windows(predictions, units, classes=classes, rule="reference", n_boot=0)
    expected = (logit(0.7) + logit(0.5)) / 2
    assert result.threshold is not None
    assert result.threshold["value"] == pytest.approx(expected)
    assert result.scores["score"].iloc[1] == pytest.approx(expected)
    at = evaluate_binary_windows(
        predictions, units, classes=classes, rule="reference", threshold_rule="fixed",
        threshold=float(result.scores["score"].iloc[1]), n_boot=0,
    )  # fmt: skip
    assert at.scores["predicted"].tolist() == [0, 0, 1, 0]


def test_channels_that_disagree_on_a_windows_label() -> None:
    predictions, units = recording_tables()
    units.loc[units["unit_id"] == "t0/B", "label"] = 1
    with pytest.raises(BenchError, match="channels of t0 disagree"):
        evaluate_binary_windows(predictions, units, classes=["interictal", "ictal"])


def test_regression_values_and_intervals() -> None:
    rng = np.random.default_rng(0)
    target = rng.normal(1000, 1, size=60)
    units = pd.DataFrame({"unit_id": range(60), "person": np.arange(60) % 6, "split": "test", "target": target})
    predicted = target + rng.normal(0, 0.5, size=60)
    predictions = pd.DataFrame({"unit_id": np.repeat(range(60), 2), "prediction": predicted.repeat(2)})
    predictions["prediction"] += np.tile([0.1, -0.1], 60)
    result = evaluate_regression(predictions, units, n_boot=50, seed=3)
    draws = draw_persons(units["person"], 50, seed=3)
    by_hand: dict[str, list[float]] = {"r2": [], "pearson": [], "rmse": [], "mae": []}
    for weights in draws.weights[:, draws.columns].astype(int):
        t, p = target.repeat(weights), predicted.repeat(weights)
        by_hand["r2"].append(sk.r2_score(t, p))
        by_hand["pearson"].append(pearsonr(t, p)[0])
        by_hand["rmse"].append(sk.root_mean_squared_error(t, p))
        by_hand["mae"].append(sk.mean_absolute_error(t, p))
    for name, values in by_hand.items():
        metric = result.metrics[name]
        low, high = np.percentile(values[1:], [2.5, 97.5])
        assert (metric.value, metric.ci_low, metric.ci_high) == pytest.approx((values[0], low, high), rel=1e-8)


def test_regression_on_a_constant_target_is_undefined() -> None:
    units = pd.DataFrame({"unit_id": [0, 1], "person": [0, 1], "split": "test", "target": [2.0, 2.0]})
    predictions = pd.DataFrame({"unit_id": [0, 1], "prediction": [1.0, 3.0]})
    result = evaluate_regression(predictions, units, n_boot=10)
    assert np.isnan([result.metrics["r2"].value, result.metrics["pearson"].value]).all()
    assert result.metrics["r2"].note == "constant targets or predictions"
    assert result.metrics["rmse"].value == 1.0


def test_macro_f1_of_a_single_class_is_undefined() -> None:
    assert np.isnan(macro_f1(np.array([0.2, 0.7]), np.array([1, 1])))
    assert macro_f1(np.array([0.2, 0.5]), np.array([0, 1])) == 1.0
