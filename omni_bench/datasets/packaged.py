"""Readers of windows that others have preprocessed: packaged HDF5 splits, and the benchmark's Zarr and HDF5 stores.

What is stored are windows, each a gapless piece; a label is a class index, which the events spell as the task's card does.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from omni_bench.data.arrays import array_recording
from omni_bench.data.cohort import Cohort
from omni_bench.data.recording import Recording
from omni_bench.datasets.stored_windows import cohort_of_windows
from omni_bench.errors import BenchError

SPLITS = ("train", "val", "test")
PART_WINDOWS = 1000
"""Windows of a recording that a packaged split is read as, so that no split need fit into memory."""


def read_packaged_h5(
    root: Path,
    name: str,
    on_error: str = "raise",
    unit: str | None = None,
    *,
    window_s: float,
    column: str,
    labels: Mapping[str, int] | None = None,
    edges: Sequence[float] | None = None,
    ch_names: Sequence[str] | None = None,
) -> Cohort:
    """Read ``train.h5``, ``val.h5`` and ``test.h5`` with ``X`` (N, C, T) and ``y`` (N,).

    The files name neither persons nor channels nor a rate: each split stands for a person of its own, so that only the
    official split is meaningful; the rate is T / ``window_s``.

    Parameters
    ----------
    window_s
        Of the task, in seconds.
    column, labels, edges
        How the task finds classes in events; see `omni_bench.data.trials.trial_windows`.
    ch_names
        Of the C rows, if you know them; by default 1 ... C, which no model that goes by names takes.

    Raises
    ------
    BenchError
        A split is missing or damaged, has other shapes than the first, or a class that the task lacks.
    """
    rows: list[dict[str, Any]] = []
    shape: tuple[int, ...] = ()
    for split in SPLITS:
        file = root / f"{split}.h5"
        windows, y = _arrays(file)
        if shape and windows[1:] != shape:
            raise BenchError(f"{file}: windows of shape {windows[1:]}, those of {SPLITS[0]}.h5 have {shape}")
        shape = windows[1:]
        for first in range(0, len(y), PART_WINDOWS):
            part = y[first : first + PART_WINDOWS]
            rows += [
                {
                    "recording": f"{split}-{first}",
                    "person": f"unknown persons of {split}",
                    "split": split,
                    "path": file.name,
                    "part": f"{first}:{first + len(part)}@{shape[1] / window_s:g}",
                    "y": part,
                }
            ]
    names = list(map(str, ch_names or range(1, shape[0] + 1)))
    if len(names) != shape[0]:
        raise BenchError(f"dataset.read.ch_names: {len(names)} names, the windows of {root} have {shape[0]} channels")
    _check_rate(root, shape[1] / window_s, window_s)
    return cohort_of_windows(
        name,
        root,
        pd.DataFrame(rows),
        {"": names},
        shape[1] / window_s,
        window_s,
        (column, labels, edges),
        unit,
        open_packaged_h5,
    )


def _arrays(file: Path) -> tuple[tuple[int, ...], NDArray[np.int64]]:
    """Shape of ``X``, and ``y``."""
    if not file.is_file():
        raise BenchError(f"{file}: no such file: expected {', '.join(f'{s}.h5' for s in SPLITS)} in one folder")
    try:
        with h5py.File(file) as content:
            shape, y = content["X"].shape, np.asarray(content["y"])
    except (OSError, KeyError) as error:
        raise BenchError(f"{file}: not a packaged split ({error}): expected X (N, C, T) and y (N,)") from error
    if len(shape) != 3 or y.shape != shape[:1]:
        raise BenchError(f"{file}: X {shape} and y {y.shape}, expected (N, C, T) and (N,)")
    return shape, y.astype("int64")


def _check_rate(root: Path, sfreq: float, window_s: float) -> None:
    file = root / "metadata_summary.json"
    told = _json(file).get("sampling_rate_hz") if file.is_file() else None
    if told is not None and abs(float(told) - sfreq) > 0.01 * sfreq:
        raise BenchError(
            f"{file}: {told} Hz, but the windows would have {sfreq:g} Hz if they were of task.window_s={window_s:g}: "
            "choose the task that they were made for"
        )


def open_packaged_h5(path: Path, ch_names: Sequence[str] | None, unit: str | None, part: str = "") -> Recording:
    """Windows ``first:last`` of a split, at the rate behind the ``@`` of ``part``; names go to rows in their order."""
    windows, _, sfreq = part.partition("@")
    first, last = map(int, windows.split(":"))
    try:
        with h5py.File(path) as content:
            x = content["X"][first:last]
    except (OSError, KeyError) as error:
        raise BenchError(f"{path}: cannot be read ({error}): copy the file again") from error
    names = list(ch_names or map(str, range(1, x.shape[1] + 1)))
    return array_recording(path, list(x), names, float(sfreq), names, unit)


def read_omnieeg_hdf5(
    root: Path,
    name: str,
    on_error: str = "raise",
    unit: str | None = None,
    *,
    window_s: float,
    column: str,
    labels: Mapping[str, int] | None = None,
    edges: Sequence[float] | None = None,
) -> Cohort:
    """Read the benchmark's HDF5 store: a file per person with ``trial*/segment*/eeg`` (C, T), and ``dataset_info.json``.

    Raises
    ------
    BenchError
        No ``dataset_info.json``, no file, a file without ``subject_id`` or segments, other windows than the task's, or a
        class that the task lacks.
    """
    info = root / "dataset_info.json"
    if not info.is_file():
        raise BenchError(f"{info}: no such file: name the folder of one store with dataset.root=")
    told, sfreq = _json(info), _rate(info)
    rows: list[dict[str, Any]] = []
    n_channels = 0
    for file in sorted(root.rglob("*.h5")):
        with h5py.File(file) as content:
            segments = _segments(file, content)
            if "subject_id" not in content.attrs:
                raise BenchError(f"{file}: no attribute subject_id, so no person to split by")
            n_channels, n_times = segments[0].shape
            y = np.array([int(np.ravel(segment.attrs["label"])[0]) for segment in segments])
            person = content.attrs["subject_id"]
        if abs(n_times / sfreq - window_s) > 0.5 / sfreq:
            raise BenchError(f"{file}: windows of {n_times / sfreq:g} s, expected task.window_s={window_s:g}")
        relative = file.relative_to(root)
        rows.append(
            {
                "recording": "-".join(relative.with_suffix("").parts),
                "person": person.decode() if isinstance(person, bytes) else str(person),
                "path": relative.as_posix(),
                "y": y,
            }
        )
    if not rows:
        raise BenchError(f"{root}: no *.h5 beside dataset_info.json")
    channels = told.get("dataset", {}).get("channels")
    names = [str(c) for c in channels] if isinstance(channels, list) else [str(i + 1) for i in range(n_channels)]
    return cohort_of_windows(
        name, root, pd.DataFrame(rows), {"": names}, sfreq, window_s, (column, labels, edges), unit, open_omnieeg_hdf5
    )


def open_omnieeg_hdf5(path: Path, ch_names: Sequence[str] | None, unit: str | None) -> Recording:
    """All segments of a person's file, in the order of their numbers; names go to rows in their order."""
    info = next((p / "dataset_info.json" for p in path.parents if (p / "dataset_info.json").is_file()), None)
    if info is None:
        raise BenchError(f"{path}: no dataset_info.json in a folder above it, so its rate is unknown")
    with h5py.File(path) as content:
        pieces = [segment[()] for segment in _segments(path, content)]
    names = list(ch_names or map(str, range(1, len(pieces[0]) + 1)))
    return array_recording(path, pieces, names, _rate(info), names, unit)


def _segments(file: Path, content: h5py.File) -> list[h5py.Dataset]:
    def number(key: str) -> tuple[int, str]:
        digits = "".join(filter(str.isdigit, key))
        return int(digits or 0), key

    segments = [
        content[trial][segment]["eeg"]
        for trial in sorted((key for key in content if key.startswith("trial")), key=number)
        for segment in sorted(content[trial], key=number)
    ]
    if not segments:
        raise BenchError(f"{file}: no trial*/segment*/eeg: not a file of the benchmark's HDF5 store")
    return segments


def _rate(info: Path) -> float:
    try:
        return float(_json(info)["processing"]["target_sampling_rate"])
    except (KeyError, TypeError, ValueError) as error:
        raise BenchError(f"{info}: no processing.target_sampling_rate ({error})") from error


def _json(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BenchError(f"{file}: not JSON ({error}): copy it again") from error
    return content if isinstance(content, dict) else {}
