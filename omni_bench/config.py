"""What a run's configuration may say: one schema for every card, and the hash that names a run.

Nothing heavy is imported here, so `--help` and `--cfg job` stay fast.
"""

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING, DictConfig, OmegaConf

from omni_bench.cards import foundation_models, present_tasks
from omni_bench.errors import BenchError
from omni_bench.explain import near
from omni_bench.targets import check_targets

HASH_VERSION = 1
"""Raised when the content or spelling of what is hashed changes, so that old run directories keep their meaning."""


def _prose(default: Any = "") -> Any:
    """A field that can change no number and therefore does not name a run."""
    if isinstance(default, dict | list):
        return field(default_factory=lambda: type(default)(default), metadata={"identity": False})
    return field(default=default, metadata={"identity": False})


RANGES: dict[str, Callable[[float], bool]] = {
    "positive": lambda value: 0 < value < math.inf,
    "zero or more": lambda value: 0 <= value < math.inf,
    "between 0 and 1": lambda value: 0 <= value <= 1,
}


def _number(default: Any, bounds: str, *, identity: bool = True) -> Any:
    """A field whose value, where it has one, lies in one of `RANGES`."""
    return field(default=default, metadata={"bounds": bounds, "identity": identity})


def _choice(default: Any, *words: str, identity: bool = True) -> Any:
    """A field whose value, where it has one, is one of these words."""
    return field(default=default, metadata={"words": words, "identity": identity})


@dataclass
class DatasetConf:
    """A dataset card.

    ``preprocessed`` signals are not filtered or referenced again; ``protocols`` are those that its facts allow (none named:
    all).
    """

    name: str = MISSING
    title: str = _prose()
    family: str = _prose("intracranial")
    citation: str = _prose()
    licence: str = _prose()
    access: str = _prose()
    root: str = _prose("${paths.data}/${dataset.name}")
    read: dict[str, Any] = MISSING
    acquire: dict[str, Any] | None = None
    version: str = MISSING
    content: str | None = None
    unit: str | None = None
    line_freq: float | None = _number(None, "positive")
    synthetic: bool = False
    preprocessed: bool = False
    protocols: list[str] = field(default_factory=list)
    facts: dict[str, Any] = _prose({})


@dataclass
class PreprocessingConf:
    """Raw recording → stored signal, in this order: reference, notch, band-pass, resample, channels.

    ``channels`` are the names that are wanted, ``channel_policy`` says how they are made; see `omni_bench.signal.montage`.
    Without ``channels``, ``intersection`` keeps what all recordings have. With ``base_sfreq``, all recorded channels are
    stored filtered at that rate or their own, whichever is lower, and stores of other rates and channels derive from it.
    """

    sfreq: float | None = _number(None, "positive")
    min_sfreq: float = _number(0.0, "zero or more")
    notch: bool = True
    low: float | None = _number(None, "positive")
    high: float | None = _number(None, "positive")
    reference: str | None = None
    channels: list[str] = field(default_factory=list)
    channel_policy: str | None = None
    base_sfreq: float | None = _number(None, "positive")


@dataclass
class TaskConf:
    """A task card."""

    name: str = MISSING
    title: str = _prose()
    family: str = _prose("intracranial")
    version: int = 1
    status: str = _prose("ok")
    kind: str = MISSING
    classes: list[str] = MISSING
    outputs: list[str] = "${task.classes}"  # type: ignore[assignment]
    window_s: float = _number(MISSING, "positive")
    stride_s: float | None = _number(None, "positive")
    edge_s: float = _number(0.0, "zero or more")
    cohort: dict[str, Any] = field(default_factory=dict)
    preprocessing: PreprocessingConf = field(default_factory=PreprocessingConf)
    prepare: dict[str, Any] = field(
        default_factory=lambda: {"_target_": "omni_bench.data.prepare.prepare", "_partial_": True}
    )
    samples: dict[str, Any] = MISSING
    windows_per_unit: int | None = _number(None, "positive")
    evaluate: dict[str, Any] = MISSING
    monitor: str = "val/macro_f1"
    max_epochs: int = _number(10, "positive")
    batch_size: int = _number(32, "positive")
    baseline: dict[str, Any] | None = None
    facts: dict[str, Any] = _prose({})


@dataclass
class ModelConf:
    """A model card; ``mad_uv`` is about the median absolute deviation of its input in µV, see `omni_bench.models.scale`."""

    name: str = MISSING
    title: str = _prose()
    family: str = _prose("intracranial")
    citation: str = _prose()
    licence: str = _prose()
    net: dict[str, Any] = MISSING
    window_s: float | None = _number(None, "positive")
    sfreq: float | None = _number(None, "positive")
    channels: list[str] = field(default_factory=list)
    channel_policy: str = "intersection"
    mad_uv: float | None = _number(None, "positive", identity=False)
    weights: str = "random"
    pretrained: dict[str, Any] | None = None
    min_matched: float = _number(0.9, "between 0 and 1")
    optimizer: dict[str, Any] = field(
        default_factory=lambda: {"_target_": "torch.optim.Adam", "_partial_": True, "lr": 3e-4}
    )
    facts: dict[str, Any] = _prose({})


@dataclass
class ProtocolConf:
    """A protocol card: who is trained on, who is tested."""

    name: str = MISSING
    title: str = _prose()
    split: dict[str, Any] = MISSING
    group: str = _choice("person", "person", "unit_id")
    fallback: dict[str, Any] | None = None
    corruption: dict[str, Any] | None = None


@dataclass
class AdaptationConf:
    """An adaptation card: how a model meets a task; ``adapt`` changes the network between its starting weights and training."""

    name: str = MISSING
    title: str = _prose()
    adapt: dict[str, Any] | None = None
    learner: dict[str, Any] = MISSING


@dataclass
class TrainerConf:
    """How a run uses its machine."""

    accelerator: str = _choice("cpu", "cpu", "gpu", identity=False)
    devices: int = _number(1, "positive", identity=False)
    num_nodes: int = _number(1, "positive", identity=False)
    precision: str = _choice("32-true", "32-true", "64-true", "bf16-mixed", "16-mixed", "bf16-true", "16-true")
    max_epochs: int = _number("${task.max_epochs}", "positive")
    batch_size: int = _number("${task.batch_size}", "positive")
    eval_batch_size: int = _number(64, "positive", identity=False)
    gradient_clip: float | None = _number(None, "positive")
    time_reversal: float = _number(0.0, "between 0 and 1")
    num_workers: int = _number(0, "zero or more", identity=False)
    memory_mb: int = _number(2048, "positive", identity=False)
    checkpoint_every: int = _number(50, "positive", identity=False)
    progress: bool = _prose(True)


@dataclass
class DetectConf:
    """What `python -m omni_bench.detect` looks for; see `omni_bench.hfo.batch.Settings`."""

    detectors: list[str] = field(default_factory=lambda: ["ste", "mni", "hil"])
    rule: str = "union"
    band: list[float] | None = None
    chunk_s: float = _number(60.0, "positive")
    params: dict[str, Any] = field(default_factory=dict)


@dataclass
class PathsConf:
    """Where things lie. Paths never enter a run's hash."""

    data: str = MISSING
    cache: str = MISSING
    output_dir: str = MISSING


@dataclass
class Config:
    """One run."""

    dataset: DatasetConf = field(default_factory=DatasetConf)
    task: TaskConf = field(default_factory=TaskConf)
    model: ModelConf = field(default_factory=ModelConf)
    protocol: ProtocolConf = field(default_factory=ProtocolConf)
    adaptation: AdaptationConf = field(default_factory=AdaptationConf)
    trainer: TrainerConf = field(default_factory=TrainerConf)
    logger: dict[str, Any] = _prose({})
    callbacks: dict[str, Any] = field(default_factory=dict)
    paths: PathsConf = field(default_factory=PathsConf, metadata={"identity": False})
    seed: int = _number(0, "zero or more")
    split_seed: int = _number("${seed}", "zero or more")
    compat: str | None = _choice(None, "paper", "reference")
    checkpoint: str | None = _prose(None)
    checkpoint_sha256: str | None = "${weights_sha256:${checkpoint}}"
    on_error: str = _choice("raise", "raise", "skip")
    offline: bool = _prose(False)
    reduced: bool = False
    n_boot: int = _number(1000, "zero or more")
    experiment: str | None = _prose(None)
    run_name: str = _prose()
    study: dict[str, Any] | None = None
    verify: bool = _prose(False)
    recording: str | None = _prose(None)
    report: str | None = _prose(None)
    detect: DetectConf = field(default_factory=DetectConf, metadata={"identity": False})


def identity(cfg: DictConfig) -> dict[str, Any]:
    """The part of a composed configuration that can change a number, as plain containers.

    Raises
    ------
    BenchError
        A mandatory value is missing.
    """
    # the run's name holds the hash of this very content
    content = OmegaConf.masked_copy(cfg, [f.name for f in fields(Config) if f.name != "run_name"])
    return _identity(Config, OmegaConf.to_container(content, resolve=True, throw_on_missing=True))


def _identity(schema: Any, node: Any) -> Any:
    if not (is_dataclass(schema) and isinstance(node, dict)):
        return node
    return {
        f.name: _identity(f.type, node[f.name])
        for f in fields(schema)
        if f.metadata.get("identity", True) and f.name in node
    }


def check_values(node: DictConfig, schema: Any = Config, above: str = "") -> None:
    """Raise BenchError where a value is none that the schema allows; keys that `node` lacks are skipped."""
    for f in fields(schema):
        bounds, words = f.metadata.get("bounds"), f.metadata.get("words")
        # nothing else is looked at: the run's name asks for this very check
        value = node[f.name] if (bounds or words or is_dataclass(f.type)) and f.name in node else None
        if value is None:
            continue
        if is_dataclass(f.type):
            check_values(value, f.type, f"{above}{f.name}.")
        elif words and value not in words:
            raise BenchError(f"{above}{f.name}={value}: unknown{near(str(value), words)}")
        elif bounds and not (isinstance(value, int | float) and RANGES[bounds](value)):
            raise BenchError(f"{above}{f.name}={value}: must be a number that is {bounds}")


def check(cfg: DictConfig) -> None:
    """Raise if the configuration says anything that the schema or a target does not know (`+key=` passes Hydra's check)."""
    plain = OmegaConf.to_container(cfg, resolve=False)
    assert isinstance(plain, dict)
    plain.pop("hydra", None)
    OmegaConf.merge(OmegaConf.structured(Config), plain)
    check_values(cfg)
    check_targets(plain)
    low, high = cfg.task.preprocessing.low, cfg.task.preprocessing.high
    if low is not None and high is not None and low >= high:
        raise BenchError(f"task.preprocessing: low={low:g} Hz must lie below high={high:g} Hz")
    if cfg.dataset.protocols and cfg.protocol.name not in cfg.dataset.protocols:
        raise BenchError(
            f"dataset={cfg.dataset.name} does not tell persons apart, protocol={cfg.protocol.name} splits by them: "
            f"say protocol={' or '.join(cfg.dataset.protocols)}"
        )
    reads, given = cfg.model.window_s, cfg.task.window_s
    if reads is not None and reads != given:
        raise BenchError(
            f"model={cfg.model.name} reads {reads:g} s around an event, task={cfg.task.name} has windows of {given:g} s: "
            "choose a model of whole windows, or task=events"
        )


def config_hash(cfg: DictConfig) -> str:
    """Ten hexadecimal digits that name everything in `identity`.

    It is the first thing computed of a run, before its directory exists, hence the check here.
    """
    check(cfg)
    content = json.dumps([HASH_VERSION, identity(cfg)], sort_keys=True, allow_nan=False)
    return hashlib.sha256(content.encode()).hexdigest()[:10]


@lru_cache(maxsize=16)
def _file_sha256(path: Path, _mtime: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes; hashed once per process and modification."""
    return _file_sha256(path, path.stat().st_mtime_ns)


def checkpoint_file(checkpoint: str) -> Path:
    """The weights that `checkpoint=` names: a file, what a run directory has in `checkpoints`, an export's `model.safetensors`.

    Raises
    ------
    BenchError
        There is no such file.
    """
    path = Path(checkpoint).expanduser()
    file = path
    if path.is_dir():
        of_run = path / "checkpoints"
        places = (path / "model.safetensors", of_run / "best.skops", of_run / "best.ckpt")
        file = next((place for place in places if place.is_file()), places[-1])
    if not file.is_file():
        raise BenchError(
            f"checkpoint={checkpoint}: no file {file}: give a finished run's directory or a checkpoint file"
        )
    return file


def _weights_sha256(checkpoint: str | None) -> str | None:
    return None if checkpoint is None else file_sha256(checkpoint_file(checkpoint))


def _finished_run(folder: str, seed: int) -> str:
    """The finished run of a seed below a folder of run directories: what a task that never trains starts from.

    Raises
    ------
    BenchError
        There is none, or more than one.
    """
    records = sorted(Path(folder).expanduser().glob(f"*/seed-{seed}-*/result.json"))
    done = [file.parent for file in records if json.loads(file.read_text(encoding="utf-8"))["status"] == "completed"]
    if len(done) != 1:
        raise BenchError(
            f"checkpoint: {len(done) or 'no'} finished runs of seed {seed} below {folder}, expected one: nothing is trained here; "
            "finish that run first, or name one with checkpoint=DIR"
        )
    return str(done[0])


def _run_folder(cfg: DictConfig) -> str:
    """The run's name for Hydra, which ends a sweep where this raises; the run itself then says what is wrong."""
    try:
        return str(cfg.run_name)
    except Exception:
        return "not_composed"


def _tree_fingerprint(root: str) -> str:
    """Hash of the relative names and sizes of the files below a folder of the user's own."""
    listing = sorted((p.relative_to(root).as_posix(), p.stat().st_size) for p in Path(root).rglob("*") if p.is_file())
    return hashlib.sha256(json.dumps(listing).encode()).hexdigest()[:16]


def register() -> None:
    """Make the schema and the resolvers known to Hydra and OmegaConf; safe to call again."""
    ConfigStore.instance().store(name="schema", node=Config)
    OmegaConf.register_new_resolver("config_hash", lambda *, _root_: config_hash(_root_), replace=True)
    OmegaConf.register_new_resolver("weights_sha256", _weights_sha256, replace=True)
    OmegaConf.register_new_resolver("finished_run", _finished_run, replace=True)
    OmegaConf.register_new_resolver("tree_fingerprint", _tree_fingerprint, replace=True)
    OmegaConf.register_new_resolver("present_tasks", present_tasks, replace=True)
    OmegaConf.register_new_resolver("foundation_models", lambda: ",".join(foundation_models()), replace=True)
    OmegaConf.register_new_resolver("run_folder", lambda *, _root_: _run_folder(_root_), replace=True)
