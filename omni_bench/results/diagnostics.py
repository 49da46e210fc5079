"""Pictures of how a run's probabilities, channels and embeddings look: calibration, scalp maps, projections."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from omni_bench.results.figures import COLOURS, INK, LEGIBLE_CLASSES, MUTED, PAPER, SHADE, quiet

BANDS = {"delta": (1, 4), "theta": (4, 8), "alpha": (8, 13), "beta": (13, 30)}
"""Hz, half-open."""
FEW_ELECTRODES = 8
"""Electrodes below which a map of the scalp is mostly interpolation."""
MARKERS = "os^DvPX*"
LEGEND_ROWS = 16
"""Names that stand below each other beside a picture."""


@quiet
def calibration(bins: pd.DataFrame) -> Figure:
    """Observed share against predicted probability, with the number of units below.

    Parameters
    ----------
    bins
        Of `evaluation.calibration.reliability`.
    """
    figure = Figure(figsize=(4.4, 4.9), layout="constrained")
    curve, counts = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
    curve.plot([0, 1], [0, 1], ":", color=MUTED, lw=1, label="calibrated")
    curve.vlines(bins["predicted"], bins["ci_low"], bins["ci_high"], color=COLOURS[0], lw=1.6, alpha=0.6)
    curve.plot(bins["predicted"], bins["observed"], "o-", color=COLOURS[0], mec=PAPER, ms=6, lw=1.2, label="test units")
    curve.set(ylabel="observed share", xlim=(0, 1), ylim=(0, 1))
    curve.legend(fontsize=8, loc="upper left")
    width = bins["high"] - bins["low"]
    counts.bar(bins["low"], bins["n"], width, align="edge", color=SHADE, edgecolor=MUTED, lw=0.6)
    counts.set(xlabel="predicted probability", ylabel="units")
    for axes in (curve, counts):
        axes.grid(lw=0.6)
        axes.set_axisbelow(True)
    return figure


def band_powers(window: np.ndarray, sfreq: float, ch_names: Sequence[str]) -> pd.DataFrame:
    """Power of each channel in `BANDS`, dB above the mean over channels.

    Parameters
    ----------
    window
        float32 `(n_channels, n_times)` in µV.

    Returns
    -------
    Channels × bands; a silent channel is NaN and no part of the mean.
    """
    from scipy.signal import welch

    frequencies, density = welch(window, sfreq, nperseg=min(window.shape[1], round(2 * sfreq)))
    inside = {band: (frequencies >= low) & (frequencies < high) for band, (low, high) in BANDS.items()}
    power = pd.DataFrame(
        {band: density[:, mask].mean(axis=1) for band, mask in inside.items() if mask.any()},
        index=pd.Index(ch_names, name="channel"),
    )
    decibels = 10 * np.log10(power.where(power > 0))
    return decibels - decibels.mean()


def electrode_positions(ch_names: Sequence[str]) -> dict[str, np.ndarray]:
    """Places on a sphere (m) of the channels whose electrode is known, by the channels' own names."""
    from omni_bench.signal.electrode_names import electrode_names
    from omni_bench.signal.montage import positions

    electrodes = electrode_names(ch_names)
    places = positions(electrodes)
    pairs = zip(ch_names, electrodes, strict=True)
    return {name: places[electrode.upper()] for name, electrode in pairs if electrode.upper() in places}


@quiet
def scalp_maps(powers: Mapping[str, pd.DataFrame]) -> Figure | None:
    """Maps of band power over the scalp, a row per class; None with fewer than `FEW_ELECTRODES` known electrodes.

    Parameters
    ----------
    powers
        Title of a row → `band_powers` of a window.
    """
    import mne

    first = next(iter(powers.values()))
    known = electrode_positions([str(name) for name in first.index])
    if len({tuple(place) for place in known.values()}) < max(FEW_ELECTRODES, len(known)):
        return None
    info = mne.create_info(list(known), 1.0, "eeg", verbose="error")
    info.set_montage(mne.channels.make_dig_montage(known), verbose="error")
    limit = float(max(np.nanmax(np.abs(table.to_numpy())) for table in powers.values()))
    figure = Figure(figsize=(9.0, 2.3 * len(powers)), layout="constrained")
    panels = figure.subplots(len(powers), first.shape[1], squeeze=False)
    for row, (title, table) in zip(panels, powers.items(), strict=True):
        for axes, band in zip(row, table, strict=True):
            values = table.loc[list(known), band].fillna(0).to_numpy()
            image, _ = mne.viz.plot_topomap(
                values, info, axes=axes, show=False, vlim=(-limit, limit), cmap="RdBu_r", contours=0, sensors="k."
            )
            axes.set_title(band, fontweight="normal", loc="center")
        row[0].set_ylabel(title, color=INK)
    figure.colorbar(image, ax=panels, label="dB above the mean over channels", shrink=0.8, aspect=25)
    return figure


@quiet
def projection(table: pd.DataFrame, methods: Sequence[str], classes: Sequence[str]) -> Figure:
    """Embeddings of test windows in two dimensions, one panel per method, a colour per class.

    More than `LEGIBLE_CLASSES` are coloured by their place among the classes, and only some of them are named.

    Parameters
    ----------
    table
        ``label`` (index into `classes`, or a number, NA = unscored) and ``<method>_1, <method>_2``.
    """
    n = len(classes)
    n_columns = -(-n // LEGEND_ROWS) if n <= LEGIBLE_CLASSES else 1
    beside = n_columns * (0.5 + 0.075 * max(len(name) for name in classes))
    figure = Figure(figsize=(4.6 * len(methods) + beside, 4.2), layout="constrained")
    panels = figure.subplots(1, len(methods), squeeze=False)[0]
    for axes, method in zip(panels, methods, strict=True):
        x, y = table[f"{method}_1"], table[f"{method}_2"]
        dots: dict[str, Any] = {"alpha": 0.7, "rasterized": len(table) > 2000}
        if n > LEGIBLE_CLASSES:
            points = axes.scatter(x, y, 16, table["label"], cmap="turbo", vmin=0, vmax=n - 1, lw=0, **dots)
        for i, name in enumerate(classes if n <= LEGIBLE_CLASSES else ()):
            of_class = table["label"] == i
            style = {"marker": MARKERS[i // 6 % len(MARKERS)], "color": COLOURS[i % 6], "ms": 4, "mec": "none"}
            axes.plot(x[of_class], y[of_class], ls="", label=name, **style, **dots)
        axes.set(xlabel=f"{method} 1", ylabel=f"{method} 2")
        axes.set_xticks([])
        axes.set_yticks([])
    if n > LEGIBLE_CLASSES:
        named = range(0, n, -(-n // LEGEND_ROWS))
        bar = figure.colorbar(points, ax=panels, pad=0.01, aspect=30)
        bar.set_ticks(named, labels=[classes[i] for i in named])
    else:
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8, ncols=n_columns)
    return figure
