"""Covariance between channels in the tangent space of positive definite matrices, for a linear classifier."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.signal import butter, sosfiltfilt
from torch import Tensor, nn

from omni_bench.models.requirements import require_n_times, require_sfreq


def covariances(x: NDArray[np.floating]) -> NDArray[np.float64]:
    """Covariance of each window, shrunk towards a multiple of the identity by the oracle approximation (Chen et al. 2010).

    Shrinkage makes a window invertible that has fewer samples than channels or an average reference.

    Parameters
    ----------
    x : (batch, n_chans, n_times)
        µV.

    Returns
    -------
    (batch, n_chans, n_chans)
        µV².
    """
    from sklearn.covariance import oas

    return np.stack([oas(window.T)[0] for window in x])


def tangent_vectors(matrices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Upper triangle of the matrix logarithm, off the diagonal times √2 (Barachant et al. 2012; Arsigny et al. 2007).

    This is the tangent space at the identity. Distances between vectors are log-Euclidean ones between matrices.

    Parameters
    ----------
    matrices : (batch, n, n)
        Symmetric and positive definite.

    Returns
    -------
    (batch, n (n + 1) / 2)
    """
    values, vectors = np.linalg.eigh(matrices)
    logs = (vectors * np.log(values)[:, None]) @ vectors.swapaxes(1, 2)
    rows, columns = np.triu_indices(matrices.shape[-1])
    return logs[:, rows, columns] * np.where(rows == columns, 1, math.sqrt(2))


class TangentSpace(nn.Module):
    """Log-covariance of all channels in one band, for `omni_bench.modules.classical` and its estimator; nothing in it trains.

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        A quarter of a second or more, the rate above twice the band; ``n_outputs`` is the estimator's own affair.
    band
        Edges of the Butterworth filter (fourth order, forwards and backwards) in Hz.
    estimator
        A classifier of scikit-learn.
    """

    def __init__(
        self,
        n_chans: int,
        n_outputs: int,
        n_times: int,
        sfreq: float,
        *,
        compat: str | None = None,
        band: Sequence[float],
        estimator: Any,
    ) -> None:
        super().__init__()
        require_sfreq("tangent space", sfreq, 2 * band[1] + 1)
        require_n_times("tangent space", n_times, math.ceil(sfreq / 4))
        self.filter, self.estimator = butter(4, band, "bandpass", fs=sfreq, output="sos"), estimator

    def embed(self, x: Tensor) -> Tensor:
        """Windows ``(batch, n_chans, n_times)`` µV → ``(batch, n_chans * (n_chans + 1) / 2)``."""
        filtered = sosfiltfilt(self.filter, x.numpy(), axis=-1)
        return torch.from_numpy(tangent_vectors(covariances(filtered))).float()
