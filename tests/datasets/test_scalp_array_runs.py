"""Whole runs on tiny trees of the datasets of arrays: units per class, persons, and µV in the store."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from omni_bench.data.store import map_signal, open_store
from tests.data import scalp_arrays, scalp_bci
from tests.data.scalp_arrays import PLANTED_UV, amplitude
from tests.scalp_runs import probe


@dataclass(frozen=True)
class Case:
    """A run: its tree, what comes of it, and where the tone is (recording, raw name, start, seconds)."""

    write: Callable[[Path], Path]
    per_class: dict[int, int]
    persons: int
    tone: tuple[str, str, float, float]
    overrides: tuple[str, ...] = field(default=())


WITHIN = ("protocol=multi_subject",)
"""A label of persons needs more of them than three or four for `cross_subject`."""
FLAT_PERCLOS = ("dataset.read.shapes.mat=[9600,17]",)
CASES = {
    # 6 s in 2 s, two children of each group
    "adhd": Case(scalp_arrays.write_adhd, {0: 6, 1: 6}, 4, ("sub-v1p", "Pz", 0, 6), WITHIN),
    # 60 s in 20 s, two persons of each group
    "modma": Case(
        lambda root: scalp_arrays.write_modma(root, n_times=250 * 60),
        {0: 6, 1: 6},
        4,
        ("sub-02010004", "E17", 20, 20),
        WITHIN,
    ),
    # six sessions; clips of 10.5, 20 and 11 s in 10 s: the longer ones are four neutral and a positive one
    "seed": Case(
        lambda root: scalp_arrays.write_seed(root, dates=("20131027", "20140107")),
        {0: 30, 1: 54, 2: 36},
        3,
        ("sub-1_ses-2", "CB2", 12, 16),
    ),
    "seed_iv": Case(
        lambda root: scalp_arrays.write_seed_iv(root, n_times=800),
        dict.fromkeys(range(4), 54),
        3,
        ("sub-1_ses-3", "FP1", 92.5, 3),
    ),
    # runs of 5 s in 2 s, two per subject; a tone on one plug is found on that plug only
    "broderick_cocktail": Case(
        scalp_arrays.write_broderick,
        {0: 8, 1: 8},
        4,
        ("sub-Cocktail Party-3_run-2", "B1", 1, 3),
        (*WITHIN, "task.preprocessing.channels=[]", "task.preprocessing.channel_policy=intersection"),
    ),
    "broderick_reverse": Case(scalp_arrays.write_broderick, {0: 12, 1: 8}, 4, ("", "", 0, 0), WITHIN),
    "shu_mi": Case(scalp_arrays.write_shu_mi, {0: 18, 1: 18}, 3, ("sub-002_ses-02", "C4", 8.5, 3)),
    # 1 s of each trial, two blocks, three persons
    "beta_ssvep": Case(
        lambda root: scalp_arrays.write_beta(root, persons=(16, 17, 70), lengths=(0, 420), blocks=2),
        dict.fromkeys(range(40), 6),
        3,
        ("sub-17", "OZ", 42 * 1.68 + 0.7, 0.9),
        ("dataset.read.shapes.mat=[64,420,2,40]",),
    ),
    "benchmark_ssvep": Case(
        lambda root: scalp_arrays.write_benchmark(root, n_times=700, blocks=2),
        dict.fromkeys(range(40), 6),
        3,
        ("sub-35", "OZ", 2.8 * 5 + 1, 1.5),
    ),
    # 0, 0.2 | 0.35, 0.5 | 0.7, 1 in four recordings of three persons
    "seed_vig": Case(
        scalp_arrays.write_seed_vig,
        {0: 8, 1: 8, 2: 8},
        3,
        ("sub-1_ses-20151124_noon_2", "O2", 9, 6),
        FLAT_PERCLOS,
    ),
    # per person 8 pictures four times and 2 five times
    "thingseeg2": Case(scalp_arrays.write_thingseeg2, {0: 63, 1: 63}, 3, ("sub-01_ses-training", "P2", 14.1, 0.8)),
    # 13 s, of which 3 s are baseline; of 40 ratings 1 to 9 in turn 16 are above 5
    "deap_valence": Case(
        lambda root: scalp_arrays.write_deap(root, n_times=13 * 128), {0: 72, 1: 48}, 3, ("sub-01", "O2", 43, 8)
    ),
    "deap_arousal": Case(
        lambda root: scalp_arrays.write_deap(root, n_times=13 * 128), {0: 60, 1: 60}, 3, ("sub-01", "O2", 43, 8)
    ),
    # 10 s of 28 clips
    "faced": Case(
        lambda root: scalp_arrays.write_faced(root, n_times=2500),
        dict.fromkeys(range(9), 9) | {4: 12},
        3,
        ("sub-001", "A1", 131, 8),
    ),
    "bci_speech": Case(
        scalp_bci.write_bci_speech, dict.fromkeys(range(5), 18), 3, ("sub-02_ses-Test", "C8", 9 * 795 / 256 + 0.5, 2)
    ),
    # eight trials each of b, c, d, e, g
    "bcic_iv_1": Case(scalp_bci.write_bcic_iv_1, {0: 20, 1: 20}, 5, ("sub-b", "C4", 10.5, 3)),
    "bcic_iv_2a": Case(
        scalp_bci.write_bcic_2a, dict.fromkeys(range(4), 12), 3, ("sub-2_ses-E", "POz", 10 + 34 + 11.5, 3)
    ),
    # five correct and two erroneous movements in each of 18 runs
    "monitoring_errp": Case(scalp_bci.write_monitoring_errp, {0: 90, 1: 36}, 3, ("sub-02_ses-1", "Cz", 27.1, 0.8)),
}


@pytest.mark.slow
@pytest.mark.parametrize("task", CASES)
def test_run(tmp_path: Path, task: str) -> None:
    case = CASES[task]
    run = probe(task, case.write(tmp_path / "raw"), tmp_path, *case.overrides)
    assert run.units["label"].value_counts().to_dict() == case.per_class
    assert run.units["person"].nunique() == case.persons
    assert set(run.result["counts"]) == {"train", "val", "test"}
    recording, channel, start, seconds = case.tone
    if recording:
        file = next(run.store.glob(f"{recording}-*.h5"))
        stored = open_store(file)
        found = amplitude(map_signal(file), stored.sfreq, start, seconds)[list(stored.ch_names).index(channel)]
        # the average of all channels takes one's share away, where there is one
        share = 0 if task == "thingseeg2" else 1 / len(stored.ch_names)
        assert found == pytest.approx(PLANTED_UV * (1 - share), rel=0.1)


@pytest.mark.slow
def test_run_on_adults(tmp_path: Path) -> None:
    # 3, 2, 2, 4, 2, 3 s in 2 s: seven windows of four and of eight persons
    scalp_arrays.write_adhd_adults(tmp_path / "raw")
    run = probe("adhd", tmp_path / "raw", tmp_path, "dataset=adhd_adults", *WITHIN)
    assert run.units["label"].value_counts().to_dict() == {0: 28, 1: 56}
    assert run.units["person"].nunique() == 12


@pytest.mark.slow
def test_run_on_gdf_files(tmp_path: Path) -> None:
    run = probe("bcic_iv_2a", scalp_bci.write_bcic_2a_gdf(tmp_path / "raw"), tmp_path)
    assert run.units["label"].value_counts().to_dict() == dict.fromkeys(range(4), 12)
    file = next(run.store.glob("sub-2_ses-E-*.h5"))
    found = amplitude(map_signal(file), open_store(file).sfreq, 36 + 11.5, 3)
    assert found[21] == pytest.approx(PLANTED_UV * 21 / 22, rel=0.1)


@pytest.mark.slow
def test_run_of_mixed_epochs(tmp_path: Path) -> None:
    run = probe("eegdenoisenet", scalp_arrays.write_eegdenoisenet(tmp_path / "raw"), tmp_path)
    assert run.units["label"].value_counts().to_dict() == {0: 60, 1: 60}
    assert run.units["person"].unique().tolist() == ["pool"]
    spread = {part: map_signal(next(run.store.glob(f"{part}-*.h5"))).std() for part in ("clean", "ocular")}
    assert spread["ocular"] > 1.3 * spread["clean"] > 9


@pytest.mark.slow
def test_run_on_the_fraction_itself(tmp_path: Path) -> None:
    root = scalp_arrays.write_seed_vig(tmp_path / "raw")
    run = probe("seed_vig_regression", root, tmp_path, *FLAT_PERCLOS)
    assert np.sort(run.units["target"].unique()).tolist() == sorted(scalp_arrays.PERCLOS)
    assert {"r2", "pearson", "rmse"} <= set(run.result["metrics"])
