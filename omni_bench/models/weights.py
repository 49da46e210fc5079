"""Starting weights: where they come from, and how much of a network they really fill."""

import contextlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from omni_bench.config import file_sha256
from omni_bench.errors import BenchError

WRAPPERS = ("state_dict", "model_state_dict", "model", "module")
"""Keys under which checkpoints hide their state dict."""
PREFIXES = ("module.", "model.", "student.", "_orig_mod.", "net.", "backbone.", "encoder.")


@dataclass
class LoadReport:
    """What a state dict did to a network; names of parameters and buffers."""

    source: str
    pretrained: bool
    revision: str | None = None
    sha256: str | None = None
    matched: int = 0
    missing: list[str] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    mismatched: list[str] = field(default_factory=list)


def load_starting_weights(net: nn.Module, card: Mapping[str, Any], offline: bool = False) -> dict[str, Any]:
    """Fill a network as its card says.

    Parameters
    ----------
    card
        A model card: ``weights`` is ``random``, ``pretrained`` (then ``pretrained`` has ``repo, revision, file, sha256``),
        ``published`` (pretrained where the card has a source, else random) or a file; ``min_matched`` is the share of
        the network's tensors that must be filled.

    Returns
    -------
    The load report as a dictionary.

    Raises
    ------
    BenchError
        The file is absent or of another network, or the card has no pretrained weights.
    """
    weights = card["weights"]
    if weights == "published":
        weights = "pretrained" if card.get("pretrained") else "random"
    if weights == "random":
        return asdict(LoadReport("random", pretrained=False))
    if weights == "pretrained":
        source = card.get("pretrained")
        if not source:
            raise BenchError(
                f"model={card['name']}: no pretrained weights are known: use weights=random or weights=<file>"
            )
        file, name = _download(card["name"], source, offline), f"hf://{source['repo']}"
        # the commit that was served, also where the card pins none
        revision = next(folder.name for folder in file.parents if folder.parent.name == "snapshots")
        expected = source.get("sha256")
        if expected and file_sha256(file) != expected:
            raise BenchError(f"{file}: SHA-256 differs from the model card's: delete it and fetch it again")
    else:
        file, name, revision = Path(weights).expanduser(), weights, None
    report = load_state(net, _in_own_names(net, read_state(file)), card.get("min_matched", 0.9), str(file))
    report.source, report.revision, report.sha256 = name, revision, file_sha256(file)
    return asdict(report)


def read_state(file: Path) -> dict[str, Tensor]:
    """State dict of a ``.safetensors``, ``.pt``, ``.pth``, ``.ckpt`` or ``.bin`` file; no code in it is ever run.

    Raises
    ------
    BenchError
        No such file, a pickled whole module, or no tensors in it.
    """
    if not file.is_file():
        raise BenchError(f"weights={file}: no such file: give a state dict (.safetensors, .pt, .pth, .ckpt, .bin)")
    try:
        if file.suffix == ".safetensors":
            from safetensors.torch import load_file

            return load_file(file)
        content = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:
        raise BenchError(
            f"{file}: not a plain state dict ({type(error).__name__}): convert it with python -m omni_bench.convert"
        ) from error
    while isinstance(content, dict) and (key := next((k for k in WRAPPERS if isinstance(content.get(k), dict)), None)):
        content = content[key]
    state = (
        {name: value for name, value in content.items() if isinstance(value, Tensor)}
        if isinstance(content, dict)
        else {}
    )
    if not state:
        raise BenchError(f"{file}: no tensors in it: give a state dict")
    return state


def load_state(net: nn.Module, state: dict[str, Tensor], min_matched: float, source: str) -> LoadReport:
    """Copy the tensors that fit by name and shape, after wrapper prefixes are taken off.

    Raises
    ------
    BenchError
        Less than ``min_matched`` of the network's tensors are filled.
    """
    own = net.state_dict()
    state = max((_without(state, prefix) for prefix in ("", *PREFIXES)), key=lambda s: len(own.keys() & s.keys()))
    fitting = {name: value for name, value in state.items() if name in own and value.shape == own[name].shape}
    report = LoadReport(
        source,
        pretrained=True,
        matched=len(fitting),
        missing=sorted(own.keys() - state.keys()),
        unexpected=sorted(state.keys() - own.keys()),
        mismatched=sorted(name for name in own.keys() & state.keys() if name not in fitting),
    )
    if len(fitting) < min_matched * len(own):
        raise BenchError(
            f"{source}: fills {len(fitting)} of the network's {len(own)} tensors (missing {len(report.missing)}, unexpected "
            f"{len(report.unexpected)}, of another shape {len(report.mismatched)}): weights of another network"
        )
    net.load_state_dict(fitting, strict=False)
    return report


def _in_own_names(net: nn.Module, state: dict[str, Tensor]) -> dict[str, Tensor]:
    """A state dict under its publisher's names → the network's, by what the network knows of them; others as they are."""
    source = getattr(net, "pretrained_source", None)
    convert = source.convert if source else getattr(net, "own_names", None)
    if convert is None:
        return state
    candidates = [state]
    for prefix in ("", *PREFIXES):
        with contextlib.suppress(KeyError):
            candidates.append(convert(_without(state, prefix)))
    own = {name: value.shape for name, value in net.state_dict().items()}
    return max(candidates, key=lambda s: sum(own.get(name) == value.shape for name, value in s.items()))


def _without(state: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in state.items()}


def _download(name: str, source: Mapping[str, Any], offline: bool) -> Path:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

    try:
        return Path(
            hf_hub_download(source["repo"], source["file"], revision=source.get("revision"), local_files_only=offline)
        )
    except (LocalEntryNotFoundError, OfflineModeIsEnabled, HfHubHTTPError, OSError) as error:
        raise BenchError(
            f"model={name}: weights {source['file']} of {source['repo']} are not in the local cache and could not be fetched "
            f"({type(error).__name__}): fetch them where there is a network, then give model.weights=<file>, "
            "or start from model.weights=random"
        ) from error
