"""Time the leaderboard on generated results: reading and ranking, then the tables, the figures and the page.

    python benchmarks/leaderboard.py [--results 10000]

The target is 5 s for everything that a number on the board needs: reading the files, cells, ranks and tests.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402 - the libraries read the variables when they load

from omni_bench.results.leaderboard import build_leaderboard, pair_tests, write_leaderboard  # noqa: E402

FAMILIES, MODELS, SEEDS = 6, 12, 3
TARGET_S = 5.0


def write_results(folder: Path, n_results: int) -> None:
    """Finished runs of made-up tasks, as long as real records."""
    rng = np.random.default_rng(0)
    names = ("auc", "average_precision", "accuracy", "balanced_accuracy", "precision_macro", "recall_macro", "f1_macro")
    for i in range(n_results):
        cell, seed = divmod(i, SEEDS)
        task, model = divmod(cell, MODELS)
        protocol = ("cross_subject", "multi_subject")[task % 2]
        adaptation = ("linear_probe", "full_finetune")[task // 2 % 2]
        value = rng.uniform(0.45, 0.95)
        metric = {"value": value, "ci_low": value - 0.05, "ci_high": value + 0.05, "ci_unit": "person", "n": 76}
        record = {
            "schema": 1,
            "status": "completed",
            "finished": "2026-01-01T00:00:00+00:00",
            "task": f"task_{task // 4}",
            "task_version": 1,
            "dataset": f"dataset_{task // 4}",
            "family": f"Type-{task // 4 % FAMILIES}",
            "model": f"model_{model}",
            "protocol": protocol,
            "adaptation": adaptation,
            "seed": seed,
            "compat": None,
            "config_hash": f"{i:010x}",
            "synthetic": False,
            "reduced": False,
            "options": {"max_per_class": 40},
            "metrics": dict.fromkeys(names, metric),
            "threshold": None,
            "counts": {"test": {"patients": 12, "recordings": 14, "units": 171, "per_class": {"a": 90, "b": 81}}},
            "weights": {"source": "hub", "pretrained": True, "missing": [f"layer.{k}.weight" for k in range(20)]},
        }
        run = folder / f"dataset_{task // 4}" / f"{protocol}-{adaptation}-{model}" / f"seed-{seed}-{i:010x}"
        run.mkdir(parents=True)
        (run / "result.json").write_text(json.dumps(record, indent=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=int, default=10_000)
    n_results = parser.parse_args().results
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_results(folder, n_results)
        start, start_cpu = time.perf_counter(), time.process_time()
        board = build_leaderboard(folder, SEEDS)
        tests = [pair_tests(own) for own in board.boards]
        ranked, ranked_cpu = time.perf_counter(), time.process_time()
        page = write_leaderboard(board, folder / "leaderboard", SEEDS)
        written, written_cpu = time.perf_counter(), time.process_time()
        print(
            f"{n_results} results, {len(board.cells)} cells, {len(board.boards)} boards, {sum(map(len, tests))} pairs"
        )
        print(
            f"read, ranked and tested: {ranked - start:.2f} s, CPU {ranked_cpu - start_cpu:.2f} s (target {TARGET_S:g} s)"
        )
        size = page.stat().st_size / 1e6
        print(f"tables, figures, page of {size:.1f} MB: {written - ranked:.2f} s, CPU {written_cpu - ranked_cpu:.2f} s")
        print(f"torch imported: {'torch' in sys.modules}")


if __name__ == "__main__":
    main()
