"""Records of finished runs as a leaderboard meets them."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from omni_bench.results.published import read_published


def finished(task: str, model: str, value: float | None, **changes: Any) -> dict[str, Any]:
    """A completed scalp run whose balanced accuracy is ``value``, ±0.05 at 95 %."""
    limits = (None, None) if value is None else (value - 0.05, value + 0.05)
    metric = {"value": value, "ci_low": limits[0], "ci_high": limits[1], "ci_unit": "person", "n": 20}
    fields = {
        "schema": 1,
        "run_id": "seed-0-abc",
        "status": "completed",
        "finished": "2026-01-01T00:00:00+00:00",
        "dataset": "own",
        "task": task,
        "task_version": 1,
        "family": "Type-I",
        "chance": 0.5,
        "model": model,
        "protocol": "cross_subject",
        "adaptation": "linear_probe",
        "seed": 0,
        "compat": None,
        "config_hash": "abc",
        "experiment": None,
        "synthetic": False,
        "reduced": False,
        "options": {},
        "metrics": {"balanced_accuracy": metric},
        "threshold": None,
        "counts": {"test": {"patients": 3, "recordings": 3, "units": 20, "per_class": {"a": 10, "b": 10}}},
        "weights": {"source": "hub", "pretrained": True, "sha256": "0f" * 32},
        "pretraining_overlap": None,
        "versions": {"omni_bench": "0.1.0"},
    }
    return fields | changes


def write_records(folder: Path, records: list[dict[str, Any]], name: str = "result.json") -> Path:
    """Every record in a folder of its own, as runs lie."""
    for i, record in enumerate(records):
        run = folder / record["model"].replace("/", "_") / f"seed-{record['seed']}-{i}"
        run.mkdir(parents=True)
        (run / name).write_text(json.dumps(record))
    return folder


def published_records(table: int) -> list[dict[str, Any]]:
    """Three seeds of every cell of OmniEEG-Bench Table 5, 6 or 7, a dash as pretraining overlap."""
    protocol = {5: "cross_subject", 6: "multi_subject", 7: "cross_subject"}[table]
    records = []
    for cell in read_published(f"omni_eegbench/table{table}").to_dict("records"):
        absent = np.isnan(cell["mean"])
        baseline = cell["model"] in ("EEGNet", "EEGConformer")
        records += [
            finished(
                cell["dataset"],
                cell["model"],
                None if absent else cell["mean"],
                family=cell["family"],
                chance=round(1 / cell["n_labels"], 3),
                protocol=protocol,
                adaptation="from_scratch" if baseline else "full_finetune" if table == 7 else "linear_probe",
                seed=seed,
                config_hash=f"{seed}",
                pretraining_overlap=True if absent else None,
            )
            for seed in range(3)
        ]
    return records
