"""EEG foundation models from braindecode: LaBraM, BIOT, CBraMod and BENDR behind the interface of `FoundationModel`.

Each takes the official weights under their official names (`own_names`), and braindecode's own.
"""

import re
import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from omni_bench.errors import BenchError
from omni_bench.models.electrodes import nearest_by_benchmark
from omni_bench.models.foundation import (
    FoundationModel,
    require_names,
    require_sfreq,
    require_whole_patches,
    resampled,
)
from omni_bench.models.neurolm import VOCABULARY
from omni_bench.signal.electrode_names import electrode_name

SFREQ = 200.0
PATCH = 200  # samples
TODAY = {"T3": "T7", "T4": "T8", "T5": "P7", "T6": "P8", "M1": "A1", "M2": "A2"}
BIPOLAR = [
    "FP1-F7",
    "F7-T7",
    "T7-P7",
    "P7-O1",
    "FP2-F8",
    "F8-T8",
    "T8-P8",
    "P8-O2",
    "FP1-F3",
    "F3-C3",
    "C3-P3",
    "P3-O1",
    "FP2-F4",
    "F4-C4",
    "C4-P4",
    "P4-O2",
    "C3-A2",
    "C4-A1",
]
BENDR_CHANNELS = [
    "FP1",
    "FP2",
    "F7",
    "F3",
    "FZ",
    "F4",
    "F8",
    "T7",
    "C3",
    "CZ",
    "C4",
    "T8",
    "P7",
    "P3",
    "PZ",
    "P4",
    "P8",
    "O1",
    "O2",
]
_LABRAM_PLACES = 128  # braindecode knows these first names of the vocabulary, the official table has one row for each


class Labram(FoundationModel):
    """LaBraM base: µV / 100, a token per channel and second, mean of the patch tokens (Jiang et al. 2024).

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        200 Hz; whole seconds. Beyond 16 s the table of times is stretched linearly when weights are loaded.
    ch_names
        Electrode names, at least one of its vocabulary; others are dropped.
    compat
        "reference": a name outside the vocabulary takes the place of the nearest one by the benchmark's shifted
        coordinates, and tokens are normalised before their mean, not after.
    """

    backbone: Any
    input_chans: Tensor

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
        from braindecode.models import Labram as Network

        self.reference = compat == "reference"
        require_sfreq("LaBraM", sfreq, SFREQ)
        require_whole_patches("LaBraM", n_times, PATCH)
        names = require_names("LaBraM", n_chans, ch_names)
        known = VOCABULARY[:_LABRAM_PLACES]
        places = nearest_by_benchmark(names, known) if self.reference else channel_places(names, known)
        self.kept = [i for i, place in enumerate(places) if place is not None]
        if not self.kept:
            raise BenchError(f"LaBraM: none of {', '.join(names[:4])}... is in its vocabulary of 10-05 names")
        self.n_patches = n_times // PATCH
        network = Network(n_times=n_times, n_chans=len(self.kept), n_outputs=0, sfreq=sfreq, use_mean_pooling=True)
        super().__init__(network, 200, n_outputs)
        tokens = torch.tensor([0, *(place + 1 for place in places if place is not None)])
        self.register_buffer("input_chans", tokens, persistent=False)

    def own_names(self, state: dict[str, Tensor]) -> dict[str, Tensor]:
        renamed = _renamed(
            state,
            (r"^pos_embed$", "position_embedding"),
            (r"^time_embed$", "temporal_embedding"),
            (r"^patch_embed\.(conv|norm)(\d)", r"patch_embed.temporal_conv.\1\2"),
            (r"\.mlp\.fc1\.", ".mlp.0."),
            (r"\.mlp\.fc2\.", ".mlp.2."),
        )
        if "temporal_embedding" in renamed:
            times = renamed["temporal_embedding"]
            if self.n_patches > times.shape[1]:
                times = F.interpolate(times.mT, self.n_patches, mode="linear").mT
            # braindecode's table has a row that it never reads
            renamed["temporal_embedding"] = F.pad(times, (0, 0, 0, 1))[:, : self.n_patches + 1]
        return super().own_names(renamed)

    def prepare(self, x: Tensor) -> Tensor:
        return x[:, self.kept] / 100

    def pool(self, prepared: Tensor) -> Tensor:
        if self.reference:
            return self.backbone.forward_features(prepared, self.input_chans, return_patch_tokens=True).mean(1)
        return self.backbone.forward_features(prepared, self.input_chans)


class Biot(FoundationModel):
    """BIOT on 18 bipolar channels, mean over all tokens (Yang et al. 2023).

    Each pair is divided by the 95 % quantile of its magnitude, per trial; a pair with an absent electrode is zero.

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        200 Hz; 1 to 100 s.
    ch_names
        Electrode names with at least one of the pairs; the 18 names of `BIPOLAR` mean bipolar input.
    compat
        "reference" is the same.
    """

    matrix: Tensor

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
        from braindecode.models import BIOT as Network

        require_sfreq("BIOT", sfreq, SFREQ)
        if not PATCH <= n_times <= 100 * PATCH:
            raise BenchError(f"BIOT: n_times={n_times}, the model takes 200 to 20000 samples; choose such windows")
        names = [electrode_name(name) for name in require_names("BIOT", n_chans, ch_names)]
        names = [TODAY.get(name, name) for name in names]
        matrix = torch.zeros(len(BIPOLAR), n_chans)
        for row, pair in enumerate(BIPOLAR):
            if pair in names:
                matrix[row, names.index(pair)] = 1
            elif set(pair.split("-")) <= set(names):
                anode, cathode = (names.index(end) for end in pair.split("-"))
                matrix[row, anode], matrix[row, cathode] = 1, -1
        if not matrix.any():
            raise BenchError(f"BIOT: no pair of {', '.join(names[:4])}... is one of its derivations FP1-F7, F7-T7, ...")
        network = Network(
            n_chans=len(BIPOLAR), n_outputs=1, n_times=n_times, sfreq=sfreq, hop_length=100, drop_prob=0.1
        )
        network.final_layer = nn.Identity()
        super().__init__(network, 256, n_outputs)
        self.register_buffer("matrix", matrix, persistent=False)

    def own_names(self, state: dict[str, Tensor]) -> dict[str, Tensor]:
        return super().own_names(_renamed(state, (r"^(biot\.)?(?!encoder\.)", "encoder.")))

    def prepare(self, x: Tensor) -> Tensor:
        """``(batch, n_chans, n_times)`` µV to the network's ``(batch, 18, n_times)``."""
        x = self.matrix @ x
        # torch.quantile refuses large batches, but not one trial of them
        scale = torch.stack([trial.abs().quantile(0.95, dim=-1, keepdim=True) for trial in x])
        return x / (scale + 1e-6)

    def pool(self, prepared: Tensor) -> Tensor:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "A window was not provided")  # the published window is rectangular
            return self.backbone(prepared)


class CBraMod(FoundationModel):
    """CBraMod on any channels: µV / 100, patches of one second (Wang et al. 2025).

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        200 Hz; whole seconds.
    ch_names
        Only for "reference", which sorts channels by the vocabulary index of the nearest electrode in its shifted
        coordinates, drops those without one, takes any rate (linear interpolation) and drops a last part of a second.
    pooling
        ``flatten`` all tokens (as its authors do), or ``mean`` over channels and patches.
    """

    backbone: Any

    def __init__(
        self,
        n_chans: int,
        n_outputs: int,
        n_times: int,
        sfreq: float,
        ch_names: Sequence[str] | None = None,
        *,
        compat: str | None = None,
        pooling: str = "flatten",
    ) -> None:
        from braindecode.models import CBraMod as Network

        if pooling not in ("flatten", "mean"):
            raise BenchError(f"CBraMod: pooling={pooling!r}, expected flatten or mean")
        self.mean, self.kept = pooling == "mean", list(range(n_chans))
        self.n_resampled = n_times
        if compat == "reference":
            nearest = nearest_by_benchmark(require_names("CBraMod", n_chans, ch_names), VOCABULARY)
            self.kept = sorted((i for i in self.kept if nearest[i] is not None), key=lambda i: nearest[i] or 0)
            self.n_resampled = round(n_times * SFREQ / sfreq)
        else:
            require_sfreq("CBraMod", sfreq, SFREQ)
            require_whole_patches("CBraMod", n_times, PATCH)
        n_patches = self.n_resampled // PATCH
        network = Network(
            n_chans=len(self.kept), n_outputs=1, n_times=n_patches * PATCH, sfreq=SFREQ, return_encoder_output=True
        )
        embed_dim = PATCH if self.mean else len(self.kept) * n_patches * PATCH
        super().__init__(network, embed_dim, n_outputs, untrained=("patch_embedding.mask_encoding", "proj_out."))

    def prepare(self, x: Tensor) -> Tensor:
        """``(batch, n_chans, n_times)`` µV to patches ``(batch, n_kept, n_patches, 200)``."""
        x = resampled(x[:, self.kept] / 100, self.n_resampled)
        return x[..., : x.shape[-1] // PATCH * PATCH].unflatten(-1, (-1, PATCH))

    def pool(self, prepared: Tensor) -> Tensor:
        tokens = self.backbone.encoder(self.backbone.patch_embedding(prepared))
        return tokens.mean((1, 2)) if self.mean else tokens.flatten(1)


class Bendr(FoundationModel):
    """BENDR: 19 channels scaled together to [-1, 1], a twentieth with the amplitude; the start token (Kostas et al. 2021).

    braindecode's final layer norm, which the official forward does not apply, is left out. The amplitude channel tells
    a trial's range relative to its data set's; here it is constantly 1, so that an embedding depends on its trial alone.

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        256 Hz; at least 96 samples.
    ch_names
        Electrode names, at least one of `BENDR_CHANNELS`; absent ones are zero.
    compat
        "reference" is refused: the benchmark puts a random convolution of its own in front.
    """

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
        from braindecode.models import BENDR as Network

        if compat == "reference":
            raise BenchError(
                "BENDR: compat=reference needs a trained channel adapter, which is not there: say compat=null"
            )
        require_sfreq("BENDR", sfreq, 256)
        if n_times < 96:
            raise BenchError(f"BENDR: n_times={n_times}, the model takes at least 96 samples; use longer windows")
        places = channel_places(require_names("BENDR", n_chans, ch_names), BENDR_CHANNELS, TODAY)
        self.sources = [i for i, place in enumerate(places) if place is not None]
        self.present = [place for place in places if place is not None]
        if not self.present:
            raise BenchError(f"BENDR: none of the channels is one of {' '.join(BENDR_CHANNELS)}; name at least one so")
        network = Network(n_chans=20, n_outputs=1, n_times=n_times, sfreq=sfreq, final_layer=False)
        network.contextualizer.norm = nn.Identity()
        super().__init__(network, 512, n_outputs)

    def own_names(self, state: dict[str, Tensor]) -> dict[str, Tensor]:
        renamed = _renamed(
            state,
            (r"(relative_position\.0)\.weight_g$", r"\1.parametrizations.weight.original0"),
            (r"(relative_position\.0)\.weight_v$", r"\1.parametrizations.weight.original1"),
            (r"input_conditioning\.4\.", "input_conditioning.3."),
        )
        linear = "contextualizer.input_conditioning.3.weight"
        if linear in renamed:
            renamed[linear] = renamed[linear].flatten(1)
        return super().own_names(renamed)

    def prepare(self, x: Tensor) -> Tensor:
        """``(batch, n_chans, n_times)`` µV to the network's ``(batch, 20, n_times)``."""
        x = x[:, self.sources]
        low, high = x.amin((1, 2), keepdim=True), x.amax((1, 2), keepdim=True)
        mapped = x.new_zeros(len(x), 20, x.shape[-1])
        mapped[:, self.present] = 2 * (x - low) / (high - low + 1e-6) - 1
        mapped[:, -1] = 1
        return mapped

    def pool(self, prepared: Tensor) -> Tensor:
        return self.backbone(prepared)


def channel_places(
    ch_names: Sequence[str], known: Sequence[str], spelling: dict[str, str] | None = None
) -> list[int | None]:
    """Index in ``known`` of each channel, None where it is not there."""
    names = [electrode_name(name) for name in ch_names]
    names = [(spelling or {}).get(name, name) for name in names]
    return [known.index(name) if name in known else None for name in names]


def _renamed(state: dict[str, Tensor], *rules: tuple[str, str]) -> dict[str, Tensor]:
    """State dict with the rules (pattern, replacement) applied to every name in turn."""
    renamed = {}
    for name, value in state.items():
        for pattern, replacement in rules:
            name = re.sub(pattern, replacement, name)
        renamed[name] = value
    return renamed
