"""`detect` and `detect_stream`: recordings in, event tables out."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from omni_bench.errors import BenchError
from omni_bench.hfo import filters, reference
from omni_bench.hfo.candidates import Candidate, CandidateBuilder
from omni_bench.hfo.describe import event_table
from omni_bench.hfo.envelopes import odd_window
from omni_bench.hfo.parameters import MNI, Hilbert, Parameters, check_band, default_band, parameters
from omni_bench.hfo.rules import rule
from omni_bench.hfo.runs import Runs, count_peaks
from omni_bench.hfo.stream import (
    BLOCK_SECONDS,
    Block,
    RawWindow,
    Read,
    check_channels,
    even_edges,
    filtered_blocks,
)
from omni_bench.hfo.thresholds import EpochMoments, mni_above

Floats = NDArray[np.float64]
MIN_SECONDS = 1.0


def detect(
    signal: NDArray[np.floating],
    sfreq: float,
    ch_names: Sequence[str] | None = None,
    detector: str = "ste",
    compat: str | None = None,
    *,
    band: tuple[float, float] | None = None,
    n_jobs: int = 1,
    **params: Any,
) -> pd.DataFrame:
    """High-frequency oscillations of every channel.

    Parameters
    ----------
    signal : array, shape (n_channels, n_times)
        µV.
    sfreq : float
        Hz.
    ch_names : sequence of str, optional
        Names for the ``channel`` column; ``"0"``, ``"1"``, ... by default.
    detector : {"ste", "mni", "hil", "rms", "linelength"}
        Their parameters and defaults are the data classes of `omni_bench.hfo.parameters`.
    compat : None or "reference"
        ``"reference"`` returns the integers of HFODetector 0.0.25 (ste, mni, hil only); its faults and what the
        default does instead are listed in ``docs/hfo.md``.
    band : (float, float), optional
        Hz; 80-500 where the rate allows it, else 80-300.
    n_jobs : int
        Threads over channels.
    **params
        Parameters of the detector, durations in seconds.

    Returns
    -------
    DataFrame
        One row per event in order of channels, then time: ``channel``; ``start, end`` (samples, end exclusive except
        under ``compat="reference"``); ``onset, duration`` (s); ``detector``; ``band_low, band_high`` (Hz);
        ``peak_frequency`` (Hz, of the band-passed event's spectrum); ``amplitude`` (µV, largest absolute band-passed
        sample).

    Raises
    ------
    BenchError
        A rate too low for the band, a flat or non-finite channel, names that clash, an unknown detector or parameter.
    """
    signal = np.asarray(signal)
    if signal.ndim != 2:
        raise BenchError(f"signal has shape {signal.shape}, expected (n_channels, n_times)")
    names = _names(ch_names, len(signal))
    p, band = _settings(detector, compat, sfreq, signal.shape[1], band, params)
    check_channels(names, ~np.isfinite(signal).all(1), "holds NaN or infinite samples")
    check_channels(names, signal.min(1) == signal.max(1), "is flat (one value throughout)")

    def work(channel: int) -> list[Candidate]:  # one channel at a time stays in the processor's cache
        trace = signal[channel]
        if compat == "reference":
            return list(_reference_events(channel, trace, sfreq, band, detector, p))
        raw = RawWindow(
            lambda start, stop: trace[None, start:stop], len(trace), len(trace), names[channel : channel + 1]
        )
        record = _Record(1, len(trace), sfreq, band)
        held = list(record.blocks(raw, p))
        return [replace(event, channel=channel) for event in _default_events(record, p, lambda: iter(held))]

    if n_jobs == 1:
        events = list(map(work, range(len(signal))))
    else:
        with ThreadPoolExecutor(n_jobs) as pool:
            events = list(pool.map(work, range(len(signal))))
    return event_table(list(chain.from_iterable(events)), names, sfreq, detector, band)


def detect_stream(
    read: Read,
    n_times: int,
    sfreq: float,
    ch_names: Sequence[str],
    detector: str = "ste",
    *,
    band: tuple[float, float] | None = None,
    chunk: float = 60,
    **params: Any,
) -> pd.DataFrame:
    """`detect` for a recording that does not fit into memory; the table is the same to the last bit.

    Parameters
    ----------
    read : callable
        ``read(start, stop)`` gives those samples in µV, shape (n_channels, stop - start). Called in order, without
        gaps or overlaps, over the whole record: once for MNI, twice for STE and Hilbert (thresholds first), three
        times for RMS and line length (whose background leaves the events out).
    n_times : int
        Samples of the record.
    ch_names : sequence of str
        One name per channel.
    chunk : float
        Seconds asked for at a time. Memory holds about 65 s and one chunk of all channels, whatever ``n_times``.

    The other parameters, the table and the errors are those of `detect`. ``compat="reference"`` cannot stream: its
    Hilbert transform and its choice of the MNI branch need the whole record.
    """
    names = _names(ch_names, len(ch_names))
    p, band = _settings(detector, None, sfreq, n_times, band, params)
    samples = max(1, round(chunk * sfreq))
    record = _Record(len(names), n_times, sfreq, band)
    found = _default_events(record, p, lambda: record.blocks(RawWindow(read, n_times, samples, names), p))
    events = sorted(found, key=lambda event: (event.channel, event.start))
    return event_table(events, names, sfreq, detector, band)


@dataclass(frozen=True)
class _Record:
    """What stays the same for every block of a record."""

    n_channels: int
    n_times: int
    sfreq: float
    band: tuple[float, float]

    def blocks(self, raw: RawWindow, p: Parameters) -> Iterator[Block]:
        if isinstance(p, MNI):
            reach, gap = odd_window(p.rms_window, self.sfreq), p.min_gap * self.sfreq
        else:
            reach, gap = rule(p, self.sfreq).reach, rule(p, self.sfreq).gap
        length = (p.epo_CHF if isinstance(p, MNI) else BLOCK_SECONDS) * self.sfreq
        edges = even_edges(self.n_times, length)
        margin = max(reach, int(np.ceil(gap)))
        return filtered_blocks(raw, edges, self.sfreq, self.band, margin, analytic=isinstance(p, Hilbert))


def _default_events(record: _Record, p: Parameters, blocks: Callable[[], Iterator[Block]]) -> Iterator[Candidate]:
    """Events in the order in which they are complete; ``blocks()`` starts a pass over the record."""
    n_channels, sfreq = record.n_channels, record.sfreq
    if isinstance(p, MNI):
        builder = CandidateBuilder(n_channels, p.min_win * sfreq, p.min_gap * sfreq)
        for block in blocks():
            yield from builder.add(block, mni_above(block, sfreq, record.band, p), block.stop == record.n_times)
        return
    r = rule(p, sfreq)
    edges = even_edges(record.n_times, r.epoch)
    feature, rectified = EpochMoments(n_channels, edges), EpochMoments(n_channels, edges)
    for block in blocks():
        feature.add(block.start, r.feature(block))
        if r.min_peaks:
            rectified.add(block.start, np.abs(block.inner(block.x)))
    threshold = feature.threshold(r.deviations)
    if r.background:
        background = EpochMoments(n_channels, edges)
        for block in blocks():
            values = r.feature(block)
            background.add(block.start, values, left_out=feature.above(block.start, values, threshold))
        threshold = background.threshold(r.deviations)
    height = rectified.threshold(r.peak_deviations) if r.min_peaks else None
    builder = CandidateBuilder(n_channels, r.min_length, r.gap)
    for block in blocks():
        above = feature.above(block.start, r.feature(block), threshold)
        for event in builder.add(block, above, block.stop == record.n_times):
            if event.stop - event.start > r.max_length:
                continue
            epoch = np.searchsorted(edges, event.start, side="right") - 1
            if height is None or _n_peaks(event.x, height[event.channel, epoch]) >= r.min_peaks:
                yield event


def _n_peaks(x: Floats, height: float) -> int:
    whole = Runs(*(np.array([value]) for value in (0, 0, len(x))))
    return int(count_peaks(np.abs(x)[None], whole, np.array([height]))[0])


def _reference_events(
    channel: int, trace: NDArray, sfreq: float, band: tuple[float, float], detector: str, p: Parameters
) -> Iterator[Candidate]:
    x = filters.zero_state(trace, sfreq, band)
    _, starts, stops = reference.RULES[detector](x[None], sfreq, band, p)
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        yield Candidate(channel, start, stop, x[start : stop + 1].copy())  # a view would keep the whole channel


def _names(ch_names: Sequence[str] | None, n_channels: int) -> list[str]:
    if ch_names is None:
        return [str(index) for index in range(n_channels)]
    names = [str(name) for name in ch_names]
    if len(names) != n_channels:
        raise BenchError(f"ch_names has {len(names)} names for {n_channels} channels")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise BenchError(f"ch_names holds {', '.join(twice)} more than once; give every channel its own name")
    return names


def _settings(
    detector: str,
    compat: str | None,
    sfreq: float,
    n_times: int,
    band: tuple[float, float] | None,
    params: dict[str, Any],
) -> tuple[Parameters, tuple[float, float]]:
    p = parameters(detector, params)
    if compat not in (None, "reference"):
        raise BenchError(f"compat={compat!r}: detectors know None and 'reference'")
    if compat == "reference" and detector not in reference.RULES:
        raise BenchError(f"detector={detector!r} has no reference; leave compat out or take one of ste, mni, hil")
    low, high = default_band(sfreq, compat) if band is None else band
    check_band((low, high), sfreq)
    if n_times < MIN_SECONDS * sfreq:
        raise BenchError(
            f"the signal lasts {n_times / sfreq:g} s, too short to know its background; give {MIN_SECONDS:g} s or more"
        )
    return p, (float(low), float(high))
