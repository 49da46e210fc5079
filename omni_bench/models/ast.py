"""Audio Spectrogram Transformer on raw windows (Gong et al. 2021, Interspeech; named in Omni-iEEG's released code).

The published code frames 1000 Hz signals as if they were audio (25 and 10 samples) and keeps 1024 frames: 10.2 s of a
minute, in 128 filters of which most lie between the bins of a 32-point FFT. Here about half a second is analysed at a
time, and the frames of the whole window are stretched to 1024. `compat="reference"` has the published framing.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional
from torchaudio.compliance import kaldi

from omni_bench.models.mel import LogMel
from omni_bench.models.pretrained import PretrainedSource, StateDict
from omni_bench.models.requirements import require_n_times, require_one_channel
from omni_bench.models.vit import Block

N_MELS, N_FRAMES, PATCH, WIDTH = 128, 1024, 16, 768

MEAN_DB, STD_DB = 27.0, 12.0
"""Scale that brings the features to mean 0 and standard deviation 0.5, as the AudioSet weights expect.

Measured on two public recordings of sleep: 50 channels of the Zurich HFO data (mean 29.9, deviation 11.1) and 6 SEEG
contacts (24.6, 13.1).
"""


def _from_hub(weights: StateDict) -> StateDict:
    prefix = "audio_spectrogram_transformer."
    tower = {name.removeprefix(prefix): weight for name, weight in weights.items() if name.startswith(prefix)}
    ours = {
        "cls_token": tower["embeddings.cls_token"],
        "distillation_token": tower["embeddings.distillation_token"],
        "pos_embed": tower["embeddings.position_embeddings"],
    }
    for kind in ("weight", "bias"):
        ours[f"patch_embed.{kind}"] = tower[f"embeddings.patch_embeddings.projection.{kind}"]
        ours[f"norm.{kind}"] = tower[f"layernorm.{kind}"]
        ours[f"layernorm.{kind}"] = weights[f"classifier.layernorm.{kind}"]
        for block in range(sum(name.endswith("layernorm_before.bias") for name in tower)):
            theirs, here = f"encoder.layer.{block}", f"blocks.{block}"
            qkv = [tower[f"{theirs}.attention.attention.{part}.{kind}"] for part in ("query", "key", "value")]
            ours[f"{here}.attn.qkv.{kind}"] = torch.cat(qkv)
            ours[f"{here}.attn.proj.{kind}"] = tower[f"{theirs}.attention.output.dense.{kind}"]
            ours[f"{here}.norm1.{kind}"] = tower[f"{theirs}.layernorm_before.{kind}"]
            ours[f"{here}.norm2.{kind}"] = tower[f"{theirs}.layernorm_after.{kind}"]
            ours[f"{here}.mlp.fc1.{kind}"] = tower[f"{theirs}.intermediate.dense.{kind}"]
            ours[f"{here}.mlp.fc2.{kind}"] = tower[f"{theirs}.output.dense.{kind}"]
    return ours


class AST(nn.Module):
    """Log-mel spectrogram, transformer on 16 × 16 patches, linear layer.

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        1 channel; published: 1 output, 60 000 samples at 1000 Hz; at least 0.512 s.
    compat : str, optional
        `"reference"`: Kaldi frames of 25 ms every 10 ms, cut after or padded to 1024, and no scaling.
    n_blocks : int
        Transformer blocks.
    """

    head_name = "dense"
    pretrained_source = PretrainedSource("MIT/ast-finetuned-audioset-16-16-0.442", _from_hub, licence="BSD-3-Clause")

    def __init__(
        self,
        n_chans: int,
        n_outputs: int,
        n_times: int,
        sfreq: float,
        *,
        compat: str | None = None,
        n_blocks: int = 12,
    ) -> None:
        super().__init__()
        require_one_channel("ast", n_chans)
        n_fft = 2 * round(0.256 * sfreq)
        require_n_times("ast", n_times, n_fft)
        self.sfreq = sfreq
        self.as_published = compat == "reference"
        self.mel = LogMel(sfreq, n_fft, math.ceil(n_times / (N_FRAMES - 1)), N_MELS)
        self.patch_embed = nn.Conv2d(1, WIDTH, PATCH, PATCH)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.distillation_token = nn.Parameter(torch.zeros(1, 1, WIDTH))
        n_patches = (N_MELS // PATCH) * (N_FRAMES // PATCH)
        self.pos_embed = nn.Parameter(0.02 * torch.randn(1, n_patches + 2, WIDTH))
        self.blocks = nn.Sequential(*(Block(WIDTH, 12, 3072, eps=1e-12) for _ in range(n_blocks)))
        self.norm = nn.LayerNorm(WIDTH, 1e-12)
        self.layernorm = nn.LayerNorm(WIDTH, 1e-12)
        self.dense = nn.Linear(WIDTH, n_outputs)

    def images(self, x: Tensor) -> Tensor:
        """Windows `(batch, 1, n_times)` µV → features `(batch, 1, 128, 1024)`, rows from low to high frequency."""
        if self.as_published:
            return torch.stack([self._kaldi(window) for window in x]).mT[:, None]
        frames = functional.interpolate(self.mel(x[:, 0]).mT, N_FRAMES, mode="linear")
        return ((frames - MEAN_DB) / (2 * STD_DB))[:, None]

    def embed_images(self, images: Tensor) -> Tensor:
        """Features → embedding `(batch, 768)`: mean of class and distillation token."""
        patches = self.patch_embed(images).flatten(2).mT
        extra = torch.cat([self.cls_token, self.distillation_token], dim=1).expand(len(images), -1, -1)
        tokens = self.norm(self.blocks(torch.cat([extra, patches], dim=1) + self.pos_embed))
        return self.layernorm((tokens[:, 0] + tokens[:, 1]) / 2)

    def embed(self, x: Tensor) -> Tensor:
        """Windows → embedding `(batch, 768)`."""
        return self.embed_images(self.images(x))

    def forward(self, x: Tensor) -> Tensor:
        return self.dense(self.embed(x))

    def _kaldi(self, window: Tensor) -> Tensor:
        frames = kaldi.fbank(window, sample_frequency=self.sfreq, window_type="hanning", num_mel_bins=N_MELS)
        return functional.pad(frames, (0, 0, 0, N_FRAMES - len(frames)))
