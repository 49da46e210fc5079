"""REVE from braindecode, with positions that need no download (El Ouahidi et al. 2025)."""

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from torch import Tensor, nn

from omni_bench.errors import BenchError
from omni_bench.models.electrodes import standard_positions
from omni_bench.models.foundation import FoundationModel, require_names, require_sfreq, resampled, z_scored
from omni_bench.signal.electrode_names import electrode_name

SFREQ = 200.0
PATCH = 200  # samples


class Reve(FoundationModel):
    """REVE base: z-score per trial and channel, 4-D positions, attention pooling (El Ouahidi et al. 2025).

    Positions are the official bank's where MNE's setting REVE_POSITIONS_PATH names a folder with it, else those of the
    10-05 template in metres: the bank is gated, so whether the two agree has not been checked.

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        200 Hz; at least one second. Samples behind the last whole patch (stride 180) are not used.
    ch_names
        Electrode names, at least one with a position; others are dropped.
    compat
        "reference" takes any rate (linear interpolation to 200 Hz).
    """

    positions: Tensor

    def __init__(
        self,
        n_chans: int,
        n_outputs: int,
        n_times: int,
        sfreq: float,
        ch_names: Sequence[str] | None = None,
        *,
        compat: str | None = None,
    ) -> None:
        from braindecode.models import REVE as Network

        if compat == "reference":
            self.n_resampled = round(n_times * SFREQ / sfreq)
        else:
            require_sfreq("REVE", sfreq, SFREQ)
            self.n_resampled = n_times
        if self.n_resampled < PATCH:
            raise BenchError(f"REVE: n_times={n_times}, the model takes at least one second; use longer windows")
        names = [electrode_name(name) for name in require_names("REVE", n_chans, ch_names)]
        with _position_bank():
            network = Network(
                n_chans=n_chans, n_outputs=1, n_times=self.n_resampled, sfreq=SFREQ, attention_pooling=True
            )
        network.final_layer = nn.Identity()
        bank = {name.upper(): row for name, row in network._position_bank.mapping.items()}
        self.kept = [i for i, name in enumerate(names) if name in bank]
        if not self.kept:
            raise BenchError(f"REVE: none of {', '.join(names[:4])}... has a position; name at least one by 10-05")
        super().__init__(network, 512, n_outputs)
        rows = [bank[names[i]] for i in self.kept]
        self.register_buffer("positions", network._position_bank.embedding[rows], persistent=False)

    def prepare(self, x: Tensor) -> Tensor:
        return resampled(z_scored(x[:, self.kept]), self.n_resampled)

    def pool(self, prepared: Tensor) -> Tensor:
        return self.backbone(prepared, self.positions.expand(len(prepared), -1, -1))


@contextmanager
def _position_bank() -> Iterator[None]:
    """Where REVE's constructor looks for positions before it would download them: the user's folder, or our own."""
    import mne

    if mne.get_config("REVE_POSITIONS_PATH"):
        yield
        return
    with tempfile.TemporaryDirectory() as folder:
        table = {name: position.tolist() for name, position in standard_positions().items()}
        (Path(folder) / "reve_positions.json").write_text(json.dumps(table))
        os.environ["REVE_POSITIONS_PATH"] = folder
        try:
            yield
        finally:
            del os.environ["REVE_POSITIONS_PATH"]
