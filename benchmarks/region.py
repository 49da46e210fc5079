"""Time the aggregation of window predictions to channels against the published loop, re-implemented here.

    python benchmarks/region.py [--channels 20000] [--windows 5] [--repeats 3]

The loop looks every channel's windows up in the whole table; ours adds them up in one pass. Seconds are CPU time of one
thread, the best of the repeats; the loop runs on the first channels only where ``--plain`` is smaller, and its time is
then told for all of them, since each of its look-ups costs the same. Beside it the whole evaluation of the region task.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

from omni_bench.evaluation import evaluate_region
from omni_bench.evaluation.rates import window_scores

CHANNELS_PER_PATIENT = 100


def tables(n_channels: int, n_windows: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Predictions and units of a cohort of 100 channels a patient."""
    rng = np.random.default_rng(0)
    channel = np.arange(n_channels)
    patient = channel // CHANNELS_PER_PATIENT
    subject = pd.Series(patient).map("sub-{:04d}".format)
    name = pd.Series(channel % CHANNELS_PER_PATIENT).map("C{:03d}".format)
    soz = rng.random(n_channels) < 0.3
    units = pd.DataFrame(
        {
            "unit_id": subject + "/run-01/" + name,
            "source": "benchmark",
            "subject": subject,
            "person": subject,
            "recording": subject + "/run-01",
            "channel": name,
            "split": np.where(patient % 5 == 0, "val", "test"),
            "good": True,
            "soz": pd.array(soz, dtype="boolean"),
            "resected": pd.array(soz & (rng.random(n_channels) < 0.8), dtype="boolean"),
            "outcome": pd.array(patient % 2 == 0, dtype="boolean"),
        }
    )
    score = np.clip(0.4 + 0.2 * soz.repeat(n_windows) + 0.1 * rng.standard_normal(n_channels * n_windows), 0, 1)
    predictions = pd.DataFrame(
        {
            "sample_id": [f"s{i}" for i in range(len(score))],
            "unit_id": units["unit_id"].repeat(n_windows).to_numpy(),
            "prob_normal": 1 - score,
            "prob_pathological": score,
        }
    )
    return predictions, units


def plain(predictions: pd.DataFrame, units: pd.DataFrame) -> np.ndarray:
    """One look-up in the whole table for each channel."""
    found = [predictions[predictions["unit_id"] == unit]["prob_pathological"].mean() for unit in units["unit_id"]]
    return np.array(found)


def ours(predictions: pd.DataFrame, units: pd.DataFrame) -> np.ndarray:
    totals = window_scores(predictions, units)
    return (totals["total"] / totals["size"]).to_numpy()


def best(work: Callable[[], object], repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--channels", type=int, default=20_000)
    parser.add_argument("--windows", type=int, default=5, help="per channel")
    parser.add_argument("--plain", type=int, default=2_000, help="channels that the loop takes")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    predictions, units = tables(options.channels, options.windows)
    some = units.head(options.plain)
    assert np.allclose(plain(predictions, some), ours(predictions, units)[: len(some)])
    loop = best(lambda: plain(predictions, some), 1) * len(units) / len(some)
    fast = best(lambda: ours(predictions, units), options.repeats)
    whole = best(lambda: evaluate_region(predictions, units, n_boot=0), options.repeats)
    print(f"{len(units)} channels, {len(predictions)} windows")
    print(f"aggregation: loop {loop:.2f} s, ours {fast:.3f} s: {loop / fast:.0f} times")
    print(f"evaluation of the region task, without bootstrap: {whole:.2f} s")


if __name__ == "__main__":
    main()
