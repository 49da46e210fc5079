"""Reader of the benchmark's Zarr store: ``signals`` (N, C, T) with one row of ``sample_index.parquet`` per window."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from omni_bench.data.arrays import array_recording
from omni_bench.data.cohort import Cohort
from omni_bench.data.recording import Recording
from omni_bench.datasets.stored_windows import cohort_of_windows
from omni_bench.errors import BenchError

INDEX = "sample_index.parquet"


def read_omnieeg_zarr(
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
    """Read the index of a store; a person's windows make one recording.

    ``root`` is the ``.zarr`` folder or one that holds it. Windows whose end is padding are left out, with their number.

    Raises
    ------
    BenchError
        zarr is not installed, there is no store or index, the index does not fit the signals, the windows are not the
        task's, or a class is not.
    """
    index, store = _index(root), _store(root)
    signals = _signals(store)
    table = pd.read_parquet(index)
    absent = [key for key in ("subject_id", "label_id", "channel_names_json") if key not in table]
    if absent:
        raise BenchError(f"{index}: no column {', '.join(absent)} (found: {', '.join(table.columns)})")
    if len(table) != signals.shape[0]:
        raise BenchError(f"{index}: {len(table)} rows for {signals.shape[0]} windows: the index of another store")
    sfreq = signals.shape[2] / window_s
    told = _attributes(store).get("sampling_rate")
    if told is not None and abs(float(told) - sfreq) > 0.01 * sfreq:
        raise BenchError(
            f"{store}: windows of {signals.shape[2] / float(told):g} s at {told:g} Hz, expected task.window_s={window_s:g}"
        )
    whole = _whole(table, signals.shape[2])
    rows, names = [], {}
    for person, part in table[whole].groupby("subject_id", sort=True):
        recording = f"{person}".replace("/", "-")
        spelled = part["channel_names_json"].unique()
        if len(spelled) > 1:
            raise BenchError(f"{index}: person {person} has windows of {len(spelled)} channel lists, expected one")
        names[recording] = list(json.loads(spelled[0]))
        rows.append(
            {
                "recording": recording,
                "person": str(person),
                "path": index.relative_to(root).as_posix(),
                "part": str(person),
                "y": part["label_id"].to_numpy("int64"),
            }
        )
    if not rows:
        raise BenchError(f"{index}: no whole window")
    excluded = [{"what": "windows", "reason": "end in padding", "n": int((~whole).sum())}] if not whole.all() else []
    rule = (column, labels, edges)
    return cohort_of_windows(
        name, root, pd.DataFrame(rows), names, sfreq, window_s, rule, unit, open_omnieeg_zarr, excluded
    )


def open_omnieeg_zarr(path: Path, ch_names: Sequence[str] | None, unit: str | None, part: str = "") -> Recording:
    """A person's whole windows, in the index's order; ``path`` is the index, ``part`` the person."""
    table = pd.read_parquet(path)
    store = _store(path.parent)
    signals = _signals(store)
    own = table[_whole(table, signals.shape[2]) & (table["subject_id"].astype(str) == part)]
    names = json.loads(own["channel_names_json"].iloc[0])
    pieces = list(np.asarray(signals.oindex[own.index.to_numpy()])[:, : len(names)])
    told = _attributes(store)
    if "sampling_rate" not in told:
        raise BenchError(f"{store}: its attributes do not tell sampling_rate")
    return array_recording(path, pieces, names, float(told["sampling_rate"]), ch_names, unit)


def _whole(table: pd.DataFrame, n_times: int) -> pd.Series:
    """Windows without padding."""
    if "valid_time_samples" not in table:
        return pd.Series(True, index=table.index)
    return table["valid_time_samples"] >= n_times


def _index(root: Path) -> Path:
    found = sorted({*root.glob(INDEX), *root.glob(f"*.zarr/{INDEX}")})
    if not found:
        raise BenchError(f"{root}: no {INDEX}: name the folder of one store with dataset.root=")
    return found[0]


def _store(root: Path) -> Path:
    stores = [root, *sorted(root.glob("*.zarr"))]
    found = [store for store in stores if (store / "signals").is_dir()]
    if not found:
        raise BenchError(f"{root}: no array signals in it or in a *.zarr below: name one store with dataset.root=")
    return found[0]


def _signals(store: Path) -> Any:
    try:
        import zarr
    except ImportError:
        raise BenchError("dataset=omnieeg_zarr needs the package zarr: pip install 'omni_bench[zarr]'") from None
    try:
        return zarr.open_group(str(store), mode="r")["signals"]
    except Exception as error:
        raise BenchError(f"{store}: cannot be opened ({type(error).__name__}: {error}): copy it again") from error


def _attributes(store: Path) -> dict[str, Any]:
    """Of the store's root, whichever version of the format."""
    for name, key in ((".zattrs", None), ("zarr.json", "attributes")):
        file = store / name
        if file.is_file():
            content = json.loads(file.read_text(encoding="utf-8"))
            return dict(content if key is None else content.get(key, {}))
    return {}
