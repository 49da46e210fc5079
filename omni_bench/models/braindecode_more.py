"""Further EEG foundation models from braindecode: EEGPT, CodeBrain, LUNA, SignalJEPA, EEG-DINO and ST-EEGFormer.

They stand beside the benchmark's ten. Weights load under braindecode's names; none were at hand, so no output was
compared with the official code. What their publications leave open is marked *ours* in the documentation.
"""

import json
import math
import warnings
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from omni_bench.errors import BenchError
from omni_bench.models.braindecode_nets import BENDR_CHANNELS, TODAY, channel_places
from omni_bench.models.electrodes import standard_positions
from omni_bench.models.foundation import (
    FoundationModel,
    require_names,
    require_sfreq,
    require_whole_patches,
    z_scored,
)
from omni_bench.models.requirements import require_n_times, shortest_input
from omni_bench.signal.electrode_names import electrode_name

PATCH = 200  # samples


class Eegpt(FoundationModel):
    """EEGPT on the channels of its vocabulary, in mV; mean over patches of its four summary tokens (Wang et al. 2024).

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        256 Hz; at least 64 samples, patches of 64 with stride 32.
    ch_names
        Electrode names, at least one of its vocabulary of 62; others are dropped.
    compat
        "reference" is the same: the benchmark does not have the model.
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
    ) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # MNE's new name of a montage
            from braindecode.models import EEGPT as Network
            from braindecode.models.eegpt import CHANNEL_DICT

        require_sfreq("EEGPT", sfreq, 256)
        require_n_times("EEGPT", n_times, 64)
        names = [electrode_name(name) for name in require_names("EEGPT", n_chans, ch_names)]
        names = [TODAY.get(name, name) for name in names]
        self.kept = [i for i, name in enumerate(names) if name in CHANNEL_DICT]
        if not self.kept:
            raise BenchError(f"EEGPT: none of {', '.join(names[:4])}... is in its vocabulary of 10-10 names")
        network = Network(
            chs_info=[{"ch_name": names[i]} for i in self.kept],
            n_times=n_times,
            sfreq=sfreq,
            chan_proj_type="none",
            return_encoder_output=True,
        )
        super().__init__(network, network.embed_num * network.embed_dim, n_outputs)

    def own_names(self, state: dict[str, Tensor]) -> dict[str, Tensor]:
        # a file's channels would take the place of the window's
        return super().own_names({name: value for name, value in state.items() if name != "chans_id"})

    def prepare(self, x: Tensor) -> Tensor:
        return x[:, self.kept] / 1000

    def pool(self, prepared: Tensor) -> Tensor:
        return self.backbone(prepared).mean(1).flatten(1)


class CodeBrain(FoundationModel):
    """CodeBrain on any channels: µV / 100, patches of one second, mean over tokens (Ding et al. 2025).

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        200 Hz; whole seconds, pre-trained on 19 channels and 30 s.
    """

    backbone: Any

    def __init__(self, n_chans: int, n_outputs: int, n_times: int, sfreq: float, *, compat: str | None = None) -> None:
        from braindecode.models import CodeBrain as Network

        require_sfreq("CodeBrain", sfreq, 200)
        require_whole_patches("CodeBrain", n_times, PATCH)
        network = Network(n_chans=n_chans, n_outputs=1, n_times=n_times, sfreq=sfreq)
        network.final_layer = nn.Identity()
        last = network.final_conv[-1].conv
        last.reset_parameters()  # published as zero, which would make all embeddings of random weights alike
        # the last block's residual goes nowhere
        ends = f"residual_layer.residual_blocks.{len(network.residual_layer.residual_blocks) - 1}."
        untrained = ("patch_embedding.mask_encoding", "lm_head_", f"{ends}rms_norm.", f"{ends}res_conv.")
        super().__init__(network, network.out_channels, n_outputs, untrained)

    def prepare(self, x: Tensor) -> Tensor:
        return x / 100

    def pool(self, prepared: Tensor) -> Tensor:
        return self.backbone(prepared).mean((1, 2))


class Luna(FoundationModel):
    """LUNA base on electrodes with a position, z-scored per trial and channel; mean over patches (Döner et al. 2025).

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        256 Hz; multiples of 40 samples are used, what is behind the last is dropped.
    ch_names
        Electrode names, at least one with a 10-05 position; others are dropped.
    """

    backbone: Any
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
        from braindecode.models import LUNA as Network

        require_sfreq("LUNA", sfreq, 256)
        require_n_times("LUNA", n_times, 40)
        self.kept, positions = _placed("LUNA", n_chans, ch_names)
        self.n_used = n_times // 40 * 40
        network = Network(n_chans=len(self.kept), n_outputs=1, n_times=self.n_used, sfreq=sfreq)
        network.final_layer = nn.Identity()
        untrained = tuple(name for name, value in network.named_parameters() if not value.requires_grad)
        super().__init__(network, network.embed_dim * network.num_queries, n_outputs, untrained)
        self.register_buffer("positions", torch.from_numpy(positions).float(), persistent=False)

    def own_names(self, state: dict[str, Tensor]) -> dict[str, Tensor]:
        spelling = self.backbone.mapping
        return super().own_names({spelling.get(name, name): value for name, value in state.items()})

    def prepare(self, x: Tensor) -> Tensor:
        return z_scored(x[:, self.kept, : self.n_used])

    def pool(self, prepared: Tensor) -> Tensor:
        places = self.positions.expand(len(prepared), -1, -1)
        return self.backbone(prepared, channel_locations=places).mean(1)


class SignalJepa(FoundationModel):
    """Signal-JEPA's contextual encoder on electrodes with a position, in µV; mean over tokens (Guetschel et al. 2024).

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        128 Hz (pre-trained on 0.5 to 40 Hz); at least 152 samples.
    ch_names
        Electrode names, at least one with a 10-05 position; others are dropped.
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
    ) -> None:
        from braindecode.models import SignalJEPA as Network

        require_sfreq("SignalJEPA", sfreq, 128)
        require_n_times("SignalJEPA", n_times, shortest_input([(32, 8), (2, 2), (2, 2), (2, 2), (2, 2)]))
        self.kept, positions = _placed("SignalJEPA", n_chans, ch_names)
        places = [{"ch_name": str(i), "loc": place} for i, place in enumerate(positions)]
        network = Network(n_outputs=1, n_times=n_times, sfreq=sfreq, chs_info=places)
        super().__init__(network, 64, n_outputs, untrained=("transformer.decoder.",))

    def prepare(self, x: Tensor) -> Tensor:
        return x[:, self.kept]

    def pool(self, prepared: Tensor) -> Tensor:
        return self.backbone(prepared).mean(1)


class EegDino(FoundationModel):
    """EEG-DINO small on 19 channels: µV / 100, patches of one second, mean over patch tokens (Wang et al. 2025).

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        200 Hz; whole seconds.
    ch_names
        Electrode names, at least one of the 19 of the 10-20 system; absent ones are zero, others are dropped.
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
    ) -> None:
        from braindecode.models import EEGDINO as Network

        require_sfreq("EEG-DINO", sfreq, 200)
        require_whole_patches("EEG-DINO", n_times, PATCH)
        places = channel_places(require_names("EEG-DINO", n_chans, ch_names), BENDR_CHANNELS, TODAY)
        self.sources = [i for i, place in enumerate(places) if place is not None]
        self.present = [place for place in places if place is not None]
        if not self.present:
            raise BenchError(
                f"EEG-DINO: none of the channels is one of {' '.join(BENDR_CHANNELS)}; name at least one so"
            )
        network = Network(
            n_chans=len(BENDR_CHANNELS), n_outputs=1, n_times=n_times, sfreq=sfreq, return_encoder_output=True
        )
        super().__init__(network, network.emb_dim, n_outputs)

    def prepare(self, x: Tensor) -> Tensor:
        """``(batch, n_chans, n_times)`` µV to the network's ``(batch, 19, n_times)``."""
        mapped = x.new_zeros(len(x), len(BENDR_CHANNELS), x.shape[-1])
        mapped[:, self.present] = x[:, self.sources] / 100
        return mapped

    def pool(self, prepared: Tensor) -> Tensor:
        return self.backbone(prepared)


class SteegFormer(FoundationModel):
    """ST-EEGFormer small on electrodes of its vocabulary, z-scored; mean patch token (Yang et al. 2026).

    It is made for up to 6 s, and every patch of every channel attends to all others: longer windows go through it in
    equal parts, whose embeddings are averaged. Every electrode has a row in a table that was trained with the network.
    Which one is known from a list on the hub, so weights find their channels when they are loaded; random ones take any
    row.

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        128 Hz; at least 16 samples, patches of 16.
    ch_names
        Electrode names, at most 145.
    vocabulary
        ``steegformer_channels.json`` of the weights' repository; fetched from there unless given.
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
        vocabulary: str | None = None,
    ) -> None:
        from braindecode.models import STEEGFormer as Network

        require_sfreq("ST-EEGFormer", sfreq, 128)
        require_n_times("ST-EEGFormer", n_times, 16)
        self.ch_names = [electrode_name(name) for name in require_names("ST-EEGFormer", n_chans, ch_names)]
        self.vocabulary = vocabulary
        if n_chans > 145:
            raise BenchError(f"ST-EEGFormer: {n_chans} channels, its vocabulary has 145; choose fewer")
        rows = torch.arange(n_chans)
        self.n_parts = math.ceil(n_times / (6 * 128))
        self.part = n_times // self.n_parts // 16 * 16
        network = Network(n_chans=n_chans, n_outputs=1, n_times=self.part, sfreq=sfreq, chan_pos_idx=rows)
        network.final_layer = nn.Identity()
        network.register_buffer("channel_indices", rows)  # a checkpoint keeps what the weights were loaded with
        super().__init__(network, network.embed_dim, n_outputs, untrained=("norm.",))

    def own_names(self, state: dict[str, Tensor]) -> dict[str, Tensor]:
        n_rows = len(state["channel_pos.embedding.weight"])
        return super().own_names(state | {"channel_indices": torch.tensor(self._rows(n_rows))})

    def _rows(self, n_rows: int) -> list[int]:
        try:
            if self.vocabulary:
                order = json.loads(Path(self.vocabulary).read_text())
            else:
                order = import_module("braindecode.models.steegformer").STEEGFORMER_CHANNEL_ORDER
        except (OSError, ValueError) as error:
            raise BenchError(
                f"ST-EEGFormer: {self.vocabulary or 'steegformer_channels.json'} could not be read "
                f"({type(error).__name__}): fetch it from the weights' repository and give model.net.vocabulary=<file>"
            ) from error
        rows = {electrode_name(name): row for row, name in enumerate(order[:n_rows])}
        known = [rows.get(name, rows.get(TODAY.get(name, name))) for name in self.ch_names]
        absent = [name for name, row in zip(self.ch_names, known, strict=True) if row is None]
        if absent:
            raise BenchError(f"ST-EEGFormer: {', '.join(absent)} not in its vocabulary; leave these channels out")
        return [row for row in known if row is not None]

    def prepare(self, x: Tensor) -> Tensor:
        """``(batch, n_chans, n_times)`` µV to ``(batch * n_parts, n_chans, part)``."""
        parts = x[..., : self.n_parts * self.part].unflatten(-1, (self.n_parts, self.part))
        return z_scored(parts.transpose(1, 2).flatten(0, 1))

    def pool(self, prepared: Tensor) -> Tensor:
        return self.backbone(prepared).unflatten(0, (-1, self.n_parts)).mean(1)


def _placed(model: str, n_chans: int, ch_names: Sequence[str] | None) -> tuple[list[int], np.ndarray]:
    """Channels whose names have a 10-05 position, and those ``(n_kept, 3)`` in metres."""
    names = [electrode_name(name) for name in require_names(model, n_chans, ch_names)]
    table = standard_positions()
    kept = [i for i, name in enumerate(names) if name in table]
    if not kept:
        raise BenchError(f"{model}: none of {', '.join(names[:4])}... has a position; name at least one by 10-05")
    return kept, np.stack([table[names[i]] for i in kept])
