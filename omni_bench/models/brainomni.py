"""BrainOmni: criss-cross attention over latent sources and time, on the codes of BrainTokenizer (Xiao et al. 2025)."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from omni_bench.errors import BenchError
from omni_bench.models.braintokenizer import SOURCES, WIDTH, BrainTokenizer, FeedForward
from omni_bench.models.electrodes import benchmark_positions, standard_positions
from omni_bench.models.foundation import FoundationModel, require_names, require_sfreq
from omni_bench.models.neurolm import VOCABULARY
from omni_bench.signal.electrode_names import electrode_name

SFREQ = 256.0
_OVERLAP = 0.25
_HEAD = 32
_DEPTH = 12
_MAGNETOMETER = 1
# names of the benchmark's table that MNE's template lacks: it holds them as magnetometers at the origin
_AT_ORIGIN = "O9 CB1 CB2 O10 CFC1 CFC2 CFC3 CFC4 CFC5 CFC6 CFC7 CFC8 CCP7 CCP8 T1 T2"
_BENCHMARK_SCALE = 6.04158948
_BENCHMARK_SHIFT = np.array([-0.00357555, 0.10802164, -0.10080623])


class _Rotary(nn.Module):
    """Turns pairs of neighbouring features by an angle that grows with time, with one frequency per pair."""

    freqs: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.register_buffer("freqs", self._frequencies())
        # official files hold it; `forward` computes the angles for whatever length comes
        self.register_buffer("rotate", self._table())

    def _frequencies(self) -> Tensor:
        return 10000 ** (-torch.arange(0, self.width, 2) / self.width)

    def _table(self) -> Tensor:
        angles = torch.outer(torch.arange(240.0), self._frequencies())
        return torch.polar(torch.ones_like(angles), angles)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "_Rotary":
        # a change of the module's dtype would cut the imaginary part off
        del self._buffers["rotate"]
        super()._apply(fn, recurse)
        self._buffers["rotate"] = self._table().to(self.freqs.device)
        return self

    def forward(self, x: Tensor) -> Tensor:
        angle = torch.outer(torch.arange(x.shape[-2], device=x.device, dtype=self.freqs.dtype), self.freqs)
        cos, sin = angle.cos(), angle.sin()
        even, odd = x.unflatten(-1, (-1, 2)).unbind(-1)
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


class _Attention(nn.Module):
    """Heads of width 32 over the last axis but one."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.dropout = dropout

    def turned(self, x: Tensor) -> Tensor:
        return x

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (t.unflatten(-1, (-1, _HEAD)).transpose(-3, -2) for t in (self.turned(q), self.turned(k), v))
        attended = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout if self.training else 0.0)
        return self.proj(attended.transpose(-3, -2).flatten(-2))


class _TimeAttention(_Attention):
    def __init__(self, width: int, dropout: float) -> None:
        super().__init__(width, dropout)
        self.rope_embedding_layer = _Rotary(width)

    def turned(self, x: Tensor) -> Tensor:
        return self.rope_embedding_layer(x)


class _Block(nn.Module):
    """Half of the features attends over time, half over sources; the halves change places."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.pre_attn_norm = nn.RMSNorm(width, eps=1e-6)
        self.time_attn = _TimeAttention(width // 2, dropout)
        self.spatial_attn = _Attention(width // 2, dropout)
        self.pre_ff_norm = nn.RMSNorm(width, eps=1e-6)
        self.ff = FeedForward(width)

    def forward(self, z: Tensor) -> Tensor:
        over_time, over_sources = self.pre_attn_norm(z).chunk(2, dim=-1)
        spatial = self.spatial_attn(over_sources.transpose(1, 2)).transpose(1, 2)
        z = z + torch.cat([spatial, self.time_attn(over_time)], dim=-1)
        return z + self.ff(self.pre_ff_norm(z))


class BrainOmniNetwork(nn.Module):
    """The published network; `forward` gives tokens ``(batch, 16, 8 * n_windows, width)`` of unit length.

    As in the official `encode`, the last of the twelve blocks is not run. `dropout` acts on attention weights in
    training only (the official code leaves it on, so its features are random).
    """

    def __init__(self, width: int = 512, dropout: float = 0.1) -> None:
        super().__init__()
        self.tokenizer = BrainTokenizer()
        self.mask_token = nn.Parameter(torch.empty(WIDTH).normal_(std=0.02))
        self.projection = nn.Identity() if width == WIDTH else nn.Linear(WIDTH, width)
        self.blocks = nn.ModuleList(_Block(width, dropout) for _ in range(_DEPTH))
        self.predict_head = nn.Linear(width, 4 * 512)

    def forward(self, x: Tensor, pos: Tensor, sensor_type: Tensor) -> Tensor:
        quantized, _ = self.tokenizer.tokenize(x, pos, sensor_type, _OVERLAP)
        z = self.projection(quantized.flatten(2, 3) + self.tokenizer.encoder.neuros[:, None])
        for block in self.blocks[:-1]:
            z = block(z)
        return F.normalize(z, dim=-1, eps=1e-6)


def _pair_or_point(name: str, table: dict[str, NDArray[np.float64]]) -> NDArray[np.float64] | None:
    """Position of an electrode, or the middle between the two of a bipolar channel; None if unknown."""
    ends = [table.get(end) for end in name.split("-")]
    found = [end for end in ends if end is not None]
    return np.mean(found, axis=0) if len(found) == len(ends) else None


def montage_positions(ch_names: Sequence[str]) -> tuple[list[int], NDArray[np.float64]]:
    """Channels with a known place, and their positions ``(n, 3)`` centred and scaled over this montage.

    ``p' = (p - mean) / sqrt(3 * mean |p - mean|^2)``.
    """
    found = [_pair_or_point(electrode_name(name), standard_positions()) for name in ch_names]
    kept = [i for i, point in enumerate(found) if point is not None]
    if not kept:
        raise BenchError(f"BrainOmni: none of {', '.join(ch_names[:4])}... is a 10-05 electrode; name at least one so")
    points = np.stack([point for point in found if point is not None])
    points -= points.mean(0)
    scale = np.sqrt(3 * np.square(points).sum(1).mean())
    return kept, points / scale if scale > 0 else points


def benchmark_sensors(ch_names: Sequence[str]) -> tuple[NDArray[np.float64], list[int]]:
    """Positions ``(n, 3)`` and sensor types that the benchmark gives to channels, faults included.

    Names of its first table are scaled by fixed constants; others fall back on the shifted table in raw metres, or on
    zeros.
    """
    points, types = np.zeros((len(ch_names), 3)), [0] * len(ch_names)
    for i, name in enumerate(ch_names):
        upper = name.upper()
        if upper in _AT_ORIGIN.split():
            types[i] = _MAGNETOMETER
        elif upper in VOCABULARY:
            middle = np.mean([standard_positions()[end] for end in upper.split("-")], axis=0)
            points[i] = _BENCHMARK_SCALE * middle + _BENCHMARK_SHIFT
        else:
            # without its blank an EEG prefix stays, so such names are not found there either
            points[i] = benchmark_positions().get(electrode_name(upper.replace(" ", "")), np.zeros(3))
    return points, types


class BrainOmni(FoundationModel):
    """BrainOmni on any montage of named electrodes or bipolar pairs of electrodes.

    Average reference (a single channel keeps its own), one scale for all channels of a trial, positions normalised over
    the montage, windows of 2 s that overlap by a quarter (zeros behind the end), mean of the tokens over time for each
    of the 16 sources. Channels without a known place are dropped. The tokenizer is frozen, as the authors keep it.

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        256 Hz; any length.
    ch_names
        10-05 names, at least one of them known.
    compat
        "reference" follows the benchmark: z-score per trial and channel, any rate (linear interpolation to 256 Hz, no
        filter), its fixed position table, where 16 names are magnetometers at the origin and others fall back on raw
        metres.
    lm_dim
        Published widths: tiny 256, base 512.
    """

    backbone: BrainOmniNetwork
    pos: Tensor
    sensor_type: Tensor

    def __init__(
        self,
        n_chans: int,
        n_outputs: int,
        n_times: int,
        sfreq: float,
        ch_names: Sequence[str] | None = None,
        *,
        compat: str | None = None,
        lm_dim: int = 512,
    ) -> None:
        self.reference = compat == "reference"
        names = require_names("BrainOmni", n_chans, ch_names)
        if self.reference:
            self.n_resampled = round(n_times * SFREQ / sfreq)
            self.kept = list(range(n_chans))
            points, types = benchmark_sensors(names)
        else:
            require_sfreq("BrainOmni", sfreq, SFREQ)
            self.kept, points = montage_positions(names)
            types = [0] * len(self.kept)
        untrained = ("tokenizer.", "mask_token", f"blocks.{_DEPTH - 1}.", "predict_head.")
        super().__init__(BrainOmniNetwork(lm_dim), SOURCES * lm_dim, n_outputs, untrained)
        pos = torch.tensor(np.hstack([points, np.zeros_like(points)]), dtype=torch.float32)
        self.register_buffer("pos", pos, persistent=False)
        self.register_buffer("sensor_type", torch.tensor(types), persistent=False)

    def prepare(self, x: Tensor) -> Tensor:
        """``(batch, n_chans, n_times)`` µV to the network's ``(batch, n_kept, n_times)``."""
        if self.reference:
            x = x - x.mean(-1, keepdim=True)
            x = x / (x.var(-1, correction=0, keepdim=True) + 1e-6).sqrt()
            return x if self.n_resampled == x.shape[-1] else F.interpolate(x, self.n_resampled, mode="linear")
        x = x[:, self.kept]
        if x.shape[1] > 1:
            x = x - x.mean(1, keepdim=True)
        return x / (x.std((1, 2), correction=0, keepdim=True) + 1e-6)

    def pool(self, prepared: Tensor) -> Tensor:
        pos, sensor_type = (t.expand(len(prepared), *t.shape) for t in (self.pos, self.sensor_type))
        return self.backbone(prepared, pos, sensor_type).mean(2).flatten(1)
