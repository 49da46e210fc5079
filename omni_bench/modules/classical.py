"""The learner of the field's yardsticks: features once, then an estimator of scikit-learn.

What it fits is kept by skops, as JSON and arrays: a pickle would run whatever is in it.
"""

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from omni_bench.config import file_sha256
from omni_bench.data.datamodule import WindowDataModule
from omni_bench.errors import BenchError
from omni_bench.files import renamed
from omni_bench.models.estimator import FeatureEstimator
from omni_bench.models.weights import LoadReport

TRUSTED = ["sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"]
"""Types beyond those that skops trusts itself: the trees of gradient boosting, arrays all of them."""


class ClassicalLearner:
    """Fits ``net.estimator`` on the features of the windows that a network sees in its first epoch.

    That draw has every class and every unit of a class alike, so the estimator needs no weights.

    Parameters
    ----------
    net
        Features and estimator, which may be a fitted one of `load_estimator`.
    classes
        Of the task, in the order of labels.
    seed
        Of the estimator, where it is random.
    folder
        The run's directory, for ``checkpoints/best.skops``; None keeps nothing.
    **_
        What only learners of networks ask for.
    """

    def __init__(
        self, net: FeatureEstimator, *, classes: list[str], seed: int, folder: Path | None = None, **_: Any
    ) -> None:
        from sklearn.pipeline import Pipeline, make_pipeline
        from sklearn.preprocessing import StandardScaler

        self.net, self.classes, self.folder = net, classes, folder
        self.model: Pipeline = net.estimator
        if not isinstance(net.estimator, Pipeline):
            if "random_state" in net.estimator.get_params():
                net.estimator.set_params(random_state=seed)
            self.model = make_pipeline(StandardScaler(), net.estimator)

    def fit(self, data: WindowDataModule) -> None:
        """Fit on one epoch of training windows; validation windows have no part in it."""
        features, labels, _ = self._features(data.train_dataloader())
        self.model.fit(features, labels.astype("int64"))
        if self.folder is not None:
            save_estimator(self.model, self.folder / "checkpoints" / "best.skops")

    def predict(self, data: WindowDataModule) -> pd.DataFrame:
        """Class probabilities of every evaluation window, in the order of ``data.evaluate_windows``."""
        features, _, positions = self._features(data.predict_dataloader())
        columns = pd.DataFrame(self.model.predict_proba(features), columns=[f"prob_{name}" for name in self.classes])
        windows = data.predicted.iloc[positions]
        return pd.concat([windows.reset_index(drop=True), columns], axis=1)

    @torch.no_grad()
    def _features(self, batches: Iterable[Any]) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int64]]:
        parts = [(self.net.embed(x).numpy(), y.numpy(), i.numpy()) for x, y, i in batches]
        features, labels, positions = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return features, labels, positions


def save_estimator(model: Any, file: Path) -> None:
    """Write a fitted pipeline."""
    from skops.io import dumps

    file.parent.mkdir(parents=True, exist_ok=True)
    with renamed(file) as part:
        part.write_bytes(dumps(model))


def load_estimator(net: Any, file: Path) -> dict[str, Any]:
    """Give features with an ``estimator`` the fitted pipeline of a file in its place; no code in it is ever run.

    Returns
    -------
    A load report as `omni_bench.models.weights` makes it.

    Raises
    ------
    BenchError
        The file is damaged or holds what is no estimator, or it is of another model.
    """
    from skops.io import load

    try:
        model = load(file, trusted=TRUSTED)
        found, wanted = type(model[-1]), type(net.estimator)
    except Exception as error:
        reason = " ".join(str(error).split())[:120]
        raise BenchError(
            f"checkpoint={file}: no estimator of scikit-learn ({reason}): give a finished run of omni_bench"
        ) from error
    if found is not wanted:
        raise BenchError(
            f"checkpoint={file}: holds {found.__name__}, but the model card has {wanted.__name__}: choose the model of that run"
        )
    net.estimator = model
    return asdict(LoadReport(str(file), pretrained=False, sha256=file_sha256(file)))
