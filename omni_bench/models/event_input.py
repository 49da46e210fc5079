"""The centre of an event's 2 s context, as samples and as images.

Event networks receive the context around an event, `(batch, 1, n_times)` µV, because the wavelets need it; what they
classify is the central 570 ms (Omni-iEEG, arXiv 2602.16072, section 4.1: midpoint ± 285 ms).
"""

from itertools import pairwise

import numpy as np
import torch
from scipy import ndimage
from torch import Tensor, nn
from torch.nn import functional

from omni_bench.models.requirements import require_n_times, require_sfreq
from omni_bench.signal import MorletMap, min_max
from omni_bench.signal.morlet import CYCLES, REACH

HALF_WIDTH = 0.285
"""Seconds on either side of the event's midpoint that a network sees."""

SIZE = 224
"""Rows and columns of an event image."""


def centre(network: str, n_times: int, sfreq: float, half_width: float = HALF_WIDTH) -> slice:
    """Samples of a context within `half_width` seconds of its middle; `BenchError` if it is shorter than that."""
    half = round(half_width * sfreq)
    require_n_times(network, n_times, 2 * half)
    return slice(n_times // 2 - half, n_times // 2 + half)


class OctaveMap(nn.Module):
    """`MorletMap` of a short piece, an octave of rows at a time.

    A high row looks a few hundredths of a second beyond the piece, the lowest two seconds: each octave takes the FFT that
    its own rows need. Rows that the Nyquist frequency cuts off need the published length (4001 samples, a prime, for 2 s at
    1000 Hz) and stand alone.
    """

    def __init__(self, n_times: int, sfreq: float, n_freqs: int, fmin: float, fmax: float, keep: slice) -> None:
        super().__init__()
        freqs = np.linspace(fmax, fmin, n_freqs)
        whole = sfreq / 2 / (1 + REACH / (2 * np.pi * CYCLES))
        octave = np.where(freqs > whole, -1, np.floor(np.log2(freqs / fmin)))
        starts = [0, *(np.flatnonzero(np.diff(octave)) + 1).tolist(), n_freqs]
        self.rows = [slice(start, stop) for start, stop in pairwise(starts)]
        bands = [(freqs[rows][-1], freqs[rows][0], rows.stop - rows.start) for rows in self.rows]
        self.maps = nn.ModuleList(MorletMap(n_times, sfreq, n, low, high, keep) for low, high, n in bands)
        self.shape = (n_freqs, keep.stop - keep.start)

    def forward(self, x: Tensor) -> Tensor:
        amplitude = x.new_empty(*x.shape[:-1], *self.shape)
        for rows, transform in zip(self.rows, self.maps, strict=True):
            transform(x, out=amplitude[..., rows, :])
        return amplitude


class EventImage(nn.Module):
    """Min–max image of the central `2 · half_width` s: Morlet amplitude over the whole context, cropped, resized.

    `forward` maps `(batch, 1, n_times)` to `(batch, 1, 224, 224)` in 0..255, row 0 = 300 Hz, last row = 10 Hz.
    """

    def __init__(self, network: str, n_times: int, sfreq: float, half_width: float = HALF_WIDTH) -> None:
        super().__init__()
        require_sfreq(network, sfreq, 600)
        self.centre = centre(network, n_times, sfreq, half_width)
        self.map = OctaveMap(n_times, sfreq, n_freqs=SIZE, fmin=10, fmax=300, keep=self.centre)

    def forward(self, x: Tensor) -> Tensor:
        return min_max(functional.interpolate(self.map(x), (SIZE, SIZE), mode="bilinear"))


class PyHFOImage(nn.Module):
    """Planes of the PyHFO networks: 10–500 Hz over the central second, then a crop (Zhang et al. 2024, PyHFO).

    Parameters
    ----------
    n_planes : {1, 2}
        Morlet amplitude; with 2 also the amplitude coding, the waveform repeated on every row.
    fmax : float
        Highest frequency of the crop in Hz; the lowest is 10.
    half_width : float
        Seconds on either side of the middle in the crop.

    Notes
    -----
    Planes are scaled to 0..255 before the crop. With 290 Hz and 285 ms the crop has 128 × 126 pixels.
    """

    def __init__(self, network: str, n_times: int, sfreq: float, n_planes: int, fmax: float, half_width: float) -> None:
        super().__init__()
        require_sfreq(network, sfreq, 1000)
        self.n_planes = n_planes
        self.second = centre(network, n_times, sfreq, 0.5)
        length = self.second.stop - self.second.start
        self.map = MorletMap(length, sfreq, n_freqs=SIZE, fmin=10, fmax=500)
        self.rows = slice(int(SIZE - SIZE / 490 * (fmax - 10)), SIZE)
        half = int(half_width * SIZE)
        self.columns = slice(SIZE // 2 - half, SIZE // 2 + half)
        self.shorten = Shorten(length)

    def forward(self, x: Tensor) -> Tensor:
        second = x[..., self.second]
        planes = [functional.interpolate(self.map(second), (SIZE, SIZE), mode="bilinear")]
        if self.n_planes == 2:
            planes.append(self.shorten(second)[:, :, None].expand(-1, -1, SIZE, -1))
        return min_max(torch.cat(planes, dim=1))[..., self.rows, self.columns]


class EHFOImage(nn.Module):
    """Three planes of the eHFO network over the central second (Zhang et al. 2022, Brain Communications 4: fcab267).

    Morlet amplitude 10–500 Hz; the waveform drawn as a line, time downwards; the waveform as grey level of each row.
    Each is resized with anti-aliasing and scaled to 0..255. `(batch, 1, n_times)` → `(batch, 3, 224, 224)`.
    """

    CANVAS = 2000
    """Width of the canvas on which the line is drawn."""

    strokes: Tensor

    def __init__(self, network: str, n_times: int, sfreq: float) -> None:
        super().__init__()
        require_sfreq(network, sfreq, 1000)
        self.second = centre(network, n_times, sfreq, 0.5)
        self.map = OctaveMap(n_times, sfreq, n_freqs=512, fmin=10, fmax=500, keep=self.second)
        self.shorten_time = Shorten(self.second.stop - self.second.start)
        self.shorten_freqs = Shorten(512)
        pixels = Shorten(self.CANVAS)(torch.eye(self.CANVAS))
        strokes = 256 * torch.stack([pixels.roll(offset, dims=0) for offset in range(-2, 3)]).sum(dim=0)
        self.register_buffer("strokes", strokes, persistent=False)

    def planes(self, x: Tensor) -> Tensor:
        """The three planes before scaling."""
        second = x[:, 0, self.second]
        spectrum = self.shorten_time(self.shorten_freqs(self.map(x[:, 0]).mT).mT)
        low, high = second.amin(dim=-1, keepdim=True), second.amax(dim=-1, keepdim=True)
        column = ((self.CANVAS - 11) * (second - low) / torch.where(high > low, high - low, 1)).long() + 5
        line = self.shorten_time(self.strokes[column].mT).mT
        grey = self.shorten_time(second)[..., None].expand_as(line)
        return torch.stack([spectrum, line, grey], dim=1)

    def forward(self, x: Tensor) -> Tensor:
        return min_max(self.planes(x))


class Shorten(nn.Module):
    """Last axis from `n_in` to 224 values: the anti-aliasing of scikit-image's `resize`, then linear interpolation."""

    matrix: Tensor

    def __init__(self, n_in: int) -> None:
        super().__init__()
        factor = n_in / SIZE
        smooth = ndimage.gaussian_filter1d(np.eye(n_in), (factor - 1) / 2, axis=0, mode="mirror")
        position = (np.arange(SIZE) + 0.5) * factor - 0.5
        below = np.floor(position).astype(int)
        share = (position - below)[:, None]
        matrix = (1 - share) * smooth[below] + share * smooth[below + 1]
        self.register_buffer("matrix", torch.from_numpy(matrix).float(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.matrix.mT
