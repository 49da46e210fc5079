"""Reader of EEGdenoiseNet (Zhang et al. 2021): pooled single-channel epochs of EEG and of artefacts, without persons."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from omni_bench.data.array_files import ArrayFile
from omni_bench.data.arrays import array_recording
from omni_bench.data.cohort import Cohort
from omni_bench.data.recording import Recording
from omni_bench.datasets.array_trials import channel_table
from omni_bench.errors import BenchError

EEG, EOG = "EEG_all_epochs.npy", "EOG_all_epochs.npy"
SFREQ, N_TIMES = 256.0, 512
PARTS = ("clean", "ocular")


@dataclass(frozen=True)
class OcularEpochs:
    """Opens the epochs of one class (``part``: clean or ocular), one piece each.

    Attributes
    ----------
    rule
        ``mixed``: the ocular class is EEG with an EOG epoch added, and no EEG epoch is in both classes. ``pure``: it is the EOG
        epochs themselves.
    snr_db
        Range that the signal-to-noise ratio of a mixture is drawn from.
    seed
        Of the draw of epochs and ratios.
    """

    rule: Literal["mixed", "pure"]
    snr_db: tuple[float, float]
    seed: int
    channel: str

    def __call__(
        self, path: Path, ch_names: Sequence[str] | None = None, unit: str | None = None, part: str = "clean"
    ) -> Recording:
        pieces = [epoch[None] for epoch in self.epochs(path.parent, part)]
        return array_recording(path, pieces, [self.channel], SFREQ, ch_names, unit)

    def epochs(self, folder: Path, part: str) -> NDArray[np.float64]:
        """Epochs of one class ``(n_epochs, 512)``."""
        eeg, eog = _read(folder / EEG), _read(folder / EOG)
        if self.rule == "pure":
            return eeg if part == "clean" else eog
        rng = np.random.default_rng(self.seed)
        order = rng.permutation(len(eeg))
        n_mixed = min(len(eeg) // 2, len(eog))
        noise = eog[rng.permutation(len(eog))[:n_mixed]]
        snr = rng.uniform(*self.snr_db, (n_mixed, 1))
        if part == "clean":
            return eeg[order[n_mixed:][:n_mixed]]
        return mix(eeg[order[:n_mixed]], noise, snr)


def mix(eeg: NDArray[np.float64], noise: NDArray[np.float64], snr_db: NDArray[np.float64]) -> NDArray[np.float64]:
    """EEG with noise scaled to a ratio of root mean squares in dB, per epoch (Zhang et al. 2021)."""
    rms_eeg, rms_noise = (np.sqrt((epochs**2).mean(axis=-1, keepdims=True)) for epochs in (eeg, noise))
    return eeg + noise * rms_eeg / (rms_noise * 10 ** (snr_db / 20))


def read_eegdenoisenet(
    root: Path,
    name: str,
    on_error: str = "raise",
    unit: str | None = None,
    *,
    rule: Literal["mixed", "pure"] = "mixed",
    snr_db: Sequence[float] = (-7, 2),
    seed: int = 0,
    channel: str = "Oz",
) -> Cohort:
    """Read the metadata of two recordings, one per class, of one person that stands for the unknown many.

    Parameters
    ----------
    rule, snr_db, seed
        See `OcularEpochs`; the data set itself has no labels.
    channel
        Name of the only channel, which the epochs do not have.

    Raises
    ------
    BenchError
        No such files, epochs of another length, or an unknown rule.
    """
    if rule not in ("mixed", "pure"):
        raise BenchError(f"dataset.read.rule={rule}, expected mixed or pure")
    layout = OcularEpochs(rule, (float(snr_db[0]), float(snr_db[1])), seed, channel)
    rows: list[dict[str, Any]] = []
    trials = []
    for part in PARTS:
        n_epochs = len(layout.epochs(root, part))
        row = {"recording": part, "subject": "pool", "path": EEG, "part": part, "modality": "EEG", "sfreq": SFREQ}
        rows.append(row | {"duration": n_epochs * N_TIMES / SFREQ})
        onset = np.arange(n_epochs) * N_TIMES / SFREQ
        trials.append(
            pd.DataFrame({"onset": onset, "duration": N_TIMES / SFREQ, "trial_type": part, "recording": part})
        )
    channels = pd.concat([channel_table(part, [channel]) for part in PARTS])
    persons = pd.DataFrame({"subject": ["pool"], "person": "pool", "source": name})
    events = pd.concat(trials, ignore_index=True)
    return Cohort(name, root, persons, pd.DataFrame(rows), channels, unit, [], events, opener=layout)


def _read(path: Path) -> NDArray[np.float64]:
    epochs = np.asarray(ArrayFile(path).value(""), np.float64)
    if epochs.ndim != 2 or epochs.shape[1] != N_TIMES:
        raise BenchError(
            f"{path}: epochs of shape {epochs.shape}, expected (n_epochs, {N_TIMES}): take the 256 Hz file"
        )
    return epochs
