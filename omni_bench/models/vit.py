"""Vision transformers on time-frequency images (Dosovitskiy et al. 2021, ICLR; sizes of Omni-iEEG, arXiv 2602.16072).

Blocks carry timm's names, so that its ImageNet weights load without a table of names.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from omni_bench.models.event_input import HALF_WIDTH, EventImage
from omni_bench.models.pretrained import PretrainedSource, StateDict
from omni_bench.models.requirements import require_n_times, require_one_channel, require_sfreq
from omni_bench.signal import MorletMap, min_max


class Block(nn.Module):
    """Pre-norm transformer block with exact GELU on `(batch, n_tokens, d)`."""

    def __init__(self, d: int, n_heads: int, d_mlp: int, qkv_bias: bool = True, eps: float = 1e-6) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.norm1 = nn.LayerNorm(d, eps)
        self.attn = nn.ModuleDict({"qkv": nn.Linear(d, 3 * d, bias=qkv_bias), "proj": nn.Linear(d, d)})
        self.norm2 = nn.LayerNorm(d, eps)
        self.mlp = nn.ModuleDict({"fc1": nn.Linear(d, d_mlp), "fc2": nn.Linear(d_mlp, d)})

    def forward(self, x: Tensor) -> Tensor:
        x = x + self._attend(self.norm1(x))
        return x + self.mlp["fc2"](functional.gelu(self.mlp["fc1"](self.norm2(x))))

    def _attend(self, x: Tensor) -> Tensor:
        queries, keys, values = self.attn["qkv"](x).unflatten(-1, (3, self.n_heads, -1)).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(queries, keys, values)
        return self.attn["proj"](mixed.transpose(1, 2).flatten(2))


class ViTB16(nn.Module):
    """ViT-B/16 without classifier: images `(batch, 1, 224, 224)` → class token `(batch, 768)`."""

    def __init__(self, n_blocks: int) -> None:
        super().__init__()
        self.cls_token = nn.Parameter(torch.zeros(1, 1, 768))
        self.pos_embed = nn.Parameter(0.02 * torch.randn(1, 14 * 14 + 1, 768))
        self.patch_embed = nn.ModuleDict({"proj": nn.Conv2d(1, 768, 16, 16)})
        self.blocks = nn.Sequential(*(Block(768, 12, 3072) for _ in range(n_blocks)))
        self.norm = nn.LayerNorm(768, 1e-6)

    def forward(self, images: Tensor) -> Tensor:
        patches = self.patch_embed["proj"](images).flatten(2).mT
        tokens = torch.cat([self.cls_token.expand(len(images), -1, -1), patches], dim=1) + self.pos_embed
        return self.norm(self.blocks(tokens)[:, 0])


def _from_timm(weights: StateDict) -> StateDict:
    """All but the classifier; of the RGB patch projection the first plane, as published."""
    ours = {f"vit.{name}": weight for name, weight in weights.items() if not name.startswith("head.")}
    ours["vit.patch_embed.proj.weight"] = ours["vit.patch_embed.proj.weight"][:, :1]
    return ours


class EventViT(nn.Module):
    """ViT-B/16 on the map of an event's centre, then 768 → 32 → 16 → `n_outputs`.

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        1 channel; published: 3 outputs, 2000 samples at 1000 Hz. Other rates from 600 Hz on work.
    compat : str, optional
        `"paper"` or `"reference"`: images reach the transformer in 0..255, where patches drown the position embedding.
        By default they are scaled to -1..1, for which the ImageNet weights were trained.
    half_width : float
        Seconds on either side of the middle that the image shows.
    n_blocks : int
        Transformer blocks.
    """

    head_name = "fc_out"
    pretrained_source = PretrainedSource("timm/vit_base_patch16_224.augreg_in1k", _from_timm, licence="Apache-2.0")

    def __init__(
        self,
        n_chans: int,
        n_outputs: int,
        n_times: int,
        sfreq: float,
        *,
        compat: str | None = None,
        half_width: float = HALF_WIDTH,
        n_blocks: int = 12,
    ) -> None:
        super().__init__()
        require_one_channel("vit_event", n_chans)
        self.front_end = EventImage("vit_event", n_times, sfreq, half_width)
        self.centred = compat is None
        self.vit = ViTB16(n_blocks)
        self.fc = nn.Linear(768, 32)
        self.bn = nn.BatchNorm1d(32)
        self.fc1 = nn.Linear(32, 16)
        self.bn1 = nn.BatchNorm1d(16)
        self.fc_out = nn.Linear(16, n_outputs)

    def images(self, x: Tensor) -> Tensor:
        """Contexts `(batch, 1, n_times)` µV → images `(batch, 1, 224, 224)`, 0..255."""
        return self.front_end(x)

    def embed_images(self, images: Tensor) -> Tensor:
        """Images → embedding `(batch, 16)`."""
        x = self.vit(images / 127.5 - 1 if self.centred else images)
        x = self.bn(functional.leaky_relu(self.fc(x)))
        return self.bn1(functional.leaky_relu(self.fc1(x)))

    def forward_images(self, images: Tensor) -> Tensor:
        """Images → logits `(batch, n_outputs)`."""
        return self.fc_out(self.embed_images(images))

    def embed(self, x: Tensor) -> Tensor:
        """Contexts → embedding `(batch, 16)`."""
        return self.embed_images(self.images(x))

    def forward(self, x: Tensor) -> Tensor:
        return self.forward_images(self.images(x))


class SegmentViT(nn.Module):
    """Small ViT on the map of a whole window, in patches of 32 rows × 500 samples.

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        1 channel; published: 1 output, 60 000 samples at 1000 Hz. A last incomplete patch is dropped.
    n_freqs, fmin, fmax
        Rows of the map and their range in Hz; `sfreq` must be at least `2 · fmax`.
    patch_rows, patch_times
        Size of a patch.
    d_model, n_heads, n_layers, d_mlp
        Encoder.
    """

    head_name = "mlp_head"

    def __init__(
        self,
        n_chans: int,
        n_outputs: int,
        n_times: int,
        sfreq: float,
        *,
        compat: str | None = None,
        n_freqs: int = 224,
        fmin: float = 10.0,
        fmax: float = 300.0,
        patch_rows: int = 32,
        patch_times: int = 500,
        d_model: int = 512,
        n_heads: int = 8,
        n_layers: int = 6,
        d_mlp: int = 1024,
    ) -> None:
        super().__init__()
        require_one_channel("vit_segment", n_chans)
        require_n_times("vit_segment", n_times, patch_times)
        require_sfreq("vit_segment", sfreq, 2 * fmax)
        self.map = MorletMap(n_times, sfreq, n_freqs, fmin, fmax)
        self.patch = (patch_rows, patch_times)
        n_patches = (n_freqs // patch_rows) * (n_times // patch_times)
        self.to_patch_embedding = nn.Sequential(nn.Linear(patch_rows * patch_times, d_model), nn.LayerNorm(d_model))
        self.cls_token = nn.Parameter(torch.randn(1, 1, d_model))
        self.pos_embedding = nn.Parameter(torch.randn(1, n_patches + 1, d_model))
        self.blocks = nn.Sequential(
            *(Block(d_model, n_heads, d_mlp, qkv_bias=False, eps=1e-5) for _ in range(n_layers))
        )
        self.norm = nn.LayerNorm(d_model)
        self.mlp_head = nn.Linear(d_model, n_outputs)

    def images(self, x: Tensor) -> Tensor:
        """Windows `(batch, 1, n_times)` µV → maps `(batch, 1, n_freqs, n_times)`, 0..255."""
        return min_max(self.map(x))

    def embed_images(self, images: Tensor) -> Tensor:
        """Maps → embedding `(batch, d_model)`."""
        rows, times = self.patch
        patches = images[:, 0].unfold(1, rows, rows).unfold(2, times, times)
        patches = self.to_patch_embedding(patches.flatten(-2).flatten(1, 2))
        tokens = torch.cat([self.cls_token.expand(len(images), -1, -1), patches], dim=1) + self.pos_embedding
        return self.norm(self.blocks(tokens)[:, 0])

    def forward_images(self, images: Tensor) -> Tensor:
        """Maps → logits `(batch, n_outputs)`."""
        return self.mlp_head(self.embed_images(images))

    def embed(self, x: Tensor) -> Tensor:
        """Windows → embedding `(batch, d_model)`."""
        return self.embed_images(self.images(x))

    def forward(self, x: Tensor) -> Tensor:
        return self.mlp_head(self.embed(x))
