"""TimeConv-CNN training step, ours against the reference way, in one run: `python benchmarks/timeconv.py`.

The reference way makes the maps of the whole batch first, by one FFT of the published length each, scales them, and hands
them to the network as its layers stand, under PyTorch's and the C library's own settings of memory. Each way runs in a
process of its own so that peak memory is its own.
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

import torch
from torch import Tensor, nn

from omni_bench.memory import return_large_blocks
from omni_bench.models.timeconv_cnn import TimeConvCNN


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


def step_of(way: str, batch: int, seconds: int, repeats: int) -> dict[str, float]:
    """Median wall seconds of a training step and peak memory of this process in MB."""
    torch.manual_seed(0)
    if way == "ours":
        return_large_blocks()  # as a run does
    n_times = seconds * 1000
    net = TimeConvCNN(1, 1, n_times, 1000.0)
    optimizer = torch.optim.Adam(net.parameters(), 3e-4)
    x, y = 50 * torch.randn(batch, 1, n_times), torch.randint(0, 2, (batch, 1)).float()
    walls = []
    for _ in range(repeats):
        start = time.perf_counter()
        optimizer.zero_grad()
        if way == "ours":
            logits = net(x)
        else:
            with torch.no_grad():
                images = reference_maps(x[:, 0], 1000.0)
            logits = net.fc_out(net.embed_trunk(net.feature_extractor(images)))
        nn.functional.binary_cross_entropy_with_logits(logits, y).backward()
        optimizer.step()
        walls.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": statistics.median(walls), "peak_mb": peak, "logit": logits[0].item()}


def main() -> None:
    """Run both ways and print their ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--way", choices=["ours", "reference"])
    options = parser.parse_args()
    if options.way:
        print(json.dumps(step_of(options.way, options.batch, options.seconds, options.repeats)))
        return
    results = {}
    for way in ("reference", "ours"):
        command = [
            sys.executable,
            __file__,
            "--way",
            way,
            *(f"--{k}={getattr(options, k)}" for k in ("batch", "seconds", "repeats")),
        ]
        environment = os.environ | {"THP_MEM_ALLOC_ENABLE": str(int(way == "ours"))}  # as `import omni_bench` sets it
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        results[way] = json.loads(done.stdout)
        print(f"{way:>9}: {results[way]['seconds']:7.2f} s a step, peak {results[way]['peak_mb']:7.0f} MB")
    ours, reference = results["ours"], results["reference"]
    print(f"batch {options.batch} x {options.seconds} s, maps included, {torch.get_num_threads()} threads:")
    print(
        f"  {reference['seconds'] / ours['seconds']:.1f} times faster, peak memory 1/{reference['peak_mb'] / ours['peak_mb']:.1f}"
    )


if __name__ == "__main__":
    main()
