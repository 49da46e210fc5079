"""Classifier head that the published LSTM and transformer networks share."""

from torch import Tensor, nn
from torch.nn import functional


class MLPHead(nn.Module):
    """Base class: features of width `d` → 64 → 32 → `n_outputs`, normalisation before activation, dropout before each.

    Subclasses make the features.
    """

    head_name = "fc_out"

    def __init__(self, d: int, n_outputs: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.fc1 = nn.Linear(d, 64)
        self.bn1 = nn.BatchNorm1d(64)
        self.fc2 = nn.Linear(64, 32)
        self.bn2 = nn.BatchNorm1d(32)
        self.fc_out = nn.Linear(32, n_outputs)

    def embed_features(self, x: Tensor) -> Tensor:
        """Features `(batch, d)` → embedding `(batch, 32)`."""
        x = functional.leaky_relu(self.bn1(self.fc1(self.dropout(x))))
        return functional.leaky_relu(self.bn2(self.fc2(self.dropout(x))))
