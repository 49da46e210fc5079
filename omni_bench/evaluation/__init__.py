"""Every reported number, computed from the tables of predictions and units and nothing else."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from omni_bench.errors import BenchError
from omni_bench.evaluation.classification import evaluate_classification
from omni_bench.evaluation.confusion import balanced_accuracy, macro_f1
from omni_bench.evaluation.labels import region_label, state_label
from omni_bench.evaluation.rates import rate_scores, window_scores
from omni_bench.evaluation.record import Evaluation, Metric
from omni_bench.evaluation.region import evaluate_region
from omni_bench.evaluation.regression import evaluate_regression
from omni_bench.evaluation.windows import evaluate_binary_windows

__all__ = [
    "Evaluation",
    "Metric",
    "balanced_accuracy",
    "evaluate",
    "evaluate_binary_windows",
    "evaluate_classification",
    "evaluate_region",
    "evaluate_regression",
    "macro_f1",
    "rate_scores",
    "region_label",
    "state_label",
    "window_scores",
]


def evaluate(predictions: pd.DataFrame, units: pd.DataFrame, task: Mapping[str, Any], **overrides: Any) -> Evaluation:
    """Evaluate a run as its task card says.

    Parameters
    ----------
    predictions
        One row per sample: `sample_id, unit_id, start, duration, split`, then `prob_<class>` ... or `prediction`.
    units
        One row per unit: `unit_id, source, subject, person, recording, channel, split, label` (NA = unscored), and
        what the task's metrics need (`good, soz, resected, outcome, duration, target`).
    task
        A task card; its `evaluate` node names one of this package's functions by `_target_`, and its options.
    overrides
        Options that replace the card's, for instance `inherited_threshold`.
    """
    from hydra.utils import instantiate

    if "evaluate" not in task:
        raise BenchError("task card: no key 'evaluate': name a function of omni_bench.evaluation by _target_")
    function = instantiate(task["evaluate"], _partial_=True, _convert_="all")
    return function(predictions, units, **overrides)
