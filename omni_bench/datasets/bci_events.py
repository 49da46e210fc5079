"""Events that stand beside continuous signals in MATLAB structs: BCI Competition IV, BNCI Horizon 2020, BCI Competition 2020."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from omni_bench.data.array_files import texts
from omni_bench.datasets.array_trials import Source
from omni_bench.datasets.sheets import read_sheet
from omni_bench.errors import BenchError


def marker_events(source: Source, *, duration_s: float) -> pd.DataFrame:
    """Cues of BCI Competition IV dataset 1: ``mrk.pos`` (samples from 1), ``mrk.y`` of -1 or 1, named by ``nfo.classes``."""
    file = source.file
    onset = (_vector(file.value("mrk.pos")) - 1) / source.sfreq
    classes = texts(file.value("nfo.classes"))
    y = _vector(file.value("mrk.y"))
    if len(y) != len(onset) or not set(y) <= {-1, 1} or len(classes) != 2:
        raise BenchError(
            f"{file.path}: {len(onset)} cues with {len(y)} labels {sorted(set(y))} of {len(classes)} classes, "
            "expected as many labels, -1 or 1, of two"
        )
    return pd.DataFrame({"onset": onset, "duration": duration_s, "trial_type": [classes[int(v > 0)] for v in y]})


def run_events(
    source: Source, *, variable: str, classes: Sequence[str], cue_s: float, duration_s: float, artifacts: bool
) -> pd.DataFrame:
    """Cues of BNCI 001-2014: per run ``trial`` (starts, samples from 1), ``y`` (numbers from 1 into classes), ``artifacts``.

    Parameters
    ----------
    cue_s
        From a trial's start to its cue.
    artifacts
        Keep trials that the experts marked as artefacts.

    Raises
    ------
    BenchError
        A run without labels or marks for its trials, or none with trials.
    """
    tables = []
    for run, start in zip(_structs(source, variable), source.pieces["start"], strict=True):
        trials, y, marks = (_vector(run.get(name, ())) for name in ("trial", "y", "artifacts"))
        if not len(trials):
            continue
        if not len(trials) == len(y) == len(marks) or not set(y) <= set(range(1, len(classes) + 1)):
            raise BenchError(
                f"{source.file.path}: {len(trials)} trials with {len(y)} labels and {len(marks)} marks of artefacts, "
                f"expected as many, labels from 1 to {len(classes)}: take BNCI's release"
            )
        table = pd.DataFrame(
            {
                "onset": start + (trials - 1) / source.sfreq + cue_s,
                "duration": duration_s,
                "trial_type": [classes[int(number) - 1] for number in y],
                "artifact": np.where(marks > 0, "yes", "no"),
            }
        )
        tables.append(table if artifacts else table[marks == 0])
    if not tables:
        raise BenchError(f"{source.file.path}: no run has trials: another release?")
    return pd.concat(tables, ignore_index=True)


def code_events(source: Source, *, variable: str, codes: Mapping[int, str], duration_s: float) -> pd.DataFrame:
    """Events of BNCI 013-2015: per run ``header.EVENT.TYP`` and ``.POS`` (samples from 1); other codes are no events."""
    tables = []
    for run, start in zip(_structs(source, variable), source.pieces["start"], strict=True):
        event = run["header"]["EVENT"]
        names = pd.Series(_vector(event["TYP"])).map(dict(codes))
        onset = start + (_vector(event["POS"]) - 1) / source.sfreq
        tables.append(pd.DataFrame({"onset": onset, "duration": duration_s, "trial_type": names}).dropna())
    return pd.concat(tables, ignore_index=True)


def speech_events(
    source: Source, *, classes: Sequence[str], answers: str, onset_s: float, duration_s: float
) -> pd.DataFrame:
    """Trials of BCI Competition 2020 track 3: one-hot ``y`` in the training and validation files, the sheet's for the test files.

    Parameters
    ----------
    answers
        The sheet below the root: from its third row on, every second column from the second holds one subject's numbers from 1.

    Raises
    ------
    BenchError
        The labels do not fit the trials.
    """
    file, n_trials = source.file, len(source.pieces)
    struct = file.value(next(name for name in file.names if re.fullmatch(r"epo_\w+", name)))
    if "y" in struct:
        one_hot = np.asarray(struct["y"])
        numbers = one_hot.argmax(axis=0) if (one_hot.sum(axis=0) == 1).all() else np.array([])
    else:
        sheet = read_sheet(source.root / answers, header=None)
        column = sheet.iloc[2:, 2 * int(source.words["subject"]) - 1]
        numbers = pd.to_numeric(column, errors="coerce").dropna().to_numpy() - 1
    if len(numbers) != n_trials or not set(numbers) <= set(range(len(classes))):
        raise BenchError(
            f"{file.path}: {len(numbers)} labels for {n_trials} trials, expected as many, of {len(classes)} classes"
        )
    return pd.DataFrame(
        {
            "onset": source.pieces["start"] + onset_s,
            "duration": duration_s,
            "trial_type": [classes[int(number)] for number in numbers],
        }
    )


def _structs(source: Source, variable: str) -> list[dict[str, Any]]:
    value = source.file.value(variable)
    return value if isinstance(value, list) else [value]


def _vector(value: Any) -> NDArray[np.float64]:
    return np.ravel(np.asarray(value, np.float64))
