"""Event tables compared and combined: consensus of detectors, rates, matching. Ends are exclusive throughout."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import optimize, stats

from omni_bench.errors import BenchError


def _clusters(events: pd.DataFrame) -> NDArray[np.intp]:
    """Number of each event's cluster: events of one channel that overlap, directly or through others."""
    order = np.lexsort((events["start"], pd.factorize(events["channel"])[0]))
    channel = events["channel"].to_numpy()[order]
    start, end = events["start"].to_numpy()[order], events["end"].to_numpy()[order]
    number = np.empty(len(events), dtype=np.intp)
    current, reach = -1, 0
    for position, row in enumerate(order):
        if position == 0 or channel[position] != channel[position - 1] or start[position] >= reach:
            current, reach = current + 1, end[position]
        reach = max(reach, end[position])
        number[row] = current
    return number


def combine(tables: Sequence[pd.DataFrame], rule: str = "union", compat: str | None = None) -> pd.DataFrame:
    """One table from the tables of several detectors on one recording.

    Overlapping detections of a channel, also through a third one, make one event from the first start to the last end.

    Parameters
    ----------
    tables : sequence of DataFrame
        One event table of `detect` per detector, an empty one for a detector that found nothing.
    rule : {"union", "intersection", "majority"}
        Keep events that one detector, all detectors, or more than half of them take part in.
    compat : None or "reference"
        ``"reference"`` sets the tables one below the other, so that an oscillation counts once per detector.

    Returns
    -------
    DataFrame
        Columns of `detect` with ``detector`` set to the rule and ``co_detections``, the detectors that took part joined
        by ``+``. Peak frequency and amplitude are those of the loudest detection; the band spans all.
    """
    votes = {"union": 1, "majority": len(tables) // 2 + 1, "intersection": len(tables)}
    if rule not in votes:
        raise BenchError(f"rule={rule!r} is unknown; choose one of {', '.join(votes)}")
    if not tables:
        raise BenchError("no event tables to combine; give one per detector")
    filled = [table for table in tables if len(table)]
    if not filled:
        return tables[0].assign(co_detections=pd.Series(dtype=object))
    events = pd.concat(filled, ignore_index=True)
    if compat == "reference":
        return events.assign(co_detections=events["detector"])
    order = {channel: position for position, channel in enumerate(pd.unique(events["channel"]))}
    events = events.assign(cluster=_clusters(events)).sort_values("amplitude", ascending=False, kind="stable")
    groups = events.groupby("cluster")
    merged = groups.agg(
        channel=("channel", "first"),
        start=("start", "min"),
        end=("end", "max"),
        onset=("onset", "min"),
        band_low=("band_low", "min"),
        band_high=("band_high", "max"),
        peak_frequency=("peak_frequency", "first"),
        amplitude=("amplitude", "first"),
        co_detections=("detector", lambda names: "+".join(sorted(set(names)))),
    )
    merged["duration"] = (events["onset"] + events["duration"]).groupby(events["cluster"]).max() - merged["onset"]
    merged["detector"] = rule
    merged = merged[groups["detector"].nunique() >= votes[rule]]
    merged = merged.sort_values(["channel", "start"], key=lambda key: key.map(order) if key.name == "channel" else key)
    return merged[[*tables[0].columns, "co_detections"]].reset_index(drop=True)


def rates(
    events: pd.DataFrame, duration: float | Mapping[str, float], ch_names: Sequence[str], confidence: float = 0.95
) -> pd.DataFrame:
    """Events per channel and minute with exact Poisson intervals (Garwood 1936).

    Parameters
    ----------
    events : DataFrame
        Event table with a ``channel`` column.
    duration : float or mapping
        Seconds looked at, of all channels or per channel.
    ch_names : sequence of str
        Every channel looked at: one without events has a row with rate 0 and an upper bound.
    confidence : float
        Of the two-sided interval.

    Returns
    -------
    DataFrame
        ``channel, count, minutes, rate, ci_low, ci_high``, the last three per minute.
    """
    unknown = sorted(set(events["channel"]) - set(ch_names))
    if unknown:
        raise BenchError(f"events on channel {', '.join(unknown)}, which ch_names does not hold")
    seconds = duration if isinstance(duration, Mapping) else dict.fromkeys(ch_names, duration)
    minutes = np.array([seconds[name] for name in ch_names], dtype=float) / 60
    if not (minutes > 0).all():
        raise BenchError(f"duration={duration}: every channel needs more than 0 s")
    count = events["channel"].value_counts().reindex(list(ch_names), fill_value=0).to_numpy()
    table = poisson_rates(count, minutes, confidence)
    return pd.DataFrame({"channel": list(ch_names), "count": count, "minutes": minutes}).join(table)


def poisson_rates(count: NDArray[np.integer], minutes: NDArray[np.floating], confidence: float = 0.95) -> pd.DataFrame:
    """``rate, ci_low, ci_high`` per minute of counted events, with exact two-sided Poisson intervals (Garwood 1936)."""
    tail = (1 - confidence) / 2
    low = np.where(count > 0, stats.chi2.ppf(tail, 2 * np.maximum(count, 1)) / 2, 0)
    high = stats.chi2.ppf(1 - tail, 2 * count + 2) / 2
    return pd.DataFrame({"rate": count / minutes, "ci_low": low / minutes, "ci_high": high / minutes})


@dataclass(frozen=True)
class Matching:
    """Pairs of two event sets; NaN where a set, or the pairs, are empty.

    ``pairs`` holds ``found`` and ``truth`` (index labels of the two tables) and ``iou`` (intersection over union).
    """

    pairs: pd.DataFrame
    n_found: int
    n_truth: int

    @property
    def precision(self) -> float:
        return len(self.pairs) / self.n_found if self.n_found else np.nan

    @property
    def recall(self) -> float:
        return len(self.pairs) / self.n_truth if self.n_truth else np.nan

    @property
    def mean_iou(self) -> float:
        return float(self.pairs["iou"].mean())


def match(found: pd.DataFrame, truth: pd.DataFrame, min_iou: float = 0.0) -> Matching:
    """One-to-one pairs of overlapping events, channel by channel, with the largest total overlap.

    Parameters
    ----------
    found, truth : DataFrame
        Event tables with ``channel, start, end``, both at the same rate.
    min_iou : float
        Pairs need an overlap, and at least this intersection over union.
    """
    columns = ["channel", "start", "end"]
    both = pd.concat([found[columns], truth[columns]], keys=["found", "truth"], names=["table", "label"])
    pairs: list[tuple[object, object, float]] = []
    for _, cluster in both.groupby(_clusters(both)):
        tables = cluster.index.get_level_values("table")
        ours, theirs = cluster[tables == "found"], cluster[tables == "truth"]
        if not len(ours) or not len(theirs):
            continue
        start, end = ours["start"].to_numpy()[:, None], ours["end"].to_numpy()[:, None]
        other_start, other_end = theirs["start"].to_numpy(), theirs["end"].to_numpy()
        shared = np.maximum(np.minimum(end, other_end) - np.maximum(start, other_start), 0)
        iou = shared / ((end - start) + (other_end - other_start) - shared)
        iou[iou < min_iou] = 0
        for i, j in zip(*optimize.linear_sum_assignment(iou, maximize=True), strict=True):
            if iou[i, j] > 0:
                pairs.append((ours.index[i][1], theirs.index[j][1], float(iou[i, j])))
    return Matching(pd.DataFrame(pairs, columns=["found", "truth", "iou"]), len(found), len(truth))
