"""Recordings that are arrays: in a file of no EEG format (MATLAB, NumPy, pickled numbers), or in a store."""

from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from omni_bench.data.recording import Recording
from omni_bench.data.store import Stored, map_signal, read_json
from omni_bench.data.units import volts
from omni_bench.errors import BenchError


class _Signal:
    """An array behind the one method of MNE's objects that `Recording` calls."""

    def __init__(self, signal: NDArray[np.floating]) -> None:
        self.signal = signal

    def get_data(self, picks: list[int], start: int, stop: int) -> NDArray[np.float64]:
        return self.signal[picks, start:stop].astype(np.float64)


def array_recording(
    path: Path,
    pieces: Sequence[NDArray[np.floating]],
    all_names: Sequence[str],
    sfreq: float,
    ch_names: Sequence[str] | None = None,
    unit: str | None = "µV",
) -> Recording:
    """A recording of arrays that are in memory.

    Parameters
    ----------
    path
        The file they came from.
    pieces
        Gapless signals ``(n_channels, n_times)``, one after the other.
    all_names
        Of the rows.
    ch_names
        Rows that are wanted, in this order; by default all.
    unit
        Of the numbers; None means µV.

    Raises
    ------
    BenchError
        No samples, a piece with another number of rows, an unknown unit, or no such channel.
    """
    volt = volts(unit or "µV")
    if volt is None:
        raise BenchError(f"dataset.unit={unit}: unknown unit, expected V, mV, µV or nV")
    wrong = [piece.shape for piece in pieces if piece.ndim != 2 or len(piece) != len(all_names)]
    if wrong:
        raise BenchError(
            f"{path}: an array of shape {wrong[0]}, expected ({len(all_names)}, n_times): another release?"
        )
    names = list(all_names if ch_names is None else ch_names)
    absent = [name for name in names if name not in all_names]
    if absent:
        raise BenchError(f"{path}: no channel {', '.join(absent)} (it has {', '.join(list(all_names)[:8])}, ...)")
    lengths = [piece.shape[1] for piece in pieces]
    if not sum(lengths):
        raise BenchError(f"{path}: no samples: copy the file again")
    rows = [list(all_names).index(name) for name in names]
    signal = np.concatenate([piece[rows] for piece in pieces], axis=1)
    starts = tuple(int(n) for n in np.cumsum([0, *lengths[:-1]]))
    return Recording(path, sfreq, names, signal.shape[1], [], np.full(len(names), volt * 1e6), _Signal(signal), starts)


def stored_recording(path: Path, file: Stored) -> Recording:
    """A stored signal of the recording at ``path``, as a recording that others derive from."""
    with h5py.File(file.path, "r") as content:
        pieces = tuple(read_json(content, "about")["pieces"])
    names = list(file.ch_names)
    signal = _Signal(map_signal(file.path))
    return Recording(path, file.sfreq, names, file.n_times, [], np.ones(len(names)), signal, pieces)
