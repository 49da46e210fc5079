"""Handcrafted features for an estimator of scikit-learn, in the shape of a network."""

from typing import Any

from torch import Tensor, nn

from omni_bench.models.handcrafted import WELCH_S, handcrafted_features
from omni_bench.models.requirements import require_n_times, require_one_channel, require_sfreq


class FeatureEstimator(nn.Module):
    """What `omni_bench.modules.classical` fits: features by `embed`, classes by ``estimator``; there is no forward pass.

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        1 channel, at least 2 s at more than 160 Hz; ``n_outputs`` is the estimator's own affair.
    estimator
        A classifier of scikit-learn.
    """

    def __init__(
        self, n_chans: int, n_outputs: int, n_times: int, sfreq: float, *, compat: str | None = None, estimator: Any
    ) -> None:
        super().__init__()
        require_one_channel("handcrafted features", n_chans)
        require_sfreq("handcrafted features", sfreq, 161)
        require_n_times("handcrafted features", n_times, round(WELCH_S * sfreq))
        self.sfreq, self.estimator = sfreq, estimator

    def embed(self, x: Tensor) -> Tensor:
        """Windows ``(batch, 1, n_times)`` µV → features ``(batch, 21)``."""
        return handcrafted_features(x[:, 0], self.sfreq)
