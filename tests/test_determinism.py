"""One seed makes one set of predictions: bit for bit, whatever the cache held, and however many workers there were."""

from pathlib import Path

import pandas as pd
import pytest

from omni_bench import api
from omni_bench.datasets.demo_eeg import write_demo_eeg
from tests.small import small

HANDS = ("task=demo_hands", "trainer.max_epochs=2")
REGION = ("task=region", "task.window_s=4", "task.windows_per_unit=1", "trainer.max_epochs=1")
RUNS = [
    (*HANDS, "model=eegnet", "protocol=multi_subject", "trainer.num_workers=2"),
    (*HANDS, "model=eegconformer", "protocol=k_fold", "protocol.split.k=3"),
    (*HANDS, "model=eegnet", "adaptation=linear_probe", "protocol=few_shot", "protocol.split.fraction=0.3"),
    (*HANDS, "model=eegnet", "adaptation=zero_shot", "protocol=channel_masking"),
    (*HANDS, "model=biot", "adaptation=linear_probe", "protocol=noise"),
    (*HANDS, "model=band_power"),
    ("task=demo_vigilance", "model=eegnet", "trainer.max_epochs=2"),
    (*REGION, *small("seegnet")),
    (*REGION, *small("timeconv_cnn"), "protocol=balanced_split"),
]
"""Of every kind one. Workers take seconds to start, so that one run has them."""


@pytest.fixture(scope="module")
def roots(demo_root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("determinism") / "demo_eeg"
    write_demo_eeg(root, n_persons=5)
    return {"hands": root, "vigilance": root, "region": demo_root}


def predictions(chosen: tuple[str, ...], root: Path, cache: Path, outputs: Path, *overrides: str) -> pd.DataFrame:
    quick = ["n_boot=10", "trainer.progress=false"]
    places = [f"dataset.root={root}", f"paths.cache={cache}", f"paths.output_dir={outputs}"]
    result = api.run([*chosen, *quick, *places, *overrides])
    assert result["status"] == "completed"
    (file,) = outputs.rglob("predictions.parquet")
    return pd.read_parquet(file)


@pytest.mark.slow
@pytest.mark.parametrize("chosen", RUNS, ids=" ".join)
def test_one_seed_one_set_of_predictions(chosen: tuple[str, ...], roots: dict[str, Path], tmp_path: Path) -> None:
    root = roots[chosen[0].removeprefix("task=").removeprefix("demo_")]
    alone = "trainer.num_workers=0"
    first = predictions(chosen, root, tmp_path / "cache", tmp_path / "first", alone)
    assert first.select_dtypes("number").drop(columns=["start", "duration"]).std().min() > 0
    cold = predictions(chosen, root, tmp_path / "other_cache", tmp_path / "cold")
    pd.testing.assert_frame_equal(first, cold, check_exact=True)
    warm = predictions(chosen, root, tmp_path / "cache", tmp_path / "warm", alone)
    pd.testing.assert_frame_equal(first, warm, check_exact=True)
    batches = predictions(chosen, root, tmp_path / "cache", tmp_path / "batches", alone, "trainer.eval_batch_size=7")
    pd.testing.assert_frame_equal(first, batches, check_exact=False, rtol=0, atol=1e-5)
