"""Average ranks and the factor analysis against the published tables of OmniEEG-Bench."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from omni_bench.errors import BenchError
from omni_bench.results.factors import (
    PRETRAINED_ON_BY_MOST,
    factor_correlation,
    group_difference,
    published_factors,
)
from omni_bench.results.published import published_scores
from omni_bench.results.ranks import average_rank, dataset_ranks


def test_ranks_by_hand() -> None:
    scores = pd.DataFrame(
        {"a": [0.9, 0.5, 0.6], "b": [0.7, 0.5, np.nan], "c": [0.7, 0.4, 0.8], "d": [0.5, 0.6, 0.5]},
        index=["x", "y", "z"],
    )
    chance = pd.Series(0.5, index=["z", "y", "x"])
    expected = {
        "published": [[1, 2.5, 2.5, 4], [4, 4, 4, 1], [2, np.nan, 1, 3]],
        "strict": [[1, 2.5, 2.5, 4], [2.5, 2.5, 4, 1], [2, np.nan, 1, 3]],
        "plain": [[1, 2.5, 2.5, 4], [2.5, 2.5, 4, 1], [2, np.nan, 1, 3]],
    }
    for rule, rows in expected.items():
        np.testing.assert_array_equal(dataset_ranks(scores, chance, rule).to_numpy(), rows)
    averages = average_rank(scores, chance)
    assert averages.to_dict() == pytest.approx({"a": 7 / 3, "b": 3.25, "c": 2.5, "d": 8 / 3})
    assert averages.index.tolist() == ["a", "c", "d", "b"]
    below = scores.replace({0.4: 0.45})
    assert dataset_ranks(below.assign(b=[0.7, 0.42, np.nan]), chance, "strict").loc["y", ["b", "c"]].tolist() == [4, 4]


@pytest.mark.parametrize("table", [5, 6, 7])
@pytest.mark.parametrize(("rule", "name"), [("published", "lechance"), ("strict", "ltchance"), ("plain", "none")])
@pytest.mark.parametrize("all_rows", [True, False])
def test_ranks_of_the_papers_own_tables(golden: Path, table: int, rule: str, name: str, all_rows: bool) -> None:
    recomputed = pd.read_csv(golden / "ranks" / "average_ranks_recomputed_from_paper_tables.csv")
    recomputed = recomputed[(recomputed["paper_table"] == table) & (recomputed["rule"] == name)]
    expected = recomputed[(recomputed["rows"] == "all rows") == all_rows].set_index("model")
    scores, chance = published_scores(table)
    if not all_rows:
        scores = scores.drop(index=PRETRAINED_ON_BY_MOST, errors="ignore")
    assert len(scores) == expected["n_rows"].iloc[0]
    assert scores.notna().sum().to_dict() == expected["n_ranked"].to_dict()
    averages = average_rank(scores, chance, rule)
    assert averages.to_dict() == pytest.approx(expected["avg_rank"].to_dict(), abs=1e-3)


def test_golden_ranks_are_the_full_ones(golden: Path, shared: Path) -> None:
    name = "average_ranks_recomputed_from_paper_tables.csv"
    full = shared / "facts" / "omni_eegbench_results" / "derived" / name
    assert (golden / "ranks" / name).read_bytes() == full.read_bytes()


def test_bad_input_is_named() -> None:
    scores = pd.DataFrame({"a": [0.9], "b": [0.5]}, index=["x"])
    with pytest.raises(BenchError, match="rule='median' is not a known rank rule"):
        average_rank(scores, pd.Series({"x": 0.5}), "median")
    with pytest.raises(BenchError, match="no chance level for dataset 'x'"):
        average_rank(scores, pd.Series({"y": 0.5}))
    assert average_rank(scores, pd.Series(dtype=float), "plain").tolist() == [1, 2]


@pytest.mark.parametrize(
    ("factor", "median", "p"),
    [
        ("pretraining datasets", -0.270, 1.3e-7),
        ("log parameters", -0.212, 4.5e-4),
        ("year", -0.40, 7e-10),
        ("hours", -0.07, 0.26),
        ("subjects", -0.08, 0.77),
        ("log parameters, without BENDR", -0.10, 0.56),
    ],
)
def test_factor_analysis_of_table_5(factor: str, median: float, p: float) -> None:
    effect = published_factors().loc[factor]
    decimals = 3 if abs(median) in (0.27, 0.212) else 2
    assert effect["median"] == pytest.approx(median, abs=0.5001 * 10**-decimals)
    assert effect["p"] == pytest.approx(p, rel=0.07)
    assert effect["n_datasets"] == 53


def test_size_correlation_turns_with_the_true_size_of_bendr() -> None:
    effect = published_factors().loc["log parameters, BENDR at 157.1 M"]
    assert effect["median"] == pytest.approx(0.12, abs=0.005)
    assert effect["p"] < 1.01e-3


@pytest.mark.parametrize(
    ("group", "p"),
    [
        (["BrainOmni", "CBraMod"], 8.7e-9),
        (["BIOT", "BENDR"], 7.0e-8),
        (["BrainOmni", "NeuroLM", "LaBraM"], 1.2e-2),
        (["FEMBA", "EEGMamba"], 2.3e-2),
    ],
)
def test_group_differences_of_table_5(group: list[str], p: float) -> None:
    scores, chance = published_scores(5)
    effect = group_difference(dataset_ranks(scores, chance, "strict"), group)
    assert effect.p == pytest.approx(p, rel=0.05)


def test_factor_correlation_by_hand() -> None:
    ranks = pd.DataFrame({"a": [1, 1, 3], "b": [2, 3, 2], "c": [3, 2, 1], "d": [4, 4, 4]}, index=["x", "y", "z"])
    size = pd.Series({"a": 3.0, "b": 2.0, "c": 1.0, "unranked": 9.0})  # d has no known size
    effect = factor_correlation(ranks, size)
    assert effect.median == pytest.approx(-0.5)  # -1, -0.5, 1
    assert effect.n_datasets == 3
    with pytest.raises(BenchError, match="'e' has no ranks"):
        group_difference(ranks, ["e"])
