"""Where a network's published starting weights come from. Nothing is downloaded here."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

StateDict = dict[str, Tensor]


@dataclass(frozen=True)
class PretrainedSource:
    """Weights on the Hugging Face hub and how they become ours.

    Attributes
    ----------
    hub_id : str
        Repository with a `model.safetensors`.
    convert : callable
        State dict of that file → state dict of the network's own names, without what the network does not take.
    licence : str
        Licence of the weights as their repository states it.
    """

    hub_id: str
    convert: Callable[[StateDict], StateDict]
    licence: str
