"""A finished run as a folder for others: weights, what it takes to predict with them, a card, hashes."""

import json
from collections.abc import Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import yaml

from omni_bench.errors import BenchError
from omni_bench.files import renamed, write_atomically
from omni_bench.inference.model_card import model_card
from omni_bench.inference.trained import EXPORTED, SUMS, Trained, sums
from omni_bench.steps import network_of, plain

CONFIG = {
    "dataset": "name title family citation licence version synthetic",
    "protocol": "name title",
    "trainer": "accelerator precision max_epochs batch_size eval_batch_size gradient_clip time_reversal memory_mb num_workers "
    "checkpoint_every progress",
}
"""What is published of these parts of a configuration; task, model, adaptation, compat and seed are published whole."""
PEOPLE = ("subject", "source")
"""Filters of a task's cohort that name whom it was trained on."""
RECORD = """
schema run_id status task task_version dataset model protocol adaptation seed split_seed compat reduced synthetic config_hash
experiment fallback window metrics threshold counts weights pretraining_overlap parameters versions git_revision
"""
"""What is published of a record: warnings, reasons for exclusion and options of a split name files and patients."""


def publish(trained: Trained, folder: Path, offline: bool = False) -> list[Path]:
    """Write the files of `omni_bench.inference.trained.EXPORTED`; what is there already is replaced.

    Returns
    -------
    The files.

    Raises
    ------
    BenchError
        The weights do not fit the run's network, or are an estimator of scikit-learn.
    """
    from safetensors.torch import save

    if trained.weights.suffix == ".skops":
        raise BenchError(
            f"checkpoint={trained.source}: an estimator of scikit-learn is no safetensors: share the run's directory, which "
            "omni_bench.predict takes as it is"
        )
    window = trained.window
    n_chans = 1 if window["ch_names"] is None else len(window["ch_names"])
    cfg = trained.config_for(offline=offline)
    net, _ = network_of(cfg, n_chans, window["n_times"], window["sfreq"], window["ch_names"])
    config, record = published_config(trained), published_record(trained)
    folder.mkdir(parents=True, exist_ok=True)
    with renamed(folder / "model.safetensors") as part:
        # tied weights are written once each: the format knows no shared memory
        part.write_bytes(save({name: value.detach().clone() for name, value in net.state_dict().items()}))
    write_atomically(folder / "config.yaml", yaml.safe_dump(config, sort_keys=False, allow_unicode=True))
    write_atomically(folder / "result.json", json.dumps(record, indent=1) + "\n")
    write_atomically(folder / "README.md", model_card(config, record))
    files = [folder / name for name in EXPORTED if name != SUMS]
    write_atomically(folder / SUMS, sums(files))
    return [*files, folder / SUMS]


def published_config(trained: Trained) -> dict[str, Any]:
    """The part of a run's configuration that predicting needs, without paths and people."""
    config = plain(trained.config)
    kept = {key: config[key] for key in ("task", "model", "adaptation", "compat", "seed")}
    kept |= {
        part: {name: config[part].get(name) for name in names.split() if name in config[part]}
        for part, names in CONFIG.items()
    }
    cohort = {name: value for name, value in config["task"]["cohort"].items() if name not in PEOPLE}
    kept["task"] = config["task"] | {"cohort": cohort}
    return without_paths(kept)


def published_record(trained: Trained) -> dict[str, Any]:
    """The part of a run's record that tells what the model is and how well it does, without paths and people."""
    return without_paths({key: trained.record[key] for key in RECORD.split() if key in trained.record})


def without_paths(node: Any) -> Any:
    """The same containers with the last part of every absolute path in place of it."""
    if isinstance(node, Mapping):
        return {key: without_paths(value) for key, value in node.items()}
    if isinstance(node, list):
        return [without_paths(value) for value in node]
    if isinstance(node, str):
        for path in (PurePosixPath(node), PureWindowsPath(node)):
            if path.is_absolute() or node.startswith("~"):
                return path.name
    return node
