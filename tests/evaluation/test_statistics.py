"""Statistics against published worked examples and against their definitions."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, chi2, norm
from statsmodels.stats.multitest import multipletests

from omni_bench.errors import BenchError
from omni_bench.evaluation.auc_comparison import (
    bootstrap_auc_difference,
    delong_covariance,
    delong_interval,
    delong_test,
)
from omni_bench.evaluation.bootstrap import draw_persons
from omni_bench.evaluation.statistics import (
    chance_tests,
    compare_over_datasets,
    compare_ranks,
    holm,
    interval_chance_tests,
    share_above_chance,
)

# albumin, total protein, K-G score and benefit from surgery of 43 patients: DeLong et al. (1988)
# fmt: off
DELONG_PATIENTS = np.array([
    [3, 5.8, 10, 0], [3.2, 6.3, 5, 1], [3.9, 6.8, 3, 1], [2.8, 4.8, 6, 0],
    [3.2, 5.8, 3, 1], [0.9, 4, 5, 0], [2.5, 5.7, 8, 0], [1.6, 5.6, 5, 1],
    [3.8, 5.7, 5, 1], [3.7, 6.7, 6, 1], [3.2, 5.4, 4, 1], [3.8, 6.6, 6, 1],
    [4.1, 6.6, 5, 1], [3.6, 5.7, 5, 1], [4.3, 7, 4, 1], [3.6, 6.7, 4, 0],
    [2.3, 4.4, 6, 1], [4.2, 7.6, 4, 0], [4, 6.6, 6, 0], [3.5, 5.8, 6, 1],
    [3.8, 6.8, 7, 1], [3, 4.7, 8, 0], [4.5, 7.4, 5, 1], [3.7, 7.4, 5, 1],
    [3.1, 6.6, 6, 1], [4.1, 8.2, 6, 1], [4.3, 7, 5, 1], [4.3, 6.5, 4, 1],
    [3.2, 5.1, 5, 1], [2.6, 4.7, 6, 1], [3.3, 6.8, 6, 0], [1.7, 4, 7, 0],
    [3.7, 6.1, 5, 1], [3.3, 6.3, 7, 1], [4.2, 7.7, 6, 1], [3.5, 6.2, 5, 1],
    [2.9, 5.7, 9, 0], [2.1, 4.8, 7, 1], [2.8, 6.2, 8, 0], [4, 7, 7, 1],
    [3.3, 5.7, 6, 1], [3.7, 6.9, 5, 1], [3.6, 6.6, 5, 1],
])
# fmt: on

# Ranks of C4.5, C4.5+m, C4.5+cf, C4.5+m+cf on 14 datasets: Demšar (2006), Table 6
DEMSAR_RANKS = pd.DataFrame(
    [
        [4, 3, 2, 1],
        [1, 2, 3, 4],
        [4, 1, 2, 3],
        [4, 1, 3, 2],
        [4, 2, 3, 1],
        [1, 2.5, 4, 2.5],
        [3, 2, 4, 1],
        [2.5, 2.5, 4, 1],
        [4, 3, 2, 1],
        [2.5, 2.5, 2.5, 2.5],
        [4, 2.5, 1, 2.5],
        [3, 2, 4, 1],
        [4, 1, 2, 3],
        [3, 1, 4, 2],
    ],
    columns=["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"],
)
# AUC of C4.5+m minus AUC of C4.5 on the same datasets: Demšar (2006), Table 2
DEMSAR_DIFFERENCES = [0.005, -0.008, 0.017, 0.033, 0.006, -0.005, 0.007, 0, 0.063, 0, 0.022, 0.047, 0.009, 0.021]
# CT images of 58 normal and 51 abnormal patients, rated 1 to 5: Hanley and McNeil (1982), Table I; Stata's data hanley
HANLEY_NORMAL, HANLEY_ABNORMAL = [33, 6, 6, 11, 2], [3, 2, 2, 11, 33]
# Extra hours of sleep of 10 patients: Student (1908), second drug minus first; R's data sleep
STUDENT = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]


def test_friedman_and_nemenyi_of_demsar() -> None:
    """Demšar (2006), section 3.2.2: ranks, chi-square 9.28 (without correction for ties), CD 1.25 and at 0.10 1.12."""
    result = compare_ranks(-DEMSAR_RANKS)
    assert result.n_datasets == 14
    expected = {"C4.5": 3.143, "C4.5+m": 2.000, "C4.5+cf": 2.893, "C4.5+m+cf": 1.964}
    assert result.average_ranks.to_dict() == pytest.approx(expected, abs=5e-4)
    tied_pairs, tied_fours = 3, 1
    tie_correction = 1 - (tied_pairs * (2**3 - 2) + tied_fours * (4**3 - 4)) / (14 * (4**3 - 4))
    assert result.statistic * tie_correction == pytest.approx(9.28, abs=0.01)
    assert result.critical_difference == pytest.approx(1.25, abs=0.005)
    assert compare_ranks(-DEMSAR_RANKS, alpha=0.1).critical_difference == pytest.approx(1.12, abs=0.005)


def test_nemenyi_p_values_agree_with_the_critical_difference() -> None:
    for alpha in (0.05, 0.1):
        result = compare_ranks(-DEMSAR_RANKS, alpha)
        ranks = result.average_ranks.to_numpy()
        far = np.abs(np.subtract.outer(ranks, ranks)) > result.critical_difference
        assert ((result.pairwise_p.to_numpy() < alpha) == far).all()
    # section 3.2.2 there: no pair differs at 0.05; at 0.10 plain C4.5 differs from the two with tuned m
    assert result.pairwise_p.loc["C4.5", ["C4.5+m", "C4.5+m+cf"]].lt(0.1).all()


def test_nemenyi_equals_scikit_posthocs() -> None:
    posthocs = pytest.importorskip("scikit_posthocs")
    rng = np.random.default_rng(0)
    scores = pd.DataFrame(rng.normal(size=(20, 5)) + np.arange(5) / 2, columns=list("abcde"))
    expected = posthocs.posthoc_nemenyi_friedman(scores)
    ours = compare_ranks(scores).pairwise_p
    pd.testing.assert_frame_equal(ours, expected.loc[ours.index, ours.columns], check_names=False, rtol=1e-6)


def test_incomplete_datasets_are_left_out() -> None:
    scores = -DEMSAR_RANKS
    with_gap = pd.concat([scores, scores.iloc[:1].assign(**{"C4.5": np.nan})])
    assert compare_ranks(with_gap).n_datasets == 14
    assert compare_ranks(with_gap).statistic == compare_ranks(scores).statistic
    with pytest.raises(BenchError, match="14 datasets with scores of all 2 models"):
        compare_ranks(scores[["C4.5", "C4.5+m"]])


def test_wilcoxon_of_demsar() -> None:
    """Demšar (2006), section 3.1.3: R+ = 93, R- = 12, and z by the formula there."""
    plain = np.full(14, 0.5)
    pairs = compare_over_datasets(pd.DataFrame({"C4.5+m": plain + DEMSAR_DIFFERENCES, "C4.5": plain}).round(3))
    row = pairs.iloc[0]
    # (12 - 14 * 15 / 4) / sqrt(14 * 15 * 29 / 24) = -2.54, without correction for ties
    assert row["rank_biserial"] == pytest.approx((93 - 12) / 105)
    assert row[["wins", "ties", "losses", "n_datasets"]].tolist() == [10, 2, 2, 14]
    assert row["p"] == pytest.approx(0.011, abs=0.003)


def test_wilcoxon_over_several_models() -> None:
    scores = pd.DataFrame({"a": np.arange(8.0), "b": np.arange(8.0) - 1 - np.arange(8) / 10, "c": np.arange(8.0)})
    scores.loc[0, "b"] = np.nan
    pairs = compare_over_datasets(scores).set_index(["model_a", "model_b"])
    assert pairs.loc[("a", "b"), "n_datasets"] == 7
    assert pairs.loc[("a", "b"), "p"] == pytest.approx(2 / 2**7)  # exact: all seven signs agree
    assert pairs.loc[("a", "b"), "p_holm"] == pytest.approx(4 / 2**7)  # two tests: a and c never differ
    assert pairs.loc[("b", "c"), "rank_biserial"] == -1
    assert np.isnan(pairs.loc[("a", "c"), "p"])
    assert pairs.loc[("a", "c"), "median_difference"] == 0


def test_p_value_from_an_interval() -> None:
    """The examples of Altman and Bland (2011, BMJ 343:d2090), which go from p to the interval, the other way round.

    17 ± 15.56 percentage points: z 2.141, two-sided p 0.032. Relative risk 0.30, its logarithm -1.204 with the interval
    -2.319 to -0.089: z 2.117, p 0.034.
    """
    cells = pd.DataFrame(
        {
            "dataset": ["zinc", "pressure", "e", "f"],
            "model": "m",
            "family": ["x", "x", "x", "y"],
            "value": [17, 1.204, 0.1, 0.4],
            "ci_low": [17 - 15.56, 0.089, 0.1, np.nan],
            "ci_high": [17 + 15.56, 2.319, 0.1, np.nan],
            "chance": 0.0,
        }
    )
    tested = interval_chance_tests(cells).set_index("dataset")
    assert tested.loc[["zinc", "pressure"], "z"].tolist() == pytest.approx([2.141, 2.117], abs=1e-3)
    assert (2 * tested.loc[["zinc", "pressure"], "p"]).tolist() == pytest.approx([0.032, 0.034], abs=5e-4)
    assert tested["p_holm"].notna().tolist() == [True, True, False, False]
    shares = share_above_chance(interval_chance_tests(cells))
    assert shares.loc["x"].tolist() == pytest.approx([3, 1, 2 / 3])
    assert shares.loc["y"].tolist() == [1, 1, 0]


def test_holm_equals_statsmodels() -> None:
    p = pd.Series(np.random.default_rng(0).uniform(size=40).round(2) ** 3, index=range(40, 80))
    np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1], atol=1e-12)


def test_holm_by_hand() -> None:
    p = pd.Series([0.01, 0.04, np.nan, 0.03, 0.005])
    assert holm(p).tolist() == pytest.approx([0.03, 0.06, np.nan, 0.06, 0.02], nan_ok=True)


def test_holm_of_demsar() -> None:
    """Demšar (2006), end of section 3.2.2: of p = 0.016, 0.019, 0.607 the first two are rejected at 0.05."""
    assert holm(pd.Series([0.607, 0.016, 0.019])).tolist() == pytest.approx([0.607, 0.048, 0.048])


def replicates(cells: dict[tuple[str, str], list[float]], chance: float) -> pd.DataFrame:
    rows = [(dataset, model, "sleep", v, chance) for (dataset, model), values in cells.items() for v in values]
    return pd.DataFrame(rows, columns=["dataset", "model", "family", "value", "chance"])


def test_chance_test_of_student() -> None:
    """t = 4.0621 and two-sided p = 0.002833 on 9 degrees of freedom, as R's t.test prints of its data sleep."""
    cells = chance_tests(replicates({("drugs", "student"): STUDENT}, 0.0))
    assert cells.loc[0, "t"] == pytest.approx(4.0621, abs=1e-4)
    assert cells.loc[0, "p"] == pytest.approx(0.002833 / 2, abs=1e-6)


def test_share_above_chance_counts_untestable_cells() -> None:
    table = replicates(
        {
            ("x", "good"): [0.8, 0.9, 0.85],
            ("x", "poor"): [0.4, 0.6, 0.45],
            ("x", "stuck"): [0.5] * 3,
            ("y", "once"): [1],
        },
        0.5,
    )
    cells = chance_tests(table).set_index("model")
    assert cells["above_chance"].to_dict() == {"good": True, "poor": False, "stuck": False, "once": False}
    assert cells.loc["good", "p_holm"] == pytest.approx(2 * cells.loc["good", "p"])
    assert np.isnan(cells.loc[["stuck", "once"], "p"]).all()
    shares = share_above_chance(cells.reset_index())
    assert shares.loc["sleep"].tolist() == [4, 2, 0.25]


def test_delong_of_hanley_and_mcneil() -> None:
    """Area 0.8932 (0.893 in the paper), standard error 0.0307, interval 0.83295 to 0.95339: Stata's manual, [R] roctab."""
    score = np.concatenate([np.repeat(range(5), HANLEY_NORMAL), np.repeat(range(5), HANLEY_ABNORMAL)])
    positive = np.arange(109) >= 58
    auc, covariance = delong_covariance(positive, score)
    assert auc[0] == pytest.approx(0.8932, abs=5e-5)
    assert np.sqrt(covariance[0, 0]) == pytest.approx(0.0307, abs=5e-5)
    assert delong_interval(positive, score)[1:] == pytest.approx((0.83295, 0.95339), abs=5e-6)


def test_delong_of_delong() -> None:
    """Chi-square 2.5340 on 2 degrees of freedom, p = 0.2817, for three tests of the same patients: the data of DeLong et
    al. (1988) in the SAS/STAT User's Guide, chapter on LOGISTIC, example on comparing ROC curves."""
    albumin, protein, kg, benefit = DELONG_PATIENTS.T
    scores = np.stack([albumin, protein, 10 - kg])
    auc, covariance = delong_covariance(benefit == 1, scores)
    contrast = np.array([[1, 0, -1], [0, 1, -1]])
    differences = contrast @ auc
    statistic = differences @ np.linalg.solve(contrast @ covariance @ contrast.T, differences)
    assert statistic == pytest.approx(2.5340, abs=5e-5)
    assert chi2.sf(statistic, 2) == pytest.approx(0.2817, abs=5e-5)
    pair = delong_test(benefit == 1, scores[1], scores[2])
    z = differences[1] / np.sqrt(contrast[1] @ covariance @ contrast[1])
    assert pair.p == pytest.approx(2 * norm.sf(abs(z)))


def test_bootstrap_of_lohrs_suites() -> None:
    """Mean 2.826, standard error 0.1637 where 5 of 100 suites of 4 students each are drawn: Lohr, Sampling (2021), example
    5.2. Draws with replacement know no finite population and divide by n, not n - 1."""
    totals = np.array([12.16, 11.36, 8.96, 12.96, 11.08])
    draws = draw_persons(pd.Series(np.repeat(range(5), 4)), 20_000, seed=0)
    means = draws.weights @ totals / (draws.weights @ np.full(5, 4))
    assert means[0] == pytest.approx(2.826)
    assert means[1:].std() == pytest.approx(0.1637 / np.sqrt(1 - 5 / 100) * np.sqrt(4 / 5), rel=0.01)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 6), st.integers(0, 6)), min_size=4, max_size=30))
def test_delong_equals_its_definition(rows: list[tuple[bool, int, int]]) -> None:
    positive, a, b = (np.array(column) for column in zip(*rows, strict=True))
    if min(positive.sum(), (~positive).sum()) < 2:
        assert np.isnan(delong_covariance(positive, np.stack([a, b]))[1]).all()
        return
    of_positive, of_negative = [], []
    for score in (a, b):
        x, y = score[positive][:, None], score[~positive][None, :]
        kernel = (x > y) + 0.5 * (x == y)
        of_positive.append(kernel.mean(axis=1))
        of_negative.append(kernel.mean(axis=0))
    expected = np.cov(of_positive) / positive.sum() + np.cov(of_negative) / (~positive).sum()
    auc, covariance = delong_covariance(positive, np.stack([a, b]))
    assert auc == pytest.approx(np.mean(of_positive, axis=1), abs=1e-12)
    assert covariance == pytest.approx(expected, abs=1e-12)


def test_delong_is_calibrated() -> None:
    """Two scores of equal worth differ at the 5 % level in about 5 % of samples."""
    rng = np.random.default_rng(1)
    positive = np.arange(80) < 30
    signal = positive[None] * 0.8 + rng.normal(size=(600, 80))
    p = [delong_test(positive, s + rng.normal(size=80), s + rng.normal(size=80)).p for s in signal]
    assert binomtest(int(np.sum(np.array(p) < 0.05)), 600, 0.05).pvalue > 0.001


def test_equal_scores_have_no_delong_p() -> None:
    positive = np.array([True, True, False, False])
    result = delong_test(positive, np.arange(4.0), np.arange(4.0))
    assert result.difference == 0
    assert np.isnan(result.p)


def test_bootstrap_agrees_with_delong_where_persons_are_units() -> None:
    rng = np.random.default_rng(2)
    positive = np.arange(300) % 3 == 0
    a, b = positive * 1.2 + rng.normal(size=300), positive * 0.5 + rng.normal(size=300)
    delong = delong_test(positive, a, b)
    boot = bootstrap_auc_difference(positive, a, b, pd.Series(range(300)), n_boot=2000, seed=0)
    assert (boot.auc_a, boot.auc_b) == pytest.approx((delong.auc_a, delong.auc_b))
    assert (boot.ci_low, boot.ci_high) == pytest.approx((delong.ci_low, delong.ci_high), abs=0.015)
    assert max(boot.p, delong.p) < 0.01


def test_bootstrap_counts_persons_not_rows() -> None:
    rng = np.random.default_rng(3)
    positive = np.arange(60) % 2 == 0
    a, b = positive + rng.normal(size=60), positive * 0.6 + rng.normal(size=60)
    persons = pd.Series(np.arange(60) // 4)
    once = bootstrap_auc_difference(positive, a, b, persons, seed=0)
    often = bootstrap_auc_difference(*(np.tile(x, 9) for x in (positive, a, b)), pd.concat([persons] * 9), seed=0)
    assert (often.ci_low, often.ci_high, often.p) == pytest.approx((once.ci_low, once.ci_high, once.p))
    single = bootstrap_auc_difference(positive, a, b, pd.Series(["one"] * 60))
    assert np.isnan([single.ci_low, single.p]).all()
