"""EEGMamba: Mamba-2 over the tokens of all channels, read forwards and backwards in turn (Wang et al. 2025)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from omni_bench.errors import BenchError
from omni_bench.models.foundation import FoundationModel, require_names, require_sfreq, require_whole_patches
from omni_bench.models.mamba import Mamba2
from omni_bench.signal.electrode_names import electrode_name

_ORDER = "FP1 FP2 F7 F3 FZ F4 F8 T3 C3 CZ C4 T4 T5 P3 PZ P4 T6 O1 O2"
CHANNELS = _ORDER.split()
PATCH = 200  # samples
SFREQ = 200.0
_OLD_NAMES = {"T7": "T3", "T8": "T4", "P7": "T5", "P8": "T6"}
_BENCHMARK_TIMES = 6000


class _PatchEmbedding(nn.Module):
    """Patches ``(batch, n_chans, n_patches, 200)`` to embeddings of the same shape."""

    def __init__(self, width: int) -> None:
        super().__init__()
        # vector that stands for a masked patch in pre-training: zeros, never trained
        self.mask_encoding = nn.Parameter(torch.zeros(PATCH), requires_grad=False)
        self.positional_encoding = nn.Sequential(nn.Conv2d(width, width, 7, padding=3, groups=width, bias=False))
        self.proj_in = nn.Sequential(
            nn.Conv2d(1, 25, (1, 49), stride=(1, 25), padding=(0, 24), bias=False), nn.GroupNorm(5, 25), nn.GELU()
        )
        self.spectral_proj = nn.Sequential(nn.Linear(PATCH // 2 + 1, width, bias=False), nn.Dropout(0.1))

    def forward(self, x: Tensor) -> Tensor:
        filtered = self.proj_in(x.flatten(1, 2)[:, None])  # (batch, 25, n_chans * n_patches, 8)
        waveform = filtered.transpose(1, 2).flatten(2).unflatten(1, x.shape[1:3])
        spectrum = torch.fft.rfft(x, dim=-1, norm="forward").abs()
        embedded = waveform + self.spectral_proj(spectrum)
        return embedded + self.positional_encoding(embedded.movedim(-1, 1)).movedim(1, -1)


class _Block(nn.Module):
    """What one block adds to the residual stream."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(width, eps=1e-5)
        self.mixer = Mamba2(width, head_dim=50)

    def forward(self, residual: Tensor) -> Tensor:
        return self.mixer(self.norm(residual))


class _Encoder(nn.Module):
    """Twelve pre-norm Mamba-2 blocks; the sequence is turned round after each, so every other one scans backwards."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(_Block(width) for _ in range(12))
        self.norm_f = nn.RMSNorm(width, eps=1e-5)

    def forward(self, tokens: Tensor) -> Tensor:
        residual = tokens
        for layer in self.layers:
            residual = (residual + layer(residual)).flip(1)
        return self.norm_f(residual)


class EegMambaNetwork(nn.Module):
    """The published network; ``(batch, n_chans, n_patches, 200)`` to tokens of the same shape."""

    def __init__(self) -> None:
        super().__init__()
        self.patch_embedding = _PatchEmbedding(PATCH)
        self.encoder = _Encoder(PATCH)
        self.proj_out = nn.Sequential(nn.Linear(PATCH, PATCH))

    def forward(self, x: Tensor) -> Tensor:
        embedded = self.patch_embedding(x)
        return self.proj_out(self.encoder(embedded.flatten(1, 2))).unflatten(1, x.shape[1:3])


def _places(ch_names: Sequence[str]) -> list[int | None]:
    """For each of `CHANNELS` the index of its first occurrence in `ch_names`, None where it is absent."""
    names = [electrode_name(name) for name in ch_names]
    names = [_OLD_NAMES.get(name, name) for name in names]
    return [names.index(name) if name in names else None for name in CHANNELS]


class EegMamba(FoundationModel):
    """EEGMamba on the 19 channels of its pre-training, in their order.

    µV / 100, patches of one second, mean over the patches of the channels at hand. An absent channel is zero, which is
    what a masked patch was in pre-training, and has no part in the mean; other channels are dropped.

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        200 Hz; whole seconds.
    ch_names
        Electrode names, at least one of `CHANNELS` (old or new spelling); None with 19 channels means that order.
    compat
        "reference" follows the benchmark: no scaling, any rate taken as it is, centre-cropped or zero-padded to 30 s,
        absent channels and padding counted in the mean.
    """

    backbone: EegMambaNetwork

    def __init__(
        self,
        n_chans: int,
        n_outputs: int,
        n_times: int,
        sfreq: float,
        ch_names: Sequence[str] | None = None,
        *,
        compat: str | None = None,
    ) -> None:
        self.reference = compat == "reference"
        if not self.reference:
            require_sfreq("EEGMamba", sfreq, SFREQ)
            require_whole_patches("EEGMamba", n_times, PATCH)
        if ch_names is None and n_chans == len(CHANNELS):
            ch_names = CHANNELS
        names = require_names("EEGMamba", n_chans, ch_names)
        places = _places(names)
        self.present = [row for row, place in enumerate(places) if place is not None]
        self.sources = [place for place in places if place is not None]
        if not self.present:
            raise BenchError(f"EEGMamba: none of {', '.join(names[:4])}... is one of its channels {' '.join(CHANNELS)}")
        super().__init__(EegMambaNetwork(), PATCH, n_outputs, untrained=("patch_embedding.mask_encoding",))

    def prepare(self, x: Tensor) -> Tensor:
        """``(batch, n_chans, n_times)`` µV to the network's ``(batch, 19, n_patches, 200)``."""
        if self.reference:
            start = max(0, (x.shape[-1] - _BENCHMARK_TIMES) // 2)
            x = x[..., start : start + _BENCHMARK_TIMES]
            x = F.pad(x, (0, _BENCHMARK_TIMES - x.shape[-1]))
        else:
            x = x / 100
        mapped = x.new_zeros(len(x), len(CHANNELS), x.shape[-1])
        mapped[:, self.present] = x[:, self.sources]
        return mapped.unflatten(-1, (-1, PATCH))

    def pool(self, prepared: Tensor) -> Tensor:
        tokens = self.backbone(prepared)
        return (tokens if self.reference else tokens[:, self.present]).mean((1, 2))
