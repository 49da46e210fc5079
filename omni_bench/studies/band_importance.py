"""Which frequencies a TimeConv-CNN decides by (the SHAP study of Omni-iEEG, arXiv 2602.16072).

Integrated gradients (Sundararajan et al. 2017, ICML) from a map without events, every row at its mean over many windows,
to a window's map. (An empty map as the start would credit each band with its background.) Their sum is the change of the
logit; summed over the rows of a band and over time they say what the band adds to it.
"""

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from matplotlib.figure import Figure
from omegaconf import DictConfig
from torch import Tensor

from omni_bench.config import checkpoint_file
from omni_bench.errors import BenchError
from omni_bench.files import write_atomically
from omni_bench.models.build import build_net
from omni_bench.models.timeconv_cnn import TimeConvCNN
from omni_bench.modules.learner import load_network
from omni_bench.results.figures import png, quiet
from omni_bench.signal import min_max
from omni_bench.steps import plain
from omni_bench.studies.findings import Findings, Row, plain_metric
from omni_bench.studies.windows import drawn, windows_of

log = logging.getLogger(__name__)
MAX_STEPS = 1024
BATCH_PIXELS = 1 << 24
"""Pixels of maps that pass the network at once: 64 MB, a single map of a minute."""


def band_importance(
    cfg: DictConfig, folder: Path, *, bands: Mapping[str, tuple[float, float]], n_windows: int, tolerance: float
) -> Findings:
    """Attribute the logits of a finished run's test windows to bands.

    Writes ``windows.csv`` (one row per window), ``bands.csv`` (see `summary`) and ``bands.png``.

    Parameters
    ----------
    cfg
        Of the run, with ``checkpoint``.
    bands
        Name → edges in Hz, the lower one inside.
    n_windows
        Drawn per class, from labelled test windows.
    tolerance
        Largest difference between the sum of a window's attributions and the change of its logit, as a share of that.

    Returns
    -------
    The table of bands and a row for each.

    Raises
    ------
    BenchError
        No checkpoint, or another model than TimeConv-CNN.
    """
    if cfg.checkpoint is None:
        raise BenchError(
            "the study of bands looks at a finished run: give checkpoint=DIR of a run of task=region model=timeconv_cnn"
        )
    windows = windows_of(cfg)
    net = build_net(plain(cfg.model.net), 1, 1, windows.n_times, windows.sfreq, None, cfg.compat)
    if not isinstance(net, TimeConvCNN):
        raise BenchError(f"model={cfg.model.name}: the study of bands reads the maps of timeconv_cnn only")
    load_network(net, checkpoint_file(cfg.checkpoint))
    test = windows.table[(windows.table["split"] == "test") & windows.table["label"].notna()]
    rows = drawn(test, "label", n_windows, cfg.seed)
    freqs = np.linspace(cfg.model.net.fmax, cfg.model.net.fmin, cfg.model.net.n_freqs)
    start = background(net, (windows.signals(rows[[i]]) for i in range(len(rows))))
    parts = [attribution(net, windows.signals(rows[[i]]), start, freqs, bands, tolerance) for i in range(len(rows))]
    table = pd.concat(parts, ignore_index=True)
    table.insert(0, "sample_id", windows.table.loc[rows, "sample_id"].to_numpy())
    inexact = int((table["error"] > tolerance).sum())
    if inexact:
        log.warning(
            "%d of %d windows are attributed to within more than %g after %d steps",
            inexact,
            len(table),
            tolerance,
            MAX_STEPS,
        )
    found = summary(table, bands)
    write_atomically(folder / "windows.csv", table.to_csv(index=False))
    write_atomically(folder / "bands.csv", found.to_csv(index=False))
    (folder / "bands.png").write_bytes(png(bands_figure(found)))
    return Findings(found, [_row(place, band) for place, band in enumerate(found.to_dict("records"), 1)])


def _row(place: int, band: dict[str, Any]) -> Row:
    metrics = {"importance_rank": place, "importance_share": band["share"]}
    edges = {"low": band["low"], "high": band["high"]}
    return Row(edges, {name: plain_metric(value, "window", band["n_windows"]) for name, value in metrics.items()})


@torch.no_grad()
def background(net: TimeConvCNN, windows: Iterable[Tensor]) -> Tensor:
    """Mean of each row of the windows' maps, ``(1, 1, n_freqs, 1)``."""
    means = [min_max(net.map(x)).mean(dim=-1, keepdim=True) for x in windows]
    return torch.cat(means).mean(dim=0, keepdim=True)


def attribution(
    net: TimeConvCNN,
    x: Tensor,
    start: Tensor,
    freqs: np.ndarray,
    bands: Mapping[str, tuple[float, float]],
    tolerance: float,
) -> pd.DataFrame:
    """What each band adds to the logit of one window.

    Parameters
    ----------
    x
        µV ``(1, 1, n_times)``.
    start
        See `background`.
    freqs
        Of the map's rows, in Hz.
    tolerance
        Steps of the integral are doubled until ``error`` is below it, at most `MAX_STEPS`.

    Returns
    -------
    One row: ``logit, baseline`` (that of the background), ``error`` (as a share of their difference), ``n_steps``, and a
    column per band.
    """
    from captum.attr import IntegratedGradients

    net.eval().requires_grad_(False)
    image = min_max(net.map(x))
    start = start.expand_as(image).contiguous()
    logit, baseline = (float(net.forward_images(i)[0, 0]) for i in (image, start))
    n_steps = 16
    while True:
        method = IntegratedGradients(lambda images: net.forward_images(images)[:, 0])
        batch = max(1, BATCH_PIXELS // image.numel())
        pixels = method.attribute(image, start, n_steps=n_steps, internal_batch_size=batch)
        added = pixels[0, 0].detach().double().sum(dim=1).numpy()
        error = abs(added.sum() - (logit - baseline)) / abs(logit - baseline)
        if error <= tolerance or n_steps >= MAX_STEPS:
            break
        n_steps *= 2
    shares = {name: added[(freqs >= low) & (freqs < high)].sum() for name, (low, high) in bands.items()}
    return pd.DataFrame([{"logit": logit, "baseline": baseline, "error": error, "n_steps": n_steps, **shares}])


def summary(table: pd.DataFrame, bands: Mapping[str, tuple[float, float]]) -> pd.DataFrame:
    """Bands by importance.

    Returns
    -------
    ``band, low, high, importance`` (mean absolute contribution to the logit over windows), ``share`` of all bands'
    importance, ``contribution`` (its mean with sign), ``n_windows``.
    """
    names = list(bands)
    edges = pd.DataFrame([(name, *bands[name]) for name in names], columns=["band", "low", "high"])
    importance, contribution = (
        values.loc[names].to_numpy() for values in (table[names].abs().mean(), table[names].mean())
    )
    edges = edges.assign(importance=importance, share=importance / importance.sum(), contribution=contribution)
    return edges.assign(n_windows=len(table)).sort_values("importance", ascending=False, ignore_index=True)


@quiet
def bands_figure(found: pd.DataFrame) -> Figure:
    """Bars of the bands' importance, in order of frequency."""
    ordered = found.sort_values("low")
    figure = Figure(figsize=(5, 2.8), layout="constrained")
    axes = figure.subplots()
    axes.bar(
        [f"{row.band}\n{row.low:g}–{row.high:g} Hz" for row in ordered.itertuples()], ordered["importance"], width=0.6
    )
    axes.set_ylabel("mean |contribution| to the logit")
    axes.set_title(f"{ordered['n_windows'].iloc[0]} test windows")
    return figure
