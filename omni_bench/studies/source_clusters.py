"""Can sources be told apart by their signals? The permutation study of Omni-iEEG (arXiv 2602.16072).

Maps of windows of every source are embedded by an ImageNet ViT, clustered by k-means, and the homogeneity of clusters in
terms of source is compared with that of permuted sources.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from omegaconf import DictConfig
from torch import Tensor, nn
from torch.nn import functional

from omni_bench.errors import BenchError
from omni_bench.evaluation.record import Metric
from omni_bench.files import write_atomically
from omni_bench.models.build import build
from omni_bench.signal import MorletMap, min_max
from omni_bench.studies.findings import Findings, Row, plain_metric
from omni_bench.studies.windows import drawn, windows_of

PERMUTED = ("person", "window")
"""A person keeps its windows together, since they are alike; or all windows are exchanged freely, as published."""


def source_clusters(
    cfg: DictConfig,
    folder: Path,
    *,
    weights: str = "pretrained",
    n_windows: int = 500,
    n_clusters: int = 4,
    n_permutations: int = 1000,
) -> Findings:
    """Test whether clusters of embeddings follow the sources, by both ways to permute of `PERMUTED`.

    Writes ``windows.csv`` (source and cluster of each window) and ``result.csv``.

    Parameters
    ----------
    cfg
        Of a task, for its windows and their rate.
    weights
        Of the ViT, as in `omni_bench.models.build`.
    n_windows
        Drawn per source.

    Returns
    -------
    A row of `permutation_test` for each way to permute.

    Raises
    ------
    BenchError
        Fewer than two sources, or weights that cannot be had.
    """
    windows = windows_of(cfg)
    if windows.table["source"].nunique() < 2:
        raise BenchError(f"dataset={cfg.dataset.name}: one source only: there is nothing to permute")
    vit = build("vit_event", 1, 1, 2000, 1000.0, weights=weights).get_submodule("vit")
    rows = drawn(windows.table, "source", n_windows, cfg.seed)
    transform = MorletMap(windows.n_times, windows.sfreq, n_freqs=224, fmin=10, fmax=min(300, windows.sfreq / 2))
    embedded = np.concatenate([embedding(vit, transform, windows.signals(rows[[i]])) for i in range(len(rows))])
    table = windows.table.loc[rows, ["sample_id", "person", "source"]].reset_index(drop=True)
    table["cluster"] = clusters(embedded, n_clusters, cfg.seed)
    found = pd.concat([permutation_test(table, n_permutations, way, cfg.seed) for way in PERMUTED], ignore_index=True)
    write_atomically(folder / "windows.csv", table.to_csv(index=False))
    write_atomically(folder / "result.csv", found.to_csv(index=False))
    random = weights == "random"
    rows = [_row(facts) for facts in found.to_dict("records")]
    return Findings(found, rows, {"source": "random" if random else "hub", "pretrained": not random})


def _row(facts: dict[str, Any]) -> Row:
    n = facts["n_windows"]
    p = Metric(facts["p"], facts["p_low"], facts["p_high"], "permutation", facts["n_permutations"])
    counts = {name: plain_metric(facts[name], "window", n) for name in ("homogeneity", "n_windows", "n_permutations")}
    return Row({"permute": facts["permute"]}, {"p": p, **counts})


@torch.no_grad()
def embedding(vit: nn.Module, transform: MorletMap, x: Tensor) -> NDArray[np.float32]:
    """Class token ``(1, 768)`` of the map of a window ``(1, 1, n_times)`` µV, scaled as ImageNet weights expect."""
    image = min_max(functional.interpolate(transform(x), (224, 224), mode="area"))
    return vit.eval()(image / 127.5 - 1).numpy()


def clusters(embedded: NDArray[np.float32], n_clusters: int, seed: int) -> NDArray[np.int32]:
    """Number of each row's cluster by k-means."""
    from sklearn.cluster import KMeans

    return KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(embedded)


def permutation_test(table: pd.DataFrame, n_permutations: int, permute: str, seed: int) -> pd.DataFrame:
    """Homogeneity of ``cluster`` in terms of ``source`` against that of permuted sources, one-sided.

    Returns
    -------
    One row: ``homogeneity``, ``permuted_mean``; ``p``, which counts the sample itself among the permutations, with the
    95 % limits ``p_low, p_high`` (Clopper and Pearson) that more permutations could move it to; ``n_windows, n_clusters,
    n_permutations, permute``.
    """
    from scipy.stats import binomtest
    from sklearn.metrics import homogeneity_score

    rng = np.random.default_rng(seed)
    observed = homogeneity_score(table["source"], table["cluster"])
    owners, sources = table.groupby("person")["source"].first().pipe(lambda s: (s.index, s.to_numpy()))
    position = pd.Index(owners).get_indexer(table["person"])
    permuted = np.empty(n_permutations)
    for i in range(n_permutations):
        labels = rng.permutation(table["source"]) if permute == "window" else rng.permutation(sources)[position]
        permuted[i] = homogeneity_score(labels, table["cluster"])
    as_high = int((permuted >= observed - 1e-12).sum())
    limits = binomtest(as_high, n_permutations).proportion_ci()
    columns = {"homogeneity": observed, "permuted_mean": permuted.mean(), "p": (1 + as_high) / (1 + n_permutations)}
    columns |= {"p_low": limits.low, "p_high": limits.high, "n_windows": len(table)}
    columns |= {"n_clusters": table["cluster"].nunique(), "n_permutations": n_permutations, "permute": permute}
    return pd.DataFrame([columns])
