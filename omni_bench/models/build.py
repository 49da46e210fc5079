"""A network from its card."""

from collections.abc import Mapping, Sequence
from typing import Any

import yaml
from torch import nn

from omni_bench.errors import BenchError
from omni_bench.explain import near
from omni_bench.locate import card_root


def build(
    name: str,
    n_chans: int,
    n_outputs: int,
    n_times: int,
    sfreq: float,
    ch_names: Sequence[str] | None = None,
    weights: str = "random",
    compat: str | None = None,
) -> nn.Module:
    """The network of a model card.

    Parameters
    ----------
    name
        Of a card in ``conf/model``.
    n_chans, n_times, sfreq, ch_names
        Of the windows it will see.
    n_outputs
        Logits: 1 for two classes.
    weights
        ``random``, ``pretrained`` or a file of a state dict.
    compat
        ``None``, ``"paper"`` or ``"reference"``.

    Returns
    -------
    A module that maps float32 µV ``(batch, n_chans, n_times)`` to logits ``(batch, n_outputs)``, with ``embed(x)`` →
    ``(batch, d)``; the final layer's name stands in ``head_name``.

    Raises
    ------
    BenchError
        There is no such card, or the network cannot take such windows.
    """
    file = card_root() / "conf" / "model" / f"{name}.yaml"
    if not file.is_file():
        raise BenchError(f"model={name}: no such model{near(name, (f.stem for f in file.parent.glob('*.yaml')))}")
    card = yaml.safe_load(file.read_text(encoding="utf-8"))
    net = build_net(card["net"], n_chans, n_outputs, n_times, sfreq, ch_names, compat)
    if weights != "random":
        from omni_bench.models.weights import load_starting_weights

        load_starting_weights(net, card | {"weights": weights})
    return net


def build_net(
    node: Mapping[str, Any],
    n_chans: int,
    n_outputs: int,
    n_times: int,
    sfreq: float,
    ch_names: Sequence[str] | None = None,
    compat: str | None = None,
) -> nn.Module:
    """The network of a card's ``net`` node, with random weights; arguments as of `build`."""
    from hydra.utils import instantiate

    make = instantiate(dict(node) | {"_partial_": True, "_convert_": "all"})
    positional: dict[str, Any] = {"n_chans": n_chans, "n_outputs": n_outputs, "n_times": n_times, "sfreq": sfreq}
    if "ch_names" in make.func.__init__.__code__.co_varnames:
        positional["ch_names"] = ch_names
    return make(**positional, compat=compat)


def head_of(net: nn.Module) -> nn.Module:
    """The final layer of a network: what a linear probe trains."""
    return net.get_submodule(net.head_name)  # type: ignore[arg-type]
