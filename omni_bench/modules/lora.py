"""Low-rank adapters in a frozen backbone (Hu et al. 2022, LoRA), by peft."""

import torch
from torch import Tensor, nn

from omni_bench.errors import BenchError
from omni_bench.models.build import head_of


def add_lora(net: nn.Module, x: Tensor, *, rank: int, alpha: int, dropout: float) -> None:
    """Put adapters beside the linear layers that an embedding passes through; they and the head train, nothing else.

    Left out are layers that the card keeps from training, and attention whose projections are no calls of a linear layer.
    The adapters' names have ``lora_A`` and ``lora_B``, those of the wrapped layers ``base_layer``. Batch norm keeps its
    statistics.

    Parameters
    ----------
    net
        With its starting weights, ``backbone`` and ``embed``; see `omni_bench.models.foundation`. Changed in place.
    x
        A window ``(1, n_chans, n_times)`` of any content.
    rank, alpha, dropout
        Of each adapter, which adds ``alpha / rank * B A dropout(input)``; B starts at zero.

    Raises
    ------
    BenchError
        peft is not installed, or there is no such layer.
    """
    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ImportError as error:
        raise BenchError("adaptation=lora needs peft: pip install 'omni_bench[foundation]'") from error
    layers = _linear_layers(net, x)
    if not layers:
        raise BenchError(f"adaptation=lora: {type(net).__name__} has no linear layer to adapt: say full_finetune")
    net.requires_grad_(False)
    inject_adapter_in_model(LoraConfig(r=rank, lora_alpha=alpha, lora_dropout=dropout, target_modules=layers), net)
    head_of(net).requires_grad_(True)
    for module in net.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.eval()


@torch.no_grad()
def _linear_layers(net: nn.Module, x: Tensor) -> list[str]:
    """Names of the backbone's linear layers that ``embed`` calls."""
    untrained = tuple(f"backbone.{prefix}" for prefix in getattr(net, "untrained", ()))
    backbone = getattr(net, "backbone", nn.Module())
    names = {module: f"backbone.{name}" for name, module in backbone.named_modules() if type(module) is nn.Linear}
    called: list[str] = []
    hooks = [m.register_forward_hook(lambda module, *_: called.append(names[module])) for m in names]
    training = {module: module.training for module in net.modules()}
    net.eval().embed(x)  # type: ignore[operator]
    for module, was in training.items():
        module.training = was
    for hook in hooks:
        hook.remove()
    return sorted({name for name in called if not f"{name}.".startswith(untrained)})
