"""Band power with logistic regression: the yardstick beside every network."""

from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.signal import welch
from torch import Tensor, nn

from omni_bench.data.datamodule import WindowDataModule

BANDS = {
    "delta": (0.5, 4.0),
    "theta": (4.0, 8.0),
    "alpha": (8.0, 13.0),
    "beta": (13.0, 30.0),
    "gamma": (30.0, 80.0),
    "high_gamma": (80.0, 150.0),
    "ripple": (150.0, 250.0),
}
"""Name → edges in Hz; those above the Nyquist frequency are left out."""


def log_band_power(signal: NDArray[np.float32], sfreq: float) -> NDArray[np.float64]:
    """Log10 of mean power density per band, ``(..., n_times)`` in µV → ``(..., n_bands)``.

    Welch's estimate with 1 s Hann windows; a flat signal gives the log of the smallest positive number.
    """
    freqs, density = welch(signal, sfreq, nperseg=min(int(sfreq), signal.shape[-1]), axis=-1)
    bands = [(freqs >= low) & (freqs < high) for low, high in BANDS.values() if low < sfreq / 2]
    power = np.stack([density[..., band].mean(axis=-1) for band in bands if band.any()], axis=-1)
    return np.log10(np.maximum(power, np.finfo(np.float64).tiny))


class BandPower(nn.Module):
    """Log band power of every channel, for `omni_bench.modules.classical` and its estimator; nothing in it trains.

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        Any; ``n_outputs`` is the estimator's own affair.
    estimator
        A classifier of scikit-learn.
    """

    def __init__(
        self, n_chans: int, n_outputs: int, n_times: int, sfreq: float, *, compat: str | None = None, estimator: Any
    ) -> None:
        super().__init__()
        self.sfreq, self.estimator = sfreq, estimator

    def embed(self, x: Tensor) -> Tensor:
        """Windows ``(batch, n_chans, n_times)`` µV → ``(batch, n_chans * n_bands)``."""
        return torch.from_numpy(log_band_power(x.numpy(), self.sfreq)).flatten(1).float()


def band_power_baseline(data: WindowDataModule, classes: list[str]) -> pd.DataFrame:
    """Fit on as many training windows of a unit as an epoch draws, predict the evaluation windows.

    Returns
    -------
    Predictions in the layout of `omni_bench.modules.learner`.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced", max_iter=1000))
    train = data.epoch_windows
    model.fit(_features(train, data), train["label"].to_numpy("int64"))
    probabilities = model.predict_proba(_features(data.evaluate_windows, data))
    columns = pd.DataFrame(probabilities, columns=[f"prob_{name}" for name in classes])
    return pd.concat([data.predicted, columns], axis=1)


def _features(windows: pd.DataFrame, data: WindowDataModule) -> NDArray[np.float64]:
    batches = (x.numpy() for x, *_ in data.sequential(windows))
    return np.concatenate([log_band_power(x, data.sfreq).reshape(len(x), -1) for x in batches])
