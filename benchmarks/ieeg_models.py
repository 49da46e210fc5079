"""Time the intracranial networks against the published recipe, re-implemented here in its plain form.

    python benchmarks/ieeg_models.py [--repeats 3] [--threads 1] [--device cpu]

- SEEG-Net, published layout: whole branches computed, then cut, against only what survives the cut.
- Event model: filters rebuilt at each call and the full-length FFT, against ours, in float32 and in bfloat16. Beside it
  the time that the arithmetic of a step takes at the rate of this machine's matrix product, below which float32 cannot go.
- Handcrafted features: one function per feature and channel with numpy and scipy, against all channels at once.

Times are wall seconds, the best of the repeats, which alternate between the two sides.
"""

import argparse
import math
import time
from collections.abc import Callable

import numpy as np
import scipy.signal
import scipy.stats
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from omni_bench.models.handcrafted import BANDS, handcrafted_features
from omni_bench.models.pyhfo import PyHFOOmni
from omni_bench.models.seegnet import SEEGNet

SFREQ = 1000.0


class PlainSEEGNet(SEEGNet):
    """The published layout as published: three full branches, cut to the shortest."""

    def embed(self, x: Tensor) -> Tensor:
        parts = self.feature_extractor
        scales = [branch(x) for branch in (parts.branch1, parts.branch2, parts.branch3)]
        shortest = min(scale.shape[-1] for scale in scales)
        joined = torch.cat([scale[..., :shortest] for scale in scales], dim=1)
        return self.classifier[:2](self.temporal_model(parts.se_block(parts.dropout(joined)).mT))


class PlainEventModel(PyHFOOmni):
    """PyHFO-Omni with the published transform: double length, filters made anew, complex FFT of 4001 points.

    Planes stay one behind the other in memory, as the published network leaves them.
    """

    def forward(self, x: Tensor) -> Tensor:
        cnn = self.cnn
        x = cnn.maxpool(cnn.relu(cnn.bn1(cnn.conv1(self.images(x)))))
        x = cnn.fc(cnn.layer4(cnn.layer3(cnn.layer2(cnn.layer1(x)))).mean(dim=(-2, -1)))
        return self.fc_out(self.embed_features(x))

    def images(self, x: Tensor) -> Tensor:
        x = x[:, 0]
        n_times = x.shape[-1]
        half = math.ceil(n_times / 2)
        left = 2 * x[:, :1] - x[:, 1 : half + 1].flip(-1)
        right = 2 * x[:, -1:] - x[:, -half - 1 : -1].flip(-1)
        extended = torch.cat([left, x, right], dim=-1)
        n = extended.shape[-1]
        freqs = torch.linspace(300, 10, 224, device=x.device)[:, None]
        omega = torch.linspace(0, 2 * math.pi * SFREQ, n, device=x.device)
        window = torch.exp(-0.5 * ((omega - 2 * math.pi * freqs) * 3 / freqs) ** 2)
        window[:, n // 2 + 1 :] = 0
        window *= math.sqrt(n) / window.norm(dim=1, keepdim=True)
        coefficients = torch.fft.ifft(torch.fft.fft(extended)[:, None] * window)[..., half : half + n_times]
        amplitude = (coefficients / (3 / freqs).sqrt()).abs()[..., 715:1285]
        images = functional.interpolate(amplitude[:, None], (224, 224), mode="bilinear")
        low, high = images.amin(dim=(-2, -1), keepdim=True), images.amax(dim=(-2, -1), keepdim=True)
        return (images - low) / (high - low) * 255


def plain_features(x: np.ndarray) -> np.ndarray:
    """One channel after another, one feature after another."""
    n_fft = int(2 * SFREQ)

    def spectrum(trace: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return scipy.signal.welch(trace, SFREQ, nperseg=n_fft)

    def mobility(trace: np.ndarray) -> float:
        return math.sqrt(np.var(np.diff(trace)) / np.var(trace))

    def entropy(trace: np.ndarray) -> float:
        density = spectrum(trace)[1]
        return scipy.stats.entropy(density) / math.log(len(density))

    def peak(trace: np.ndarray) -> float:
        freqs, density = spectrum(trace)
        return freqs[density.argmax()]

    def power(trace: np.ndarray, low: float, high: float) -> float:
        freqs, density = spectrum(trace)
        return density[(freqs >= low) & (freqs < high)].sum() * freqs[1]

    rows = []
    for trace in x:
        centred = trace - np.mean(trace)
        rows.append(
            [
                np.mean(trace),
                np.median(trace),
                np.var(trace),
                np.std(trace),
                math.sqrt(np.mean(trace**2)),
                np.sum(np.abs(np.diff(trace))) * SFREQ / (len(trace) - 1),
                np.sum(np.diff(centred >= 0)) * SFREQ / (len(trace) - 1),
                np.var(trace),
                mobility(trace),
                mobility(np.diff(trace)) / mobility(trace),
                scipy.stats.skew(trace),
                scipy.stats.kurtosis(trace, fisher=False),
                entropy(trace),
                peak(trace),
                power(trace, 0, math.inf),
                *(math.log10(power(trace, low, high)) for low, high in BANDS.values()),
            ]
        )
    return np.array(rows)


def training_step(net: nn.Module, x: Tensor, bfloat16: bool = False) -> Callable[[], object]:
    """Forward, cross-entropy, backward and Adam."""
    optimizer = torch.optim.Adam(net.train().parameters(), lr=3e-4)
    labels = torch.arange(len(x), device=x.device) % 3

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, torch.bfloat16, enabled=bfloat16):
            loss = functional.cross_entropy(net(x).float(), labels)
        loss.backward()
        optimizer.step()
        if x.is_cuda:
            torch.cuda.synchronize()

    return step


def arithmetic_floor(step: Callable[[], object], device: str, repeats: int) -> float:
    """Seconds of the step's multiplications and additions at the rate of a float32 product of 4096 × 4096 matrices."""
    with FlopCounterMode(display=False) as counter:
        step()
    a, b = torch.randn(2, 4096, 4096, device=device)
    best = math.inf
    for _ in range(repeats + 1):
        start = time.perf_counter()
        (a @ b).sum().item()
        best = min(best, time.perf_counter() - start)
    return counter.get_total_flops() * best / (2 * 4096**3)


def compare(title: str, plain: Callable[[], object], ours: Callable[[], object], target: float, repeats: int) -> None:
    best = {"plain": math.inf, "ours": math.inf}
    for _ in range(repeats):
        for side, function in (("plain", plain), ("ours", ours)):
            start = time.perf_counter()
            function()
            best[side] = min(best[side], time.perf_counter() - start)
    ratio = best["plain"] / best["ours"]
    print(f"{title:42s} {best['plain']:8.3f} s {best['ours']:8.3f} s {ratio:6.2f}x (target {target:g}x)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    generator = torch.Generator().manual_seed(0)
    on_gpu = arguments.device != "cpu"

    def brownian(batch: int, n_times: int) -> Tensor:
        return torch.randn(batch, 1, n_times, generator=generator).cumsum(-1).to(arguments.device)

    minute = brownian(32 if on_gpu else 4, 60_000)
    net = {"n_chans": 1, "n_outputs": 3, "n_times": 60_000, "sfreq": SFREQ, "compat": "reference"}
    plain, ours = (build(**net).to(arguments.device) for build in (PlainSEEGNet, SEEGNet))
    ours.load_state_dict(plain.state_dict())
    torch.testing.assert_close(ours.eval()(minute[:1]), plain.eval()(minute[:1]), atol=1e-4, rtol=1e-4)
    print(f"{'':42s} {'plain':>10s} {'ours':>10s}")
    step = training_step(plain, minute), training_step(ours, minute)
    compare("SEEG-Net training step, published layout", *step, 2, arguments.repeats)

    events = brownian(32, 2000)
    net |= {"n_times": 2000}
    plain, ours = (build(**net).to(arguments.device) for build in (PlainEventModel, PyHFOOmni))
    torch.testing.assert_close(ours.images(events), plain.images(events), atol=1e-2, rtol=0)
    compare("event images", lambda: plain.images(events), lambda: ours.images(events), 2, arguments.repeats)
    step = training_step(plain, events)
    compare("event model training step, float32", step, training_step(ours, events), 2, arguments.repeats)
    floor = arithmetic_floor(training_step(ours, events), arguments.device, arguments.repeats)
    print(f"{'':42s} {'':10s} {floor:8.3f} s of it is arithmetic at the rate of a matrix product")
    compare("event model training step, bfloat16 ours", step, training_step(ours, events, True), 2, arguments.repeats)

    channels = brownian(32, 60_000)[:, 0]
    loops = channels.cpu().numpy()
    np.testing.assert_allclose(
        handcrafted_features(channels[:2], SFREQ).cpu(), plain_features(loops[:2].astype(float)), rtol=2e-2, atol=1e-2
    )
    vectorised = lambda: handcrafted_features(channels, SFREQ).cpu()  # noqa: E731
    compare(
        "handcrafted features, 32 channel-minutes", lambda: plain_features(loops), vectorised, 10, arguments.repeats
    )


if __name__ == "__main__":
    main()
