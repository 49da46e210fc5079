"""Windows written and read per second, beside a plain memory map and braindecode's windows of the same recordings.

    python benchmarks/data.py [--recordings 8] [--channels 32] [--seconds 300] [--windows 4800] [--workers 0 2] [--repeats 15]

Recordings of noise at 200 Hz are written as EDF, and prepared as a scalp task does. Every side then serves the same windows
of 2 s in the same random order through a PyTorch loader, in float32 batches of 64; the page cache is warm. ``memmap`` is the
limit: one array in one file, whose windows are copied straight into a batch. braindecode reads FIF files of the prepared
signals, one window at a time (lazy) or all at once before the first (eager); it serves an eighth of the windows.

Every side has a process of its own, and the sides take turns, so that whatever else the machine does meets them alike.
Printed are the best rate and first batch of the repeats, and the least processor time per window of the process and its
workers; then our rate over the others': the median over neighbours in turn, and by processor time. Time to the first
batch starts with the tables of windows in memory, and includes starting workers, as writing does. Peak memory is that of
the reading process without its workers (Linux).
"""

import argparse
import multiprocessing
import os
import resource
import tempfile
import time
import warnings
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

os.environ["OMP_NUM_THREADS"] = "1"
# whether the C library hands a batch's memory back to the system hangs on the heap's layout, by chance, and costs more
# than reading the batch: measured without this, one side or the other came out up to three times as slow
os.environ["MALLOC_TRIM_THRESHOLD_"] = os.environ["MALLOC_MMAP_THRESHOLD_"] = str(1 << 30)

import numpy as np
import pandas as pd
import torch
from torch.utils.data import DataLoader, Dataset, Subset, get_worker_info

SFREQ, WINDOW_S, BATCH = 200, 2, 64
N_TIMES = SFREQ * WINDOW_S
SIDES = ("ours", "memmap", "braindecode lazy", "braindecode eager")


class Pass(NamedTuple):
    """What one pass over the windows took."""

    first_s: float
    rate: float
    cpu_us: float
    peak_mb: float


class MappedWindows(Dataset[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]):
    """Windows of one array ``(n_channels, n_times)`` in one file, copied straight into a batch."""

    def __init__(self, path: Path, shape: tuple[int, int], firsts: np.ndarray) -> None:
        self.path, self.shape, self.firsts = path, shape, firsts
        self.signal: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.firsts)

    def __getitems__(self, positions: list[int]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        if self.signal is None:
            self.signal = np.asarray(np.memmap(self.path, "<f4", "r", shape=self.shape))
        x = torch.empty(len(positions), len(self.signal), N_TIMES)
        if get_worker_info():
            x.share_memory_()
        for window, first in zip(x.numpy(), self.firsts[positions].tolist(), strict=True):
            window[:] = self.signal[:, first : first + N_TIMES]
        return x, torch.zeros(len(positions)), torch.tensor(positions)


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


def serve(
    side: str, root: Path, stored: list[Path], per_recording: int, n_windows: int, workers: int, pipe: Connection
) -> None:
    """One pass over the windows whenever the pipe says true."""
    from omni_bench.data.dataset import as_read

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    dataset = dataset_of(side, root, stored, per_recording)
    rng = np.random.default_rng(1)
    chosen = np.concatenate([rng.permutation(len(dataset)) for _ in range(-(-n_windows // len(dataset)))])[:n_windows]
    options: dict[str, Any] = {
        "num_workers": workers,
        "collate_fn": None if side.startswith("braindecode") else as_read,
    }
    if workers:
        options["multiprocessing_context"] = "fork"  # as in a run; this process itself was spawned
    while pipe.recv():
        cpu, start = cpu_seconds(), time.perf_counter()
        batches = iter(DataLoader(Subset(dataset, chosen.tolist()), BATCH, **options))
        n, checksum = len(next(batches)[0]), 0.0
        first = time.perf_counter()
        for x, *_ in batches:
            n += len(x)
            checksum += float(x[0, 0, 0])
        end = time.perf_counter()
        del batches  # ends the workers, whose time counts from then on
        cpu = cpu_seconds() - cpu
        pipe.send(Pass(first - start, (n - BATCH) / (end - first), cpu / n * 1e6, peak_mb()))


def cpu_seconds() -> float:
    """Processor time of this process and of its workers that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def peak_mb() -> float:
    """Most memory that this process ever held; `resource` would count what its parent held when it was started."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def in_turns(*arguments: Any, n_windows: int, workers: int, repeats: int) -> dict[str, list[Pass]]:
    """Passes of all sides, each in its process."""
    context = multiprocessing.get_context("spawn")
    pipes, processes = {}, []
    for side in SIDES:
        n = max(2 * BATCH, n_windows // 8) if side.startswith("braindecode") else n_windows
        pipes[side], end = context.Pipe()
        processes.append(context.Process(target=serve, args=(side, *arguments, n, workers, end)))
        processes[-1].start()
    passes: dict[str, list[Pass]] = {side: [] for side in SIDES}
    for _ in range(repeats):
        for side, pipe in pipes.items():
            pipe.send(True)
            passes[side].append(pipe.recv())
    for pipe in pipes.values():
        pipe.send(False)
    for process in processes:
        process.join()
    return passes


def size_mb(files: Sequence[Path]) -> float:
    return sum(file.stat().st_size for file in files) / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in {"recordings": 8, "channels": 32, "seconds": 300, "windows": 4800, "repeats": 15}.items():
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
        print(f"{'side':<18} workers  windows/s  CPU µs/window  first batch s  peak MB")
        for workers in options.workers:
            passes = in_turns(
                root, stored, per_recording, n_windows=options.windows, workers=workers, repeats=options.repeats
            )
            for side, done in passes.items():
                rate, cpu = max(p.rate for p in done), min(p.cpu_us for p in done)
                first, peak = min(p.first_s for p in done), max(p.peak_mb for p in done)
                print(f"{side:<18} {workers:>7} {rate:>10.0f} {cpu:>14.1f} {first:>14.3f} {peak:>8.0f}")
            ours = passes["ours"]
            for side, other in list(passes.items())[1:]:
                median = np.median([p.rate / o.rate for p, o in zip(ours, other, strict=True)])
                cpu = min(o.cpu_us for o in other) / min(p.cpu_us for p in ours)
                print(f"ours / {side}, {workers} workers: {median:.2f} by the clock, {cpu:.2f} by processor time")
            print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
