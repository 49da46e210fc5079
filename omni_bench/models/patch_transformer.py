"""Transformer over patches of an event's waveform, "PatchTST" in the paper's tables (Omni-iEEG, arXiv 2602.16072).

Unlike PatchTST it has a class token, patches without overlap and no instance normalisation. Default, paper and
reference are one network.
"""

from typing import Any

import torch
from torch import Tensor, nn

from omni_bench.models.event_input import centre
from omni_bench.models.mlp_head import MLPHead
from omni_bench.models.positions import sinusoidal_positions
from omni_bench.models.requirements import require_n_times, require_one_channel


class PatchTransformer(MLPHead):
    """Pre-norm encoder over the central 570 ms in patches of 30 samples; the class token is classified.

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        1 channel; published: 3 outputs, 2000 samples at 1000 Hz. A last incomplete patch is dropped.
    patch_len : int
        Samples of a patch.
    d_model, n_heads, n_layers, dim_feedforward, dropout
        Encoder.
    """

    positions: Tensor

    def __init__(
        self,
        n_chans: int,
        n_outputs: int,
        n_times: int,
        sfreq: float,
        *,
        compat: str | None = None,
        patch_len: int = 30,
        d_model: int = 384,
        n_heads: int = 8,
        n_layers: int = 8,
        dim_feedforward: int = 1024,
        dropout: float = 0.2,
    ) -> None:
        require_one_channel("patchtst", n_chans)
        super().__init__(d_model, n_outputs, dropout)
        self.centre = centre("patchtst", n_times, sfreq)
        self.patch_len = patch_len
        length = self.centre.stop - self.centre.start
        require_n_times("patchtst", length, patch_len)

        self.cls_token = nn.Parameter(torch.empty(1, 1, d_model))
        nn.init.trunc_normal_(self.cls_token, std=0.02)
        self.patch_proj = nn.Linear(patch_len, d_model)
        layer = nn.TransformerEncoderLayer(
            d_model, n_heads, dim_feedforward, dropout, batch_first=True, norm_first=True
        )
        self.transformer = nn.TransformerEncoder(layer, n_layers, enable_nested_tensor=False)
        positions = sinusoidal_positions(length // patch_len + 1, d_model)
        self.register_buffer("positions", positions, persistent=False)
        self.register_load_state_dict_pre_hook(_drop_position_table)

    def embed(self, x: Tensor) -> Tensor:
        """Contexts `(batch, 1, n_times)` µV → embedding `(batch, 32)`."""
        patches = x[:, 0, self.centre].unfold(-1, self.patch_len, self.patch_len)
        tokens = torch.cat([self.cls_token.expand(len(x), -1, -1), self.patch_proj(patches)], dim=1)
        return self.embed_features(self.transformer(tokens + self.positions)[:, 0])

    def forward(self, x: Tensor) -> Tensor:
        return self.fc_out(self.embed(x))


def _drop_position_table(module: nn.Module, state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
    """Published checkpoints store the constant table; ours is computed."""
    state_dict.pop(f"{prefix}pos_encoder.pe", None)
