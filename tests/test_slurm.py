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

TRAINING = ["trainer.max_epochs=15", "trainer.checkpoint_every=1", "trainer.progress=false", "n_boot=10"]
LAUNCHER = ["hydra/launcher=slurm", "hydra.launcher.cpus_per_task=1", "hydra.launcher.mem_gb=2"]
REASON = why_not()


@pytest.fixture(scope="module")
def environment() -> Iterator[dict[str, str]]:
    # the path of a socket must be short
    with tempfile.TemporaryDirectory(prefix="slurm") as folder, cluster(Path(folder)) as variables:
        yield variables


@pytest.mark.slow
@pytest.mark.timeout(900)
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
    taken: list[int] = []
    for seconds in (500, 300):
        with (tmp_path / "sweep.log").open("w") as log:
            sweep = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
            try:
                take_jobs_away(environment, sweep, outputs, taken, seconds)
            finally:
                sweep.kill()
                sweep.wait()
        if sweep.returncode == 0:
            break
        print((tmp_path / "sweep.log").read_text()[-2000:], state(environment))
        slurm(environment, "scancel", "--full", "--user=root")
    assert sweep.returncode == 0
    assert len(taken) == 2
    logs = ["".join(file.read_text() for file in outputs.glob(f".submitit/*_{seed}/*_log.*")) for seed in taken]
    assert "this job is preempted" in logs[0]
    assert all(log.count("Starting with JobEnvironment") >= 2 for log in logs)
    done = list(runs_below(outputs))
    assert [one.state for one in done] == ["done"] * 6

    unbroken = [*run, f"seed={taken[0]}", f"paths.output_dir={tmp_path}/unbroken"]
    api.run(unbroken)
    folder = api.compose_config(unbroken).run_name
    ours, theirs = (
        pd.read_parquet(place / folder / "predictions.parquet") for place in (outputs, tmp_path / "unbroken")
    )
    pd.testing.assert_frame_equal(ours, theirs)


def take_jobs_away(
    environment: dict[str, str], sweep: "subprocess.Popen[bytes]", outputs: Path, taken: list[int], seconds: float
) -> None:
    """Until the sweep or the time ends, preempt the first job that trains and requeue the second."""
    # as a cluster that preempts warns, and as an administrator who needs the node
    ways = [("scancel", "--signal=USR2"), ("scontrol", "requeue")]
    end = time.monotonic() + seconds
    while sweep.poll() is None and time.monotonic() < end:
        training = {int(file.parents[1].name.split("-")[1]) for file in outputs.rglob("last.ckpt")}
        for seed in sorted(training - set(taken))[: len(ways) - len(taken)]:
            (submitted,) = (folder for folder in outputs.glob(".submitit/*_*") if folder.name.endswith(f"_{seed}"))
            slurm(environment, *ways[len(taken)], submitted.name)
            taken.append(seed)
        tend(environment)
        time.sleep(0.5)
