"""One seed makes one set of predictions: bit for bit, whatever the cache held, and however many workers there were."""

from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pandas as pd
import pytest
import torch

from omni_bench import api
from omni_bench.cards import cards
from omni_bench.datasets.demo_eeg import write_demo_eeg
from omni_bench.locate import card_root
from omni_bench.pipeline import tell
from tests.small import ESTIMATORS, EVENT_MODELS, SEGMENT_MODELS, small

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
INTRACRANIAL = SEGMENT_MODELS | EVENT_MODELS | ESTIMATORS
TRIALS = ("task=demo_hands", "trainer.max_epochs=1")
CHANNELS = ("task=region", "task.window_s=4", "task.edge_s=28", "task.windows_per_unit=1", "trainer.max_epochs=1")
EVENTS = ("task=events", "trainer.max_epochs=1")
PERSONS = "+task.cohort.subject=[sub-openieegDetroit001,sub-sourcesinkpt1,sub-openieegDetroit002]"


def of_model(name: str) -> tuple[str, ...]:
    """The smallest run of a model under the protocol that is its task's own."""
    if name not in INTRACRANIAL:
        return (*TRIALS, f"model={name}")
    return (*(EVENTS if name in EVENT_MODELS else CHANNELS), PERSONS, *small(name))


def of_protocol(name: str) -> tuple[str, ...]:
    """The smallest run of a protocol."""
    card = (card_root() / "conf" / "protocol" / f"{name}.yaml").read_text()
    if "ieeg_split" in card or name == "official_split":
        return (*CHANNELS, "model=handcrafted", f"protocol={name}")
    return (*TRIALS, "model=eegnet", f"protocol={name}")


EVERY = {f"model={name}": of_model(name) for name in cards("model")}
EVERY["model=handcrafted_gbm"] += ("+model.net.estimator.min_samples_leaf=1",)  # there are too few windows for a leaf
EVERY |= {f"protocol={name}": of_protocol(name) for name in cards("protocol")}
EVERY["protocol=few_shot_patients"] += ("protocol.split.n_persons=2",)


@pytest.fixture(scope="module")
def roots(demo_root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("determinism") / "demo_eeg"
    write_demo_eeg(root, n_persons=5)
    return {"demo_hands": root, "demo_vigilance": root, "region": demo_root, "events": demo_root}


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
    root = roots[chosen[0].removeprefix("task=")]
    alone = "trainer.num_workers=0"
    first = predictions(chosen, root, tmp_path / "cache", tmp_path / "first", alone)
    assert first.select_dtypes("number").drop(columns=["start", "duration"]).std().min() > 0
    cold = predictions(chosen, root, tmp_path / "other_cache", tmp_path / "cold")
    pd.testing.assert_frame_equal(first, cold, check_exact=True)
    warm = predictions(chosen, root, tmp_path / "cache", tmp_path / "warm", alone)
    pd.testing.assert_frame_equal(first, warm, check_exact=True)
    batches = predictions(chosen, root, tmp_path / "cache", tmp_path / "batches", alone, "trainer.eval_batch_size=7")
    pd.testing.assert_frame_equal(first, batches, check_exact=False, rtol=0, atol=1e-5)


def hash_of_text() -> int:
    return hash("text")


@pytest.fixture(scope="module")
def other_process() -> Iterator[Executor]:
    """One that orders sets of text in another way."""
    with pytest.MonkeyPatch.context() as patch, ProcessPoolExecutor(1, get_context("spawn")) as executor:
        patch.setenv("PYTHONHASHSEED", "1")
        assert executor.submit(hash_of_text).result() != hash_of_text()
        executor.submit(torch.set_num_threads, torch.get_num_threads()).result()
        yield executor


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Prepared signals, which all runs share."""
    return tmp_path_factory.mktemp("stored")


def fitted(chosen: tuple[str, ...], root: Path, stored: Path, folder: Path, *overrides: str) -> pd.DataFrame:
    """Predictions of a run that has few windows and stops before it evaluates; each ``folder`` has its own embeddings."""
    (folder / "cache").mkdir(parents=True)
    (folder / "cache" / "store").symlink_to(stored)
    places = [f"dataset.root={root}", f"paths.cache={folder}/cache", f"paths.output_dir={folder}/outputs"]
    quiet = ["trainer.progress=false", "trainer.num_workers=0"]
    story = tell(api.compose_config([*chosen, *places, *quiet, *overrides]))
    learner, data = next(story)
    for name in ("train_windows", "evaluate_windows"):
        setattr(data, name, getattr(data, name).groupby(["split", "label"]).head(2).reset_index(drop=True))
    learner.fit(data)
    predictions = learner.predict(data)
    story.close()
    return predictions


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_every_model_and_protocol(
    name: str, roots: dict[str, Path], stored: Path, other_process: Executor, tmp_path: Path
) -> None:
    run = EVERY[name], roots[EVERY[name][0].removeprefix("task=")], stored
    here = fitted(*run, tmp_path / "here")
    there = other_process.submit(fitted, *run, tmp_path / "there").result()
    assert here.filter(regex="prob|prediction").std().max() > 0
    pd.testing.assert_frame_equal(here, there, check_exact=True)
    batches = fitted(*run, tmp_path / "batches", "trainer.eval_batch_size=3")
    pd.testing.assert_frame_equal(here, batches, check_exact=False, rtol=0, atol=1e-5)
