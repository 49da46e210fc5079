"""Neuro-GPT: a Conformer over two-second chunks and a GPT-2 over the chunks (Cui et al. 2024)."""

from collections.abc import Sequence

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
from omni_bench.signal.electrode_names import electrode_name

_ORDER = "FP1 FP2 F7 F3 FZ F4 F8 T1 T3 C3 CZ C4 T4 T2 T5 P3 PZ P4 T6 O1 OZ O2"
CHANNELS = _ORDER.split()
CHUNK = 500  # samples
SFREQ = 250.0
_MAX_CHUNKS = 512
_FILTERS = 40
_WIDTH = 1024
_UNTRAINED = ("embedder.msk_embed", "embedder.cls_embed", "decoder.transformer.wte.", "unembedder.")


class _Residual(nn.Module):
    def __init__(self, fn: nn.Module) -> None:
        super().__init__()
        self.fn = nn.Sequential(nn.LayerNorm(_FILTERS), fn, nn.Dropout(0.5))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.fn(x)


class _ConformerAttention(nn.Module):
    """Ten heads of width 4; scores are divided by the root of the whole width, 40."""

    def __init__(self) -> None:
        super().__init__()
        self.keys = nn.Linear(_FILTERS, _FILTERS)
        self.queries = nn.Linear(_FILTERS, _FILTERS)
        self.values = nn.Linear(_FILTERS, _FILTERS)
        self.projection = nn.Linear(_FILTERS, _FILTERS)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (m(x).unflatten(-1, (10, -1)).transpose(1, 2) for m in (self.queries, self.keys, self.values))
        dropout = 0.5 if self.training else 0.0
        attended = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, scale=_FILTERS**-0.5)
        return self.projection(attended.transpose(1, 2).flatten(2))


class _ConvolutionalEmbedding(nn.Module):
    """Filters in time, then across all channels; ``(n, 22, 500)`` to 27 tokens of width 40."""

    def __init__(self) -> None:
        super().__init__()
        self.shallownet = nn.Sequential(
            nn.Conv2d(1, _FILTERS, (1, 25)),
            nn.Conv2d(_FILTERS, _FILTERS, (len(CHANNELS), 1)),
            nn.BatchNorm2d(_FILTERS),
            nn.ELU(),
            nn.AvgPool2d((1, 75), (1, 15)),
            nn.Dropout(0.5),
        )
        self.projection = nn.Sequential(nn.Conv2d(_FILTERS, _FILTERS, 1))

    def forward(self, x: Tensor) -> Tensor:
        return self.projection(self.shallownet(x[:, None])).squeeze(2).mT


class _Conformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patch_embedding = _ConvolutionalEmbedding()
        self.transformer = nn.Sequential(
            *(nn.Sequential(_Residual(_ConformerAttention()), _Residual(_feed_forward())) for _ in range(6))
        )

    def forward(self, chunks: Tensor) -> Tensor:
        return self.transformer(self.patch_embedding(chunks))


def _feed_forward() -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(_FILTERS, 4 * _FILTERS), nn.GELU(), nn.Dropout(0.5), nn.Linear(4 * _FILTERS, _FILTERS)
    )


class _Embedder(nn.Module):
    def __init__(self, n_inputs: int) -> None:
        super().__init__()
        self.msk_embed = nn.Parameter(torch.empty(1, 1, n_inputs).normal_(std=0.02))
        self.cls_embed = nn.Parameter(torch.empty(1, 1, n_inputs).normal_(std=0.02))
        self.embed_model = nn.ModuleDict(
            {"model": nn.Sequential(nn.Linear(n_inputs, _WIDTH), nn.LayerNorm(_WIDTH), nn.Dropout(0.1))}
        )

    def forward(self, chunks: Tensor) -> Tensor:
        return self.embed_model["model"](chunks)


class _Projection(nn.Module):
    """Linear map whose weight is stored (in, out), as GPT-2 does."""

    def __init__(self, n_inputs: int, n_outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_inputs, n_outputs).normal_(std=0.02))
        self.bias = nn.Parameter(torch.zeros(n_outputs))

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight + self.bias


class _Attention(nn.Module):
    def __init__(self, benchmark: bool) -> None:
        super().__init__()
        self.benchmark = benchmark
        self.c_attn = _Projection(_WIDTH, 3 * _WIDTH)
        self.c_proj = _Projection(_WIDTH, _WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (t.unflatten(-1, (16, -1)).transpose(1, 2) for t in self.c_attn(x).chunk(3, dim=-1))
        dropout = 0.1 if self.training else 0.0
        attended = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=not self.benchmark)
        attended = attended.transpose(1, 2).flatten(2)
        if self.benchmark:
            # the benchmark loads this one matrix without the transposition that it gives the other three
            return F.linear(attended, self.c_proj.weight, self.c_proj.bias)
        return self.c_proj(attended)


class _Mlp(nn.Module):
    def __init__(self, benchmark: bool) -> None:
        super().__init__()
        self.approximate = "none" if benchmark else "tanh"
        self.c_fc = _Projection(_WIDTH, 4 * _WIDTH)
        self.c_proj = _Projection(4 * _WIDTH, _WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        return self.c_proj(F.gelu(self.c_fc(x), approximate=self.approximate))


class _GptBlock(nn.Module):
    def __init__(self, benchmark: bool) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(_WIDTH)
        self.attn = _Attention(benchmark)
        self.ln_2 = nn.LayerNorm(_WIDTH)
        self.mlp = _Mlp(benchmark)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.dropout(self.attn(self.ln_1(x)))
        return x + self.dropout(self.mlp(self.ln_2(x)))


class _GptBody(nn.Module):
    def __init__(self, benchmark: bool) -> None:
        super().__init__()
        self.wte = nn.Embedding(1, _WIDTH)  # a vocabulary of one word that nothing reads, but files hold it
        self.wpe = nn.Embedding(_MAX_CHUNKS, _WIDTH)
        self.drop = nn.Dropout(0.1)
        self.h = nn.ModuleList(_GptBlock(benchmark) for _ in range(6))
        self.ln_f = nn.LayerNorm(_WIDTH)

    def forward(self, embedded: Tensor) -> Tensor:
        x = self.drop(embedded + self.wpe.weight[: embedded.shape[1]])
        for block in self.h:
            x = block(x)
        return self.ln_f(x)


class _Decoder(nn.Module):
    def __init__(self, benchmark: bool) -> None:
        super().__init__()
        self.transformer = _GptBody(benchmark)
        self.pooler_layer = nn.Sequential(nn.Linear(_WIDTH, _WIDTH), nn.Tanh(), nn.Dropout(0.1))


class NeuroGptNetwork(nn.Module):
    """The published network; chunks ``(batch, n_chunks, 22, 500)`` to ``(batch, 1024)``.

    `benchmark` swaps in the benchmark's decoder: attention that sees later chunks, exact GELU, the attention's output
    matrix transposed, mean over chunks instead of the last one, no tanh.
    """

    def __init__(self, *, benchmark: bool = False) -> None:
        super().__init__()
        self.benchmark = benchmark
        self.encoder = _Conformer()
        n_features = 27 * _FILTERS
        self.embedder = _Embedder(n_features)
        self.decoder = _Decoder(benchmark)
        self.unembedder = nn.ModuleDict({"model": nn.Sequential(nn.Linear(_WIDTH, n_features))})

    def decode(self, chunks: Tensor) -> Tensor:
        """Output of the GPT-2 body, ``(batch, n_chunks, 1024)``."""
        tokens = self.encoder(chunks.flatten(0, 1))
        return self.decoder.transformer(self.embedder(tokens.flatten(1).unflatten(0, chunks.shape[:2])))

    def forward(self, chunks: Tensor) -> Tensor:
        tokens = self.decode(chunks)
        if self.benchmark:
            return self.decoder.pooler_layer[0](tokens.mean(1))
        return self.decoder.pooler_layer(tokens[:, -1])


def channel_matrix(ch_names: Sequence[str], *, reference: bool = False) -> Tensor:
    """``(22, n_chans)`` matrix to Neuro-GPT's channels; those at hand exactly, others by inverse distance.

    Raises
    ------
    BenchError
        With no channel whose position is known.
    """
    positions = benchmark_positions() if reference else standard_positions()
    names = [electrode_name(name) for name in ch_names]
    if not reference and not positions.keys() & set(names):
        raise BenchError(f"Neuro-GPT: none of {', '.join(ch_names[:4])}... is a 10-05 electrode; name at least one so")
    matrix = interpolation_matrix(CHANNELS, names, positions, BENCHMARK_UNKNOWN if reference else None)
    return torch.tensor(matrix, dtype=torch.float32)


class NeuroGpt(FoundationModel):
    """Neuro-GPT on any montage of named electrodes.

    Its 22 channels (interpolated where absent), z-score per trial and channel, chunks of two seconds that overlap by
    `overlap` samples, embedding of the last chunk. Samples behind the last whole chunk are not used.

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        250 Hz; 500 samples (2 s) to 512 chunks.
    ch_names
        Electrode names; None with 22 channels means `CHANNELS`.
    compat
        "reference" follows the benchmark: z-score before the channel matrix, its shifted table of coordinates, any rate
        (linear interpolation to 250 Hz, no filter), zero padding to 2 s, chunks without overlap and the decoder
        described in `NeuroGptNetwork`.
    overlap
        Samples that neighbouring chunks share (pre-training: 50).
    """

    backbone: NeuroGptNetwork
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
        overlap: int = 50,
    ) -> None:
        self.reference = compat == "reference"
        if self.reference:
            overlap = 0
            self.n_resampled = round(n_times * SFREQ / sfreq)
        else:
            require_sfreq("Neuro-GPT", sfreq, SFREQ)
        self.stride = CHUNK - overlap
        most = (_MAX_CHUNKS - 1) * self.stride + CHUNK
        if not self.reference and not CHUNK <= n_times <= most:
            raise BenchError(
                f"Neuro-GPT: n_times={n_times}, the model takes {CHUNK} to {most} samples; choose such windows"
            )
        if ch_names is None and n_chans == len(CHANNELS):
            ch_names = CHANNELS
        matrix = channel_matrix(require_names("Neuro-GPT", n_chans, ch_names), reference=self.reference)
        super().__init__(NeuroGptNetwork(benchmark=self.reference), _WIDTH, n_outputs, _UNTRAINED)
        self.register_buffer("matrix", matrix, persistent=False)

    def prepare(self, x: Tensor) -> Tensor:
        """``(batch, n_chans, n_times)`` µV to chunks ``(batch, n_chunks, 22, 500)``."""
        if self.reference:
            x = x - x.mean(-1, keepdim=True)
            x = self.matrix @ (x / (x.var(-1, correction=0, keepdim=True) + 1e-6).sqrt())
            if self.n_resampled != x.shape[-1]:
                x = F.interpolate(x, self.n_resampled, mode="linear")
            x = F.pad(x, (0, max(0, CHUNK - x.shape[-1])))
        else:
            x = self.matrix @ x
            x = x - x.mean(-1, keepdim=True)
            x = x / (x.std(-1, correction=0, keepdim=True) + 1e-25)
        return x.unfold(-1, CHUNK, self.stride).transpose(1, 2)

    def pool(self, prepared: Tensor) -> Tensor:
        return self.backbone(prepared)
