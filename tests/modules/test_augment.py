"""Time reversal as augmentation."""

import torch

from omni_bench.modules.augment import time_reversed

N = 400


def reversed_samples(samples: torch.Tensor, share: float = 0.5, seed: int = 0, epoch: int = 0) -> torch.Tensor:
    """Which of some windows run backwards."""
    x = torch.tensor([1.0, 2.0, 3.0]).repeat(len(samples), 2, 1)
    out = time_reversed(x, samples, share, seed, epoch)
    forwards, backwards = (out == x).all(dim=(1, 2)), (out == x.flip(-1)).all(dim=(1, 2))
    assert (forwards ^ backwards).all()
    return backwards


def test_the_asked_share_is_reversed() -> None:
    samples = torch.arange(N)
    assert not reversed_samples(samples, 0.0).any()
    assert reversed_samples(samples, 1.0).all()
    assert abs(reversed_samples(samples, 0.3).float().mean() - 0.3) < 0.08


def test_it_hangs_on_seed_epoch_and_window_alone() -> None:
    order = torch.randperm(N, generator=torch.Generator().manual_seed(0))
    reference = reversed_samples(torch.arange(N))
    assert torch.equal(reversed_samples(order), reference[order])
    for change in ({"seed": 1}, {"epoch": 1}):
        differs = (reversed_samples(torch.arange(N), **change) != reference).float().mean()
        assert abs(differs - 0.5) < 0.1
