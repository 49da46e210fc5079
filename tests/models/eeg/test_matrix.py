"""Which windows each scalp model takes: the table of the documentation is computed here.

    python -m tests.models.eeg.test_matrix

prints it. Networks are built without initial values and with two of each list of equal blocks, which changes nothing of what they
accept.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import yaml
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from omni_bench.datasets.demo_eeg import CH_NAMES
from omni_bench.errors import BenchError
from omni_bench.locate import card_root
from omni_bench.models.build import build
from omni_bench.models.electrodes import standard_positions

CHANNELS, SECONDS = (1, 19, 64, 128), (1, 2, 10, 30)
DRAWS = {Tensor.normal_, Tensor.uniform_, Tensor.log_normal_, Tensor.erfinv_, nn.init.trunc_normal_}
HEADER = ["| model | 1 s | 2 s | 10 s | 30 s |", "| --- | --- | --- | --- | --- |"]


class NoDraws(TorchFunctionMode):
    """Leaves tensors as they are where they would be filled with random numbers."""

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return args[0] if func in DRAWS else func(*args, **(kwargs or {}))


def scalp_cards() -> dict[str, dict[str, Any]]:
    files = sorted((card_root() / "conf" / "model").glob("*.yaml"))
    cards = {file.stem: yaml.safe_load(file.read_text(encoding="utf-8")) for file in files}
    return {name: card for name, card in cards.items() if card.get("family") == "scalp"}


def names_of(n_chans: int) -> list[str]:
    """Cz, the 19 electrodes of the 10-20 system, or those and the next of the 10-05 template."""
    more = [name for name in standard_positions() if name not in {own.upper() for own in CH_NAMES}]
    return ["Cz"] if n_chans == 1 else [*CH_NAMES, *more][:n_chans]


def shorten(net: nn.Module) -> None:
    """Keep two of each list of blocks that have the same parameters."""
    for parent in net.modules():
        for name, child in list(parent._modules.items()):
            listed = isinstance(child, nn.ModuleList) or (type(child) is nn.Sequential and is_encoder(child))
            if listed and len(child) > 2 and len({shapes_of(block) for block in child}) == 1:
                parent._modules[name] = child[:2]
                if hasattr(parent, "num_res_layers"):  # CodeBrain counts its blocks once
                    parent.num_res_layers = 2


def is_encoder(chain: nn.Sequential) -> bool:
    """Whether it is made of transformer blocks, none of which changes the number of tokens."""
    return all(any("Attention" in type(part).__name__ for part in block.modules()) for block in chain)


def shapes_of(block: nn.Module) -> tuple[tuple[str, torch.Size], ...]:
    return tuple((name, value.shape) for name, value in block.named_parameters())


@torch.no_grad()
def refusal_of(name: str, sfreq: int, n_chans: int, seconds: int) -> str | None:
    """Why a model does not take such windows, None where it embeds one."""
    n_times = seconds * sfreq
    try:
        with NoDraws():
            net = build(name, n_chans, 1, n_times, sfreq, names_of(n_chans)).eval()
    except BenchError as error:
        return str(error)
    shorten(net)
    x = 20 * torch.randn(1, n_chans, n_times, generator=torch.Generator().manual_seed(0))
    embedding = net.embed(x)
    assert embedding.shape[0] == 1
    assert embedding.ndim == 2
    return None


def rows_of(name: str, card: dict[str, Any]) -> list[str]:
    """The model's line of the table, and a line per reason of a refusal."""
    marks: list[str] = []
    reasons: dict[str, None] = {}
    for seconds in SECONDS:
        found = [refusal_of(name, card["sfreq"], n_chans, seconds) for n_chans in CHANNELS]
        marks.append("".join("–" if reason else "✓" for reason in found))
        for reason in filter(None, found):
            reasons.setdefault(reason)
    return [f"| {card['title']} | {' | '.join(marks)} |", *(f"- {reason}" for reason in reasons)]


@pytest.mark.slow
@pytest.mark.parametrize("name", scalp_cards())
def test_the_documentation_has_what_is_found(name: str) -> None:
    table = (card_root() / "docs" / "models_eeg.md").read_text(encoding="utf-8").splitlines()
    for row in rows_of(name, scalp_cards()[name]):
        assert row in table


if __name__ == "__main__":
    lines = [line for name, card in scalp_cards().items() for line in rows_of(name, card)]
    print("\n".join([*HEADER, *(s for s in lines if s[0] == "|"), "", *(s for s in lines if s[0] == "-")]))
