"""Where a score is cut."""

from dataclasses import dataclass

import numpy as np

from omni_bench.evaluation.tables import check_choice

RULES = ("youden_val", "youden_test", "fixed")


@dataclass(frozen=True)
class Threshold:
    """A cut: positive where `score >= value`, or `score > value` if `strict`."""

    rule: str
    value: float
    strict: bool = False

    def predict(self, score: np.ndarray) -> np.ndarray:
        """Boolean array of `score`'s shape."""
        return score > self.value if self.strict else score >= self.value


def youden_threshold(positive: np.ndarray, score: np.ndarray) -> float:
    """Score that maximises sensitivity + specificity - 1 (Youden 1950); the highest one on ties.

    `inf` (nothing is positive) where no score beats chance, NaN where one class is absent.
    """
    from sklearn.metrics import roc_curve

    if len(np.unique(positive)) < 2:
        return np.nan
    fpr, tpr, thresholds = roc_curve(positive, score)
    return float(thresholds[np.argmax(tpr - fpr)])


def youden_threshold_of_normal(positive: np.ndarray, score: np.ndarray) -> float:
    """Youden's threshold with the negative class detected by low scores, as Omni-iEEG's released event code does.

    The highest score still called negative; the lowest such score on ties, `-inf` where no score beats chance.
    """
    return -youden_threshold(~np.asarray(positive, dtype=bool), -np.asarray(score))


def choose_threshold(
    rule: str,
    val: tuple[np.ndarray, np.ndarray],
    test: tuple[np.ndarray, np.ndarray],
    *,
    fixed: float,
    inherited: float | None,
    orientation: str = "positive",
    strict: bool = False,
) -> Threshold | None:
    """Choose a threshold by a named rule.

    Parameters
    ----------
    rule
        `youden_val` (validation units), `youden_test` (the evaluated units themselves: optimistic), `fixed`.
    val, test
        Labels and scores of the scored units.
    fixed
        Value for `fixed`.
    inherited
        Threshold of the run that a checkpoint came from; used where `youden_val` finds no two classes to choose from.
        The rule is then recorded as `inherited`.
    orientation
        Class that Youden's index detects: `positive`, or `negative` by low scores.
    strict
        Whether a score equal to the threshold is negative. With orientation `negative` it always is.

    Returns
    -------
    None where the rule gives none.
    """
    check_choice("threshold_rule", rule, RULES)
    if rule == "fixed":
        return Threshold(rule, fixed, strict)
    youden = youden_threshold if orientation == "positive" else youden_threshold_of_normal
    value = youden(*(val if rule == "youden_val" else test))
    if not np.isnan(value):
        return Threshold(rule, value, strict or orientation == "negative")
    if rule == "youden_val" and inherited is not None:
        return Threshold("inherited", inherited, strict or orientation == "negative")
    return None


def threshold_notes(rule: str, missing: bool) -> list[str]:
    """What a reader must know of a threshold."""
    if missing and rule == "youden_val":
        return ["no threshold: the validation split has no scored units of both classes, and no run to inherit from"]
    if missing:
        return ["no threshold: the test split has one class only"]
    return ["threshold chosen on the test labels: metrics at it are optimistic"] if rule == "youden_test" else []
