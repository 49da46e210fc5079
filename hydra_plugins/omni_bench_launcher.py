"""How a sweep runs in one process: linear probes of one dataset, task and model train together.

Hydra takes launchers from the package `hydra_plugins` only.
"""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from hydra._internal.core_plugins.basic_launcher import BasicLauncher
from hydra.core.utils import JobReturn, JobStatus, configure_log, filter_overrides, run_job, setup_globals
from omegaconf import DictConfig, open_dict

log = logging.getLogger(__name__)
PROBE = "omni_bench.modules.probe.LinearProbe"
MOST = 64
"""Runs that are open at a time."""


class TogetherLauncher(BasicLauncher):
    """Runs jobs one after the other, as Hydra's basic launcher, but linear probes that share a network together.

    Their dataset is opened once, and their heads train as one batched problem; each writes its own run directory, and one
    that fails stops no other.
    """

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """See Hydra's `Launcher`."""
        setup_globals()
        assert self.config is not None
        configure_log(self.config.hydra.hydra_logging, self.config.hydra.verbose)
        Path(self.config.hydra.sweep.dir).mkdir(parents=True, exist_ok=True)
        log.info("Launching %d jobs in this process", len(job_overrides))
        jobs = {n: self._composed(overrides, n) for n, overrides in enumerate(job_overrides, initial_job_idx)}
        returns: dict[int, JobReturn] = {}
        for group in _groups(jobs):
            if len(group) == 1:
                returns |= {n: self._run(job, self.task_function) for n, job in group.items()}
            else:
                returns |= self._together(group)
        return [returns[n] for n in jobs]

    def _composed(self, overrides: Sequence[str], number: int) -> DictConfig:
        assert self.hydra_context is not None
        assert self.config is not None
        log.info("\t#%d : %s", number, " ".join(filter_overrides(overrides)))
        job = self.hydra_context.config_loader.load_sweep_config(self.config, list(overrides))
        with open_dict(job):
            job.hydra.job.id = job.hydra.job.num = number
        return job

    def _run(self, job: DictConfig, task: Callable[[DictConfig], Any] | None) -> JobReturn:
        assert self.hydra_context is not None
        assert self.config is not None
        assert task is not None
        done = run_job(task, job, "hydra.sweep.dir", "hydra.sweep.subdir", self.hydra_context)
        configure_log(self.config.hydra.hydra_logging, self.config.hydra.verbose)
        return done

    def _together(self, jobs: dict[int, DictConfig]) -> dict[int, JobReturn]:
        from omni_bench.together import Together

        together = Together()

        def finish(number: int, _: DictConfig) -> dict[str, Any]:
            return together.finish(number)

        returns = {n: self._run(job, partial(together.begin, n)) for n, job in jobs.items()}
        together.fit()
        begun = {n: job for n, job in jobs.items() if returns[n].status is JobStatus.COMPLETED}
        return returns | {n: self._run(job, partial(finish, n)) for n, job in begun.items()}


def _groups(jobs: dict[int, DictConfig]) -> list[dict[int, DictConfig]]:
    """Jobs by what they share, in the order of each group's first."""
    groups: dict[tuple[Any, ...], dict[int, DictConfig]] = {}
    for n, job in jobs.items():
        shared = (job.dataset.name, job.task.name, job.model.name) if _joins(job) else (n,)
        groups.setdefault(shared, {})[n] = job
    split = []
    for group in groups.values():
        numbers = list(group)
        split += [{n: group[n] for n in numbers[first : first + MOST]} for first in range(0, len(numbers), MOST)]
    return split


def _joins(job: DictConfig) -> bool:
    """Whether a job is a linear probe that still has to train, in a way that heads can train together."""
    # Hydra imports this module for whatever command
    from omni_bench.results.record import read_record

    trainer, record = job.trainer, read_record(Path(job.paths.output_dir).expanduser() / job.hydra.sweep.subdir)
    return (
        job.adaptation.learner._target_ == PROBE
        and job.checkpoint is None
        and job.callbacks.early_stopping is None
        and trainer.precision in ("32-true", "64-true")
        and trainer.devices == trainer.num_nodes == 1
        and (record is None or record["status"] != "completed")
    )
