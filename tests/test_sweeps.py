"""Sweeps: what the suites start, what is left of one, and what a failed run does to the others."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from omni_bench.api import compose_jobs, sweep_jobs
from omni_bench.cards import foundation_models, scalp_tasks
from omni_bench.datasets.demo_eeg import write_demo_eeg
from omni_bench.errors import BenchError
from omni_bench.status import Run, print_status, runs_below, runs_of_sweep, seconds_left


@pytest.fixture
def two_tasks(tmp_path: Path) -> str:
    """Folder with data of two tasks of the benchmark."""
    for dataset in ("physionet_mi", "shu_mi"):
        (tmp_path / "data" / dataset).mkdir(parents=True)
    return f"paths.data={tmp_path}/data"


def test_the_lists_of_suites_come_from_cards() -> None:
    expected = "bendr biot brainomni cbramod eegmamba femba labram neurogpt neurolm reve"
    assert foundation_models() == expected.split()
    tasks = scalp_tasks()
    assert len(tasks) == 58
    assert (tasks["lemon_age"], tasks["tuab"]) == ("mpi_lemon", "tuab")


@pytest.mark.parametrize(
    ("suite", "n_runs", "protocol", "adaptation"),
    [
        ("leaderboard", 2 * 10 * 3, "cross_subject", "linear_probe"),
        ("multi_subject", 2 * 10 * 3, "multi_subject", "linear_probe"),
        ("finetune", 2 * 10 * 3, "cross_subject", "full_finetune"),
        ("fewshot", 4 * 2 * 10 * 5, "few_shot", "linear_probe"),
        ("zeroshot", 2 * 10 * 5, "cross_subject", "zero_shot"),
        ("channel_masking", 4 * 2 * 10 * 5, "channel_masking", "linear_probe"),
        ("baselines", 2 * 2 * 3, "cross_subject", "from_scratch"),
        ("samples_per_class", 6 * 2 * 3 * 5, "multi_subject", "linear_probe"),
        ("seed_vig", 10 * 3, "cross_subject", "linear_probe"),
        ("demo", 11 * 2 * 2, "cross_subject", "linear_probe"),
    ],
)
def test_suites_start_what_the_paper_ran(
    suite: str, n_runs: int, protocol: str, adaptation: str, two_tasks: str
) -> None:
    jobs = sweep_jobs([f"+experiment=omni_eegbench/{suite}", two_tasks])
    assert len(set(map(tuple, jobs))) == n_runs
    cfg = next(compose_jobs(jobs))
    assert (cfg.protocol.name, cfg.adaptation.name) == (protocol, adaptation)
    assert (cfg.experiment, cfg.seed) == (f"omni_eegbench/{suite}", 42)
    if suite != "demo":
        assert cfg.model.weights == ("random" if suite == "baselines" else "published")


def test_the_command_line_beats_a_suite(two_tasks: str, tmp_path: Path) -> None:
    suite = ["+experiment=omni_eegbench/leaderboard", two_tasks]
    jobs = sweep_jobs([*suite, "model=labram", "seed=1,2", "task=shu_mi"])
    assert [[item for item in job if item.startswith(("model", "seed", "task"))] for job in jobs] == [
        ["task=shu_mi", "model=labram", f"seed={seed}"] for seed in (1, 2)
    ]
    assert len(sweep_jobs(["task=demo_hands"])) == 1
    with pytest.raises(BenchError, match="no folder of a scalp dataset there"):
        sweep_jobs(["+experiment=omni_eegbench/leaderboard", f"paths.data={tmp_path}/nothing"])
    with pytest.raises(BenchError, match="did you mean 'labram'"):
        list(compose_jobs(sweep_jobs(["model=labran,cbramod"])))


def test_every_run_of_the_demo_has_a_name_of_its_own() -> None:
    jobs = sweep_jobs(["+experiment=omni_eegbench/demo", "model=labram", "adaptation=zero_shot"])
    names = [cfg.run_name for cfg in compose_jobs(jobs)]
    assert len(set(names)) == len(jobs) == 11
    assert all("/zero_shot/seed-42-" in name for name in names)


def run(name: str, state: str, seconds: float = 0.0, model: str = "a") -> Run:
    return Run(name, model, "linear_probe", state, seconds)


def test_time_left_is_that_of_like_runs() -> None:
    done = [run("1", "done", 10), run("2", "done", 30), run("3", "done", 40), run("4", "done", 100, "b")]
    assert seconds_left([*done, run("5", "missing"), run("6", "failed")]) == 2 * 30
    assert seconds_left([*done, run("5", "begun", 7, "b")]) == 100
    assert seconds_left([*done, run("5", "missing", 0, "c")]) == 35  # the median of all
    assert seconds_left(done) == 0
    assert seconds_left([run("5", "missing")]) is None


def test_status_of_a_sweep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = ["task=demo_hands", "model=band_power", f"paths.output_dir={tmp_path}/out"]
    jobs = sweep_jobs([*chosen, "seed=0,1,2,3"])
    records = [
        {"status": "completed", "timing": {"prepare_s": 60.0, "fit_s": 30.0, "predict_s": 5.0, "samples_per_s": 9e9}},
        {"status": "failed", "error": "no such thing: find one", "timing": {}},
        {"status": "running", "timing": {}},
    ]
    for cfg, record in zip(compose_jobs(jobs), records, strict=False):
        folder = tmp_path / "out" / cfg.run_name
        folder.mkdir(parents=True)
        (folder / "result.json").write_text(json.dumps(record | {"model": "band_power", "adaptation": "classical"}))
    runs = list(runs_of_sweep([*chosen, "seed=0,1,2,3", "model.window_s=2,1"]))
    assert [one.state for one in runs] == ["missing"] * 8  # another window is another run
    assert sum("reads 1 s around an event" in one.error for one in runs) == 4
    runs = list(runs_of_sweep([*chosen, "seed=0,1,2,3"]))
    assert [one.state for one in runs] == ["done", "failed", "begun", "missing"]
    print_status(runs)
    shown = capsys.readouterr().out
    assert "1 of 4 runs done" in shown
    assert "no such thing: find one" in shown
    assert "time left: about 4 min 45 s" in shown
    assert {one.name for one in runs_below(tmp_path / "out")} == {one.name for one in runs[:3]}
    with pytest.raises(BenchError, match=r"no result.json below it"):
        list(runs_below(tmp_path / "elsewhere"))


@pytest.mark.slow
def test_a_failed_run_stops_no_other_and_is_tried_again(tmp_path: Path) -> None:
    write_demo_eeg(tmp_path / "demo_eeg", n_persons=6)
    sweep = ["task=demo_hands", "model=band_power", "protocol=k_fold", "protocol.split.k=3", "n_boot=10"]
    swept = ["protocol.split.fold=0,7,1", "model.window_s=null,1"]
    places = [f"dataset.root={tmp_path}/demo_eeg", f"paths.cache={tmp_path}/cache", f"paths.output_dir={tmp_path}/out"]
    command = [sys.executable, "-m", "omni_bench", "-m", *sweep, *swept, *places]
    first = subprocess.run(command, capture_output=True, text=True, check=False)
    assert first.returncode == 2
    lines = [line for line in first.stderr.splitlines() if "failed, the sweep goes on" in line]
    assert len(lines) == 4
    assert sum("protocol.split.fold=7, expected 0 to 2" in line for line in lines) == 1
    assert sum("model=band_power reads 1 s around an event" in line for line in lines) == 3
    states = {one.state: one for one in runs_below(tmp_path / "out")}
    assert sorted(one.state for one in runs_below(tmp_path / "out")) == ["done", "done", "failed"]
    failed = json.loads((tmp_path / "out" / states["failed"].name / "result.json").read_text())
    assert "in k_fold" in failed["trace"]

    def stamps(state: str) -> dict[str, int]:
        names = [one.name for one in runs_below(tmp_path / "out") if one.state == state]
        return {name: (tmp_path / "out" / name / "result.json").stat().st_mtime_ns for name in names}

    before = stamps("done"), stamps("failed")
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 2
    assert again.stdout.count("already done: nothing to compute") == 2
    assert stamps("done") == before[0]
    assert stamps("failed").keys() == before[1].keys()
    assert stamps("failed") != before[1]
