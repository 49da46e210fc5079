"""Embeddings of test windows in two dimensions, kept for pictures: the embeddings themselves may be large."""

from importlib.util import find_spec

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from omni_bench.modules.probe import EmbeddedDataModule

MOST_WINDOWS, MOST_NUMBERS = 2000, 2**25
"""Windows that a picture still shows, and numbers that are held in memory for it."""
NEIGHBOURS = 15
"""Of UMAP, its own default; no more windows than these have no neighbourhoods to keep."""


def projection_of(data: EmbeddedDataModule, seed: int) -> pd.DataFrame:
    """Projections of (a sample of) the test windows.

    Returns
    -------
    ``sample_id, subject, label``, then ``PCA_1, PCA_2`` and, where umap-learn is installed, ``UMAP_1, UMAP_2``.
    """
    windows = data.test_windows
    most = max(2, min(MOST_WINDOWS, MOST_NUMBERS // data.embeddings.dim))
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(len(windows))[:most])
    windows = windows.iloc[rows].reset_index(drop=True)
    x = data.embeddings[data.rows[windows["sample_id"]].to_numpy("int64")].numpy()
    return pd.concat([windows[["sample_id", "subject", "label"]], project(x, seed)], axis=1)


def project(x: NDArray[np.float32], seed: int) -> pd.DataFrame:
    """Standardised features ``(n, d)`` on their first two principal components, and by UMAP where it is installed.

    Fewer than 3 windows or features have neither, up to `NEIGHBOURS` windows no UMAP (McInnes et al. 2018,
    arXiv 1802.03426).
    """
    from sklearn.decomposition import PCA

    scale = x.std(axis=0)
    z = (x - x.mean(axis=0)) / np.where(scale > 0, scale, 1)
    if min(z.shape) < 3:
        return pd.DataFrame(index=range(len(z)))
    components = PCA(2, svd_solver="randomized", random_state=seed).fit_transform(z)
    table = pd.DataFrame(components, columns=["PCA_1", "PCA_2"])
    if len(z) > NEIGHBOURS and find_spec("umap"):
        from umap import UMAP

        table[["UMAP_1", "UMAP_2"]] = UMAP(n_neighbors=NEIGHBOURS, random_state=seed, n_jobs=1).fit_transform(z)
    return table
