"""Windows written and read per second, beside a plain memory map and braindecode's windows of the same recordings.

    python benchmarks/data.py [--recordings 8] [--channels 32] [--seconds 300] [--windows 2000] [--workers 0 2] [--repeats 3]

Recordings of noise at 200 Hz are written as EDF, and prepared as a scalp task does. Every side then serves the same windows
of 2 s in the same random order through a PyTorch loader, in batches of 64, each measurement in a process of its own; the
page cache is warm. ``memmap`` is one array in one file, the limit; braindecode reads FIF files of the prepared signals, one
window at a time (lazy) or all at once before the first (eager). Time to the first batch starts with the tables of windows
in memory, and includes starting workers. Printed are the best of the repeats; peak memory is that of the reading process
without its workers (Linux).
"""

import argparse
import multiprocessing
import os
import resource
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import pandas as pd
import torch
from torch.utils.data import DataLoader, Dataset, Subset

SFREQ, WINDOW_S, BATCH = 200, 2, 64
N_TIMES = SFREQ * WINDOW_S
SIDES = ("ours", "memmap", "braindecode lazy", "braindecode eager")


class MappedWindows(Dataset[tuple[torch.Tensor, torch.Tensor, int]]):
    """Windows of one array ``(n_channels, n_times)`` in one file."""

    def __init__(self, path: Path, shape: tuple[int, int], firsts: np.ndarray) -> None:
        self.path, self.shape, self.firsts = path, shape, firsts
        self.signal: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.firsts)

    def __getitem__(self, i: int) -> tuple[torch.Tensor, torch.Tensor, int]:
        if self.signal is None:
            self.signal = np.memmap(self.path, "<f4", "r", shape=self.shape)
        first = self.firsts[i]
        return torch.from_numpy(np.array(self.signal[:, first : first + N_TIMES])), torch.tensor(0.0), i


def write_raw(root: Path, n_recordings: int, n_channels: int, seconds: int) -> pd.DataFrame:
    """EDF files of noise; the recordings table."""
    from edfio import Edf, EdfSignal

    rng = np.random.default_rng(0)
    rows = []
    for i in range(n_recordings):
        signal = rng.normal(0, 20, (n_channels, seconds * SFREQ))
        labels = [EdfSignal(row, SFREQ, label=f"C{k + 1}", physical_dimension="uV") for k, row in enumerate(signal)]
        Edf(labels).write(root / f"{i}.edf")
        rows.append({"recording": f"r{i}", "subject": f"s{i}", "path": f"{i}.edf", "sfreq": SFREQ, "duration": seconds})
    return pd.DataFrame(rows)


def prepare_store(root: Path, recordings: pd.DataFrame, n_channels: int, workers: int) -> tuple[list[Path], float]:
    """Stored files, and how long it took."""
    from omni_bench.data.cohort import Cohort
    from omni_bench.data.prepare import prepare
    from omni_bench.data.preprocess import Preprocessing

    subjects = recordings["subject"]
    patients = pd.DataFrame({"subject": subjects, "person": subjects, "source": "noise"})
    names = [f"C{k + 1}" for k in range(n_channels)]
    channels = pd.DataFrame(
        [{"recording": r, "channel": n, "raw_name": n, "good": True} for r in recordings["recording"] for n in names]
    )
    steps = Preprocessing(sfreq=SFREQ, low=0.1, high=75, notch=True, reference="average")
    start = time.perf_counter()
    _, stored = prepare(
        Cohort("noise", root, patients, recordings, channels),
        steps,
        root / f"cache{workers}",
        workers=max(1, workers),
        line_freq=50,
    )
    return [file.path for file in stored.values()], time.perf_counter() - start


def write_others(root: Path, stored: Sequence[Path]) -> None:
    """The prepared signals as one raw array, and as the FIF files that braindecode reads."""
    import mne

    from omni_bench.data.store import map_signal, open_store

    with (root / "array.f4").open("wb") as file:
        np.concatenate([map_signal(path) for path in stored], axis=1).tofile(file)
    for i, path in enumerate(stored):
        info = mne.create_info(list(open_store(path).ch_names), SFREQ, "eeg")
        raw = mne.io.RawArray(np.asarray(map_signal(path), np.float64) * 1e-6, info, verbose="ERROR")
        raw.save(root / f"{i}_raw.fif", fmt="single", overwrite=True, verbose="ERROR")


def dataset_of(side: str, root: Path, stored: Sequence[Path], per_recording: int) -> Any:
    """All windows of all recordings, in the recordings' order."""
    from omni_bench.data.dataset import WindowDataset
    from omni_bench.data.store import open_store

    firsts = np.arange(per_recording) * N_TIMES
    if side == "ours":
        tables = [pd.DataFrame({"path": str(path), "row": -1, "first": firsts, "label": 0.0}) for path in stored]
        return WindowDataset(pd.concat(tables, ignore_index=True), N_TIMES)
    if side == "memmap":
        first = open_store(stored[0])
        shape = (len(first.ch_names), len(stored) * first.n_times)
        starts = np.concatenate([i * first.n_times + firsts for i in range(len(stored))])
        return MappedWindows(root / "array.f4", shape, starts)
    import mne
    from braindecode.datasets import BaseConcatDataset, RawDataset
    from braindecode.preprocessing import create_fixed_length_windows

    eager = side.endswith("eager")
    raws = [mne.io.read_raw_fif(root / f"{i}_raw.fif", verbose="ERROR") for i in range(len(stored))]
    return create_fixed_length_windows(
        BaseConcatDataset([RawDataset(raw, {"label": 0}, target_name="label") for raw in raws]),
        window_size_samples=N_TIMES,
        window_stride_samples=N_TIMES,
        drop_last_window=True,
        preload=eager,
        verbose="ERROR",
    )


def measure(
    side: str, root: Path, stored: list[Path], per_recording: int, n_windows: int, workers: int, queue: Any
) -> None:
    """Seconds to the first batch, windows per second from then on, and peak memory in MB."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    dataset = dataset_of(side, root, stored, per_recording)
    chosen = np.random.default_rng(1).permutation(len(dataset))[:n_windows].tolist()
    start = time.perf_counter()
    batches = iter(DataLoader(Subset(dataset, chosen), batch_size=BATCH, num_workers=workers))
    n, checksum = len(next(batches)[0]), 0.0
    first = time.perf_counter()
    for x, *_ in batches:
        n += len(x)
        checksum += float(x[0, 0, 0])
    rate = (n - BATCH) / (time.perf_counter() - first)
    queue.put((first - start, rate, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))


def in_process(*arguments: Any) -> tuple[float, float, float]:
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=measure, args=(*arguments, queue))
    process.start()
    result = queue.get()
    process.join()
    return result


def size_mb(files: Sequence[Path]) -> float:
    return sum(file.stat().st_size for file in files) / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in {"recordings": 8, "channels": 32, "seconds": 300, "windows": 1000, "repeats": 3}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 2])
    options = parser.parse_args()
    per_recording = options.seconds // WINDOW_S
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        recordings = write_raw(root, options.recordings, options.channels, options.seconds)
        written = {}
        for workers in options.workers:
            stored, seconds = prepare_store(root, recordings, options.channels, workers)
            written[workers] = options.recordings * per_recording / seconds
        write_others(root, stored)
        disk = {
            "ours": size_mb(stored),
            "memmap": size_mb([root / "array.f4"]),
            "braindecode lazy": size_mb(list(root.glob("*.fif"))),
        }
        print(f"{options.recordings} recordings, {options.channels} channels, {options.seconds} s at {SFREQ} Hz")
        print("written, windows/s: " + ", ".join(f"{rate:.0f} ({w} workers)" for w, rate in written.items()))
        print(
            "on disk, MB: "
            + ", ".join(f"{side} {mb:.0f}" for side, mb in disk.items())
            + f", EDF {size_mb(list(root.glob('*.edf'))):.0f}"
        )
        print(f"{'side':<18} workers  windows/s  first batch s  peak MB")
        rates: dict[tuple[str, int], float] = {}
        for workers in options.workers:
            runs: dict[str, list[tuple[float, float, float]]] = {side: [] for side in SIDES}
            for _ in range(options.repeats):
                for side in SIDES:
                    runs[side].append(in_process(side, root, stored, per_recording, options.windows, workers))
            for side, results in runs.items():
                first, rate, peak = min(r[0] for r in results), max(r[1] for r in results), max(r[2] for r in results)
                rates[side, workers] = rate
                print(f"{side:<18} {workers:>7} {rate:>10.0f} {first:>14.3f} {peak:>8.0f}")
            ours = rates["ours", workers]
            print("ours / " + ", ".join(f"{side} {ours / rates[side, workers]:.2f}" for side in SIDES[1:]))


if __name__ == "__main__":
    main()
