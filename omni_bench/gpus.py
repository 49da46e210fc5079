"""One GPU per worker process of a sweep on one node: the first whose lock is free."""

import fcntl
import os
from functools import lru_cache
from pathlib import Path
from typing import IO

from omni_bench.errors import BenchError

_held: list[IO[str]] = []


@lru_cache(maxsize=1)
def claim_gpu(n_gpus: int, folder: Path) -> int:
    """Take a GPU for as long as this process lives, and hide the others from it.

    Must come before anything asks CUDA for its devices. A second call changes nothing: a worker keeps its GPU.

    Parameters
    ----------
    n_gpus
        Of the node.
    folder
        Of the locks; the same for all workers.

    Raises
    ------
    BenchError
        All are taken: more workers than GPUs.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for gpu in range(n_gpus):
        lock = (folder / f"gpu-{gpu}.lock").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            continue
        _held.append(lock)
        os.environ["CUDA_VISIBLE_DEVICES"] = str(gpu)
        return gpu
    raise BenchError(f"all {n_gpus} GPUs are taken: set hydra.launcher.n_jobs to {n_gpus} or fewer")
