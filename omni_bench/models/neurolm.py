"""NeuroLM-B: a vector-quantising tokenizer of one-second patches and a GPT-2 body (Jiang et al. 2025)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from omni_bench.errors import BenchError
from omni_bench.models.foundation import FoundationModel, require_names, require_sfreq, require_whole_patches
from omni_bench.signal.electrode_names import electrode_name

# upstream goes on with a padding entry and two intracranial ones, which no electrode name reaches
_NAMES = (
    "FP1 FPZ FP2 AF9 AF7 AF5 AF3 AF1 AFZ AF2 AF4 AF6 AF8 AF10 F9 F7 F5 F3 F1 FZ F2 F4 F6 F8 F10 FT9 FT7 FC5 FC3 FC1 "
    "FCZ FC2 FC4 FC6 FT8 FT10 T9 T7 C5 C3 C1 CZ C2 C4 C6 T8 T10 TP9 TP7 CP5 CP3 CP1 CPZ CP2 CP4 CP6 TP8 TP10 P9 P7 P5 "
    "P3 P1 PZ P2 P4 P6 P8 P10 PO9 PO7 PO5 PO3 PO1 POZ PO2 PO4 PO6 PO8 PO10 O1 OZ O2 O9 CB1 CB2 IZ O10 T3 T5 T4 T6 M1 "
    "M2 A1 A2 CFC1 CFC2 CFC3 CFC4 CFC5 CFC6 CFC7 CFC8 CCP1 CCP2 CCP3 CCP4 CCP5 CCP6 CCP7 CCP8 T1 T2 FTT9H TTP7H TPP9H "
    "FTT10H TPP8H TPP10H FP1-F7 F7-T7 T7-P7 P7-O1 FP2-F8 F8-T8 T8-P8 P8-O2 FP1-F3 F3-C3 C3-P3 P3-O1 FP2-F4 F4-C4 "
    "C4-P4 P4-O2"
)
VOCABULARY = _NAMES.split()
PATCH = 200  # samples
SFREQ = 200.0
VARIANTS = ("full_gpt", "tokenizer_probe")
_WIDTH = 768
_SECONDS = 64  # rows of the tokenizer's table of times


class _Attention(nn.Module):
    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.c_attn = nn.Linear(_WIDTH, 3 * _WIDTH, bias=bias)
        self.c_proj = nn.Linear(_WIDTH, _WIDTH, bias=bias)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        q, k, v = (t.unflatten(-1, (12, -1)).transpose(1, 2) for t in self.c_attn(x).chunk(3, dim=-1))
        return self.c_proj(F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2))


class _Mlp(nn.Module):
    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.c_fc = nn.Linear(_WIDTH, 4 * _WIDTH, bias=bias)
        self.c_proj = nn.Linear(4 * _WIDTH, _WIDTH, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.c_proj(F.gelu(self.c_fc(x)))


class _Block(nn.Module):
    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(_WIDTH, bias=bias)
        self.attn = _Attention(bias)
        self.ln_2 = nn.LayerNorm(_WIDTH, bias=bias)
        self.mlp = _Mlp(bias)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        x = x + self.attn(self.ln_1(x), mask)
        return x + self.mlp(self.ln_2(x))


class PatchEmbed(nn.Module):
    """Three convolutions along each patch; ``(batch, n_tokens, 200)`` to ``(batch, n_tokens, 768)``."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, (1, 15), stride=(1, 8), padding=(0, 7))
        self.norm1 = nn.GroupNorm(4, 16)
        self.conv2 = nn.Conv2d(16, 16, (1, 3), padding=(0, 1))
        self.norm2 = nn.GroupNorm(4, 16)
        self.conv3 = nn.Conv2d(16, 16, (1, 3), padding=(0, 1))
        self.norm3 = nn.GroupNorm(4, 16)
        self.l = nn.Sequential(nn.Linear(400, _WIDTH), nn.GELU())

    def forward(self, x: Tensor) -> Tensor:
        x = F.gelu(self.norm1(self.conv1(x[:, None])))
        x = F.gelu(self.norm2(self.conv2(x)))
        x = F.gelu(self.norm3(self.conv3(x)))
        return self.l(x.permute(0, 2, 3, 1).flatten(2))


class _Tokenizer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patch_embed = PatchEmbed()
        self.pos_embed = nn.Embedding(256, _WIDTH)
        self.time_embed = nn.Embedding(_SECONDS, _WIDTH)
        self.blocks = nn.ModuleList(_Block(bias=False) for _ in range(12))
        self.fc_norm = nn.LayerNorm(_WIDTH, eps=1e-6)

    def forward(self, x: Tensor, channel_ids: Tensor, time_ids: Tensor, mask: Tensor | None) -> Tensor:
        x = self.patch_embed(x) + self.pos_embed(channel_ids) + self.time_embed(time_ids)
        for block in self.blocks:
            x = block(x, mask)
        return self.fc_norm(x)


class _GptBody(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.wte = nn.Embedding(50304, _WIDTH)
        self.wpe = nn.Embedding(1024, _WIDTH)
        self.h = nn.ModuleList(_Block(bias=True) for _ in range(12))
        self.ln_f = nn.LayerNorm(_WIDTH)

    def forward(self, x: Tensor, time_ids: Tensor, mask: Tensor | None) -> Tensor:
        x = x + self.wpe(time_ids)
        for block in self.h:
            x = block(x, mask)
        return self.ln_f(x)


class NeuroLmNetwork(nn.Module):
    """The published network without its text side; patches ``(batch, n_tokens, 200)`` in µV / 100 to GPT-2 tokens.

    `channel_ids` and `time_ids` (n_tokens,) are indices into `VOCABULARY` and seconds. Masks are boolean
    (n_tokens, n_tokens), True where the row may attend to the column; None lets all attend to all.
    """

    def __init__(self) -> None:
        super().__init__()
        self.GPT2 = nn.ModuleDict({"transformer": _GptBody(), "lm_head": nn.Linear(_WIDTH, 50304 + 8192, bias=False)})
        self.tokenizer = _Tokenizer()
        self.pos_embed = nn.Embedding(256, _WIDTH)

    def tokenize(self, x: Tensor, channel_ids: Tensor, time_ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """The tokenizer's output plus the second table of channels: what the GPT-2 body takes in."""
        return self.tokenizer(x, channel_ids, time_ids, mask) + self.pos_embed(channel_ids)

    def forward(
        self,
        x: Tensor,
        channel_ids: Tensor,
        time_ids: Tensor,
        tokenizer_mask: Tensor | None = None,
        gpt_mask: Tensor | None = None,
    ) -> Tensor:
        tokens = self.tokenize(x, channel_ids, time_ids, tokenizer_mask)
        return self.GPT2["transformer"](tokens, time_ids, gpt_mask)


def stairs(time_ids: Tensor) -> Tensor:
    """Mask of the pre-training: a token sees all channels of its own second and of every earlier one."""
    return time_ids[None] <= time_ids[:, None]


def _find(ch_names: Sequence[str]) -> list[int | None]:
    names = [electrode_name(name) for name in ch_names]
    return [VOCABULARY.index(name) if name in VOCABULARY else None for name in names]


class NeuroLm(FoundationModel):
    """NeuroLM-B on the channels of its vocabulary.

    µV / 100, one token per channel and second, time-major; tokenizer without a mask, GPT-2 body with the block-causal
    mask of the pre-training; mean over tokens. Channels outside the vocabulary are dropped.

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        200 Hz; 1 to 64 whole seconds.
    ch_names
        Electrode or longitudinal-pair names, at least one of `VOCABULARY`.
    compat
        "reference" follows the benchmark: zero padding to whole seconds, unknown channels kept as tokens but left out
        of the mean, and its inverted mask, by which valid tokens are hidden and invalid ones seen. The tokenizer, which
        the authors keep frozen, is then trainable.
    variant
        "full_gpt", or "tokenizer_probe": the middle second only, tokens of the tokenizer.
    """

    backbone: NeuroLmNetwork
    channel_ids: Tensor
    time_ids: Tensor
    valid: Tensor

    def __init__(
        self,
        n_chans: int,
        n_outputs: int,
        n_times: int,
        sfreq: float,
        ch_names: Sequence[str] | None = None,
        *,
        compat: str | None = None,
        variant: str = "full_gpt",
    ) -> None:
        if variant not in VARIANTS:
            raise BenchError(f"NeuroLM: variant={variant!r}, expected one of {', '.join(VARIANTS)}")
        self.reference = compat == "reference"
        self.probe = variant == "tokenizer_probe"
        seconds = 1 if self.probe else -(-n_times // PATCH)
        if not self.reference:
            require_sfreq("NeuroLM", sfreq, SFREQ)
        require_whole_patches("NeuroLM", PATCH * seconds if self.reference else n_times, PATCH, most=_SECONDS)
        names = require_names("NeuroLM", n_chans, ch_names)
        ids = _find(names)
        if all(found is None for found in ids):
            raise BenchError(
                f"NeuroLM: none of {', '.join(names[:4])}... is in its vocabulary of 10-05 names; rename channels"
            )
        untrained = ["GPT2."] if self.probe else ["GPT2.transformer.wte.", "GPT2.lm_head."]
        if not self.reference:
            untrained.append("tokenizer.")
        super().__init__(NeuroLmNetwork(), _WIDTH, n_outputs, tuple(untrained))
        self.kept = [i for i, found in enumerate(ids) if self.reference or found is not None]
        per_second = torch.tensor([ids[i] or 0 for i in self.kept])
        valid = torch.tensor([ids[i] is not None for i in self.kept])
        self.register_buffer("channel_ids", per_second.repeat(seconds), persistent=False)
        self.register_buffer("time_ids", torch.arange(seconds).repeat_interleave(len(self.kept)), persistent=False)
        self.register_buffer("valid", valid.repeat(seconds), persistent=False)

    def prepare(self, x: Tensor) -> Tensor:
        """``(batch, n_chans, n_times)`` µV to patches ``(batch, n_tokens, 200)``, all channels of a second together."""
        x = x[:, self.kept] / 100
        if self.probe:
            start = max(0, (x.shape[-1] - PATCH) // 2)
            x = x[..., start : start + PATCH]
        x = F.pad(x, (0, -x.shape[-1] % PATCH))
        return x.unflatten(-1, (-1, PATCH)).transpose(1, 2).flatten(1, 2)

    def pool(self, prepared: Tensor) -> Tensor:
        tokenizer_mask, gpt_mask = None, stairs(self.time_ids)
        if self.reference:
            tokenizer_mask = gpt_mask = (~self.valid).expand(len(self.valid), -1)
        if self.probe:
            tokens = self.backbone.tokenize(prepared, self.channel_ids, self.time_ids, tokenizer_mask)
        else:
            tokens = self.backbone(prepared, self.channel_ids, self.time_ids, tokenizer_mask, gpt_mask)
        return tokens[:, self.valid].mean(1)
