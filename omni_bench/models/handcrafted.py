"""Handcrafted features of single channels (Omni-iEEG, arXiv 2602.16072, appendix F.5) and a linear layer on them.

The paper lists 21 features without conventions; ours stand in `handcrafted_features`.
"""

import math

import torch
from torch import Tensor, nn

from omni_bench.models.requirements import require_n_times, require_one_channel, require_sfreq

BANDS = {
    "delta": (0.5, 4.0),
    "theta": (4.0, 8.0),
    "alpha": (8.0, 13.0),
    "beta": (13.0, 30.0),
    "gamma": (30.0, 80.0),
    "high_gamma": (80.0, 150.0),
}

FEATURE_NAMES = (
    "mean",
    "median",
    "variance",
    "std",
    "rms",
    "line_length",
    "zero_crossing_rate",
    "hjorth_activity",
    "hjorth_mobility",
    "hjorth_complexity",
    "skewness",
    "kurtosis",
    "spectral_entropy",
    "peak_frequency",
    "total_power",
    *(f"log_power_{band}" for band in BANDS),
)

WELCH_S = 2.0
"""Seconds of a Welch segment: 0.5 Hz resolution, the lower edge of delta."""

MIN_POWER = 1e-12
"""µV², floor of the logarithm of a band's power."""


def handcrafted_features(x: Tensor, sfreq: float) -> Tensor:
    """Features of many signals at once.

    Parameters
    ----------
    x : Tensor
        `(batch, n_times)` µV, at least 2 s.
    sfreq : float
        Hz, above 160 so that every band begins below the Nyquist frequency; a band beyond it counts up to it.

    Returns
    -------
    Tensor
        `(batch, 21)` in the order of `FEATURE_NAMES`, finite for finite signals.

    Notes
    -----
    Population moments (divisor n), kurtosis without subtracting 3, of two middle values the lower as median. Line
    length in µV/s, zero crossings of the signal without its mean per second. Hjorth mobility and complexity in
    1/sample and 1 (Hjorth 1970). Welch density with Hann windows of 2 s, half overlapping, each without its mean;
    power in µV², entropy in bits divided by that of a flat spectrum, logarithms to base 10. A flat signal has moments
    of shape, mobility, complexity, entropy and peak frequency 0.
    """
    # in half precision the power of a large artifact overflows
    with torch.autocast(x.device.type, enabled=False):
        return torch.cat([_time_domain(x, sfreq), _frequency_domain(x, sfreq)], dim=1)


class Handcrafted(nn.Module):
    """The paper's linear baseline: 21 features, standardised, one linear layer.

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        1 channel, at least 2 s at more than 160 Hz.
    compat : str, optional
        `"paper"` or `"reference"`: features enter unscaled, as nothing in the paper says otherwise. By default they are
        standardised by running statistics of the training batches: they differ by six orders of magnitude.
    """

    head_name = "linear"

    def __init__(self, n_chans: int, n_outputs: int, n_times: int, sfreq: float, *, compat: str | None = None) -> None:
        super().__init__()
        require_one_channel("handcrafted", n_chans)
        require_sfreq("handcrafted", sfreq, 161)
        require_n_times("handcrafted", n_times, round(WELCH_S * sfreq))
        self.sfreq = sfreq
        n_features = len(FEATURE_NAMES)
        self.scale = nn.BatchNorm1d(n_features, affine=False) if compat is None else nn.Identity()
        self.linear = nn.Linear(n_features, n_outputs)

    def embed(self, x: Tensor) -> Tensor:
        """Windows `(batch, 1, n_times)` µV → features `(batch, 21)`."""
        return self.scale(handcrafted_features(x[:, 0], self.sfreq))

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(self.embed(x))


def _time_domain(x: Tensor, sfreq: float) -> Tensor:
    per_second = sfreq / (x.shape[1] - 1)
    mean = x.mean(dim=1)
    centred = x - mean[:, None]
    squares = centred.square()
    variance = squares.mean(dim=1)
    skewness = _ratio(_mean_product(squares, centred), variance**1.5)
    kurtosis = _ratio(_mean_product(squares, squares), variance.square())

    slope = x.diff(dim=1)
    slope_variance = _variance(slope)
    mobility = _ratio(slope_variance, variance).sqrt()
    complexity = _ratio(_ratio(_variance(slope.diff(dim=1)), slope_variance).sqrt(), mobility)

    positive = centred >= 0
    crossings = torch.count_nonzero(positive[:, 1:] != positive[:, :-1], dim=1)
    features = [
        mean,
        x.median(dim=1).values,
        variance,
        variance.sqrt(),
        (variance + mean.square()).sqrt(),
        slope.abs().sum(dim=1) * per_second,
        crossings * per_second,
        variance,
        mobility,
        complexity,
        skewness,
        kurtosis,
    ]
    return torch.stack(features, dim=1)


def _frequency_domain(x: Tensor, sfreq: float) -> Tensor:
    n_fft = round(WELCH_S * sfreq)
    resolution = sfreq / n_fft
    density = _welch(x, n_fft, sfreq)
    freqs = torch.arange(density.shape[1], device=x.device) * resolution
    total = density.sum(dim=1) * resolution
    shares = _ratio(density, density.sum(dim=1, keepdim=True))
    entropy = torch.special.entr(shares).sum(dim=1) / math.log(len(freqs))
    members = torch.stack([(freqs >= low) & (freqs < high) for low, high in BANDS.values()]).to(x.dtype)
    powers = density @ members.mT * resolution
    summary = torch.stack([entropy, freqs[density.argmax(dim=1)], total], dim=1)
    return torch.cat([summary, powers.clamp(min=MIN_POWER).log10()], dim=1)


def _welch(x: Tensor, n_fft: int, sfreq: float) -> Tensor:
    """One-sided power density `(batch, n_fft // 2 + 1)` in µV²/Hz."""
    segments = x.unfold(1, n_fft, n_fft // 2)
    window = torch.hann_window(n_fft, device=x.device, dtype=x.dtype)
    spectrum = torch.fft.rfft((segments - segments.mean(dim=-1, keepdim=True)) * window)
    density = (spectrum.real.square() + spectrum.imag.square()).mean(dim=1) / (sfreq * window.square().sum())
    density[:, 1 : (n_fft + 1) // 2] *= 2
    return density


def _mean_product(a: Tensor, b: Tensor) -> Tensor:
    return torch.linalg.vecdot(a, b) / a.shape[1]


def _variance(x: Tensor) -> Tensor:
    """Population variance over time; `Tensor.var` takes ten times as long on a CPU."""
    centred = x - x.mean(dim=1, keepdim=True)
    return _mean_product(centred, centred)


def _ratio(numerator: Tensor, denominator: Tensor) -> Tensor:
    """Quotient, 0 where the denominator is 0."""
    return torch.where(denominator > 0, numerator / torch.where(denominator > 0, denominator, 1), 0)
