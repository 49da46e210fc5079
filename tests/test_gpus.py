"""Workers of one node share out its GPUs."""

import subprocess
import sys
from pathlib import Path

CLAIM = """
import os, sys
from pathlib import Path
from omni_bench.errors import BenchError
from omni_bench.gpus import claim_gpu
try:
    for _ in range(2):
        gpu = claim_gpu(2, Path(sys.argv[1]))
    assert os.environ["CUDA_VISIBLE_DEVICES"] == str(gpu)
    print(gpu, flush=True)
except BenchError as error:
    print(error, flush=True)
sys.stdin.readline()
"""


def worker(folder: Path) -> subprocess.Popen[str]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", CLAIM, folder], text=True, **pipes)


def answer(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_each_worker_has_a_gpu_of_its_own_until_it_ends(tmp_path: Path) -> None:
    workers = [worker(tmp_path) for _ in range(2)]
    assert {answer(process) for process in workers} == {"0", "1"}
    third = worker(tmp_path)
    assert "all 2 GPUs are taken" in answer(third)
    workers[0].kill()
    workers[0].wait()
    fourth = worker(tmp_path)
    assert answer(fourth) in {"0", "1"}
    for process in (workers[1], third, fourth):
        process.communicate("\n")
