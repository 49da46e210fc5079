"""Windows made worse on purpose: lost channels and regions, wrong gain, noise, drift, shifted time.

What happens to a window depends on the seed and the window's name alone, so every model meets the same corruption.
Worker processes import this module and no trainer.
"""

import hashlib
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from omni_bench.errors import BenchError
from omni_bench.signal.electrode_names import electrode_name

SPLITS = ("train", "val", "test")


@dataclass(frozen=True, kw_only=True)
class Corruption(ABC):
    """A function of a window ``(n_chans, n_times)`` in µV and its ``sample_id``; the window itself is left as it is.

    Parameters
    ----------
    seed
        Of all draws.
    ch_names
        Of the windows, in their order; one name where a window is one channel.
    sfreq
        Of the windows, in Hz.
    splits
        Whose windows are corrupted.

    Raises
    ------
    BenchError
        A split that does not exist, or a parameter out of its range.
    """

    seed: int
    ch_names: tuple[str, ...]
    sfreq: float
    splits: tuple[str, ...] = ("test",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ch_names", tuple(self.ch_names))
        object.__setattr__(self, "splits", tuple(self.splits))
        wrong = set(self.splits) - set(SPLITS)
        if wrong or not self.splits:
            raise BenchError(
                f"protocol.corruption.splits={list(self.splits)}: expected one or more of {', '.join(SPLITS)}"
            )

    def __call__(self, x: Tensor, sample_id: str) -> Tensor:
        return self.apply(x, self.draw(sample_id))

    @abstractmethod
    def draw(self, sample_id: str) -> np.ndarray:
        """What is random about one window: one number per channel, or one for all; the same at every rate."""

    @abstractmethod
    def apply(self, x: Tensor, drawn: np.ndarray) -> Tensor:
        """The corrupted window."""

    def identity(self) -> dict[str, Any]:
        """What names this corruption, as plain values."""
        return {"kind": type(self).__name__, **asdict(self)}

    def sha256(self, sample_ids: Iterable[str]) -> str:
        """Hash of what is drawn for windows; it differs between models only where they see other windows or channels."""
        digest = hashlib.sha256()
        for sample_id in sorted(set(sample_ids)):
            digest.update(sample_id.encode() + self.draw(sample_id).astype("<f8").tobytes())
        return digest.hexdigest()

    def _rng(self, sample_id: str) -> np.random.Generator:
        digest = hashlib.blake2b(f"{self.seed}/{sample_id}".encode(), digest_size=16).digest()
        return np.random.default_rng(int.from_bytes(digest))

    def _positive(self, **options: float) -> None:
        for name, value in options.items():
            if not (value > 0 and math.isfinite(value)):
                raise BenchError(f"protocol.corruption.{name}={value:g}, expected a number above 0")


class _Masking(Corruption):
    """Sets channels to zero; ``draw`` is 1 where a channel is lost."""

    def apply(self, x: Tensor, drawn: np.ndarray) -> Tensor:
        return x.masked_fill(torch.from_numpy(drawn.astype(bool))[:, None], 0.0)

    def _some_left(self, option: str, n_lost: int) -> None:
        if n_lost >= len(self.ch_names):
            raise BenchError(
                f"protocol.corruption.{option} would blank all {len(self.ch_names)} channels of a window: "
                "lower it, or choose a task with more channels"
            )


@dataclass(frozen=True, kw_only=True)
class ChannelMasking(_Masking):
    """Sets max(1, floor(p · C)) of a window's C channels to zero (OmniEEG-Bench); a larger p loses the same and more.

    With ``compat="reference"`` one set of channels is lost by all windows of all splits, training included, as in the
    published code.

    Raises
    ------
    BenchError
        ``p`` is not between 0 and 1, or no channel would be left.
    """

    p: float
    compat: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.compat == "reference":
            object.__setattr__(self, "splits", SPLITS)
        if not 0 < self.p < 1:
            raise BenchError(f"protocol.corruption.p={self.p:g}, expected above 0 and below 1")
        self._some_left(f"p={self.p:g}", self.n_lost)

    @property
    def n_lost(self) -> int:
        """Channels set to zero."""
        # a billionth forgives shares that are not exact in binary
        return max(1, math.floor(self.p * len(self.ch_names) + 1e-9))

    def draw(self, sample_id: str) -> np.ndarray:
        n = len(self.ch_names)
        if self.compat == "reference":
            lost = np.random.RandomState(self.seed).choice(n, self.n_lost, replace=False)
            return np.isin(np.arange(n), lost).astype(float)
        return (self._rng(sample_id).permutation(n) < self.n_lost).astype(float)


@dataclass(frozen=True, kw_only=True)
class RegionMasking(_Masking):
    """Sets all channels of one or more scalp regions to zero, in every window alike.

    ``regions`` are among `REGIONS`.

    Raises
    ------
    BenchError
        A region that does not exist or has no channel, or no channel would be left.
    """

    regions: tuple[str, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "regions", tuple(self.regions))
        present = set(map(region_of, self.ch_names))
        for region in self.regions:
            if region not in REGIONS:
                raise BenchError(f"protocol.corruption.regions={region}: expected among {', '.join(REGIONS)}")
            if region not in present:
                raise BenchError(f"protocol.corruption.regions={region}: the task has no channel there")
        self._some_left(f"regions={list(self.regions)}", int(self.draw("").sum()))

    def draw(self, sample_id: str) -> np.ndarray:
        return np.array([region_of(name) in self.regions for name in self.ch_names], dtype=float)


class _PerChannel(Corruption):
    """Draws a number from -1 to 1 for every channel."""

    def draw(self, sample_id: str) -> np.ndarray:
        return self._rng(sample_id).uniform(-1, 1, len(self.ch_names))


@dataclass(frozen=True, kw_only=True)
class Gain(_PerChannel):
    """Multiplies every channel by a gain of its own, uniform in decibel from ``-max_db`` to ``max_db``."""

    max_db: float

    def __post_init__(self) -> None:
        super().__post_init__()
        self._positive(max_db=self.max_db)

    def apply(self, x: Tensor, drawn: np.ndarray) -> Tensor:
        return x * torch.from_numpy(10 ** (self.max_db * drawn / 20)).to(x.dtype)[:, None]


@dataclass(frozen=True, kw_only=True)
class Noise(Corruption):
    """Adds white Gaussian noise, ``snr_db`` below each channel's own standard deviation.

    The draw is the noise's own seed: models that read other rates get other samples of the same noise.
    """

    snr_db: float

    def draw(self, sample_id: str) -> np.ndarray:
        return self._rng(sample_id).integers(2**32, size=1)

    def apply(self, x: Tensor, drawn: np.ndarray) -> Tensor:
        noise = np.random.default_rng(int(drawn[0])).standard_normal(tuple(x.shape), dtype=np.float32)
        return x + torch.from_numpy(noise).to(x.dtype) * x.std(dim=1, keepdim=True) * 10 ** (-self.snr_db / 20)


@dataclass(frozen=True, kw_only=True)
class Drift(_PerChannel):
    """Adds a straight line through the window's middle to every channel, of a slope up to ``uv_per_s`` either way."""

    uv_per_s: float

    def __post_init__(self) -> None:
        super().__post_init__()
        self._positive(uv_per_s=self.uv_per_s)

    def apply(self, x: Tensor, drawn: np.ndarray) -> Tensor:
        seconds = (torch.arange(x.shape[1], dtype=x.dtype) - (x.shape[1] - 1) / 2) / self.sfreq
        return x + torch.from_numpy(self.uv_per_s * drawn).to(x.dtype)[:, None] * seconds


@dataclass(frozen=True, kw_only=True)
class TimeShift(Corruption):
    """Turns all channels of a window round in time by up to ``max_s`` seconds either way; the end meets the beginning."""

    max_s: float

    def __post_init__(self) -> None:
        super().__post_init__()
        self._positive(max_s=self.max_s)

    def draw(self, sample_id: str) -> np.ndarray:
        return self._rng(sample_id).uniform(-1, 1, 1)

    def apply(self, x: Tensor, drawn: np.ndarray) -> Tensor:
        return x.roll(round(float(drawn[0]) * self.max_s * self.sfreq), dims=1)


REGIONS: dict[str, tuple[str, ...]] = {
    "frontal": ("FP", "AF", "F"),
    "central": ("FC", "C", "CP"),
    "temporal": ("FT", "T", "TP"),
    "parietal": ("P",),
    "occipital": ("PO", "O", "I"),
}
"""Region → letters of its electrodes' names in the 10-20, 10-10 and 10-05 systems."""

_ELECTRODE = re.compile(r"([A-Z]+?)(\d+|Z)H?")


def region_of(name: str) -> str | None:
    """Scalp region of an electrode, None for any other name; T5 and T6 are P7 and P8 of today."""
    name = {"T5": "P7", "T6": "P8"}.get(electrode_name(name), electrode_name(name))
    match = _ELECTRODE.fullmatch(name)
    return next((region for region, letters in REGIONS.items() if match and match[1] in letters), None)
