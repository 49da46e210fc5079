"""Networks that are trained from scratch, from braindecode: EEGNet (Lawhern 2018) and EEG Conformer (Song 2023)."""

import warnings

import torch
from torch import Tensor, nn

from omni_bench.errors import BenchError
from omni_bench.models.foundation import FoundationModel, z_scored


class _Baseline(FoundationModel):
    """A network of braindecode without its last layer, on z-scored channels, and a linear head."""

    def __init__(self, backbone: nn.Module, n_chans: int, n_outputs: int, n_times: int) -> None:
        with torch.no_grad():
            embed_dim = backbone.eval()(torch.zeros(1, n_chans, n_times)).shape[1]
        super().__init__(backbone.train(), embed_dim, n_outputs)

    def prepare(self, x: Tensor) -> Tensor:
        """Z-score per trial and channel, as benchmarked."""
        return z_scored(x)

    def pool(self, prepared: Tensor) -> Tensor:
        return self.backbone(prepared)


class EEGNet(_Baseline):
    """EEGNet-8,2 on any montage.

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        At least 32 samples; the published kernel spans half a second at 128 Hz, here as many seconds at ``sfreq``.
    """

    def __init__(self, n_chans: int, n_outputs: int, n_times: int, sfreq: float, *, compat: str | None = None) -> None:
        from braindecode.models import EEGNet as Network

        if n_times < 32:
            raise BenchError(f"EEGNet: n_times={n_times}, the model takes at least 32 samples; use longer windows")
        kernel = 64 if compat == "reference" else round(sfreq / 2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            network = Network(n_chans=n_chans, n_outputs=n_outputs, n_times=n_times, sfreq=sfreq, kernel_length=kernel)
        network.final_layer = nn.Flatten()
        super().__init__(network, n_chans, n_outputs, n_times)


class EEGConformer(_Baseline):
    """EEG Conformer on any montage: convolutions, six transformer layers, two dense layers.

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        At least 99 samples.
    """

    def __init__(self, n_chans: int, n_outputs: int, n_times: int, sfreq: float, *, compat: str | None = None) -> None:
        from braindecode.models import EEGConformer as Network

        if n_times < 99:
            raise BenchError(
                f"EEGConformer: n_times={n_times}, the model takes at least 99 samples; use longer windows"
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that more than 64 channels were not tried
            network = Network(n_chans=n_chans, n_outputs=n_outputs, n_times=n_times, sfreq=sfreq)
        network.final_layer = nn.Identity()
        super().__init__(network, n_chans, n_outputs, n_times)
