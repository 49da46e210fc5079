"""The learner of the yardsticks, on stored windows whose classes differ in loudness."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from skops.io import dump

from omni_bench.config import checkpoint_file, file_sha256
from omni_bench.data.datamodule import WindowDataModule
from omni_bench.data.store import write_store
from omni_bench.errors import BenchError
from omni_bench.models.estimator import FeatureEstimator
from omni_bench.modules.classical import ClassicalLearner, load_estimator

N_CHANNELS, N_TIMES, SFREQ = 90, 2000, 500.0


def data_of(folder: Path, seed: int = 0) -> WindowDataModule:
    rng = np.random.default_rng(0)
    label = np.arange(N_CHANNELS) % 3
    signals = (rng.standard_normal((N_CHANNELS, N_TIMES)) * (1 + 4 * label[:, None])).astype(np.float32)
    stored = write_store(folder / "x.h5", [signals], [str(i) for i in range(N_CHANNELS)], SFREQ, {})
    split = np.where(np.arange(N_CHANNELS) < 60, "train", np.where(np.arange(N_CHANNELS) < 75, "val", "test"))
    windows = pd.DataFrame(
        {"row": np.arange(N_CHANNELS), "label": label, "split": split, "start": 0.0, "duration": 4.0}
    )
    windows["unit_id"] = windows["sample_id"] = windows["row"].astype(str)
    windows["path"] = str(stored.path)
    both = pd.concat([windows.assign(use=use) for use in ("train", "evaluate")], ignore_index=True)
    return WindowDataModule(both, N_TIMES, SFREQ, batch_size=16, eval_batch_size=7, windows_per_unit=None, seed=seed)


def predictions(data: WindowDataModule, estimator: object, seed: int = 0) -> pd.DataFrame:
    net = FeatureEstimator(1, 3, N_TIMES, SFREQ, estimator=estimator)
    learner = ClassicalLearner(net, classes=["low", "mid", "high"], seed=seed, optimizer=None, folder=None)
    learner.fit(data)
    return learner.predict(data)


@pytest.mark.parametrize(
    "estimator", [LogisticRegression(max_iter=500), HistGradientBoostingClassifier(max_iter=20, min_samples_leaf=2)]
)
def test_loudness_is_learnt_and_rows_keep_their_order(tmp_path: Path, estimator: object) -> None:
    found = predictions(data_of(tmp_path), estimator)
    assert found["sample_id"].tolist() == [str(i) for i in range(60, 90)]
    assert found["split"].tolist() == ["val"] * 15 + ["test"] * 15
    probabilities = found[["prob_low", "prob_mid", "prob_high"]].to_numpy()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_array_equal(probabilities.argmax(axis=1), np.arange(60, 90) % 3)


def test_same_seed_same_numbers_other_seed_other_draw(tmp_path: Path) -> None:
    first, second = (predictions(data_of(tmp_path), LogisticRegression()) for _ in range(2))
    pd.testing.assert_frame_equal(first, second)
    other = predictions(data_of(tmp_path, seed=1), LogisticRegression())
    assert not np.allclose(first["prob_low"], other["prob_low"])


def test_the_estimators_own_chance_takes_the_runs_seed() -> None:
    net = FeatureEstimator(1, 2, N_TIMES, SFREQ, estimator=HistGradientBoostingClassifier())
    ClassicalLearner(net, classes=["a", "b"], seed=7)
    assert net.estimator.random_state == 7


@pytest.mark.parametrize(
    ("estimator", "other"),
    [
        (LogisticRegression(max_iter=500), HistGradientBoostingClassifier()),
        (HistGradientBoostingClassifier(max_iter=20, min_samples_leaf=2), LogisticRegression()),
    ],
)
def test_a_kept_estimator_predicts_the_same(tmp_path: Path, estimator: object, other: object) -> None:
    data = data_of(tmp_path)
    net = FeatureEstimator(1, 3, N_TIMES, SFREQ, estimator=estimator)
    learner = ClassicalLearner(net, classes=["low", "mid", "high"], seed=0, folder=tmp_path / "run")
    learner.fit(data)
    file = checkpoint_file(str(tmp_path / "run"))
    again = FeatureEstimator(1, 3, N_TIMES, SFREQ, estimator=clone(estimator))
    report = load_estimator(again, file)
    assert report["sha256"] == file_sha256(file)
    loaded = ClassicalLearner(again, classes=["low", "mid", "high"], seed=1)
    pd.testing.assert_frame_equal(loaded.predict(data), learner.predict(data))
    with pytest.raises(BenchError, match=f"holds {type(estimator).__name__}, but the model card has"):
        load_estimator(FeatureEstimator(1, 3, N_TIMES, SFREQ, estimator=other), file)


def test_what_is_no_kept_estimator_is_refused(tmp_path: Path) -> None:
    net = FeatureEstimator(1, 3, N_TIMES, SFREQ, estimator=LogisticRegression())
    file = tmp_path / "x.skops"
    dump(make_pipeline(FunctionTransformer(tmp_path.rmdir), LogisticRegression()), file)
    for content in (file.read_bytes(), b"not a zip"):
        file.write_bytes(content)
        with pytest.raises(BenchError, match=r"checkpoint=.*x\.skops: no estimator of scikit-learn"):
            load_estimator(net, file)
    assert tmp_path.is_dir()
    assert net.estimator.get_params() == LogisticRegression().get_params()


def test_windows_that_features_cannot_read_are_refused() -> None:
    with pytest.raises(BenchError, match="samples"):
        FeatureEstimator(1, 2, 500, SFREQ, estimator=LogisticRegression())
