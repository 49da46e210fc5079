"""BrainTokenizer: windows of all sensors to the discrete activity of 16 latent sources (Xiao et al. 2025).

The convolutional encoder and decoder have the shape of SEANet as in EnCodec (Défossez et al. 2022).
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

WINDOW = 512  # samples at 256 Hz
STEPS = 8  # latent steps per window
SOURCES = 16
WIDTH = 256
_FILTERS = 32
_RATIOS = (2, 4, 8)


class _NormedConv(nn.Module):
    """Convolution whose weight is a direction times a length per slice of the first axis."""

    def __init__(self, shape: tuple[int, int, int], n_outputs: int, stride: int, *, transposed: bool = False) -> None:
        super().__init__()
        self.weight_v = nn.Parameter(nn.init.kaiming_uniform_(torch.empty(shape), a=5**0.5))
        self.weight_g = nn.Parameter(self.weight_v.detach().norm(dim=(1, 2), keepdim=True))
        self.bias = nn.Parameter(torch.zeros(n_outputs))
        self.stride = stride
        self.transposed = transposed

    def forward(self, x: Tensor) -> Tensor:
        weight = self.weight_v * (self.weight_g / self.weight_v.norm(dim=(1, 2), keepdim=True))
        convolve = F.conv_transpose1d if self.transposed else F.conv1d
        return convolve(x, weight, self.bias, stride=self.stride)


def _sides(kernel: int, stride: int) -> tuple[int, int]:
    """Samples of padding (or trimming) left and right."""
    right = (kernel - stride) // 2
    return kernel - stride - right, right


class _Conv(nn.Module):
    """Non-causal convolution with reflected edges, for lengths that the stride divides."""

    def __init__(self, n_inputs: int, n_outputs: int, kernel: int, stride: int = 1) -> None:
        super().__init__()
        self.conv = nn.ModuleDict({"conv": _NormedConv((n_outputs, n_inputs, kernel), n_outputs, stride)})
        self.sides = _sides(kernel, stride)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv["conv"](F.pad(x, self.sides, mode="reflect") if any(self.sides) else x)


class _TransposedConv(nn.Module):
    """The way back: `stride` times as many samples."""

    def __init__(self, n_inputs: int, n_outputs: int, stride: int) -> None:
        super().__init__()
        shape = (n_inputs, n_outputs, 2 * stride)
        self.convtr = nn.ModuleDict({"convtr": _NormedConv(shape, n_outputs, stride, transposed=True)})
        self.sides = _sides(2 * stride, stride)

    def forward(self, x: Tensor) -> Tensor:
        y = self.convtr["convtr"](x)
        return y[..., self.sides[0] : y.shape[-1] - self.sides[1]]


class _ResidualBlock(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.block = nn.Sequential(nn.ELU(), _Conv(width, width // 2, 3), nn.ELU(), _Conv(width // 2, width, 1))
        self.shortcut = _Conv(width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.shortcut(x) + self.block(x)


class _SkipLstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(WIDTH, WIDTH, num_layers=2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.lstm(x.mT)[0].mT


def _seanet_encoder() -> nn.ModuleDict:
    layers: list[nn.Module] = [_Conv(1, _FILTERS, 5)]
    width = _FILTERS
    for ratio in _RATIOS:
        layers += [_ResidualBlock(width), nn.ELU(), _Conv(width, 2 * width, 2 * ratio, ratio)]
        width *= 2
    layers += [_SkipLstm(), nn.ELU(), _Conv(width, WIDTH, 5)]
    return nn.ModuleDict({"model": nn.Sequential(*layers)})


def _seanet_decoder() -> nn.ModuleDict:
    layers: list[nn.Module] = [_Conv(WIDTH, WIDTH, 5), _SkipLstm()]
    width = WIDTH
    for ratio in reversed(_RATIOS):
        layers += [nn.ELU(), _TransposedConv(width, width // 2, ratio), _ResidualBlock(width // 2)]
        width //= 2
    layers += [nn.ELU(), _Conv(width, 1, 5)]
    return nn.ModuleDict({"model": nn.Sequential(*layers)})


class FeedForward(nn.Module):
    """Two linear layers, four times as wide in between, with a SELU."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layer = nn.Sequential(nn.Linear(width, 4 * width), nn.SELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)


class SensorEmbedding(nn.Module):
    """Position and orientation ``(..., 6)`` and type ``(...)`` of each sensor to ``(..., 256)``.

    Types: 0 EEG, 1 magnetometer, 2 gradiometer. EEG has orientation zero.
    """

    def __init__(self) -> None:
        super().__init__()
        self.pos_embedding_layer = nn.Sequential(nn.Linear(6, WIDTH // 2), nn.SELU(), nn.Linear(WIDTH // 2, WIDTH))
        self.sensor_embedding_layer = nn.Embedding(3, WIDTH)
        self.aggregate_mlp = FeedForward(WIDTH)
        self.norm = nn.RMSNorm(WIDTH, eps=1e-6)

    def forward(self, pos: Tensor, sensor_type: Tensor) -> Tensor:
        s = self.pos_embedding_layer(pos) + self.sensor_embedding_layer(sensor_type)
        return self.norm(s + self.aggregate_mlp(s))


def _attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Four-head attention over the last axis but one."""
    q, k, v = (t.unflatten(-1, (4, -1)).transpose(-3, -2) for t in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v).transpose(-3, -2).flatten(-2)


class _BackwardSolution(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.v = nn.Linear(WIDTH, WIDTH)
        self.proj = nn.Linear(WIDTH, WIDTH)

    def forward(self, query: Tensor, key: Tensor, x: Tensor) -> Tensor:
        return self.proj(_attend(query, key, self.v(x)))


class _Encoder(nn.Module):
    """Windows ``(batch, n_sensors, n_windows, 512)`` to sources ``(batch, 16, n_windows, 8, 256)``."""

    def __init__(self) -> None:
        super().__init__()
        self.neuros = nn.Parameter(torch.empty(SOURCES, WIDTH).normal_(std=WIDTH**-0.5))
        self.seanet_encoder = _seanet_encoder()
        self.k_proj = nn.Linear(WIDTH, WIDTH)
        self.backwardsolution = _BackwardSolution()

    def forward(self, windows: Tensor, sensors: Tensor) -> Tensor:
        features = self.seanet_encoder["model"](windows.reshape(-1, 1, WINDOW)).mT
        x = features.unflatten(0, windows.shape[:3]).permute(0, 2, 3, 1, 4)  # (batch, window, step, sensor, 256)
        key = self.k_proj(x + sensors[:, None, None])
        query = self.neuros.expand(*x.shape[:3], SOURCES, WIDTH)
        return self.backwardsolution(query, key, x).permute(0, 3, 1, 2, 4)


class _Codebook(nn.Module):
    """512 codes; the buffers beside `embed` belong to the moving averages of the official training.

    A fresh codebook is random. The official code fits it to the first batch that it sees, in eval mode too.
    """

    inited: Tensor
    cluster_size: Tensor
    embed: Tensor
    embed_avg: Tensor

    def __init__(self) -> None:
        super().__init__()
        embed = torch.empty(512, WIDTH).normal_(std=WIDTH**-0.5)
        self.register_buffer("inited", torch.ones(1))
        self.register_buffer("cluster_size", torch.zeros(512))
        self.register_buffer("embed", embed)
        self.register_buffer("embed_avg", embed.clone())

    def nearest(self, x: Tensor) -> Tensor:
        return (x @ self.embed.T - self.embed.square().sum(-1) / 2).argmax(-1)


class _Quantizer(nn.Module):
    """Four codebooks, each quantising what the ones before it left over."""

    def __init__(self) -> None:
        super().__init__()
        self.rvq = nn.ModuleDict({"layers": nn.ModuleList(nn.ModuleDict({"_codebook": _Codebook()}) for _ in range(4))})

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        residual = F.normalize(x, dim=-1)
        quantized = torch.zeros_like(residual)
        indices = []
        for layer in self.rvq["layers"].children():
            codebook = layer.get_submodule("_codebook")
            assert isinstance(codebook, _Codebook)
            indices.append(codebook.nearest(residual))
            code = codebook.embed[indices[-1]]
            residual, quantized = residual - code, quantized + code
        return quantized, torch.stack(indices, dim=-1)


class _ForwardSolution(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.kv = nn.Linear(WIDTH, 2 * WIDTH)
        self.proj = nn.Linear(WIDTH, WIDTH)

    def forward(self, query: Tensor, sources: Tensor) -> Tensor:
        return self.proj(_attend(query, *self.kv(sources).chunk(2, dim=-1)))


class _Decoder(nn.Module):
    """Sources back to windows ``(batch, n_sensors, n_windows, 512)``."""

    def __init__(self) -> None:
        super().__init__()
        self.forwardsolution = _ForwardSolution()
        self.seanet_decoder = _seanet_decoder()

    def forward(self, quantized: Tensor, sensors: Tensor) -> Tensor:
        sources = quantized.permute(0, 2, 3, 1, 4)
        query = sensors[:, None, None].expand(*sources.shape[:3], -1, -1)
        x = self.forwardsolution(query, sources).permute(0, 3, 1, 2, 4)  # (batch, sensor, window, step, 256)
        return self.seanet_decoder["model"](x.flatten(0, 2).mT).unflatten(0, x.shape[:3]).squeeze(-2)


def cut_windows(x: Tensor, overlap: float) -> Tensor:
    """``(..., n_times)`` to ``(..., n_windows, 512)``.

    Shorter signals are padded with zeros. With an overlap the last window is padded too; without, the rest is dropped.
    """
    stride = round(WINDOW * (1 - overlap))
    x = F.pad(x, (0, max(0, WINDOW - x.shape[-1])))
    if overlap:
        x = F.pad(x, (0, (WINDOW - x.shape[-1]) % stride))
    return x.unfold(-1, WINDOW, stride)


class BrainTokenizer(nn.Module):
    """The published tokenizer; `tokenize` gives quantised sources, `forward` the reconstruction from them."""

    def __init__(self) -> None:
        super().__init__()
        self.sensor_embed = SensorEmbedding()
        self.encoder = _Encoder()
        self.quantizer = _Quantizer()
        self.decoder = _Decoder()

    def tokenize(self, x: Tensor, pos: Tensor, sensor_type: Tensor, overlap: float = 0.0) -> tuple[Tensor, Tensor]:
        """Sum of codes ``(batch, 16, n_windows, 8, 256)`` and code indices ``(batch, 16, n_windows, 8, 4)``.

        `x` is ``(batch, n_sensors, n_times)`` at 256 Hz, `pos` ``(batch, n_sensors, 6)``, `sensor_type`
        ``(batch, n_sensors)``.
        """
        return self.quantizer(self.encoder(cut_windows(x, overlap), self.sensor_embed(pos, sensor_type)))

    def forward(self, x: Tensor, pos: Tensor, sensor_type: Tensor) -> Tensor:
        quantized, _ = self.tokenize(x, pos, sensor_type)
        return self.decoder(quantized, self.sensor_embed(pos, sensor_type))
