"""Weights & Biases as a mirror of runs: curves while a run trains, its result at the end.

``result.json`` is the truth. Nothing here may end a run: what goes wrong is a warning.
"""

import hashlib
import json
import logging
from pathlib import Path
from typing import Any

import pandas as pd
from lightning.pytorch.loggers import WandbLogger
from omegaconf import DictConfig, OmegaConf

from omni_bench.results.record import read_record

log = logging.getLogger(__name__)
_open: dict[Path, Any] = {}
MAX_ROWS = 1000
"""Predictions that are uploaded, evenly drawn from the test split."""


def wandb_curves(
    *, folder: Path, cfg: DictConfig, project: str, entity: str | None = None, mode: Any = None
) -> WandbLogger:
    """Start the W&B run of a job, one per run directory; `finish_wandb` ends it.

    A resumed job continues its W&B run. ``mode`` is ``online``, ``offline`` or ``disabled``; by default what
    ``WANDB_MODE`` says.
    """
    import wandb

    run = wandb.init(
        project=project,
        entity=entity,
        mode=mode,
        dir=folder,
        id=run_id(cfg.run_name),
        name=cfg.run_name,
        group=cfg.experiment,
        tags=[cfg.task.name, cfg.model.name, cfg.protocol.name],
        config=uploaded(cfg),
        resume="allow",
        reinit="create_new",  # jobs that are fitted together have their runs open at the same time
        settings=wandb.Settings(console="off", silent=True),
    )
    _open[folder] = run
    return WandbLogger(experiment=run)


def run_id(run_name: str) -> str:
    """Name of a run for W&B, the same on every machine."""
    return hashlib.sha256(run_name.encode()).hexdigest()[:12]


def uploaded(cfg: DictConfig) -> dict[str, Any]:
    """The part of a configuration that goes to W&B: no path of this machine."""
    container = OmegaConf.to_container(cfg, resolve=True)
    assert isinstance(container, dict)
    container["dataset"].pop("root", None)
    kept = {str(name): value for name, value in container.items() if name not in ("paths", "checkpoint", "recording")}
    return json.loads(json.dumps(kept, default=str))


def finish_wandb(folder: Path) -> None:
    """Send a run's result and end its W&B run, if it has one."""
    run = _open.pop(folder, None)
    if run is None:
        return
    completed = False
    try:
        completed = send_result(run, folder)
    except Exception as error:
        log.warning("W&B: the result was not sent (%s); python -m omni_bench.wandb_sync does it later", error)
    finally:
        run.finish(exit_code=0 if completed else 1)


def send_result(run: Any, folder: Path) -> bool:
    """Metrics, a sample of the test predictions, the figures, and ``result.json`` as an artifact.

    Returns
    -------
    Whether the run is completed; of another one only its status is sent.
    """
    import wandb

    result = read_record(folder) or {"status": "failed"}
    run.summary["status"] = result["status"]
    if result["status"] != "completed":
        return False
    for name, metric in result["metrics"].items():
        run.summary[f"test/{name}"] = metric["value"]
        if metric["ci_low"] is not None:
            run.summary[f"test/{name}_ci"] = [metric["ci_low"], metric["ci_high"]]
    run.summary["marks"] = [mark for mark in ("synthetic", "reduced") if result[mark]]
    run.log({"predictions": wandb.Table(dataframe=sampled_predictions(folder))})
    for figure in sorted((folder / "figures").glob("*.png")):
        run.log({f"figures/{figure.stem}": wandb.Image(str(figure))})
    artifact = wandb.Artifact(f"result-{run.id}", "result", metadata={"config_hash": result["config_hash"]})
    artifact.add_file(str(folder / "result.json"))
    run.log_artifact(artifact)
    return True


def sampled_predictions(folder: Path) -> pd.DataFrame:
    """Up to `MAX_ROWS` of a run's test predictions, evenly spaced; no name of a person is among the columns."""
    predictions = pd.read_parquet(folder / "predictions.parquet")
    test = predictions[predictions["split"] == "test"].drop(columns=["sample_id", "unit_id", "split"])
    return test.iloc[:: -(-len(test) // MAX_ROWS) or 1].reset_index(drop=True)


def dashboard(entity: str, project: str) -> Any:
    """A W&B workspace over the runs of this package: metrics by model and task, curves, time and memory.

    Returns
    -------
    ``wandb_workspaces.workspaces.Workspace``, not saved yet.
    """
    from wandb_workspaces import workspaces
    from wandb_workspaces.reports import v2 as panels

    bars: list[Any] = [
        panels.BarPlot(title=name, metrics=[f"test/{name}"], groupby="model.name", orientation="v")
        for name in ("balanced_accuracy", "auc", "f1_macro", "outcome_auc")
    ]
    curves: list[Any] = [
        panels.LinePlot(title=name, x="epoch", y=[name]) for name in ("train/loss", "val/balanced_accuracy")
    ]
    sections = [
        workspaces.Section(name="Test metrics", panels=bars, is_open=True),
        workspaces.Section(name="Training", panels=curves),
        workspaces.Section(name="Predictions", panels=[panels.WeavePanelSummaryTable(table_name="predictions")]),
    ]
    return workspaces.Workspace(name="omni_bench", entity=entity, project=project, sections=sections)


def offline_runs(folder: Path) -> list[Path]:
    """W&B runs of a run directory that were written offline and not uploaded yet."""
    runs = sorted((folder / "wandb").glob("offline-run-*"))
    return [run for run in runs if not list(run.glob("*.wandb.synced"))]
