"""What the EEG foundation models written here have in common."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from omni_bench.errors import BenchError


class FoundationModel(nn.Module):
    """A published network (`backbone`), the preparation of its input, the pooling of its output, and a head.

    Parameters
    ----------
    backbone
        The published network; its state dict has the official names and shapes.
    embed_dim
        Size of the embedding.
    n_outputs
        Outputs of the head.
    untrained
        Prefixes of `backbone` parameters that fine-tuning leaves as they are: those without a part in the embedding
        (pre-training heads, mask tokens) and those that the authors keep frozen. They come with
        ``requires_grad=False``, so every parameter that asks for a gradient gets one.
    """

    head_name = "head"

    def __init__(self, backbone: nn.Module, embed_dim: int, n_outputs: int, untrained: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.backbone = backbone
        self.embed_dim = embed_dim
        self.untrained = untrained
        for name, parameter in backbone.named_parameters():
            if name.startswith(untrained):
                parameter.requires_grad = False
        self.head = nn.Linear(embed_dim, n_outputs)

    def own_names(self, state: dict[str, Tensor]) -> dict[str, Tensor]:
        """A state dict under its publisher's names as this module spells them."""
        return {f"backbone.{name}": value for name, value in state.items()}

    def prepare(self, x: Tensor) -> Tensor:
        """``(batch, n_chans, n_times)`` µV to what the network takes in: scaling, channels, patches."""
        raise NotImplementedError

    def pool(self, prepared: Tensor) -> Tensor:
        """What `prepare` gives to the embedding ``(batch, embed_dim)``."""
        raise NotImplementedError

    def embed(self, x: Tensor) -> Tensor:
        """``(batch, n_chans, n_times)`` µV to ``(batch, embed_dim)``."""
        # normalisation in half precision would lose microvolts
        with torch.autocast(x.device.type, enabled=False):
            prepared = self.prepare(x)
        return self.pool(prepared)

    def forward(self, x: Tensor) -> Tensor:
        """``(batch, n_chans, n_times)`` µV to logits ``(batch, n_outputs)``."""
        return self.head(self.embed(x))


def z_scored(x: Tensor, eps: float = 1e-6) -> Tensor:
    """``(x - mean) / sqrt(var + eps)`` over time, per trial and channel; a constant channel becomes zero."""
    x = x - x.mean(-1, keepdim=True)
    return x / (x.var(-1, correction=0, keepdim=True) + eps).sqrt()


def resampled(x: Tensor, n_times: int) -> Tensor:
    """Linear interpolation along time without a filter, as the benchmark does; for ``compat="reference"`` only."""
    return x if x.shape[-1] == n_times else functional.interpolate(x, n_times, mode="linear")


def require_names(model: str, n_chans: int, ch_names: Sequence[str] | None) -> list[str]:
    """`ch_names` as given, or BenchError where a model that goes by names has none or not one per channel."""
    if ch_names is None:
        raise BenchError(f"{model}: ch_names is None, but the model finds its channels by name; pass {n_chans} names")
    if len(ch_names) != n_chans:
        raise BenchError(f"{model}: {len(ch_names)} ch_names for n_chans={n_chans}; pass one name per channel")
    return list(ch_names)


def require_sfreq(model: str, sfreq: float, expected: float) -> None:
    """BenchError unless the data come at the model's rate."""
    if abs(sfreq - expected) > 0.01 * expected:
        raise BenchError(f"{model}: sfreq={sfreq:g} Hz, the model takes {expected:g} Hz; resample to {expected:g} Hz")


def require_whole_patches(model: str, n_times: int, patch: int, most: int | None = None) -> None:
    """BenchError unless `n_times` is a whole number of patches, at most `most` of them."""
    n_patches, rest = divmod(n_times, patch)
    if n_patches == 0 or rest or (most is not None and n_patches > most):
        limit = "" if most is None else f" up to {most * patch}"
        raise BenchError(
            f"{model}: n_times={n_times}, the model takes multiples of {patch} samples{limit}; choose such windows"
        )
