"""SEEG-Net (Wang et al. 2022, Computers in Biology and Medicine 148: 105703) as Omni-iEEG (arXiv 2602.16072) sizes it.

Three convolutional branches with different strides read the waveform; their outputs have different lengths. The
published code cuts all to the shortest, so that at 60 s the second branch contributes the first 30 s and the third
the first 12 s. Here each branch is averaged down to the shortest length and all see the whole window;
`compat="reference"` cuts, and then only the samples that survive the cut are computed.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from omni_bench.models.requirements import require_n_times, require_one_channel, shortest_input

# kernel and stride of: convolution, pooling, convolution, convolution, pooling
BRANCHES = {
    "branch1": [(250, 20), (4, 2), (7, 1), (7, 1), (2, 2)],
    "branch2": [(80, 10), (4, 2), (7, 1), (7, 1), (2, 2)],
    "branch3": [(10, 2), (8, 2), (8, 1), (8, 1), (4, 4)],
}


class SEEGNet(nn.Module):
    """Multi-scale convolutions, squeeze-and-excitation, BiLSTM with attention, on raw windows.

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        1 channel; published: 1 output, 60 000 samples at 1000 Hz; at least 830 samples.
    compat : str, optional
        `"reference"`: branches cut in time to the shortest instead of pooled to it.
    dropout : float
        In the branches and behind them.
    """

    head_name = "classifier.2"

    def __init__(
        self,
        n_chans: int,
        n_outputs: int,
        n_times: int,
        sfreq: float,
        *,
        compat: str | None = None,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        require_one_channel("seegnet", n_chans)
        require_n_times("seegnet", n_times, max(shortest_input(layers) for layers in BRANCHES.values()))
        self.feature_extractor = _MultiScale(dropout, cut=compat == "reference")
        self.temporal_model = _AttentiveLSTM(384, 128)
        self.classifier = nn.Sequential(nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, n_outputs))

    def embed(self, x: Tensor) -> Tensor:
        """Windows `(batch, 1, n_times)` µV → embedding `(batch, 64)`."""
        return self.classifier[:2](self.temporal_model(self.feature_extractor(x).mT))

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier[2](self.embed(x))


class _MultiScale(nn.Module):
    """Three branches of 128 channels at one length, reweighted: `(batch, 1, n_times)` → `(batch, 384, n_steps)`."""

    def __init__(self, dropout: float, cut: bool) -> None:
        super().__init__()
        self.branch1, self.branch2, self.branch3 = (_branch(layers, dropout) for layers in BRANCHES.values())
        self.dropout = nn.Dropout(dropout)
        self.se_block = _SqueezeExcite(384, 30)
        self.cut = cut

    def forward(self, x: Tensor) -> Tensor:
        branches = [self.branch1, self.branch2, self.branch3]
        n_steps = min(_n_steps(layers, x.shape[-1]) for layers in BRANCHES.values())
        if self.cut:
            seen = [x[..., : shortest_input(layers, n_steps)] for layers in BRANCHES.values()]
            scales = [branch(part) for branch, part in zip(branches, seen, strict=True)]
        else:
            scales = [functional.adaptive_avg_pool1d(branch(x), n_steps) for branch in branches]
        return self.se_block(self.dropout(torch.cat(scales, dim=1)))


class _SqueezeExcite(nn.Module):
    """Channel gates from the mean over time, added to the input."""

    def __init__(self, n_channels: int, n_hidden: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(n_channels, n_hidden)
        self.fc2 = nn.Linear(n_hidden, n_channels)

    def forward(self, x: Tensor) -> Tensor:
        gates = torch.sigmoid(self.fc2(functional.relu(self.fc1(x.mean(dim=-1)))))
        return x * gates[..., None] + x


class _AttentiveLSTM(nn.Module):
    """`(batch, n_steps, d)` → attention-weighted sum of the states `(batch, 2 · hidden_size)`."""

    def __init__(self, d: int, hidden_size: int) -> None:
        super().__init__()
        self.bilstm = nn.LSTM(d, hidden_size, batch_first=True, bidirectional=True)
        self.attention_w = nn.Linear(2 * hidden_size, 2 * hidden_size)
        self.attention_u = nn.Linear(2 * hidden_size, 1)

    def forward(self, x: Tensor) -> Tensor:
        states, _ = self.bilstm(x)
        weights = torch.softmax(self.attention_u(torch.tanh(self.attention_w(states))), dim=1)
        return (weights * states).sum(dim=1)


def _branch(layers: list[tuple[int, int]], dropout: float) -> nn.Sequential:
    (k1, s1), (p1, q1), (k2, s2), (k3, s3), (p2, q2) = layers
    return nn.Sequential(
        nn.Conv1d(1, 64, k1, s1),
        nn.GELU(),
        nn.MaxPool1d(p1, q1),
        nn.Dropout(dropout),
        nn.Conv1d(64, 128, k2, s2),
        nn.GELU(),
        nn.Conv1d(128, 128, k3, s3),
        nn.GELU(),
        nn.MaxPool1d(p2, q2),
    )


def _n_steps(layers: list[tuple[int, int]], n_times: int) -> int:
    for kernel, stride in layers:
        n_times = (n_times - kernel) // stride + 1
    return n_times
