"""Weights out of pickled whole modules, such as PyHFO's and eHFO's checkpoints, without running any code in them.

A pickled module names the classes it is made of, and Python would import and call whatever is named. Here every name
becomes a dummy that keeps what it is given, save the few that build tensors; the module tree is then walked for its
parameters and buffers.
"""

import pickle
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from omni_bench.errors import BenchError

BUILDERS = {
    "collections.OrderedDict": OrderedDict,
    "builtins.set": set,
    "__builtin__.set": set,
    "torch.Size": torch.Size,
    "torch.device": torch.device,
    "torch._utils._rebuild_tensor_v2": torch._utils._rebuild_tensor_v2,
    "torch._utils._rebuild_parameter": torch._utils._rebuild_parameter,
    **{
        f"torch.{name}": getattr(torch, name)
        for name in ("float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "bool")
    },
}
"""All that is ever called: what builds tensors and plain containers."""


class Dummy:
    """Stands for an object of any class: keeps its state, does nothing."""

    dump_patches = False
    """Torch asks every class of a file of its first format."""

    def __new__(cls, *_: Any, **__: Any) -> "Dummy":
        return super().__new__(cls)

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __call__(self, *_: Any, **__: Any) -> "Dummy":
        return self

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, dict):
            self.__dict__.update(state)

    def __setitem__(self, key: Any, value: Any) -> None: ...

    def append(self, value: Any) -> None: ...

    def extend(self, values: Any) -> None: ...


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        return BUILDERS.get(f"{module}.{name}", Dummy)


def state_of_pickled_module(file: Path) -> dict[str, Tensor]:
    """State dict of the module that a ``.pt``, ``.pth`` or ``.pkl`` file of torch holds, by itself or in a dictionary.

    Raises
    ------
    BenchError
        The file cannot be read, or holds no module with weights, or several.
    """
    if not file.is_file():
        raise BenchError(f"{file}: no such file")
    harmless = ModuleType("harmless_pickle")
    vars(harmless).update(Unpickler=_Unpickler, load=lambda stream, **o: _Unpickler(stream, **o).load())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the source of a class cannot be compared
            content = torch.load(file, map_location="cpu", pickle_module=harmless, weights_only=False)
    except Exception as error:
        raise BenchError(
            f"{file}: cannot be read as a file of torch ({type(error).__name__}): copy it again"
        ) from error
    candidates = list(content.values()) if isinstance(content, dict) else [content]
    states = [state for item in candidates if isinstance(item, Dummy) and (state := dict(_tensors(item, "")))]
    if len(states) != 1:
        raise BenchError(f"{file}: {len(states) or 'no'} pickled modules with weights in it, expected one")
    return states[0]


def _tensors(module: Dummy, prefix: str) -> Iterator[tuple[str, Tensor]]:
    held = vars(module)
    temporary = held.get("_non_persistent_buffers_set", set())
    for name, value in {**held.get("_parameters", {}), **held.get("_buffers", {})}.items():
        if isinstance(value, Tensor) and name not in temporary:
            yield prefix + name, value.detach()
    for name, child in held.get("_modules", {}).items():
        if isinstance(child, Dummy):
            yield from _tensors(child, f"{prefix}{name}.")
