"""A cost model of prepare, detect and region: fitted on one to four times a recording, tested on eight times.

    python benchmarks/scale.py [--seconds 60] [--channels 8] [--hours 178] [--wide 100] [--cores 16]
    python benchmarks/scale.py --memory 1 10 [--work prepare detect region]    peak memory of the commands themselves

Costs are CPU seconds of one thread, a line through the amounts of data (least squares, no negative intercept). Each is
then told for a cohort: its hours, its channels, its rate, on one core and on many. Region is the TimeConv-CNN on 60 s.

Memory is that of `prepare`, `detect` and a whole `region` run (EEGNet, the quickest network: one epoch, all windows of
the test patients) on a demo cohort whose recordings last a quarter of an hour, so many that they make up each size.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import edfio  # noqa: E402 - the libraries read the variables when they load
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import torch  # noqa: E402
from scipy.optimize import nnls  # noqa: E402

from omni_bench.data.preprocess import Preprocessing, preprocess  # noqa: E402
from omni_bench.data.recording import open_recording  # noqa: E402
from omni_bench.data.store import write_store  # noqa: E402
from omni_bench.datasets.demo_files import write_table  # noqa: E402
from omni_bench.datasets.demo_ieeg import MIN_PATIENTS, write_demo_ieeg  # noqa: E402
from omni_bench.datasets.demo_ieeg_signals import DURATION_S  # noqa: E402
from omni_bench.hfo import detect_stream  # noqa: E402
from omni_bench.models.build import build  # noqa: E402

SFREQ, STORED_SFREQ = 2000.0, 1000.0
FIT, TEST, TARGET = (1, 2, 3, 4), 8, 0.25
WINDOW_S = 60
SECTION_S = 10
REPEATS = 14  # of a demo recording of 64 s
SOME_PATIENTS = 26  # every kind of them
DATA = "dataset=demo_ieeg"
WINDOWS = ["task.window_s=60", "task.stride_s=30"]  # as published; the demo's own are shorter
BRIEF = ["trainer.max_epochs=1", "trainer.progress=false"]
COMMANDS = {
    "prepare": ["omni_bench.prepare", DATA, "task=region"],
    "detect": ["omni_bench.detect", DATA],
    "region": ["omni_bench", DATA, "task=region", "model=eegnet_1ch", *WINDOWS, *BRIEF],
}


def write_recording(path: Path, n_channels: int, seconds: float) -> Path:
    """An EDF file of noise, whose first ten seconds are repeated."""
    rng = np.random.default_rng(0)
    noise = np.cumsum(rng.standard_normal((n_channels, round(SECTION_S * SFREQ))), axis=1)
    signals = [
        edfio.EdfSignal(
            row - row.mean(), SFREQ, label=f"A{i + 1}", physical_dimension="uV", physical_range=(-2000, 2000)
        )
        for i, row in enumerate(noise.clip(-1900, 1900))
    ]
    edfio.Edf(signals, data_record_duration=1).write(path)
    repeat(path, round(seconds / SECTION_S))
    return path


def repeat(path: Path, times: int) -> None:
    """Repeat the signals of an EDF file."""
    content = path.read_bytes()
    header_bytes, n_records = int(content[184:192]), int(content[236:244])
    header, body = content[:header_bytes], content[header_bytes:]
    with path.open("wb") as file:
        file.write(header[:236] + str(times * n_records).ljust(8).encode() + header[244:])
        for _ in range(times):
            file.write(body)


def prepare(path: Path) -> None:
    recording = open_recording(path)
    steps = Preprocessing(sfreq=STORED_SFREQ, notch=True)
    stored = path.with_suffix(".h5")
    write_store(stored, preprocess(recording, steps, 60.0, 2048), recording.ch_names, STORED_SFREQ, {})
    stored.unlink()


def detect(path: Path) -> None:
    recording = open_recording(path)
    for detector in ("ste", "mni", "hil"):
        detect_stream(recording.read, recording.n_times, recording.sfreq, recording.ch_names, detector)


def predict(n_windows: int) -> None:
    torch.manual_seed(0)
    net = build(
        "timeconv_cnn", n_chans=1, n_outputs=1, n_times=round(WINDOW_S * STORED_SFREQ), sfreq=STORED_SFREQ
    ).eval()
    with torch.no_grad():
        for _ in range(n_windows):
            net(20 * torch.randn(1, 1, round(WINDOW_S * STORED_SFREQ)))


def cpu(work: Callable[[], None]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def model_of(name: str, unit: float, work: Callable[[int], Callable[[], None]]) -> float:
    """Print the fit and its test; seconds per channel-hour. ``unit`` is channel-hours of one time the data."""
    cpu(work(1))  # what is imported and planned once
    amounts = np.array(FIT, float)
    seconds = np.array([min(cpu(work(k)) for _ in range(2)) for k in FIT])
    (fixed, slope), _ = nnls(np.stack([np.ones_like(amounts), amounts], axis=1), seconds)
    predicted, found = fixed + slope * TEST, cpu(work(TEST))
    error = predicted / found - 1
    print(
        f"{name:8} {fixed:6.2f} s + {slope / unit:8.1f} s per channel-hour; {TEST} times: predicted {predicted:.2f} s, "
        f"measured {found:.2f} s, {error:+.0%} ({'within' if abs(error) <= TARGET else 'OUTSIDE'} {TARGET:.0%})"
    )
    return slope / unit


def costs(options: argparse.Namespace, folder: Path) -> None:
    files = {k: write_recording(folder / f"{k}.edf", options.channels, k * options.seconds) for k in (*FIT, TEST)}
    unit = options.channels * options.seconds / 3600
    per_channel_hour = {
        "prepare": model_of("prepare", unit, lambda k: lambda: prepare(files[k])),
        "detect": model_of("detect", unit, lambda k: lambda: detect(files[k])),
        "region": model_of("region", 2 * WINDOW_S / 3600, lambda k: lambda: predict(2 * k)),
    }
    channel_hours = options.hours * options.wide
    print(
        f"\n{options.hours:g} h x {options.wide} channels, recorded at 1 to 2 kHz; region is one pass of predictions:"
    )
    for name, seconds in per_channel_hour.items():
        # a filter or detector costs by the sample, and half the rate has half of them
        low, high = (seconds * channel_hours / 3600 * share for share in ((0.5, 1) if name != "region" else (1, 1)))
        print(
            f"{name:8} {low:7.1f} to {high:7.1f} core-hours; {low / options.cores:6.2f} to {high / options.cores:6.2f} h "
            f"on {options.cores} cores"
        )
    gb = channel_hours * 3600 / 1e9
    print(f"store    {gb * STORED_SFREQ * 4:7.0f} GB; recordings as EDF {gb * 1000 * 2:.0f} to {gb * 2000 * 2:.0f} GB")


def write_cohort(root: Path, size_gb: float) -> int:
    """A demo cohort whose recordings are each repeated to a quarter of an hour, of about ``size_gb``; its patients."""
    write_demo_ieeg(root / "some", SOME_PATIENTS)
    mean = REPEATS * sum(path.stat().st_size for path in (root / "some").rglob("*.edf")) / SOME_PATIENTS
    n_patients = max(MIN_PATIENTS, round(size_gb * 1e9 / mean))
    write_demo_ieeg(root / "demo", n_patients)
    for path in (root / "demo").rglob("*.edf"):
        repeat(path, REPEATS)
    for table in (root / "demo").rglob("*_channels.tsv"):
        channels = pd.read_csv(table, sep="\t", keep_default_na=False)
        write_table(channels.assign(edf_length=REPEATS * DURATION_S), table)
    return n_patients


def memory(work: list[str], sizes: list[float], folder: Path) -> None:
    """Peak memory of each command on cohorts of each size: the largest process's resident set."""
    first: dict[str, float] = {}
    for size in sizes:
        root = folder / f"{size:g}"
        n_patients = write_cohort(root, size)
        n_bytes = sum(path.stat().st_size for path in (root / "demo").rglob("*.edf"))
        print(f"{n_bytes / 1e9:.2f} GB of recordings, {n_patients} patients")
        shared = [f"dataset.root={root / 'demo'}", f"paths.cache={root / 'cache'}", f"paths.output_dir={root / 'out'}"]
        for name in work:
            peak, seconds = run_command([*COMMANDS[name], *shared])
            first.setdefault(name, peak)
            print(f"{name:8} {seconds:6.0f} s, peak {peak:5.0f} MB ({peak / first[name]:.2f} of the first)", flush=True)
        shutil.rmtree(root)


def run_command(arguments: list[str]) -> tuple[float, float]:
    """Run ``python -m`` with the arguments; MB of its largest process, and seconds."""
    code = (
        "import resource, subprocess, sys; subprocess.run([sys.executable, '-m', *sys.argv[1:]], check=True, stdout=2); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)"
    )
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout), time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="of one time the data")
    parser.add_argument("--channels", type=int, default=8)
    parser.add_argument("--hours", type=float, default=178)
    parser.add_argument("--wide", type=int, default=100, help="channels of the cohort's recordings")
    parser.add_argument("--cores", type=int, default=16)
    parser.add_argument("--memory", type=float, nargs="+", metavar="GB")
    parser.add_argument("--work", choices=list(COMMANDS), nargs="+", default=list(COMMANDS), help="whose memory")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        if options.memory:
            memory(options.work, options.memory, Path(name))
        else:
            costs(options, Path(name))


if __name__ == "__main__":
    main()
