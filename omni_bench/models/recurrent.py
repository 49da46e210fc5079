"""Bidirectional LSTMs with additive attention (Omni-iEEG, arXiv 2602.16072, appendix E and F).

The paper's text says two layers, the published code has three. Both are sound, so the default is what produced the
published figures, three; `compat="paper"` has two.
"""

import torch
from torch import Tensor, nn

from omni_bench.models.event_input import centre
from omni_bench.models.mlp_head import MLPHead
from omni_bench.models.requirements import require_n_times, require_one_channel, shortest_input


class AttentiveBiLSTM(MLPHead):
    """BiLSTM, attention-weighted mean over time, MLP head. Subclasses turn a window into a sequence."""

    def __init__(self, d: int, n_outputs: int, compat: str | None, hidden_size: int, dropout: float) -> None:
        super().__init__(2 * hidden_size, n_outputs, dropout)
        n_layers = 2 if compat == "paper" else 3
        self.lstm = nn.LSTM(d, hidden_size, n_layers, batch_first=True, bidirectional=True, dropout=dropout)
        self.attn = nn.Sequential(nn.Linear(2 * hidden_size, 128), nn.Tanh(), nn.Linear(128, 1, bias=False))

    def sequence(self, x: Tensor) -> Tensor:
        """Windows `(batch, 1, n_times)` µV → sequence `(batch, n_steps, d)`."""
        raise NotImplementedError

    def embed(self, x: Tensor) -> Tensor:
        """Windows → embedding `(batch, 32)`."""
        states, _ = self.lstm(self.sequence(x))
        weights = torch.softmax(self.attn(states), dim=1)
        return self.embed_features((weights * states).sum(dim=1))

    def forward(self, x: Tensor) -> Tensor:
        return self.fc_out(self.embed(x))


class EventLSTM(AttentiveBiLSTM):
    """BiLSTM over the samples of the central 570 ms of an event's context.

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        1 channel; published: 3 outputs, 2000 samples at 1000 Hz.
    compat : str, optional
        `"paper"`: two layers instead of three.
    hidden_size : int
        Units per direction.
    dropout : float
        Between LSTM layers and in the head.
    """

    def __init__(
        self,
        n_chans: int,
        n_outputs: int,
        n_times: int,
        sfreq: float,
        *,
        compat: str | None = None,
        hidden_size: int = 512,
        dropout: float = 0.3,
    ) -> None:
        require_one_channel("lstm_attention", n_chans)
        super().__init__(1, n_outputs, compat, hidden_size, dropout)
        self.centre = centre("lstm_attention", n_times, sfreq)

    def sequence(self, x: Tensor) -> Tensor:
        return x[..., self.centre].mT


class SegmentLSTM(AttentiveBiLSTM):
    """Three strided convolutions (100 samples per step), then the BiLSTM: for windows of seconds to minutes.

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        1 channel; published: 1 output, 60 000 samples at 1000 Hz; at least 215 samples.
    compat : str, optional
        `"paper"`: two layers instead of three.
    hidden_size : int
        Units per direction.
    dropout : float
        Between LSTM layers and in the head.
    """

    def __init__(
        self,
        n_chans: int,
        n_outputs: int,
        n_times: int,
        sfreq: float,
        *,
        compat: str | None = None,
        hidden_size: int = 256,
        dropout: float = 0.3,
    ) -> None:
        require_one_channel("lstm_segment", n_chans)
        require_n_times("lstm_segment", n_times, shortest_input([(15, 5), (11, 5), (7, 4)]))
        super().__init__(128, n_outputs, compat, hidden_size, dropout)
        self.feature_extractor = nn.Sequential(
            nn.Conv1d(1, 32, 15, stride=5),
            nn.ReLU(),
            nn.Conv1d(32, 64, 11, stride=5),
            nn.ReLU(),
            nn.Conv1d(64, 128, 7, stride=4),
            nn.ReLU(),
        )

    def sequence(self, x: Tensor) -> Tensor:
        return self.feature_extractor(x).mT
