"""Scores of channels and recordings, with intervals, from what a model says of their windows."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from omni_bench.evaluation.thresholds import Threshold
from omni_bench.hfo.events import rates
from omni_bench.inference.scoring import Scored, kind_of
from omni_bench.inference.trained import Trained


@dataclass(frozen=True)
class Scale:
    """What a score is: the column that it is made of, and where it is cut.

    Attributes
    ----------
    column
        Of `Scored.predictions`; None where none of several classes is looked for, and the score is that of the likeliest.
    positive
        Class that is looked for.
    threshold
        Of the run, where it has one for such scores.
    """

    column: str | None
    positive: str | None
    threshold: Threshold | None


def scale_of(trained: Trained) -> Scale:
    """How a run's task scores."""
    task = trained.config.task
    outputs, evaluate = list(task.outputs), task.evaluate
    if task.kind == "regression":
        return Scale("prediction", None, None)
    positive = evaluate.get("positive") or (outputs[-1] if len(outputs) == 2 or kind_of(task) == "event" else None)
    cut = trained.record.get("threshold")
    threshold = None
    # a threshold of mean logits says nothing of mean probabilities
    if cut and cut["value"] is not None and evaluate.get("rule") != "reference":
        threshold = Threshold(cut["rule"], float(cut["value"]), strict=evaluate.get("orientation") == "normal")
    return Scale(None if positive is None else f"prob_{positive}", positive, threshold)


def channel_scores(scored: Scored, scale: Scale, subject: str, n_boot: int, seed: int) -> pd.DataFrame:
    """Scores of a subject's channels, all of its recordings together, the highest first.

    Returns
    -------
    One row per channel: ``channel, score, ci_low, ci_high, n``, ``predicted`` (class; NA without a threshold), the mean of
    each output, ``soz, resected`` (NA = unknown), ``reason`` (why it has no score). Of windows the score is a mean with the
    percentile interval of a bootstrap over windows, and ``n`` their number; of events it is the rate per minute of the
    positive class with its exact Poisson interval, and ``n`` the number of all events.
    """
    recordings = scored.cohort.recordings
    recordings = recordings.loc[recordings["subject"] == subject, "recording"]
    channels = scored.cohort.channels[scored.cohort.channels["recording"].isin(recordings)]
    reasons = scored.excluded.drop_duplicates(["recording", "channel"])
    channels = channels.merge(reasons, on=["recording", "channel"], how="left")
    windows = scored.predictions[scored.predictions["recording"].isin(recordings)]
    if scored.kind == "event":
        own = _rates(windows, channels[channels["good"].fillna(True)], scored, scale)
    else:
        own = _means(windows, scored.outputs, scale, n_boot, seed)
    by_channel = channels.groupby("channel", sort=False)
    table = by_channel[["soz", "resected"]].max().join(own)
    table["reason"] = by_channel["reason"].first().where(table["score"].isna())
    table = table.reset_index()
    table["n"] = table["n"].fillna(0).astype("int64")
    table["predicted"] = _predicted(table, scored, scale)
    first = ["channel", "score", "ci_low", "ci_high", "n", "predicted", *scored.outputs, "soz", "resected", "reason"]
    return table[first].sort_values("score", ascending=False, kind="stable", ignore_index=True)


def _means(windows: pd.DataFrame, outputs: list[str], scale: Scale, n_boot: int, seed: int) -> pd.DataFrame:
    wide = windows.pivot_table(outputs, ["recording", "start"], "channel", observed=True)
    table = pd.DataFrame({name: wide[name].mean() for name in outputs})
    column = pd.Series(scale.column or table.idxmax(axis=1), index=table.index)
    chosen = [(column[channel], channel) for channel in table.index]
    table["score"] = [table.loc[channel, name] for name, channel in chosen]
    table[["ci_low", "ci_high"]] = mean_intervals(wide[chosen].to_numpy(), n_boot, seed).T
    table["n"] = wide[outputs[0]].notna().sum()
    return table


def mean_intervals(values: np.ndarray, n_boot: int, seed: int) -> np.ndarray:
    """95 % percentile intervals of the means of columns, rows drawn with replacement.

    Parameters
    ----------
    values
        `(n_rows, n_columns)`; NaN where a column has no such row.

    Returns
    -------
    `(2, n_columns)`, NaN of columns with fewer than two values, and of all with ``n_boot=0``.
    """
    known = ~np.isnan(values)
    filled = np.where(known, values, 0.0)
    rng, n = np.random.default_rng(seed), len(values)
    means = np.empty((n_boot, values.shape[1]))
    for draw in means:  # one at a time: a day has many windows
        times = rng.multinomial(n, np.full(n, 1 / n))
        counted = times @ known
        np.divide(times @ filled, counted, out=draw, where=counted > 0)
        draw[counted == 0] = np.nan
    enough = known.sum(axis=0) > 1
    intervals = np.full((2, values.shape[1]), np.nan)
    if n_boot:
        intervals[:, enough] = np.nanpercentile(means[:, enough], [2.5, 97.5], axis=0)
    return intervals


def _rates(events: pd.DataFrame, usable: pd.DataFrame, scored: Scored, scale: Scale) -> pd.DataFrame:
    seconds = usable.assign(s=usable["recording"].map(scored.looked_at)).groupby("channel", sort=False)["s"].sum()
    likeliest = events[scored.outputs].idxmax(axis=1) if len(events) else pd.Series(dtype="str")
    found = rates(events[likeliest == scale.column], seconds.to_dict(), seconds.index.tolist()).set_index("channel")
    table = found[["rate", "ci_low", "ci_high"]].rename(columns={"rate": "score"})
    table["n"] = events["channel"].value_counts().reindex(table.index, fill_value=0)
    return table.join(events.groupby("channel")[scored.outputs].mean())


def _predicted(table: pd.DataFrame, scored: Scored, scale: Scale) -> pd.Series:
    """Class of each channel; NA without a score, or without a threshold where the score is one class's."""
    predicted = pd.Series(pd.NA, index=table.index, dtype="string")
    known = table["score"].notna()
    if scale.threshold is not None and scale.positive is not None:
        positive = scale.threshold.predict(table.loc[known, "score"].to_numpy(dtype=float))
        others = [name.removeprefix("prob_") for name in scored.outputs if name != scale.column]
        negative = others[0] if len(others) == 1 else f"not {scale.positive}"
        predicted[known] = np.where(positive, scale.positive, negative)
    elif scale.column is None:
        predicted[known] = table.loc[known, scored.outputs].idxmax(axis=1).str.removeprefix("prob_")
    return predicted


def recording_means(scored: Scored, subject: str, n_boot: int, seed: int) -> pd.DataFrame:
    """Mean of each output over the windows of a subject's recordings: ``recording, output, mean, ci_low, ci_high, n``.

    Intervals are those of `channel_scores`.
    """
    recordings = scored.cohort.recordings
    tables = []
    for name in recordings.loc[recordings["subject"] == subject, "recording"]:
        values = scored.predictions.loc[scored.predictions["recording"] == name, scored.outputs].to_numpy(dtype=float)
        low, high = mean_intervals(values, n_boot, seed)
        table = pd.DataFrame({"output": scored.outputs, "mean": values.mean(axis=0), "ci_low": low, "ci_high": high})
        tables.append(table.assign(n=len(values)).assign(recording=name))
    return pd.concat(tables, ignore_index=True)[["recording", "output", "mean", "ci_low", "ci_high", "n"]]
