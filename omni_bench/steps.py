"""The steps of `omni_bench.pipeline`: what each makes of the configuration."""

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf
from torch import nn

from omni_bench.config import checkpoint_file
from omni_bench.data.cohort import Cohort
from omni_bench.data.corruption import Corruption
from omni_bench.data.datamodule import WindowDataModule
from omni_bench.data.preprocess import Preprocessing
from omni_bench.data.samples import REPEATED
from omni_bench.data.store import Stored
from omni_bench.errors import BenchError
from omni_bench.evaluation import Evaluation, evaluate
from omni_bench.files import renamed, write_atomically
from omni_bench.models.build import build_net
from omni_bench.models.scale import unit_warning
from omni_bench.models.weights import load_starting_weights
from omni_bench.modules.classical import load_estimator
from omni_bench.modules.embed import Embedder
from omni_bench.modules.loggers import open_loggers
from omni_bench.modules.probe import load_trained
from omni_bench.modules.projection import projection_of
from omni_bench.modules.ranks import LEARNER, Ranks, in_rank, world_size
from omni_bench.results.overlap import pretraining_overlap
from omni_bench.results.record import Record, metrics_table, read_record

log = logging.getLogger(__name__)
RUN_KEYS = ("seed", "split_seed", "compat", "reduced")


def identity_of(cfg: DictConfig) -> dict[str, Any]:
    """What names a run in its record."""
    names = {group: cfg[group].name for group in ("dataset", "task", "model", "protocol", "adaptation")}
    return {
        **names,
        "task_version": cfg.task.version,
        **{key: cfg[key] for key in RUN_KEYS},
        "config_hash": cfg.run_name.rpartition("-")[2],
        "experiment": cfg.experiment,
        "synthetic": cfg.dataset.synthetic,
        "options": _options(cfg),
    }


def _options(cfg: DictConfig) -> dict[str, Any]:
    """What tells runs of the same cards apart: windows and rate, and the options of split and corruption."""
    drawn = plain(cfg.protocol.split) | (plain(cfg.protocol.corruption) if cfg.protocol.corruption else {})
    named = {key: value for key, value in drawn.items() if not key.startswith("_")}
    return {"window_s": cfg.task.window_s, "sfreq": cfg.task.preprocessing.sfreq, **named}


def check_accelerator(accelerator: str) -> None:
    """Raise BenchError where a GPU is asked for and torch finds none."""
    if accelerator == "gpu" and not (torch.cuda.is_available() or torch.backends.mps.is_available()):
        raise BenchError(
            "trainer.accelerator=gpu: torch finds no GPU: say trainer=cpu, or install the torch that fits the driver"
        )


def acquire(cfg: DictConfig) -> None:
    """Put the dataset where its card says, by the card's own way: a download, or a generator.

    A download that broke off left a mark beside the folder, and is taken up again.

    Raises
    ------
    BenchError
        The card knows no way, or the data cannot be had.
    """
    root = Path(cfg.dataset.root).expanduser()
    unfinished = root.with_name(f".{root.name}.unfinished")
    if root.is_dir() and not unfinished.exists():
        return
    if not cfg.dataset.acquire or (cfg.offline and not cfg.dataset.synthetic):
        raise BenchError(
            f"dataset={cfg.dataset.name}: no folder {root}: put the data there ({cfg.dataset.access or 'access unknown'}), "
            "or name their folder with paths.data="
        )
    if not cfg.dataset.synthetic:
        unfinished.parent.mkdir(parents=True, exist_ok=True)
        unfinished.touch()
    try:
        instantiate(cfg.dataset.acquire)(root)
    except OSError:
        # another run may have put the same data there in the meantime
        if unfinished.exists() or not root.is_dir():
            raise
    unfinished.unlink(missing_ok=True)


def open_cohort(cfg: DictConfig) -> Cohort:
    """The dataset's metadata; a synthetic dataset is generated where it is absent.

    Raises
    ------
    BenchError
        The data are not there, or a table is broken.
    """
    root = Path(cfg.dataset.root).expanduser()
    if cfg.dataset.synthetic:
        acquire(cfg)
    if not root.is_dir():
        demo = "demo_eeg" if cfg.dataset.family == "scalp" else "demo_ieeg"
        fetch = f"fetch them with `python -m omni_bench.prepare dataset={cfg.dataset.name}`"
        ask = f"ask for them ({cfg.dataset.access or 'access unknown'})"
        raise BenchError(
            f"dataset={cfg.dataset.name}: no folder {root}: put the data there, name their folder with paths.data=, "
            f"or {fetch if cfg.dataset.acquire else ask}; dataset={demo} needs none"
        )
    return instantiate(cfg.dataset.read)(root, name=cfg.dataset.name, on_error=cfg.on_error, unit=cfg.dataset.unit)


def open_data(cfg: DictConfig) -> tuple[Cohort, dict[str, Stored]]:
    """The task's part of the dataset, preprocessed and stored.

    Raises
    ------
    BenchError
        The data are not there, or a recording is broken and ``on_error=raise``.
    """
    steps = Preprocessing.from_card(plain(cfg.task.preprocessing))
    return instantiate(cfg.task.prepare)(
        open_cohort(cfg).filter(**cfg.task.cohort),
        steps.without_filters() if cfg.dataset.preprocessed else steps,
        Path(cfg.paths.cache).expanduser(),
        on_error=cfg.on_error,
        workers=max(1, cfg.trainer.num_workers),
        memory_mb=cfg.trainer.memory_mb,
        line_freq=cfg.dataset.line_freq,
    )


def samples_of(cfg: DictConfig, cohort: Cohort, stored: Mapping[str, Stored]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Units and windows of the task; see `omni_bench.data.samples`."""
    task = cfg.task
    units, windows = instantiate(task.samples)(
        cohort, stored, window_s=task.window_s, stride_s=task.stride_s or task.window_s, edge_s=task.edge_s
    )
    windows["path"] = windows["recording"].map({name: str(file.path) for name, file in stored.items()})
    return units, windows.astype(dict.fromkeys([*REPEATED, "use", "path"], "category"))


def counts_of(units: pd.DataFrame, classes: list[str]) -> dict[str, Any]:
    """Patients, recordings, units and units per class of every split."""
    counts = {}
    for split, part in units.groupby("split"):
        labels = part["label"].dropna().astype(int)
        counts[str(split)] = {
            "patients": int(part["subject"].nunique()),
            "recordings": int(part["recording"].nunique()),
            "units": len(part),
            "per_class": {name: int((labels == i).sum()) for i, name in enumerate(classes)},
        }
    return counts


def corruption_of(cfg: DictConfig, ch_names: Sequence[str] | None, sfreq: float) -> Corruption | None:
    """What the protocol does to windows; ``ch_names`` is None where a window is one channel."""
    if cfg.protocol.corruption is None:
        return None
    names = tuple(ch_names or ["the only one"])
    return instantiate(cfg.protocol.corruption, _convert_="all")(seed=cfg.seed, ch_names=names, sfreq=sfreq)


def corruption_note(data: WindowDataModule) -> dict[str, Any] | None:
    """The corruption as the record names it, with the hash of what was drawn for the corrupted evaluation windows."""
    if data.corruption is None:
        return None
    windows = data.evaluate_windows
    names = windows.loc[windows["split"].isin(data.corruption.splits), "sample_id"]
    return data.corruption.identity() | {"n_windows": len(names), "sha256": data.corruption.sha256(names)}


def data_of(cfg: DictConfig, windows: pd.DataFrame, stored: Mapping[str, Stored]) -> WindowDataModule:
    """The data module over stored windows.

    Raises
    ------
    BenchError
        Recordings are stored at different rates, a class is absent from the training windows, or a label is none of the
        task's classes.
    """
    rates = sorted({file.sfreq for file in stored.values()})
    if len(rates) > 1:
        raise BenchError(
            f"recordings of different rates ({', '.join(f'{r:g}' for r in rates)} Hz): set task.preprocessing.sfreq"
        )
    ch_names = None if (windows["row"] >= 0).all() else next(iter(stored.values())).ch_names
    data = WindowDataModule(
        windows,
        n_times=math.floor(cfg.task.window_s * rates[0] + 1e-6),
        sfreq=rates[0],
        batch_size=cfg.trainer.batch_size,
        eval_batch_size=cfg.trainer.eval_batch_size,
        windows_per_unit=cfg.task.windows_per_unit,
        seed=cfg.seed,
        num_workers=cfg.trainer.num_workers,
        ch_names=ch_names,
        balanced=cfg.task.kind != "regression",
        corruption=corruption_of(cfg, ch_names, rates[0]),
    )
    unnamed = windows.loc[windows["label"] >= len(cfg.task.classes), "label"]
    if cfg.task.kind != "regression" and len(unnamed):
        raise BenchError(
            f"task={cfg.task.name}: label {unnamed.iloc[0]:g} has no name: task.classes={list(cfg.task.classes)} names too few"
        )
    trained = set(data.train_windows["label"])
    absent = [name for i, name in enumerate(cfg.task.classes) if i not in trained]
    if trained and absent:
        raise BenchError(
            f"task={cfg.task.name}: no training window of class {', '.join(absent)}: "
            "use more of the dataset (task.cohort, protocol), or a task without that class"
        )
    return data


def network_of(
    cfg: DictConfig, n_chans: int, n_times: int, sfreq: float, ch_names: Sequence[str] | None
) -> tuple[nn.Module, dict[str, Any]]:
    """The model card's network for windows of this shape, with its starting weights or the checkpoint's, and adapters.

    Returns
    -------
    The network, and the load report as a dictionary.
    """
    torch.manual_seed(cfg.seed)
    n_outputs = len(cfg.task.outputs)
    outputs = 1 if n_outputs == 2 else n_outputs
    net = build_net(plain(cfg.model.net), n_chans, outputs, n_times, sfreq, ch_names, cfg.compat)
    if cfg.checkpoint is None:
        weights = load_starting_weights(net, plain(cfg.model), offline=cfg.offline)
    if cfg.adaptation.adapt:
        instantiate(cfg.adaptation.adapt)(net, torch.zeros(1, n_chans, n_times))
    if cfg.checkpoint is not None:
        file = checkpoint_file(cfg.checkpoint)
        if file.suffix == ".skops":
            weights = load_estimator(net, file)
        else:
            weights = load_trained(net, plain(cfg.model), file, offline=cfg.offline)
    return net, weights


def _overlap_of(cfg: DictConfig, weights: Mapping[str, Any]) -> bool | None:
    """See `pretraining_overlap`; a checkpoint has met what the weights that it started from have met."""
    start = read_record(Path(cfg.checkpoint).expanduser()) if cfg.checkpoint else None
    pretrained = weights["pretrained"] or bool(start and (start["weights"] or {}).get("pretrained"))
    return pretraining_overlap(plain(cfg.model.facts), cfg.dataset.name) if pretrained else False


def first_batch(data: WindowDataModule) -> torch.Tensor:
    """Signals of the first training windows, or without any of the first that are evaluated."""
    windows = data.evaluate_windows if data.train_windows.empty else data.train_windows
    dataset = data.dataset(windows[: data.batch_size])
    return torch.stack([dataset[i][0] for i in range(min(data.batch_size, len(windows)))])


@contextmanager
def learner_of(cfg: DictConfig, data: WindowDataModule, folder: Path, record: Record | None = None) -> Iterator[Any]:
    """The learner with its network and starting weights, or what runs it in ranks; loggers are closed on leaving."""
    net, weights = network_of(cfg, int(data.sample_shape[0]), data.n_times, data.sfreq, data.ch_names)
    kept = Path(cfg.paths.cache).expanduser() / "embeddings" / cfg.model.name
    if record:
        record.note(
            weights=weights,
            parameters=sum(p.numel() for p in net.parameters()),
            pretraining_overlap=_overlap_of(cfg, weights),
        )
        if cfg.model.mad_uv and (line := unit_warning(first_batch(data), cfg.model.name, cfg.model.mad_uv)):
            record.warn(line)
            log.warning(line)
    trainer = plain(cfg.trainer)
    if world_size(trainer) > 1 and cfg.adaptation.learner._target_ == LEARNER and not in_rank():
        yield Ranks(folder, trainer)
        return
    with open_loggers(cfg, folder) as loggers:
        learner = instantiate(cfg.adaptation.learner)(
            net,
            kind=cfg.task.kind,
            classes=list(cfg.task.outputs),
            optimizer=instantiate(cfg.model.optimizer),
            folder=folder,
            monitor=cfg.task.monitor,
            seed=cfg.seed,
            trainer=trainer,
            loggers=loggers,
            early_stopping=cfg.callbacks.early_stopping,
            embedder=Embedder(net, {"net": plain(cfg.model.net), "compat": cfg.compat}, kept, cfg.trainer.precision),
        )
        del net  # a linear probe lets its backbone go, while this waits for the others
        yield learner


def evaluation_overrides(cfg: DictConfig) -> dict[str, Any]:
    """What a run adds to its task's way of evaluation: resamples, seed, and a threshold that came with the checkpoint."""
    overrides: dict[str, Any] = {"n_boot": cfg.n_boot, "seed": cfg.seed}
    if cfg.checkpoint is not None:
        record = read_record(Path(cfg.checkpoint).expanduser())
        if record and record["threshold"]:
            overrides["inherited_threshold"] = record["threshold"]["value"]
    return overrides


def metrics_of(evaluation: Evaluation) -> dict[str, Any]:
    """Metrics as the record spells them."""
    return metrics_table(evaluation.metrics)


def baseline_metrics(cfg: DictConfig, data: WindowDataModule, units: pd.DataFrame) -> dict[str, Any]:
    """Metrics of the task's yardstick under names that start with ``baseline_``; none without training windows."""
    if cfg.task.baseline is None or cfg.checkpoint is not None:
        return {}
    predictions = instantiate(cfg.task.baseline)(data, list(cfg.task.classes))
    metrics = metrics_of(evaluate(predictions, units, cfg.task, **evaluation_overrides(cfg)))
    return {f"baseline_{name}": metric for name, metric in metrics.items() if "auc" in name}


def examples_of(data: WindowDataModule, scores: pd.DataFrame, file: Path) -> None:
    """Keep one test window of the unit of each class that the model is surest of, for pictures."""
    windows = data.test_windows
    kept: dict[str, Any] = {"sfreq": data.sfreq}
    for label, part in scores[scores["label"].notna()].groupby("label") if "label" in scores else ():
        if "score" in part:
            surest = part["score"] if label else -part["score"]
        else:
            surest = part[[name for name in part if str(name).startswith("prob_")]].iloc[:, int(label)]
        if surest.notna().any():
            of_unit = windows.index[_belongs(windows, part.loc[surest.idxmax()])]
            for row in of_unit[:1]:
                window = data.dataset(windows)[row][0].numpy()
                kept[f"signal_{label}"] = window[0]
                kept[f"name_{label}"] = windows.loc[row, "sample_id"]
                if data.ch_names:
                    kept |= {f"window_{label}": window, "ch_names": np.array(data.ch_names)}
    with renamed(file) as part, part.open("wb") as stream:
        np.savez_compressed(stream, **kept)


def keep_projection(cfg: DictConfig, learner: Any, folder: Path) -> None:
    """Keep the embeddings of a frozen backbone in two dimensions, where the learner has them."""
    embedded = getattr(learner, "embedded_data", None)
    if embedded is not None:
        write_atomically(folder / "projection.csv", projection_of(embedded, cfg.seed).to_csv(index=False))


def _belongs(windows: pd.DataFrame, unit: pd.Series) -> pd.Series:
    """Which windows an evaluated unit was made of: its own, those of a patient's channel, or of a recording's moment."""
    own = windows["unit_id"] == unit["unit_id"]
    if own.any():
        return own
    if "start" in unit:
        return (windows["recording"] == unit["recording"]) & (windows["start"] == unit["start"])
    return (windows["subject"] == unit["subject"]) & windows["unit_id"].str.endswith(f"/{unit['channel']}")


def plain(node: DictConfig) -> dict[str, Any]:
    """A configuration node as plain containers."""
    container = OmegaConf.to_container(node, resolve=True)
    assert isinstance(container, dict)
    return container  # type: ignore[return-value]
