"""Analytic Morlet (Gabor) time-frequency amplitude, as in Omni-iEEG (arXiv 2602.16072, section 4).

Each row is the modulus of the signal filtered by a one-sided Gaussian in frequency. The published transform extends the
signal by odd reflection to N = 2·n_times + 1 samples and takes one FFT of that length, which is slow (120 001 = 7·7·31·79
for a minute at 1000 Hz). But a filter at f Hz has a temporal standard deviation of only 3/f seconds, so the same samples
come out of an FFT of any comfortable length that covers the window and a few deviations on both sides. Only a filter that
the Nyquist frequency cuts off has no finite reach; then the published length is kept.
"""

import math
from functools import lru_cache

import scipy.fft
import torch
from torch import Tensor, nn

CYCLES = 3.0
"""Temporal standard deviation of a wavelet in cycles of its centre frequency."""

REACH = 6.5
"""Standard deviations of a wavelet that count: exp(-6.5²/2) = 7e-10 is below the resolution of float32."""


ROWS = 8
"""Rows per inverse FFT: 4 MB of coefficients a minute stay in a core's cache."""


class MorletMap(nn.Module):
    """Amplitude of the Morlet transform of windows of one length and rate.

    Parameters
    ----------
    n_times : int
        Samples of a window.
    sfreq : float
        Sampling rate in Hz.
    n_freqs : int
        Rows, linearly spaced from ``fmax`` (row 0) down to ``fmin``, both included.
    fmin, fmax : float
        Frequency range in Hz, at most the Nyquist frequency.
    keep : slice, optional
        Samples of the window to return, all unless given; a short piece needs a shorter FFT.

    Notes
    -----
    ``forward(x, out=None)`` maps float32 ``(..., n_times)`` to float32 ``(..., n_freqs, n_times)``. It differentiates, but
    keeps the complex coefficients for that; run it under ``torch.no_grad`` when the signal needs no gradient.
    """

    filters: Tensor
    window: Tensor

    def __init__(
        self,
        n_times: int,
        sfreq: float,
        n_freqs: int = 224,
        fmin: float = 10.0,
        fmax: float = 300.0,
        keep: slice | None = None,
    ) -> None:
        super().__init__()
        if not 0 < fmin < fmax <= sfreq / 2:
            raise ValueError(f"need 0 < fmin < fmax <= sfreq/2, got fmin={fmin}, fmax={fmax}, sfreq={sfreq}")
        first, stop, _ = (keep or slice(None)).indices(n_times)
        self.n_kept, self.n_freqs = stop - first, n_freqs
        period = 2 * n_times + 1
        freqs = torch.linspace(fmax, fmin, n_freqs, dtype=torch.float64)
        scales = CYCLES / freqs

        reach = math.ceil(REACH * CYCLES / fmin * sfreq)
        cut_off = fmax * (1 + REACH / (2 * math.pi * CYCLES)) > sfreq / 2
        comfortable = scipy.fft.next_fast_len(self.n_kept + 2 * reach, real=True)
        lead = math.ceil(n_times / 2)
        if cut_off or (comfortable >= period and keep is None):
            self.n_fft, self.offset = period, lead + first
            start = 0
        else:
            self.n_fft, self.offset = comfortable, reach
            start = lead + first - reach

        norms = torch.stack([_gaussians(f[None], sfreq, period, period).norm() for f in freqs])
        gains = math.sqrt(period) / norms / scales.sqrt()
        filters = _gaussians(freqs, sfreq, self.n_fft, period) * gains[:, None]
        self.register_buffer("filters", filters.float(), persistent=False)
        self.register_buffer("window", (start + torch.arange(self.n_fft)) % period, persistent=False)

    def forward(self, x: Tensor, out: Tensor | None = None) -> Tensor:
        spectrum = torch.fft.rfft(_reflect(x)[..., self.window])
        # an analytic signal is two real ones a quarter turn apart: cheaper than one complex transform, half of it zeros
        parts = torch.stack([0.5 * spectrum, -0.5j * spectrum])[..., None, :]
        amplitude = x.new_empty(*x.shape[:-1], self.n_freqs, self.n_kept) if out is None else out
        kept = slice(self.offset, self.offset + self.n_kept)
        for first in range(0, self.n_freqs, ROWS):
            rows = slice(first, first + ROWS)
            real, imaginary = torch.fft.irfft(parts * self.filters[rows], n=self.n_fft)[..., kept]
            if x.requires_grad:
                amplitude[..., rows, :] = torch.complex(real, imaginary).abs()  # its gradient at 0 is 0, not NaN
            else:
                torch.hypot(real, imaginary, out=amplitude[..., rows, :])
        return amplitude


def morlet_map(x: Tensor, sfreq: float, n_freqs: int = 224, fmin: float = 10.0, fmax: float = 300.0) -> Tensor:
    """Amplitude ``(..., n_freqs, n_times)`` of float32 signals ``(..., n_times)``; row 0 is ``fmax``. See `MorletMap`."""
    return _transform(x.shape[-1], sfreq, n_freqs, fmin, fmax, x.device)(x)


@lru_cache(maxsize=8)
def _transform(n_times: int, sfreq: float, n_freqs: int, fmin: float, fmax: float, device: torch.device) -> MorletMap:
    return MorletMap(n_times, sfreq, n_freqs, fmin, fmax).to(device)


def min_max(images: Tensor, out: Tensor | None = None) -> Tensor:
    """Each image ``(n_freqs, n_times)`` of a batch scaled to 0..255; a constant one becomes 0. ``out`` may be ``images``."""
    # aminmax over a dimension takes fifteen times as long as these two
    low, high = images.amin((-2, -1), keepdim=True), images.amax((-2, -1), keepdim=True)
    scale = torch.where(high > low, 255 / (high - low), 0.0)
    return torch.addcmul(-low * scale, images, scale, out=out)


def _gaussians(freqs: Tensor, sfreq: float, n_fft: int, period: int) -> Tensor:
    """Unnormalised one-sided windows ``(n_freqs, n_fft // 2 + 1)``.

    The published axis spaces N bins by 1/(N-1): a stretch of frequency that every length repeats.
    """
    omega = 2 * math.pi * sfreq * torch.arange(n_fft // 2 + 1, dtype=torch.float64) / n_fft * period / (period - 1)
    return torch.exp(-0.5 * ((omega - 2 * math.pi * freqs[:, None]) * CYCLES / freqs[:, None]) ** 2)


def _reflect(x: Tensor) -> Tensor:
    """Odd reflection about both ends, to ``2·n_times + 1`` samples of which ``x`` starts at ``ceil(n_times / 2)``."""
    n_times = x.shape[-1]
    half = math.ceil(n_times / 2)
    left = 2 * x[..., :1] - x[..., 1 : half + 1].flip(-1)
    right = 2 * x[..., -1:] - x[..., n_times - 2 - (n_times - half) : n_times - 1].flip(-1)
    return torch.cat([left, x, right], dim=-1)
