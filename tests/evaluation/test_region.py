"""The region task on cases that can be worked out by hand."""

import numpy as np
import pandas as pd
import pytest
from evaluation_tables import channel_units, window_predictions
from omegaconf import OmegaConf
from sklearn.metrics import average_precision_score, confusion_matrix, f1_score, roc_auc_score

from omni_bench.errors import BenchError
from omni_bench.evaluation import evaluate, evaluate_region, rate_scores, region_label
from omni_bench.evaluation.bootstrap import draw_persons


@pytest.mark.parametrize(
    ("soz", "resected", "outcome", "good", "paper", "reference"),
    [
        (True, True, True, True, 1, 1),
        (True, False, True, True, 1, 0),  # preserved SOZ of a seizure-free patient: the two definitions collide
        (True, False, False, True, 1, 1),
        (True, None, None, True, 1, 1),
        (False, False, True, True, 0, 0),
        (None, False, True, True, 0, 0),  # no SOZ labels at the centre
        (False, True, True, True, None, None),
        (False, False, False, True, None, None),
        (False, False, None, True, None, None),
        (False, None, True, True, None, None),
        (None, None, None, True, None, None),
        (True, True, True, False, None, None),
        (True, True, True, None, None, None),
    ],
)
def test_region_label(soz, resected, outcome, good, paper, reference) -> None:
    row = pd.DataFrame([{"soz": soz, "resected": resected, "outcome": outcome, "good": good}]).astype("boolean")
    for rule, expected in (("positive", paper), ("negative", reference)):
        label = region_label(row, rule)
        assert label.dtype == "Int64"
        assert label.tolist() == [pd.NA if expected is None else expected]


def cohort(
    n_persons: int, n_channels: int, seed: int, n_windows: int = 1, decimals: int = 2
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Validation and test persons with an informative score, both outcomes, and a few missing flags."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(n_persons):
        free = bool(person % 2)
        for channel in range(n_channels):
            soz = bool(rng.random() < 0.3)
            rows.append(
                {
                    "subject": f"sub-{person:03d}",
                    "channel": f"C{channel}",
                    "split": "val" if person % 3 == 0 else "test",
                    "soz": soz,
                    "resected": bool(rng.random() < (0.8 if soz and free else 0.3)),
                    "outcome": free,
                }
            )
    units = channel_units(rows)
    signal = units["soz"].to_numpy(dtype=float).repeat(n_windows)
    score = np.round(1 / (1 + np.exp(-(signal - 0.5 + rng.normal(size=len(signal))))), decimals)
    return window_predictions(units["unit_id"].repeat(n_windows), score), units


def test_test_labels_do_not_move_the_validation_threshold() -> None:
    predictions, units = cohort(12, 20, seed=0)
    before = evaluate_region(predictions, units, n_boot=0)
    flipped = units.copy()
    test = flipped["split"] == "test"
    flipped.loc[test, "soz"] = ~flipped.loc[test, "soz"]
    after = evaluate_region(predictions, flipped, n_boot=0)
    assert before.threshold is not None
    assert before.threshold["rule"] == "youden_val"
    assert before.threshold == after.threshold
    assert before.metrics["auc"].value > 0.6 > after.metrics["auc"].value


def test_threshold_is_inherited_only_where_validation_cannot_give_one() -> None:
    predictions, units = cohort(12, 20, seed=1)
    assert evaluate_region(predictions, units, inherited_threshold=0.123, n_boot=0).threshold["rule"] == "youden_val"
    units = units.assign(split="test")
    alone = evaluate_region(predictions, units, n_boot=0)
    assert alone.threshold is None
    assert np.isnan(alone.metrics["f1_macro"].value)
    assert alone.metrics["f1_macro"].note == "no threshold"
    assert not np.isnan(alone.metrics["auc"].value)
    inherited = evaluate_region(predictions, units, inherited_threshold=0.123, n_boot=0)
    assert inherited.threshold == {"rule": "inherited", "value": 0.123}
    fixed = evaluate_region(predictions, units, threshold_rule="fixed", threshold=0.123, n_boot=0)
    assert inherited.metrics["f1_macro"].value == fixed.metrics["f1_macro"].value


def test_windows_of_all_recordings_of_a_channel_count_alike() -> None:
    rows = [
        {"subject": "sub-1", "channel": "A", "recording": "run-1", "soz": True},
        {"subject": "sub-1", "channel": "A", "recording": "run-2", "soz": pd.NA},
        {"subject": "sub-1", "channel": "B", "recording": "run-2", "soz": False},
    ]
    units = channel_units(rows)
    predictions = window_predictions(units["unit_id"].repeat([1, 3, 1]), [0.9, 0.1, 0.2, 0.4, 0.5])
    merged = evaluate_region(predictions, units).scores.set_index("channel")
    assert merged.loc["A", "score"] == pytest.approx((0.9 + 0.1 + 0.2 + 0.4) / 4)
    assert merged.loc["A", "label"] == 1
    assert merged.loc["A", "unit_id"] == "demo/sub-1/A"
    single = evaluate_region(predictions, units, unit="recording_channel").scores
    assert single["score"].tolist() == pytest.approx([0.9, 0.7 / 3, 0.5])
    assert single["label"].tolist() == [1, pd.NA, pd.NA]


def test_bad_channels_have_no_part_in_anything() -> None:
    rows = [
        {"subject": "sub-1", "channel": name, "resected": cut, "outcome": True, "good": name != "bad"}
        for name, cut in (("A", True), ("B", False), ("bad", True))
    ]
    units = channel_units(rows)
    result = evaluate_region(window_predictions(units["unit_id"], [0.6, 0.2, 0.9]), units)
    assert result.scores["channel"].tolist() == ["A", "B"]
    assert result.patients["resection_ratio"].tolist() == pytest.approx([0.75])


def test_unknown_resection_is_no_ratio_of_zero() -> None:
    rows = [
        {"subject": "sub-1", "channel": "A", "outcome": True},
        {"subject": "sub-2", "channel": "A", "outcome": False, "resected": True},
        {"subject": "sub-2", "channel": "B", "outcome": False},
    ]
    units = channel_units(rows)
    predictions = window_predictions(units["unit_id"], [0.5, 0.2, 0.6])
    result = evaluate_region(predictions, units)
    assert result.patients["reason"].tolist() == ["resection unknown", ""]
    assert result.patients["resection_ratio"].tolist() == pytest.approx([np.nan, 1.0], nan_ok=True)
    assert "resection ratio undefined for 1 patients with known outcome: resection unknown" in result.notes
    assert "one outcome only: 0 of 1 operated patients" in result.metrics["outcome_auc"].note
    reference = evaluate_region(predictions, units, unknown_resection="preserved")
    assert reference.patients["resection_ratio"].tolist() == pytest.approx([0.0, 0.25])


def test_one_patient_without_outcome() -> None:
    units = channel_units([{"subject": "sub-1", "channel": c, "soz": c == "A"} for c in "ABC"])
    result = evaluate_region(window_predictions(units["unit_id"], [0.9, 0.1, 0.2]), units, inherited_threshold=0.5)
    assert "no operated patient" in result.metrics["outcome_auc"].note
    assert "all 1 scored units are positive" in result.metrics["auc"].note
    assert result.metrics["sensitivity"].value == 1.0
    assert result.metrics["sensitivity"].note == "no interval: one person only"
    assert np.isnan([result.metrics["sensitivity"].ci_low, result.metrics["specificity"].value]).all()
    assert "1 of 1 test patients have no known outcome and no part in outcome_auc" in result.notes


def test_intervals_equal_resampling_by_hand() -> None:
    """Persons copied out row by row and scikit-learn on each copy give the same percentiles."""
    predictions, units = cohort(15, 12, seed=2)
    result = evaluate_region(predictions, units, n_boot=60, seed=7)
    rows = result.scores[result.scores["label"].notna()]
    draws = draw_persons(rows["person"], 60, seed=7)
    persons = sorted(rows["person"].unique())
    by_hand: dict[str, list[float]] = {"auc": [], "average_precision": [], "f1_macro": [], "specificity": []}
    for weights in draws.weights[1:].astype(int):
        copies = [rows[rows["person"] == p] for p, n in zip(persons, weights, strict=True) for _ in range(n)]
        copy = pd.concat(copies)
        y, score, predicted = (copy[c].to_numpy(dtype=float) for c in ("label", "score", "predicted"))
        by_hand["auc"].append(roc_auc_score(y, score))
        by_hand["average_precision"].append(average_precision_score(y, score))
        by_hand["f1_macro"].append(f1_score(y, predicted, average="macro"))
        (tn, fp), _ = confusion_matrix(y, predicted)
        by_hand["specificity"].append(tn / (tn + fp))
    for name, values in by_hand.items():
        low, high = np.percentile(values, [2.5, 97.5])
        metric = result.metrics[name]
        assert (metric.ci_low, metric.ci_high) == pytest.approx((low, high), rel=1e-9)
        assert metric.ci_low < metric.value < metric.ci_high
        assert metric.ci_unit == "person"
        assert metric.n == len(rows)


def test_copies_of_a_persons_channels_do_not_narrow_the_interval() -> None:
    predictions, units = cohort(12, 10, seed=3)
    copies = [units.assign(recording=f"run-{i}", unit_id=units["unit_id"] + f"#{i}") for i in range(20)]
    repeated = [
        predictions.assign(unit_id=predictions["unit_id"] + f"#{i}", sample_id=f"{i}-" + predictions.sample_id)
        for i in range(20)
    ]
    once = evaluate_region(predictions, units, unit="recording_channel", n_boot=200)
    often = evaluate_region(pd.concat(repeated), pd.concat(copies), unit="recording_channel", n_boot=200)
    assert often.metrics["auc"].n == 20 * once.metrics["auc"].n
    assert often.metrics["auc"].ci_low == pytest.approx(once.metrics["auc"].ci_low, abs=1e-12)


def test_same_seed_same_interval() -> None:
    predictions, units = cohort(9, 10, seed=4)
    first, again, other = (evaluate_region(predictions, units, n_boot=50, seed=s).metrics["auc"] for s in (0, 0, 1))
    assert first == again
    assert first.ci_low != other.ci_low


def test_order_of_rows_changes_nothing() -> None:
    predictions, units = cohort(9, 10, seed=5, n_windows=3, decimals=12)  # no ties that an order of summation breaks
    plain = evaluate_region(predictions, units, n_boot=20)
    mixed = evaluate_region(predictions.sample(frac=1, random_state=0), units.sample(frac=1, random_state=1), n_boot=20)
    for name, metric in plain.metrics.items():
        assert mixed.metrics[name].value == pytest.approx(metric.value, abs=1e-12, nan_ok=True)
        assert mixed.metrics[name].ci_high == pytest.approx(metric.ci_high, abs=1e-12, nan_ok=True)


def test_rates_count_pathological_events_per_minute() -> None:
    rows = [{"subject": "sub-1", "channel": c, "duration": d} for c, d in (("A", 120.0), ("B", 30.0), ("C", 60.0))]
    units = channel_units([*rows, {"subject": "sub-1", "channel": "D", "duration": np.nan}])
    events = pd.DataFrame(
        {
            "unit_id": units["unit_id"].iloc[[0, 0, 0, 1, 0, 3]].tolist(),
            "prob_artifact": [0.1, 0.6, 0.2, 0.0, 0.4, 0.0],
            "prob_non_spk_hfo": [0.2, 0.1, 0.2, 0.3, 0.2, 0.0],
            "prob_spk_hfo": [0.7, 0.3, 0.6, 0.7, 0.4, 1.0],  # the fifth is a tie: the first class has it
        }
    )
    rates = rate_scores(events, units, "spk_hfo")
    assert (rates["total"] / rates["size"]).tolist() == pytest.approx([1.0, 2.0, 0.0, np.nan], nan_ok=True)
    result = evaluate_region(events, units, score="rate", positive="spk_hfo")
    assert result.scores["score"].tolist() == pytest.approx([1.0, 2.0, 0.0, np.nan], nan_ok=True)


def test_task_card_names_the_function() -> None:
    predictions, units = cohort(9, 10, seed=6)
    card = {"evaluate": {"_target_": "omni_bench.evaluation.evaluate_region", "n_boot": 0, "threshold_rule": "fixed"}}
    result = evaluate(predictions, units, card, threshold=0.25)
    assert result.threshold == {"rule": "fixed", "value": 0.25}
    composed = OmegaConf.create(
        {
            "classes": ["normal", "pathological"],
            "evaluate": {
                "_target_": "omni_bench.evaluation.evaluate_classification",
                "_partial_": True,
                "classes": "${classes}",
            },
        }
    )
    result = evaluate(predictions, units.assign(label=region_label(units)), composed, n_boot=0)
    assert result.confusion.columns.tolist() == ["normal", "pathological"]
    with pytest.raises(BenchError, match="no key 'evaluate'"):
        evaluate(predictions, units, {})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p, u: (p, u, {"unit": "channel"}), "unit='channel' is not a known rule: choose one of patient_channel"),
        (lambda p, u: (p, u, {"threshold_rule": "youden"}), "threshold_rule='youden' is not a known rule"),
        (lambda p, u: (p, u.drop(columns="soz"), {}), "units table: no column soz"),
        (lambda p, u: (p.drop(columns="prob_pathological"), u, {}), "no column prob_pathological"),
        (lambda p, u: (p, u[u["split"] == "val"], {}), "is not in the units table"),
        (lambda p, u: (p, u.assign(split="val"), {}), "no unit of split 'test'"),
        (lambda p, u: (p, pd.concat([u, u.iloc[:1]]), {}), "occurs twice"),
        (lambda p, u: (pd.concat([p, p.iloc[:1]]), u, {}), "sample_id 's0' is predicted twice"),
        (lambda p, u: (p, u.assign(outcome=np.arange(len(u)) % 2 == 0).astype({"outcome": "boolean"}), {}), "outcomes"),
    ],
)
def test_bad_tables_are_named(change, message: str) -> None:
    predictions, units, options = change(*cohort(6, 4, seed=8))
    with pytest.raises(BenchError, match=message):
        evaluate_region(predictions, units, **options)


def test_recordings_that_disagree_on_a_channel() -> None:
    rows = [{"subject": "sub-1", "channel": "A", "recording": f"run-{i}", "soz": bool(i)} for i in range(2)]
    units = channel_units(rows)
    predictions = window_predictions(units["unit_id"], [0.1, 0.2])
    with pytest.raises(BenchError, match=r"recordings of sub-1 .* disagree on 'soz' of channel A"):
        evaluate_region(predictions, units)
    assert evaluate_region(predictions, units, unit="recording_channel").scores["label"].tolist() == [pd.NA, 1]
