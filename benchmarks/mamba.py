"""Time and memory of the state-space scans against the same recurrences written out step by step.

    python benchmarks/mamba.py [--seconds 30] [--batch 1] [--repeats 5]

Three sequences: EEGMamba's Mamba-2 layer on 19 channels (one token per channel and second), FEMBA's Mamba layer (one
token per 16 samples at 256 Hz) and the Mamba layer of FEMBA's classifier. Times are CPU milliseconds on one core, the
best of the repeats, which alternate between the two sides; memory is how far the resident size rose at its peak, each
side in a process of its own (Linux). All in float32; the largest difference between the two sides is printed.
"""

import argparse
import multiprocessing
import os
import time
from collections.abc import Callable
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

import torch
from torch import Tensor
from torch.nn import functional as F

from omni_bench.models.mamba import selective_scan, ssd_scan

Scan = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


def selective_steps(x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor) -> Tensor:
    state, ys = x.new_zeros(x.shape[0], *A.shape), []
    for t in range(x.shape[1]):
        state = torch.exp(dt[:, t, :, None] * A) * state + (dt[:, t] * x[:, t])[..., None] * B[:, t, None]
        ys.append((state * C[:, t, None]).sum(-1))
    return torch.stack(ys, dim=1)


def ssd_steps(x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor) -> Tensor:
    state, ys = x.new_zeros(x.shape[0], *x.shape[2:], B.shape[-1]), []
    for t in range(x.shape[1]):
        added = (dt[:, t, :, None] * x[:, t])[..., None] * B[:, t, None, None]
        state = torch.exp(dt[:, t] * A)[..., None, None] * state + added
        ys.append((state * C[:, t, None, None]).sum(-1))
    return torch.stack(ys, dim=1)


def inputs(name: str, batch: int, seconds: int) -> list[Tensor]:
    torch.manual_seed(0)
    if name == "eegmamba":
        n_times, shape, rates, d_state = 19 * seconds, (8, 50), (8,), 64
    else:
        d_inner = 1540 if name == "femba" else 512
        n_times, shape, rates, d_state = 256 * seconds // 16, (d_inner,), (d_inner, 16), 16
    x = torch.randn(batch, n_times, *shape)
    dt = F.softplus(torch.randn(batch, n_times, shape[0]) - 3)
    return [x, dt, -torch.exp(torch.randn(rates)), *torch.randn(2, batch, n_times, d_state)]


SIDES: dict[str, tuple[Scan, Scan]] = {
    "eegmamba": (ssd_scan, ssd_steps),
    "femba": (selective_scan, selective_steps),
    "femba classifier": (selective_scan, selective_steps),
}


def run(scan: Scan, args: list[Tensor], training: bool) -> Tensor:
    if not training:
        with torch.no_grad():
            return scan(*args)
    args = [t.detach().requires_grad_() for t in args]
    y = scan(*args)
    y.square().sum().backward()
    return y.detach()


def best_ms(sides: tuple[Scan, Scan], args: list[Tensor], training: bool, repeats: int) -> list[float]:
    times: list[list[float]] = [[], []]
    for _ in range(repeats + 1):
        for side, scan in enumerate(sides):
            start = time.process_time()
            run(scan, args, training)
            times[side].append(time.process_time() - start)
    return [1e3 * min(of_side[1:]) for of_side in times]


def _resident_mb(field: str) -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{field}:")[1].split()[0]) / 1024


def _measure_peak(name: str, side: int, batch: int, seconds: int, training: bool, result) -> None:
    args = inputs(name, batch, seconds)
    run(SIDES[name][side], [t[:, :2] if t.ndim > 2 else t for t in args], training)
    before = _resident_mb("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    run(SIDES[name][side], args, training)
    result.put(_resident_mb("VmHWM") - before)


def peak_mb(*args) -> float:
    context = multiprocessing.get_context("spawn")
    result = context.Queue()
    process = context.Process(target=_measure_peak, args=(*args, result))
    process.start()
    value = result.get()
    process.join()
    return value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print(f"torch {torch.__version__}, {options.seconds} s, batch {options.batch}")
    columns = ("tokens", "steps ms", "scan ms", "ratio", "steps MB", "scan MB")
    print(f"{'layer':18}{'pass':10}" + "".join(f"{column:>10}" for column in columns))
    for name, sides in SIDES.items():
        args = inputs(name, options.batch, options.seconds)
        for training in (False, True):
            scan, steps = best_ms(sides, args, training, options.repeats)
            scan_mb, steps_mb = (peak_mb(name, side, options.batch, options.seconds, training) for side in (0, 1))
            figures = (f"{steps:.1f}", f"{scan:.1f}", f"{steps / scan:.1f}", f"{steps_mb:.0f}", f"{scan_mb:.0f}")
            row = (str(args[0].shape[1]), *figures)
            print(f"{name:18}{'training' if training else 'forward':10}" + "".join(f"{value:>10}" for value in row))
        difference = (run(sides[0], args, False) - run(sides[1], args, False)).abs().max()
        print(f"{'':18}largest difference {difference:.1e}")


if __name__ == "__main__":
    main()
