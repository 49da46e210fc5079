"""Loggers of a training: a CSV file always, others as the logger card asks."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
from hydra.utils import instantiate
from lightning.pytorch.loggers import Logger
from omegaconf import DictConfig

from omni_bench.files import write_atomically

log = logging.getLogger(__name__)


class CSVTable(Logger):
    """Appends ``step, epoch, metric, value`` lines to ``metrics.csv``.

    A resumed run drops the lines from the step on at which it continues, so the table is that of an unbroken run.
    """

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file
        self._continued = False

    @property
    def name(self) -> str:
        return "csv"

    @property
    def version(self) -> str:
        return ""

    def log_hyperparams(self, *args: Any, **kwargs: Any) -> None:
        """The run's configuration lies beside the table."""

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        if not self._continued:
            self._continue_at(step or 0)
        epoch = int(metrics.get("epoch", -1))
        lines = [f"{step},{epoch},{name},{value!r}\n" for name, value in metrics.items() if name != "epoch"]
        with self.file.open("a", encoding="utf-8") as file:
            file.write("".join(lines))

    def _continue_at(self, step: int) -> None:
        self._continued = True
        if self.file.is_file():
            table = pd.read_csv(self.file)
            write_atomically(self.file, table[table["step"] < step].to_csv(index=False))
        else:
            write_atomically(self.file, "step,epoch,metric,value\n")


def tensorboard(*, folder: Path, cfg: DictConfig) -> Logger:
    """Curves below ``tensorboard/`` of the run's directory."""
    from lightning.pytorch.loggers import TensorBoardLogger

    return TensorBoardLogger(folder, name="", version="tensorboard")


@contextmanager
def open_loggers(cfg: DictConfig, folder: Path) -> Iterator[list[Logger]]:
    """The CSV table and the card's loggers; a logger that cannot start is left out with a warning.

    Only the first rank of a distributed run has any.
    """
    if os.environ.get("RANK", "0") != "0":
        yield []
        return
    loggers: list[Logger] = [CSVTable(folder / "metrics.csv")]
    for name, node in cfg.logger.items():
        try:
            logger = instantiate(node)(folder=folder, cfg=cfg)
            _ = logger.experiment
            loggers.append(logger)
        except Exception as error:
            log.warning("logger %s left out: %s", name, str(error).splitlines()[0])
    status = "failed"
    try:
        yield loggers
        status = "success"
    finally:
        for logger in loggers[1:]:
            logger.finalize(status)
