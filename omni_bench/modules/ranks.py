"""A learner in several processes, its ranks: they train one network on shares of every batch.

Ranks are `omni_bench.worker` under torchrun, started from inside the run, so that no launcher of sweeps has to know of them.
"""

import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from omni_bench.data.datamodule import WindowDataModule
from omni_bench.errors import BenchError

RANK_VARIABLES = ("RANK", "LOCAL_RANK", "GROUP_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "NODE_RANK")
LEARNER = "omni_bench.modules.learner.LightningLearner"
"""The learner that ranks serve; others finish on one device."""


def in_rank() -> bool:
    """Whether this process is one of several ranks."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def world_size(trainer: dict[str, Any]) -> int:
    """Ranks that a trainer card asks for, on all nodes together."""
    return int(trainer["devices"]) * int(trainer["num_nodes"])


def node_rank() -> int:
    """Number of this node among those that a cluster gave to the run; 0 tells the story, the others only lend ranks."""
    return int(os.environ.get("SLURM_NODEID", "0"))


class Ranks:
    """Fits and predicts in as many processes as the trainer card says.

    Parameters
    ----------
    folder
        The run's directory, with ``config.yaml`` and ``units.parquet``.
    trainer
        The trainer card.

    Raises
    ------
    BenchError
        ``batch_size`` cannot be shared evenly.
    """

    def __init__(self, folder: Path, trainer: dict[str, Any]) -> None:
        if trainer["batch_size"] % world_size(trainer):
            raise BenchError(
                f"trainer.batch_size={trainer['batch_size']} cannot be shared by {world_size(trainer)} processes: "
                "choose a multiple"
            )
        self.folder, self.trainer = folder, trainer

    def fit(self, data: WindowDataModule) -> None:
        """Train; ``checkpoints`` is what one process leaves."""
        run_ranks(self.folder, self.trainer, "fit")

    def predict(self, data: WindowDataModule) -> pd.DataFrame:
        """Predictions of every evaluation window once, in the order of ``data.evaluate_windows``."""
        run_ranks(self.folder, self.trainer, "predict")
        return pd.read_parquet(self.folder / "predictions.parquet")


def run_ranks(folder: Path, trainer: dict[str, Any], step: str) -> None:
    """Run ``omni_bench.worker`` in this node's ranks, to its end.

    Raises
    ------
    BenchError
        A rank failed; its own message stands above. Or the nodes' meeting point is unknown.
    """
    command = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={trainer['devices']}"]
    if trainer["num_nodes"] > 1:
        host, port = os.environ.get("MASTER_ADDR"), os.environ.get("MASTER_PORT", "29500")
        if not host:
            raise BenchError(
                f"trainer.num_nodes={trainer['num_nodes']}: the nodes need a meeting point: set MASTER_ADDR to the first node"
            )
        where = [f"--nnodes={trainer['num_nodes']}", "--rdzv-backend=c10d", f"--rdzv-endpoint={host}:{port}"]
        # the first node prepares the data while the others wait
        command += [*where, f"--rdzv-id={folder.name}-{step}", "--rdzv-conf=join_timeout=86400,read_timeout=86400"]
    else:
        command.append("--standalone")
    environment = {name: value for name, value in os.environ.items() if name not in RANK_VARIABLES}
    done = subprocess.run(
        [*command, "-m", "omni_bench.worker", str(folder), step],
        env=environment,
        check=False,
        preexec_fn=die_with_parent,
    )
    if done.returncode:
        raise BenchError(
            f"{step} in {world_size(trainer)} processes broke off with status {done.returncode}; their messages stand above: "
            "trainer=cpu or trainer=gpu does the same in one"
        )


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent ends; a killed run would leave its ranks behind otherwise."""
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
