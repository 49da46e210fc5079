"""TimeConv-CNN's maps and its training step, ours against the reference way, in one run: `python benchmarks/timeconv.py`.

The reference way makes the maps of the whole batch first, by one FFT of the published length each, scales them, and hands
them to the network as its layers stand, under PyTorch's and the C library's own settings of memory. Each way runs in a
process of its own so that peak memory is its own. Ours makes the scaled map of one window after another in one buffer.
"""

import argparse
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from omni_bench.memory import return_large_blocks
from omni_bench.models.timeconv_cnn import TimeConvCNN
from omni_bench.signal.morlet import MorletMap, min_max

SFREQ = 1000.0


def reference_maps(x: Tensor, sfreq: float, n_freqs: int = 224, fmin: float = 10.0, fmax: float = 300.0) -> Tensor:
    """Scaled maps ``(batch, 1, n_freqs, n_times)`` by the published recipe."""
    n_times = x.shape[-1]
    half = n_times // 2
    left, right = 2 * x[..., :1] - x[..., 1 : half + 1].flip(-1), 2 * x[..., -1:] - x[..., -half - 2 : -1].flip(-1)
    extended = torch.cat([left, x, right], dim=-1)
    period = extended.shape[-1]
    omega = 2 * math.pi * sfreq * torch.arange(period // 2 + 1) / (period - 1)
    freqs = torch.linspace(fmax, fmin, n_freqs)[:, None]
    windows = torch.zeros(n_freqs, period)
    windows[:, : period // 2 + 1] = torch.exp(-0.5 * ((omega - 2 * math.pi * freqs) * 3 / freqs) ** 2)
    windows *= math.sqrt(period) / windows.norm(dim=1, keepdim=True)
    spectrum = torch.fft.fft(extended)
    images = []
    for row in spectrum:
        rows = torch.fft.ifft(row * windows)[:, half : half + n_times] / (3 / freqs).sqrt()
        image = rows.abs()
        images.append((image - image.min()) / (image.max() - image.min()) * 255)
    return torch.stack(images)[:, None]


def maps(way: str, x: Tensor) -> Callable[[], None]:
    """What makes the scaled maps of a batch."""
    transform = MorletMap(x.shape[-1], SFREQ)
    image = torch.empty(transform.n_freqs, x.shape[-1])

    def ours() -> None:
        for window in x[:, 0]:
            min_max(transform(window, out=image), out=image)

    def reference() -> None:
        reference_maps(x[:, 0], SFREQ)

    return ours if way == "ours" else reference


def step(way: str, x: Tensor) -> Callable[[], None]:
    """What takes a training step, maps included."""
    net = TimeConvCNN(1, 1, x.shape[-1], SFREQ)
    optimizer = torch.optim.Adam(net.parameters(), 3e-4)
    y = torch.randint(0, 2, (len(x), 1)).float()

    def work() -> None:
        optimizer.zero_grad()
        if way == "ours":
            logits = net(x)
        else:
            with torch.no_grad():
                images = reference_maps(x[:, 0], SFREQ)
            logits = net.fc_out(net.embed_trunk(net.feature_extractor(images)))
        nn.functional.binary_cross_entropy_with_logits(logits, y).backward()
        optimizer.step()

    return work


PARTS = {"maps": maps, "step": step}


def measure(part: str, way: str, batch: int, seconds: int, repeats: int) -> dict[str, float]:
    """Median wall seconds of a part of the work, and what it adds to this process's peak memory in MB."""
    torch.manual_seed(0)
    if way == "ours":
        return_large_blocks()  # as a run does
    x = 50 * torch.randn(batch, 1, round(seconds * SFREQ))
    before = peak_mb()
    work = PARTS[part](way, x)
    walls = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        walls.append(time.perf_counter() - start)
    return {"seconds": statistics.median(walls), "added_mb": peak_mb() - before}


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Run both ways and print their ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--part", choices=list(PARTS), help="one only")
    parser.add_argument("--way", choices=["ours", "reference"], help="one only, as JSON")
    options = parser.parse_args()
    if options.way:
        print(json.dumps(measure(options.part, options.way, options.batch, options.seconds, options.repeats)))
        return
    sizes = [f"--{name}={getattr(options, name)}" for name in ("batch", "seconds", "repeats")]
    print(f"batch {options.batch} x {options.seconds} s, {torch.get_num_threads()} threads")
    for part in [options.part] if options.part else PARTS:
        results = {}
        for way in ("reference", "ours"):
            command = [sys.executable, __file__, f"--part={part}", f"--way={way}", *sizes]
            environment = os.environ | {"THP_MEM_ALLOC_ENABLE": str(int(way == "ours"))}  # as `import omni_bench` does
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            results[way] = json.loads(done.stdout)
            print(f"{part} {way:>9}: {results[way]['seconds']:7.2f} s, adds {results[way]['added_mb']:7.0f} MB")
        faster, smaller = (results["reference"][name] / results["ours"][name] for name in ("seconds", "added_mb"))
        print(f"{part}: {faster:.1f} times faster, 1/{smaller:.1f} of the memory")


if __name__ == "__main__":
    main()
