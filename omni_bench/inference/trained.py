"""A trained model, wherever it lies: a run directory, its checkpoint, an exported folder, or a hub."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from omegaconf import DictConfig, OmegaConf

from omni_bench.config import AdaptationConf, ModelConf, TaskConf, TrainerConf, checkpoint_file, file_sha256
from omni_bench.errors import BenchError
from omni_bench.results.record import read_record

SUMS = "SHA256SUMS"
EXPORTED = ("model.safetensors", "config.yaml", "result.json", "README.md", SUMS)
"""Files of an exported folder."""
OURS = ("omni_bench.models.", "omni_bench.modules.")
SCHEMAS = {"task": TaskConf, "model": ModelConf, "adaptation": AdaptationConf, "trainer": TrainerConf}
NODES = ("model.net", "model.optimizer", "adaptation")
"""Parts of a configuration that are instantiated to predict."""


@dataclass(frozen=True)
class Trained:
    """What is needed to predict again as a run did.

    Attributes
    ----------
    source
        As the user named it.
    weights
        File of its weights.
    config
        Of the run, resolved.
    record
        Of the run.
    """

    source: str
    weights: Path
    config: DictConfig
    record: dict[str, Any]

    @property
    def seen(self) -> frozenset[str]:
        """Subjects that the run trained on or chose its epoch by, where its directory says so."""
        files = (parent / "split.parquet" for parent in self.weights.parents[:2])
        file = next((file for file in files if file.is_file()), None)
        if file is None:
            return frozenset()
        known = pd.read_parquet(file, columns=["subject", "split"])
        return frozenset(known.loc[known["split"].isin(["train", "val"]), "subject"])

    @property
    def window(self) -> dict[str, Any]:
        """What the network sees: ``n_times``, ``sfreq`` (Hz) and ``ch_names`` (None where a window is one channel)."""
        return self.record["window"]

    def config_for(self, **changes: Any) -> DictConfig:
        """The run's configuration with its weights as checkpoint, and nothing else of the machine that it ran on."""
        kept = {
            key: self.config[key] for key in ("dataset", "task", "model", "adaptation", "compat", "seed", "trainer")
        }
        alone = {
            "checkpoint": str(self.weights),
            "protocol": {"corruption": None},
            "logger": {},
            "callbacks": {"early_stopping": None},
            "trainer": {"devices": 1, "num_nodes": 1},
        }
        return OmegaConf.unsafe_merge(OmegaConf.create(kept), alone, changes)  # type: ignore[return-value]


def open_trained(checkpoint: str, offline: bool = False) -> Trained:
    """Find a model's weights, configuration and record; nothing of it is run, and what it would run is checked.

    Parameters
    ----------
    checkpoint
        A finished run's directory, a checkpoint in one, what `omni_bench.export` wrote, or ``hf://org/name[@revision]``.

    Raises
    ------
    BenchError
        Something of it is absent or damaged, the run did not finish, or its configuration names what is no part of a model.
    """
    place = _fetched(checkpoint, offline) if checkpoint.startswith("hf://") else Path(checkpoint).expanduser()
    weights = checkpoint_file(str(place))
    folder = next((parent for parent in weights.parents[:2] if (parent / "config.yaml").is_file()), None)
    record = None if folder is None else read_record(folder)
    if folder is None or record is None:
        raise BenchError(
            f"checkpoint={checkpoint}: no config.yaml and result.json beside it: give a finished run's directory or its export"
        )
    if record.get("status") != "completed" or "window" not in record:
        raise BenchError(
            f"checkpoint={checkpoint}: its result.json is of no completed run of this version: start that run again"
        )
    _check_sums(folder)
    return Trained(checkpoint, weights, _config(folder / "config.yaml"), record)


def _fetched(checkpoint: str, offline: bool) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OfflineModeIsEnabled

    repo, _, revision = checkpoint.removeprefix("hf://").partition("@")
    try:
        return Path(
            snapshot_download(repo, revision=revision or None, allow_patterns=list(EXPORTED), local_files_only=offline)
        )
    except (LocalEntryNotFoundError, OfflineModeIsEnabled, HfHubHTTPError, HFValidationError, OSError) as error:
        raise BenchError(
            f"checkpoint={checkpoint}: not in the local cache and could not be fetched ({type(error).__name__}): fetch it "
            "where there is a network, then give its folder"
        ) from error


def _check_sums(folder: Path) -> None:
    file = folder / SUMS
    for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
        digest, _, name = line.partition("  ")
        if Path(name).name != name or not (folder / name).is_file():
            raise BenchError(f"{file}: names {name!r}, which is not beside it: export again")
        if file_sha256(folder / name) != digest:
            raise BenchError(f"{folder / name}: SHA-256 differs from {SUMS}: export or fetch it again")


def sums(files: list[Path]) -> str:
    """Content of ``SHA256SUMS``, as ``sha256sum -c`` reads it."""
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}" for file in files]
    return "\n".join(lines) + "\n"


def _config(file: Path) -> DictConfig:
    """A resolved configuration of a run, which may come from anywhere: neither it nor what it names may do anything else."""
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
        if any("${" in str(leaf) for leaf in _leaves(content)):
            raise BenchError(f"{file}: an interpolation (${{...}}) in it, expected the resolved file of a run")
        # what later versions ask for has its default, and everything its type
        typed = {key: OmegaConf.merge(OmegaConf.structured(schema), content[key]) for key, schema in SCHEMAS.items()}
        config = OmegaConf.create(content | typed)
        for node in NODES:
            for target in _targets(OmegaConf.to_container(OmegaConf.select(config, node))):
                _check_target(target, f"{file}: {node}")
    except BenchError:
        raise
    except Exception as error:
        raise BenchError(
            f"{file}: no configuration of a run ({' '.join(str(error).split())[:120]}): give a finished run or its export"
        ) from error
    assert isinstance(config, DictConfig)
    return config


def _leaves(node: Any) -> Iterator[Any]:
    children = [*node, *node.values()] if isinstance(node, dict) else node if isinstance(node, list) else None
    if children is None:
        yield node
    for child in children or ():
        yield from _leaves(child)


def _targets(node: Any) -> Iterator[Any]:
    if isinstance(node, dict) and "_target_" in node:
        yield node["_target_"]
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _targets(child)


def _check_target(target: Any, where: str) -> None:
    """Raise BenchError unless a target is what a run is made of, or a function of a ``net``, where it is defined."""
    module, _, name = str(target).rpartition(".")
    if module == "torch.optim" or module.startswith((*OURS, "sklearn.")):
        try:
            found = getattr(import_module(module), name, None)
        except ImportError:
            found = None
        if module.startswith("sklearn."):
            from sklearn.base import ClassifierMixin

            found = found if isinstance(found, type) and issubclass(found, ClassifierMixin) else None
        known = isinstance(found, type) or (callable(found) and next(iter(signature(found).parameters), "") == "net")
        if known and found.__module__.startswith(module):
            return
    raise BenchError(
        f"{where}._target_: {target} is no network, learner or optimizer of omni_bench, nor a classifier: not loaded"
    )
