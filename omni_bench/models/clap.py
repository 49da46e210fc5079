"""CLAP audio tower on raw windows (Wu et al. 2023, ICASSP; used so by Omni-iEEG, arXiv 2602.16072, section 5.1).

The published code changes the rate of the feature extractor to 1000 Hz after its mel filters were laid out for audio
at 48 kHz, so that the 64 filters cover about 1 to 292 Hz in uneven steps. Here they are laid out for the signal's own
rate, up to its Nyquist frequency; `compat="reference"` has the published ones.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn
from transformers import ClapAudioConfig, ClapAudioModelWithProjection

from omni_bench.models.mel import LogMel
from omni_bench.models.pretrained import PretrainedSource, StateDict
from omni_bench.models.requirements import require_n_times, require_one_channel

MAX_FRAMES = 1024
"""Time frames that the tower's 256 × 256 image holds (4 strips of 256)."""


def _audio_tower(weights: StateDict) -> StateDict:
    kept = ("audio_model.", "audio_projection.")
    return {f"model.{name}": weight for name, weight in weights.items() if name.startswith(kept)}


class CLAP(nn.Module):
    """Log-mel spectrogram, HTSAT tower with projection, then 512 → 128 → `n_outputs`; all of it is trained.

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        1 channel; published: 1 output, 60 000 samples at 1000 Hz; at least 1.024 s. Frames are 0.1 s apart, or farther
        where the window would give more than 1024.
    compat : str, optional
        `"reference"`: mel filters of 48 kHz audio.
    config : dict, optional
        Changes to transformers' `ClapAudioConfig`; the default is the published tower.

    Notes
    -----
    The fused checkpoint has layers for clips longer than its window. No window is longer than itself, so they rest.
    """

    head_name = "classifier.2"
    pretrained_source = PretrainedSource("laion/clap-htsat-fused", _audio_tower, licence="Apache-2.0")

    def __init__(
        self,
        n_chans: int,
        n_outputs: int,
        n_times: int,
        sfreq: float,
        *,
        compat: str | None = None,
        config: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        require_one_channel("clap", n_chans)
        n_fft = 2 * round(0.512 * sfreq)
        require_n_times("clap", n_times, n_fft)
        hop = max(round(0.1 * sfreq), math.ceil(n_times / (MAX_FRAMES - 1)))
        tower = ClapAudioConfig(enable_fusion=True, **(config or {}))
        if compat == "reference":
            self.mel = LogMel(48_000, n_fft, hop, tower.num_mel_bins, fmax=14_000)
        else:
            self.mel = LogMel(sfreq, n_fft, hop, tower.num_mel_bins)
        self.model = ClapAudioModelWithProjection(tower)
        for part in ("fusion_model", "mel_conv2d"):
            getattr(self.model.audio_model.audio_encoder.patch_embed, part).requires_grad_(False)
        self.classifier = nn.Sequential(nn.Linear(tower.projection_dim, 128), nn.ReLU(), nn.Linear(128, n_outputs))

    def features(self, x: Tensor) -> Tensor:
        """Windows `(batch, 1, n_times)` µV → log-mel `(batch, 1, n_frames, n_mels)` in dB."""
        return self.mel(x[:, 0])[:, None]

    def audio_embedding(self, x: Tensor) -> Tensor:
        """Windows → CLAP embedding `(batch, 512)`, not normalised to length 1."""
        is_longer = torch.zeros(len(x), 1, dtype=torch.bool, device=x.device)
        return self.model(input_features=self.features(x), is_longer=is_longer).audio_embeds

    def embed(self, x: Tensor) -> Tensor:
        """Windows → embedding `(batch, 128)`."""
        return self.classifier[:2](self.audio_embedding(x))

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier[2](self.embed(x))
