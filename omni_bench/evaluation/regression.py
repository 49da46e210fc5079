"""Tasks with a continuous target."""

import numpy as np
import pandas as pd

from omni_bench.evaluation.bootstrap import draw_persons
from omni_bench.evaluation.record import Evaluation
from omni_bench.evaluation.tables import check_columns, evaluated_rows, unit_totals


def evaluate_regression(
    predictions: pd.DataFrame, units: pd.DataFrame, *, n_boot: int = 1000, seed: int = 0
) -> Evaluation:
    """Compare the mean prediction of each unit with its target.

    Parameters
    ----------
    predictions
        `unit_id` and `prediction`, in the unit of the target.
    units
        `target` (float, NaN = unscored).

    Returns
    -------
    Metrics `r2` (1 - squared error / squared deviation from the mean of the evaluated targets), `pearson`, `rmse`,
    `mae`. Units without a sample are left out and counted.
    """
    check_columns(units, "units", ["unit_id", "person", "split", "target"])
    check_columns(predictions, "predictions", ["unit_id", "prediction"])
    totals = unit_totals(predictions, units, ["prediction"])
    score = (totals["prediction"] / totals["n_samples"]).where(totals["n_samples"] > 0)
    rows = evaluated_rows(units.assign(score=score, n_samples=totals["n_samples"]))
    rows = rows[rows["target"].notna()]
    missing = int(rows["score"].isna().sum())
    notes = [f"{missing} of {len(rows)} units have no sample and are left out"] if missing else []
    rows = rows[rows["score"].notna()].reset_index(drop=True)
    draws = draw_persons(rows["person"], n_boot, seed)
    metrics = _regression_metrics(
        rows["target"].to_numpy(dtype=float), rows["score"].to_numpy(dtype=float), draws.weights, draws.columns
    )
    undefined = "constant targets or predictions" if len(rows) else "no scored unit in the test split"
    return Evaluation(
        metrics={name: draws.metric(values, undefined) for name, values in metrics.items()},
        threshold=None,
        scores=rows.assign(predicted=rows["score"]),
        notes=notes,
    )


def _regression_metrics(
    target: np.ndarray, predicted: np.ndarray, weights: np.ndarray, columns: np.ndarray
) -> dict[str, np.ndarray]:
    """Metrics for each row of weights, from sums of powers per person; arrays `(n_rows,)`."""
    t, p = (x - x.mean() if len(x) else x for x in (target, predicted))  # centred: sums of squares keep their digits
    error = predicted - target
    powers = np.stack([np.ones(len(t)), t, p, t * t, p * p, t * p, error**2, np.abs(error)], axis=1)
    sums = np.zeros((weights.shape[1], powers.shape[1]))
    np.add.at(sums, columns, powers)
    n, st, sp, stt, spp, stp, squared, absolute = (weights @ sums).T
    with np.errstate(invalid="ignore", divide="ignore"):
        var_t, var_p = stt - st**2 / n, spp - sp**2 / n
        var_t, var_p = (np.where(v > 1e-12 * s, v, np.nan) for v, s in ((var_t, stt), (var_p, spp)))
        return {
            "r2": 1 - squared / var_t,
            "pearson": (stp - st * sp / n) / np.sqrt(var_t * var_p),
            "rmse": np.sqrt(squared / n),
            "mae": absolute / n,
        }
