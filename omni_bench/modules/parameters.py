"""Which parameters an optimizer gets, and how it treats them."""

from typing import Any

from torch import nn


def parameter_groups(net: nn.Module, head_lr: float | None = None) -> list[dict[str, Any]]:
    """Trainable parameters as optimizer groups: no weight decay on vectors (norms and biases), own rate for the head.

    Parameters
    ----------
    head_lr
        Learning rate of what starts untrained, ``net.head_name`` and adapters; None leaves it the optimizer's.

    Returns
    -------
    Groups that have parameters.
    """
    groups: dict[tuple[bool, bool], list[nn.Parameter]] = {}
    head = f"{net.head_name}."
    for name, parameter in net.named_parameters():
        if parameter.requires_grad:
            is_new = name.startswith(head) or ".lora_" in name
            groups.setdefault((parameter.ndim > 1, is_new), []).append(parameter)
    return [
        {
            "params": parameters,
            **({} if decays else {"weight_decay": 0.0}),
            **({"lr": head_lr} if is_new and head_lr is not None else {}),
        }
        for (decays, is_new), parameters in groups.items()
    ]
