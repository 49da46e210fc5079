"""The learner of the field's yardsticks: features once, then an estimator of scikit-learn."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from omni_bench.data.datamodule import WindowDataModule
from omni_bench.models.estimator import FeatureEstimator


class ClassicalLearner:
    """Fits ``net.estimator`` on the features of the windows that a network sees in its first epoch.

    That draw has every class and every unit of a class alike, so the estimator needs no weights.

    Parameters
    ----------
    net
        Features and estimator.
    classes
        Of the task, in the order of labels.
    seed
        Of the estimator, where it is random.
    **_
        What only learners of networks ask for.
    """

    def __init__(self, net: FeatureEstimator, *, classes: list[str], seed: int, **_: Any) -> None:
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        if "random_state" in net.estimator.get_params():
            net.estimator.set_params(random_state=seed)
        self.net, self.classes = net, classes
        self.model = make_pipeline(StandardScaler(), net.estimator)

    def fit(self, data: WindowDataModule) -> None:
        """Fit on one epoch of training windows; validation windows have no part in it."""
        features, labels, _ = self._features(data.train_dataloader())
        self.model.fit(features, labels.astype("int64"))

    def predict(self, data: WindowDataModule) -> pd.DataFrame:
        """Class probabilities of every evaluation window, in the order of ``data.evaluate_windows``."""
        features, _, positions = self._features(data.predict_dataloader())
        columns = pd.DataFrame(self.model.predict_proba(features), columns=[f"prob_{name}" for name in self.classes])
        windows = data.evaluate_windows[["sample_id", "unit_id", "start", "duration", "split"]].iloc[positions]
        return pd.concat([windows.reset_index(drop=True), columns], axis=1)

    @torch.no_grad()
    def _features(self, batches: Iterable[Any]) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int64]]:
        parts = [(self.net.embed(x).numpy(), y.numpy(), i.numpy()) for x, y, i in batches]
        features, labels, positions = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return features, labels, positions
