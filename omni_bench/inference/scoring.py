"""What a trained model says of every window, or every event, of recordings without labels."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from omegaconf import DictConfig

from omni_bench.data.cohort import Cohort
from omni_bench.data.prepare import prepare
from omni_bench.data.preprocess import Preprocessing
from omni_bench.data.samples import window_starts
from omni_bench.data.store import Stored
from omni_bench.errors import BenchError
from omni_bench.hfo.contexts import border_margin, context_starts, stored_events
from omni_bench.inference.trained import Trained
from omni_bench.steps import check_accelerator, data_of, learner_of, plain

CHANNELS = ("omni_bench.data.samples.channel_windows",)
EVENTS = ("omni_bench.hfo.contexts.event_contexts", "omni_bench.datasets.omni_ieeg_events.annotated_events")
"""Builders of training samples by what a window of theirs is; that of all others is a cut of all channels."""
DETECTORS = ("ste", "mni", "hil")
MADE_UP = ("zero", "nearest", "spline", "bipolar")
"""Channel policies that make a wanted channel which a recording lacks."""


@dataclass(frozen=True)
class Scored:
    """Scores of recordings.

    Attributes
    ----------
    kind
        What a window is: of one ``channel``, around an ``event``, or of ``all`` channels.
    cohort
        Recordings that were scored; channels that could not be are not good.
    excluded
        Reason for each channel that has no score: ``recording, channel, reason``.
    predictions
        One row per window: ``subject, recording, channel`` (NA where it is all), ``start, duration`` (s), and
        ``prob_<class>`` or ``prediction``; of an event ``onset`` and ``lasts`` (s) too.
    looked_at
        Seconds of each recording in which events were looked for.
    """

    kind: str
    cohort: Cohort
    excluded: pd.DataFrame
    predictions: pd.DataFrame
    looked_at: dict[str, float]

    @property
    def outputs(self) -> list[str]:
        """Columns that a model predicts."""
        return [name for name in self.predictions if name == "prediction" or str(name).startswith("prob_")]


def kind_of(task: Mapping[str, Any]) -> str:
    """What a window of a task is; see `Scored`."""
    target = task["samples"]["_target_"]
    return "channel" if target in CHANNELS else "event" if target in EVENTS else "all"


def score(trained: Trained, cohort: Cohort, settings: DictConfig, folder: Path) -> Scored:
    """Predict every recording of a cohort.

    Signals are preprocessed into the store below ``settings.paths.cache``, as many channels at a time as
    ``settings.trainer.memory_mb`` holds, and windows are read from there batch by batch.

    Parameters
    ----------
    settings
        Of `omni_bench.predict`: ``paths.cache, trainer, dataset.line_freq, on_error, offline, windows``.
    folder
        For what a trainer writes.

    Raises
    ------
    BenchError
        A recording is too short or too slow, or broken and ``on_error=raise``, or lacks channels of the model.
    """
    check_accelerator(settings.trainer.accelerator)
    cfg = trained.config_for(
        trainer=plain(settings.trainer), paths={"cache": settings.paths.cache}, offline=settings.offline
    )
    task, kind = cfg.task, kind_of(cfg.task)
    if settings.dataset.line_freq is not None:
        cohort = replace(cohort, recordings=cohort.recordings.assign(line_freq=float(settings.dataset.line_freq)))
    prepared, stored = prepare(
        cohort,
        _steps(trained, task, kind),
        Path(settings.paths.cache).expanduser(),
        on_error=settings.on_error,
        workers=max(1, settings.trainer.num_workers),
        memory_mb=settings.trainer.memory_mb,
    )
    prepared, stored = _long_enough(prepared, stored, task, settings.on_error)
    borders = task.samples.get("borders") or "left_out"
    margin = border_margin(task.window_s, task.edge_s, borders)
    if kind == "event":
        windows = _event_windows(prepared, stored, task, margin, borders)
    else:
        windows = _windows(prepared, stored, task, kind, settings.windows)
    predictions = _predict(cfg, windows, stored, folder)
    looked_at = {name: file.duration - 2 * margin for name, file in stored.items()}
    return Scored(kind, prepared, _excluded(cohort, prepared, stored, kind), predictions, looked_at)


def _steps(trained: Trained, task: DictConfig, kind: str) -> Preprocessing:
    """Preprocessing of the run, to the rate and channels that its network was trained on."""
    steps = Preprocessing.from_card(plain(task.preprocessing))
    slowest = max(steps.min_sfreq, task.cohort.get("min_sfreq") or 0.0)
    steps = replace(steps, sfreq=trained.window["sfreq"], min_sfreq=slowest)
    if kind != "all":
        return steps
    policy = steps.channel_policy if steps.channel_policy in MADE_UP else "exact"
    return replace(steps, channels=tuple(trained.window["ch_names"]), channel_policy=policy)


def _long_enough(
    cohort: Cohort, stored: dict[str, Stored], task: DictConfig, on_error: str
) -> tuple[Cohort, dict[str, Stored]]:
    needed = task.window_s + 2 * task.edge_s
    paths = cohort.recordings.set_index("recording")["path"]
    short = {
        name: f"{cohort.root / paths[name]}: {file.duration:g} s, shorter than a window of the model: {task.window_s:g} s and "
        f"{task.edge_s:g} s at both ends: give a longer recording"
        for name, file in stored.items()
        if file.duration < needed - 1e-6
    }
    if short and on_error == "raise":
        raise BenchError(next(iter(short.values())))
    return cohort.without(short) if short else cohort, {n: f for n, f in stored.items() if n not in short}


def _good(cohort: Cohort, recording: str) -> pd.Series:
    """Raw name → name of the channels of a recording that have a score."""
    channels = cohort.channels[(cohort.channels["recording"] == recording) & cohort.channels["good"].fillna(True)]
    return channels.set_index("raw_name")["channel"]


def _windows(cohort: Cohort, stored: Mapping[str, Stored], task: DictConfig, kind: str, at: str) -> pd.DataFrame:
    """Windows of every good channel, or of all at once, one after the other or one at each event of a table."""
    tables = []
    for name, file in stored.items():
        if at == "events":
            starts = _onsets(cohort, name, file.duration - task.window_s)
        else:
            starts = window_starts(file.duration, task.window_s, task.window_s, task.edge_s)
        rows = pd.Series({pd.NA: -1}) if kind == "all" else _rows(file, _good(cohort, name))
        table = pd.DataFrame({"channel": np.repeat(rows.index, len(starts)), "row": np.repeat(rows, len(starts))})
        tables.append(table.assign(recording=name, start=np.tile(starts, len(rows)), duration=task.window_s))
    return _named(pd.concat(tables, ignore_index=True), stored)


def _rows(file: Stored, names: pd.Series) -> pd.Series:
    """Channel → row of the stored signal."""
    place = {raw: row for row, raw in enumerate(file.ch_names)}
    return pd.Series([place[raw] for raw in names.index], index=names.to_numpy(), dtype="int64")


def _onsets(cohort: Cohort, recording: str, last: float) -> np.ndarray:
    events = cohort.events
    own = None if events is None else events.loc[events["recording"] == recording, "onset"].drop_duplicates()
    if own is None or own.empty:
        raise BenchError(f"{recording}: windows=events, but no events.tsv holds for it: say windows=continuous")
    inside = own.between(0, last + 1e-6)
    if not inside.any():
        raise BenchError(f"{recording}: no window fits between an event of its events.tsv and its end")
    return own[inside].to_numpy(dtype=float)


def _event_windows(
    cohort: Cohort, stored: Mapping[str, Stored], task: DictConfig, margin: float, borders: str
) -> pd.DataFrame:
    """The context of every HFO that counts, by the border rule of the training run."""
    samples = task.samples
    tables = []
    for name, file in stored.items():
        good = _good(cohort, name)
        detectors = samples.get("detectors") or DETECTORS
        events = stored_events(file, good.index.tolist(), detectors, samples.get("overlaps") or "merged")
        starts = context_starts(events, file, task.window_s, margin, borders)
        table = pd.DataFrame({"channel": events["channel"].map(good), "onset": events["onset"]})
        table["row"] = table["channel"].map(_rows(file, good))
        table = table.assign(lasts=events["duration"], start=starts, duration=task.window_s)
        tables.append(table[starts.notna()].assign(recording=name))
    return _named(pd.concat(tables, ignore_index=True), stored)


def _named(windows: pd.DataFrame, stored: Mapping[str, Stored]) -> pd.DataFrame:
    """Windows with what a data module asks for; none has a label."""
    windows["path"] = windows["recording"].map({name: str(file.path) for name, file in stored.items()})
    windows["row"] = windows["row"].astype("int64")
    sample_id = pd.Series(range(len(windows)), dtype="int64").astype(str)
    label = pd.Series(pd.NA, index=windows.index, dtype="Int64")
    return windows.assign(sample_id=sample_id, unit_id=sample_id, label=label, use="evaluate", split="test")


def _predict(cfg: DictConfig, windows: pd.DataFrame, stored: Mapping[str, Stored], folder: Path) -> pd.DataFrame:
    kept = windows.drop(columns=["path", "row", "sample_id", "unit_id", "label", "use", "split"])
    if windows.empty:
        return kept.assign(**{f"prob_{name}": np.empty(0) for name in cfg.task.outputs})
    data = data_of(cfg, windows, stored)
    with learner_of(cfg, data, folder) as learner:
        predicted = learner.predict(data)
    return pd.concat([kept, predicted.drop(columns=["sample_id", "unit_id", "start", "duration", "split"])], axis=1)


def _excluded(cohort: Cohort, prepared: Cohort, stored: Mapping[str, Stored], kind: str) -> pd.DataFrame:
    """Channels of scored recordings that have no score themselves, with the reason."""
    rows = []
    for name, file in stored.items():
        marked = cohort.channels[(cohort.channels["recording"] == name) & ~cohort.channels["good"].fillna(True)]
        rows += [(name, channel, "marked bad") for channel in marked["channel"]]
        names = cohort.channels[cohort.channels["recording"] == name].set_index("raw_name")["channel"]
        rows += [(name, names.get(raw, raw), reason) for raw, reason in file.broken.items()]
    return pd.DataFrame(rows, columns=["recording", "channel", "reason"])
