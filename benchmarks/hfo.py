"""Time omni_bench.hfo against HFODetector in one process on one core, and check that the events are the same.

    python benchmarks/hfo.py [--channels 8] [--seconds 60] [--repeats 10] [--scaling]

HFODetector (PyPI, academic licence) is a party to this comparison only; without it the script times ours alone.
Times are CPU seconds per channel-minute, the best of the repeats, which alternate between the two sides.
"""

import argparse
import contextlib
import io
import os
import resource
import time
from collections.abc import Callable
from typing import Any

for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402 - the libraries read the variables when they load
from scipy.signal.windows import tukey  # noqa: E402

from omni_bench.hfo import detect, detect_stream  # noqa: E402

try:
    from HFODetector import hil, mni, ste
except ImportError:
    ste = mni = hil = None

TARGETS = {"ste": 10, "hil": 10, "mni": 50}


def synthetic(n_channels: int, seconds: float, sfreq: float) -> np.ndarray:
    """1/f background (30 µV) with white noise and one burst of 8-40 µV every 4 s, float32 µV."""
    n_times = round(seconds * sfreq)
    x = np.empty((n_channels, n_times), dtype=np.float32)
    slope = 1 / np.maximum(np.fft.rfftfreq(n_times, 1 / sfreq), 0.5)
    slope[0] = 0
    for channel in range(n_channels):
        rng = np.random.default_rng([7, channel])
        pink = np.fft.irfft(np.fft.rfft(rng.standard_normal(n_times)) * slope, n_times)
        trace = pink * (30 / pink.std()) + 0.8 * rng.standard_normal(n_times)
        for onset in np.arange(1.0, seconds - 1, 4):
            frequency, cycles = rng.uniform(80, 250), rng.integers(4, 11)
            length, start = round(cycles / frequency * sfreq), round(onset * sfreq)
            phase = 2 * np.pi * frequency * np.arange(length) / sfreq
            trace[start : start + length] += rng.uniform(8, 40) * np.sin(phase) * tukey(length, 0.5)
        x[channel] = trace
    return x


def official(detector: str, sfreq: float) -> Callable[[np.ndarray], list[tuple[int, int, int]]]:
    """The package's single-channel method over all channels, its parameters at their defaults."""
    band = [80, 300] if sfreq == 1000 else [80, 500]
    if detector == "mni":
        one = mni.MNIDetector(sfreq, filter_freq=band, seed=0)
    else:
        one = (ste.STEDetector if detector == "ste" else hil.HILDetector)(sfreq, filter_freq=band)

    def run(x: np.ndarray) -> list[tuple[int, int, int]]:
        events = []
        with contextlib.redirect_stdout(io.StringIO()):
            for channel, trace in enumerate(x):
                answer = one.detect(trace.astype(float), str(channel))
                found = [] if answer is None else answer[0]
                events += [(channel, int(start), int(end)) for start, end in found]
        return events

    return run


def ours(detector: str, sfreq: float, compat: str | None) -> Callable[[np.ndarray], list[tuple[int, int, int]]]:
    def run(x: np.ndarray) -> list[tuple[int, int, int]]:
        table = detect(x, sfreq, detector=detector, compat=compat)
        return list(zip(table.channel.astype(int), table.start, table.end, strict=True))

    return run


def best(runs: dict[str, Callable[[np.ndarray], Any]], x: np.ndarray, repeats: int) -> dict[str, float]:
    """Least CPU seconds of each side over alternating repeats."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            begin = time.process_time()
            run(x)
            times[name].append(time.process_time() - begin)
    return {name: min(values) for name, values in times.items()}


def compare(n_channels: int, seconds: float, repeats: int) -> None:
    print(f"{n_channels} channels x {seconds:g} s, ms of CPU per channel-minute, best of {repeats}")
    print("| detector | Hz | HFODetector | compat=reference | ratio | target | default | ratio | events | identical |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for sfreq in (1000.0, 2000.0):
        x = synthetic(n_channels, seconds, sfreq)
        for detector, target in TARGETS.items():
            runs = {"parity": ours(detector, sfreq, "reference"), "default": ours(detector, sfreq, None)}
            if ste is not None:
                runs["theirs"] = official(detector, sfreq)
            events = {name: run(x) for name, run in runs.items()}  # also warms the caches
            scale = 1e3 / (n_channels * seconds / 60)
            ms = {name: value * scale for name, value in best(runs, x, repeats).items()}
            theirs, same = ms.get("theirs", np.nan), "-"
            if ste is not None:
                same = "yes" if events["theirs"] == events["parity"] else "NO"
            row = [detector, f"{sfreq:g}", f"{theirs:.1f}", f"{ms['parity']:.1f}", f"{theirs / ms['parity']:.1f}x"]
            row += [f"{target}x", f"{ms['default']:.1f}", f"{theirs / ms['default']:.1f}x"]
            print("|", " | ".join([*row, str(len(events["parity"])), same]), "|", flush=True)


def wall(run: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def scaling() -> None:
    """Wall seconds over channels, length and threads at 2000 Hz (default STE), and memory of the stream."""
    sfreq = 2000.0
    minute = synthetic(8, 60, sfreq)
    detect(minute[:1], sfreq)
    for n_channels in (1, 2, 4, 8):
        print(f"channels {n_channels}: {wall(lambda n=n_channels: detect(minute[:n], sfreq)):.3f} s")
    for n_jobs in (1, 2, 4)[: max(1, (os.cpu_count() or 1).bit_length())]:
        print(f"threads {n_jobs}: {wall(lambda n=n_jobs: detect(minute, sfreq, n_jobs=n)):.3f} s for 8 channel-minutes")
    names = [str(channel) for channel in range(8)]

    def looped(start: int, stop: int) -> np.ndarray:
        return minute[:, np.arange(start, stop) % minute.shape[1]]

    for minutes in (2, 8, 32):
        seconds = wall(lambda m=minutes: detect_stream(looped, m * minute.shape[1], sfreq, names))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"stream {minutes} min x 8 channels: {seconds:.2f} s, peak memory so far {peak:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--channels", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--scaling", action="store_true", help="time ours over channels, threads and length instead")
    arguments = parser.parse_args()
    if ste is None:
        print("HFODetector is not installed (pip install HFODetector): ours is timed alone, ratios are nan")
    if arguments.scaling:
        scaling()
    else:
        compare(arguments.channels, arguments.seconds, arguments.repeats)


if __name__ == "__main__":
    main()
