"""EEGNet (Lawhern et al. 2018, J. Neural Eng. 15: 056013) for a single channel.

The Omni-iEEG paper's adapted EEGNet is published without sizes, so these are ours. The original's time constants are
kept in seconds, so that the network scales with rate and length. Its spatial convolution is left out: over one
channel it only copies each temporal filter with a factor that the following normalisation removes.
"""

import torch
from scipy.fft import next_fast_len
from torch import Tensor, nn

from omni_bench.models.requirements import require_n_times, require_one_channel


class EEGNet1ch(nn.Module):
    """Temporal filters of 0.5 s, pooled to 32 Hz, separable filters of 0.5 s, pooled to 4 Hz, linear layer.

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        1 channel; at least 0.5 s.
    n_filters : int
        Temporal filters; 16 is the original's F1 · D = F2.
    dropout : float
        After each pooling.
    """

    head_name = "classifier"

    def __init__(
        self,
        n_chans: int,
        n_outputs: int,
        n_times: int,
        sfreq: float,
        *,
        compat: str | None = None,
        n_filters: int = 16,
        dropout: float = 0.25,
    ) -> None:
        super().__init__()
        require_one_channel("eegnet_1ch", n_chans)
        first, second = max(1, round(sfreq / 32)), 8
        require_n_times("eegnet_1ch", n_times, first * second)
        self.block1 = nn.Sequential(
            LongConv1d(1, n_filters, 2 * round(sfreq / 4) + 1, padding="same", bias=False),
            nn.BatchNorm1d(n_filters, momentum=0.01, eps=1e-3),
            nn.ELU(),
            nn.AvgPool1d(first),
            nn.Dropout(dropout),
        )
        self.block2 = nn.Sequential(
            nn.Conv1d(n_filters, n_filters, 17, padding=8, groups=n_filters, bias=False),
            nn.Conv1d(n_filters, n_filters, 1, bias=False),
            nn.BatchNorm1d(n_filters, momentum=0.01, eps=1e-3),
            nn.ELU(),
            nn.AvgPool1d(second),
            nn.Dropout(dropout),
        )
        self.classifier = nn.Linear(n_filters * (n_times // first // second), n_outputs)

    def embed(self, x: Tensor) -> Tensor:
        """Windows `(batch, 1, n_times)` µV → embedding `(batch, n_filters · n_times / sfreq · 4)`."""
        return self.block2(self.block1(x)).flatten(1)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.embed(x))


class LongConv1d(nn.Conv1d):
    """Convolution of one channel, "same" padding, through the FFT: kernels of 501 take a quarter of the time."""

    def forward(self, x: Tensor) -> Tensor:
        n_times, length = x.shape[-1], self.kernel_size[0]
        n_fft = next_fast_len(n_times + length - 1, real=True)
        product = torch.fft.rfft(x, n_fft) * torch.fft.rfft(self.weight[:, 0], n_fft).conj()
        return torch.fft.irfft(product, n_fft).roll(length // 2, dims=-1)[..., :n_times]
