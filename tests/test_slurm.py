"""A sweep on a real SLURM of one node; two of its jobs are taken away while they train."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from omni_bench import api
from omni_bench.datasets.demo_eeg import write_demo_eeg
from omni_bench.status import runs_below
from tests.slurm_cluster import cluster, slurm, state, tend, why_not

TRAINING = ["trainer.max_epochs=30", "trainer.checkpoint_every=1", "trainer.progress=false", "n_boot=10"]
LAUNCHER = ["hydra/launcher=slurm", "hydra.launcher.cpus_per_task=1", "hydra.launcher.mem_gb=2"]
STALL_S = 300
"""Without anything new the sweep is given up; SLURM itself lets a requeued job wait until its old credential is void."""
WAYS = ("scancel --signal=USR2 {}.0", "scontrol requeue {}")
"""As a cluster that preempts warns, and as an administrator who needs the node.

The warning goes to the step: of a job of a waiting array ``scancel`` says that it cannot be altered now, though its
signal has arrived, and tries again for a minute and a half.
"""
REASON = why_not()


@pytest.fixture(scope="module")
def environment() -> Iterator[dict[str, str]]:
    # the path of a socket must be short
    with tempfile.TemporaryDirectory(prefix="slurm") as folder, cluster(Path(folder)) as variables:
        yield variables


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.skipif(REASON is not None, reason=str(REASON))
def test_a_sweep_goes_through_though_jobs_are_taken_away(tmp_path: Path, environment: dict[str, str]) -> None:
    write_demo_eeg(tmp_path / "demo_eeg", n_persons=5)
    run = ["task=demo_hands", "model=eegnet", f"dataset.root={tmp_path}/demo_eeg", f"paths.cache={tmp_path}/cache"]
    run += TRAINING
    outputs = tmp_path / "outputs"
    command = [
        sys.executable,
        "-m",
        "omni_bench",
        "-m",
        *run,
        *LAUNCHER,
        "seed=0,1,2,3,4,5",
        f"paths.output_dir={outputs}",
    ]
    # a busy machine may lose a job for good; a sweep begun again does only what is missing
    taken: tuple[list[int], list[int]] = [], []
    for _ in range(2):
        with (tmp_path / "sweep.log").open("w") as log:
            sweep = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
            try:
                take_jobs_away(environment, sweep, outputs, taken)
            finally:
                sweep.kill()
                sweep.wait()
        if sweep.returncode == 0:
            break
        print((tmp_path / "sweep.log").read_text()[-2000:], state(environment))
        slurm(environment, "scancel", "--full", "--user=root")
    assert sweep.returncode == 0
    warned = [seed for seed in taken[0] if n_starts(outputs, seed) > 1]
    assert "this job is preempted" in logs_of(outputs, warned[0])
    assert taken[1]  # a sweep does not wait for the second start of a job that had just ended
    done = list(runs_below(outputs))
    assert [one.state for one in done] == ["done"] * 6

    unbroken = [*run, f"seed={warned[0]}", f"paths.output_dir={tmp_path}/unbroken"]
    api.run(unbroken)
    folder = api.compose_config(unbroken).run_name
    ours, theirs = (
        pd.read_parquet(place / folder / "predictions.parquet") for place in (outputs, tmp_path / "unbroken")
    )
    pd.testing.assert_frame_equal(ours, theirs)


def take_jobs_away(
    environment: dict[str, str], sweep: "subprocess.Popen[bytes]", outputs: Path, taken: tuple[list[int], list[int]]
) -> None:
    """Until the sweep ends or stalls, take away jobs that train, each way until one has come back.

    One that had ended before it was reached does not come back; then the next is taken.
    """
    moved, seen = time.monotonic(), 0
    while sweep.poll() is None and time.monotonic() - moved < STALL_S:
        training = {seed_of(file): file for file in outputs.rglob("last.ckpt")}
        for way, seeds in zip(WAYS, taken, strict=True):
            untouched = sorted(training.keys() - {*taken[0], *taken[1]})
            late = all(ended(training[seed]) and n_starts(outputs, seed) < 2 for seed in seeds)
            for seed in [seed for seed in untouched if late and not ended(training[seed])][:1]:
                jobs = [folder.name for folder in outputs.glob(f".submitit/*_{seed}")]
                slurm(environment, *way.format(max(jobs, key=lambda job: int(job.split("_")[0]))).split())
                seeds.append(seed)
        tend(environment)
        n_files = sum(1 for _ in outputs.rglob("*"))
        if n_files != seen:
            moved, seen = time.monotonic(), n_files
        time.sleep(0.5)


def seed_of(checkpoint: Path) -> int:
    return int(checkpoint.parents[1].name.split("-")[1])


def ended(checkpoint: Path) -> bool:
    return (checkpoint.parents[1] / "report.html").is_file()


def logs_of(outputs: Path, seed: int) -> str:
    return "".join(file.read_text() for file in outputs.glob(f".submitit/*_{seed}/*_log.*"))


def n_starts(outputs: Path, seed: int) -> int:
    return logs_of(outputs, seed).count("Starting with JobEnvironment")
