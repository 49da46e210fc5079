"""What the commands do, below a folder."""

from pathlib import Path

from omni_bench import api
from omni_bench.hfo.batch import Settings, detect_recordings, jobs_of
from omni_bench.results.leaderboard import build_leaderboard, write_leaderboard
from omni_bench.steps import open_cohort, open_data

EEG = ["task=demo_hands", "model=eegnet", "n_boot=10", "trainer.progress=false", "trainer.max_epochs=2"]


def places(raw: Path, folder: Path) -> list[str]:
    return [f"dataset.root={raw}/demo_eeg", f"paths.cache={folder}/cache", f"paths.output_dir={folder}/outputs"]


def prepare(raw: Path, folder: Path) -> None:
    open_data(api.compose_config([*EEG, *places(raw, folder)]))


def detect(raw: Path, folder: Path) -> None:
    cohort = open_cohort(api.compose_config([f"dataset.root={raw}/demo_ieeg"]))
    jobs = jobs_of(cohort, Settings(detectors=("ste",)), folder / "hfo", skip_broken=True)
    detect_recordings(jobs[:2], "raise")


def leaderboard(raw: Path, folder: Path) -> None:
    write_leaderboard(build_leaderboard(raw / "records", 3), folder / "board", 3)


def train(raw: Path, folder: Path) -> None:
    api.run([*EEG, *places(raw, folder), "trainer.checkpoint_every=2"])


def embed(raw: Path, folder: Path) -> None:
    api.run([*EEG, *places(raw, folder), "adaptation=linear_probe"])


def sweep(raw: Path, folder: Path) -> None:
    for job in api.sweep_jobs([*EEG, *places(raw, folder), "adaptation=from_scratch,linear_probe"]):
        api.run(job)
