"""FEMBA: a bidirectional Mamba encoder on 22 bipolar channels (Tegon et al. 2025)."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from omni_bench.errors import BenchError
from omni_bench.models.electrodes import (
    BENCHMARK_UNKNOWN,
    benchmark_positions,
    interpolation_matrix,
    standard_positions,
)
from omni_bench.models.foundation import FoundationModel, require_names, require_sfreq
from omni_bench.models.mamba import Mamba
from omni_bench.signal.electrode_names import electrode_name

_ORDER = (
    "FP1-F7 F7-T3 T3-T5 T5-O1 FP2-F8 F8-T4 T4-T6 T6-O2 T3-C3 C3-CZ CZ-C4 "
    "C4-T4 FP1-F3 F3-C3 C3-P3 P3-O1 FP2-F4 F4-C4 C4-P4 P4-O2 A1-T3 T4-A2"
)
PAIRS = _ORDER.split()
PATCH = 16  # samples
SFREQ = 256.0
_PRETRAINED_TIMES = 1280


class _PatchEmbed(nn.Module):
    """Pairs of neighbouring bipolar channels × 16 samples to tokens over time."""

    def __init__(self, embed_dim: int) -> None:
        super().__init__()
        self.proj = nn.Conv2d(1, embed_dim, (2, PATCH), stride=(2, PATCH))

    def forward(self, x: Tensor) -> Tensor:
        return self.proj(x[:, None]).flatten(1, 2).transpose(1, 2)


class _BiMamba(nn.Module):
    """Sum of a scan forwards and one backwards in time, with weights of their own."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.mamba_fwd = Mamba(d_model, expand=4)
        self.mamba_rev = Mamba(d_model, expand=4)

    def forward(self, x: Tensor) -> Tensor:
        return self.mamba_fwd(x) + self.mamba_rev(x.flip(1)).flip(1)


class _Classifier(nn.Module):
    """The published task head; the embedding does not use it."""

    def __init__(self, d_model: int, num_classes: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(d_model, 256)
        self.mamba_1 = Mamba(256)
        self.fc3 = nn.Linear(256, num_classes)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.fc3(self.mamba_1(F.gelu(self.fc1(tokens))).mean(1))


class FembaNetwork(nn.Module):
    """The published network with its "bc" head; ``(batch, 22, n_times)`` to logits, or to tokens by `encode`."""

    def __init__(self, num_blocks: int = 12, embed_dim: int = 35, num_classes: int = 2) -> None:
        super().__init__()
        self.d_model = len(PAIRS) // 2 * embed_dim
        self.patch_embed = _PatchEmbed(embed_dim)
        self.pos_embed = nn.Parameter(torch.empty(1, _PRETRAINED_TIMES // PATCH, self.d_model).normal_(std=0.02))
        self.mamba_blocks = nn.ModuleList(_BiMamba(self.d_model) for _ in range(num_blocks))
        self.norm_layers = nn.ModuleList(nn.LayerNorm(self.d_model) for _ in range(num_blocks))
        self.classifier = _Classifier(self.d_model, num_classes)

    def encode(self, x: Tensor) -> Tensor:
        """Tokens ``(batch, n_times // 16, d_model)``; lengths other than 1280 stretch the table of positions."""
        tokens = self.patch_embed(x)
        tokens = tokens + F.interpolate(self.pos_embed.mT, tokens.shape[1], mode="linear").mT
        for mamba, norm in zip(self.mamba_blocks, self.norm_layers, strict=True):
            tokens = norm(tokens + mamba(tokens))
        return tokens

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.encode(x))


def bipolar_matrix(ch_names: Sequence[str], *, reference: bool = False) -> np.ndarray:
    """``(22, n_chans)`` matrix from channels to FEMBA's derivations; electrodes that are absent are interpolated.

    Raises
    ------
    BenchError
        With fewer than two channels whose position is known.
    """
    positions = benchmark_positions() if reference else standard_positions()
    names = [electrode_name(name) for name in ch_names]
    if not reference and len(known := positions.keys() & set(names)) < 2:
        raise BenchError(
            f"FEMBA: {len(known)} of {len(names)} channels have a 10-05 name; it needs at least 2 to derive pairs"
        )
    ends = [pair.split("-") for pair in PAIRS]
    needed = sorted({name for pair in ends for name in pair})
    electrodes = interpolation_matrix(needed, names, positions, BENCHMARK_UNKNOWN if reference else None)
    anode, cathode = ([needed.index(name) for name in side] for side in zip(*ends, strict=True))
    return electrodes[anode] - electrodes[cathode]


class Femba(FoundationModel):
    """FEMBA on any montage of named electrodes, or on its own 22 bipolar channels.

    Bipolar derivations, then ``(x - q25) / (q75 - q25 + 1e-8)`` per trial and derivation, patches of 16 samples,
    blocks, mean over tokens. Samples behind the last whole patch are not used.

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        256 Hz; at least 16 samples (pre-trained on 1280).
    ch_names
        Electrode names; the 22 names of `PAIRS` in that order (or None with 22 channels) mean bipolar input.
    compat
        "reference" follows the benchmark: ``(x - median) / (q75 - q25 + 1e-6)`` per channel *before* the derivations,
        its shifted table of coordinates, any rate taken as it is, 4 blocks.
    num_blocks, embed_dim
        Published sizes (blocks, width): tiny (2, 35), base (12, 35), large (4, 79), huge (20, 79).
    """

    backbone: FembaNetwork
    matrix: Tensor

    def __init__(
        self,
        n_chans: int,
        n_outputs: int,
        n_times: int,
        sfreq: float,
        ch_names: Sequence[str] | None = None,
        *,
        compat: str | None = None,
        num_blocks: int | None = None,
        embed_dim: int = 35,
    ) -> None:
        self.reference = compat == "reference"
        if not self.reference:
            require_sfreq("FEMBA", sfreq, SFREQ)
        if n_times < PATCH:
            raise BenchError(f"FEMBA: n_times={n_times}, the model takes at least {PATCH} samples; use longer ones")
        if ch_names is None and n_chans == len(PAIRS):
            ch_names = PAIRS
        names = require_names("FEMBA", n_chans, ch_names)
        bipolar = [name.strip().upper() for name in names] == PAIRS
        matrix = np.eye(len(PAIRS)) if bipolar else bipolar_matrix(names, reference=self.reference)
        network = FembaNetwork(num_blocks or (4 if self.reference else 12), embed_dim)
        super().__init__(network, network.d_model, n_outputs, untrained=("classifier.",))
        self.register_buffer("matrix", torch.tensor(matrix, dtype=torch.float32), persistent=False)

    def prepare(self, x: Tensor) -> Tensor:
        """``(batch, n_chans, n_times)`` µV to the network's ``(batch, 22, n_times)``."""
        if self.reference:
            return self.matrix @ _scaled(x, centre=0.5, eps=1e-6)
        return _scaled(self.matrix @ x, centre=0.25, eps=1e-8)

    def pool(self, prepared: Tensor) -> Tensor:
        return self.backbone.encode(prepared).mean(1)


def _scaled(x: Tensor, centre: float, eps: float) -> Tensor:
    """``(x - centre quantile) / (q75 - q25 + eps)`` along time."""
    # torch.quantile refuses more than 2**24 values, a batch of 64 trials of 128 channels and 10 s
    ranked = x.sort(-1).values
    low, high, middle = (_quantile(ranked, q) for q in (0.25, 0.75, centre))
    return (x - middle) / (high - low + eps)


def _quantile(ranked: Tensor, q: float) -> Tensor:
    rank = q * (ranked.shape[-1] - 1)
    below = int(rank)
    above = min(below + 1, ranked.shape[-1] - 1)
    return torch.lerp(ranked[..., below, None], ranked[..., above, None], rank - below)
