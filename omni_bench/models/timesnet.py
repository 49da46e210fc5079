"""TimesNet (Wu et al. 2023, ICLR, "TimesNet: temporal 2D-variation modeling") as Omni-iEEG (arXiv 2602.16072) sizes it.

Each block folds the sequence by its strongest periods and convolves the folded images. The published code takes the
periods from the spectrum averaged over the batch, so that a sample's output depends on its batch mates; here each
sample has its own periods, and `compat="reference"` has the published ones.

The parallel 1×1, 3×3 and 5×5 convolutions are averaged, hence one 5×5 convolution with the average of the padded
kernels.
"""

from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from omni_bench.models.event_input import centre
from omni_bench.models.positions import sinusoidal_positions
from omni_bench.models.requirements import require_n_times, require_one_channel


class TimesNet(nn.Module):
    """Stack of times blocks over a raw sequence. Subclasses say which samples of a window they read.

    Parameters
    ----------
    n_steps : int
        Length of the sequence.
    n_outputs : int
        Width of the last layer, which reads all `n_steps · d_model` values.
    compat : str, optional
        `"reference"`: periods of the batch's mean spectrum instead of each sample's.
    d_model, d_ff, n_blocks, n_kernels, dropout
        Widths, blocks, parallel kernels (1, 3, 5, ...).
    top_k : int
        Periods per block.
    """

    head_name = "projection"

    def __init__(
        self,
        n_steps: int,
        n_outputs: int,
        compat: str | None,
        d_model: int,
        d_ff: int,
        n_blocks: int,
        top_k: int,
        n_kernels: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.model = nn.ModuleList(
            TimesBlock(d_model, d_ff, top_k, n_kernels, shared_periods=compat == "reference") for _ in range(n_blocks)
        )
        self.enc_embedding = _Embedding(n_steps, d_model)
        self.layer_norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.projection = nn.Linear(d_model * n_steps, n_outputs)
        self.register_load_state_dict_pre_hook(_drop_position_table)

    def sequence(self, x: Tensor) -> Tensor:
        """Windows `(batch, 1, n_times)` µV → sequence `(batch, n_steps)`."""
        raise NotImplementedError

    def embed(self, x: Tensor) -> Tensor:
        """Windows → embedding `(batch, n_steps · d_model)`."""
        x = self.dropout(self.enc_embedding(self.sequence(x)))
        for block in self.model:
            x = self.layer_norm(block(x))
        return self.dropout(functional.gelu(x)).flatten(1)

    def forward(self, x: Tensor) -> Tensor:
        return self.projection(self.embed(x))


class EventTimesNet(TimesNet):
    """TimesNet on the central 570 ms of an event's context.

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        1 channel; published: 3 outputs, 2000 samples at 1000 Hz.
    """

    def __init__(
        self,
        n_chans: int,
        n_outputs: int,
        n_times: int,
        sfreq: float,
        *,
        compat: str | None = None,
        d_model: int = 64,
        d_ff: int = 128,
        n_blocks: int = 3,
        top_k: int = 8,
        n_kernels: int = 3,
        dropout: float = 0.2,
    ) -> None:
        require_one_channel("timesnet", n_chans)
        kept = centre("timesnet", n_times, sfreq)
        n_steps = kept.stop - kept.start
        require_n_times("timesnet", n_steps, 2 * top_k)
        super().__init__(n_steps, n_outputs, compat, d_model, d_ff, n_blocks, top_k, n_kernels, dropout)
        self.centre = kept

    def sequence(self, x: Tensor) -> Tensor:
        return x[:, 0, self.centre]


class SegmentTimesNet(TimesNet):
    """TimesNet on a whole window.

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        1 channel; published: 1 output, 18 000 samples (60 s at 300 Hz). The head grows with `n_times`.
    """

    def __init__(
        self,
        n_chans: int,
        n_outputs: int,
        n_times: int,
        sfreq: float,
        *,
        compat: str | None = None,
        d_model: int = 64,
        d_ff: int = 128,
        n_blocks: int = 3,
        top_k: int = 8,
        n_kernels: int = 3,
        dropout: float = 0.2,
    ) -> None:
        require_one_channel("timesnet_segment", n_chans)
        require_n_times("timesnet_segment", n_times, 2 * top_k)
        super().__init__(n_times, n_outputs, compat, d_model, d_ff, n_blocks, top_k, n_kernels, dropout)

    def sequence(self, x: Tensor) -> Tensor:
        return x[:, 0]


class TimesBlock(nn.Module):
    """Fold by the `top_k` strongest periods, convolve, unfold, weight by amplitude, add."""

    def __init__(self, d_model: int, d_ff: int, top_k: int, n_kernels: int, shared_periods: bool) -> None:
        super().__init__()
        self.top_k, self.shared_periods = top_k, shared_periods
        self.conv = nn.Sequential(_Inception(d_model, d_ff, n_kernels), nn.GELU(), _Inception(d_ff, d_model, n_kernels))

    def forward(self, x: Tensor) -> Tensor:
        """`(batch, n_steps, d_model)` → the same shape."""
        amplitude = torch.fft.rfft(x, dim=1).abs().mean(dim=-1)
        ranked = amplitude.mean(dim=0, keepdim=True) if self.shared_periods else amplitude
        ranked = torch.cat([torch.zeros_like(ranked[:, :1]), ranked[:, 1:]], dim=1)
        cycles = ranked.topk(self.top_k, dim=1).indices.expand(len(x), -1)
        weights = torch.softmax(amplitude.gather(1, cycles), dim=1)
        periods = x.shape[1] // cycles

        total = x
        for period in periods.unique().tolist():
            here = periods == period
            samples = here.any(dim=1).nonzero()[:, 0]
            share = (weights * here).sum(dim=1)[samples, None, None]
            total = total.index_add(0, samples, share * self._convolve(x[samples], period))
        return total

    def _convolve(self, x: Tensor, period: int) -> Tensor:
        batch, n_steps, d = x.shape
        padded = functional.pad(x, (0, 0, 0, -n_steps % period))
        folded = padded.reshape(batch, -1, period, d).permute(0, 3, 1, 2)
        return self.conv(folded).permute(0, 2, 3, 1).reshape(batch, -1, d)[:, :n_steps]


class _Inception(nn.Module):
    """Average of parallel convolutions with kernels 1, 3, 5, ..., computed as one."""

    def __init__(self, in_channels: int, out_channels: int, n_kernels: int) -> None:
        super().__init__()
        self.kernels = nn.ModuleList(
            nn.Conv2d(in_channels, out_channels, 2 * i + 1, padding=i) for i in range(n_kernels)
        )
        for name, parameter in self.kernels.named_parameters():
            if name.endswith("weight"):
                nn.init.kaiming_normal_(parameter, mode="fan_out", nonlinearity="relu")
            else:
                nn.init.zeros_(parameter)

    def forward(self, x: Tensor) -> Tensor:
        widest = len(self.kernels) - 1
        convs = [cast(nn.Conv2d, kernel) for kernel in self.kernels]
        weights = [functional.pad(conv.weight, [widest - i] * 4) for i, conv in enumerate(convs)]
        biases = [cast(Tensor, conv.bias) for conv in convs]
        return functional.conv2d(x, torch.stack(weights).mean(0), torch.stack(biases).mean(0), padding=widest)


class _Embedding(nn.Module):
    """Circular convolution of the waveform plus positions. The calendar tables are in checkpoints but never used."""

    def __init__(self, n_steps: int, d_model: int) -> None:
        super().__init__()
        self.value_embedding = nn.ModuleDict(
            {"tokenConv": nn.Conv1d(1, d_model, 3, padding=1, padding_mode="circular", bias=False)}
        )
        calendar = {"hour_embed": 24, "weekday_embed": 7, "day_embed": 32, "month_embed": 13}
        self.temporal_embedding = nn.ModuleDict(
            {
                name: nn.ModuleDict({"emb": nn.Embedding.from_pretrained(sinusoidal_positions(n, d_model))})
                for name, n in calendar.items()
            }
        )
        self.register_buffer("positions", sinusoidal_positions(n_steps, d_model), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.value_embedding["tokenConv"](x[:, None]).mT + self.positions


def _drop_position_table(module: nn.Module, state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
    """Published checkpoints store 77 MB of constant positions; ours are computed."""
    state_dict.pop(f"{prefix}enc_embedding.position_embedding.pe", None)
