"""The scans against the recurrences written out step by step."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from omni_bench.models.mamba import Mamba, Mamba2, selective_scan, ssd_scan


def stepwise_selective(x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor) -> Tensor:
    state, ys = x.new_zeros(x.shape[0], *A.shape), []
    for t in range(x.shape[1]):
        state = torch.exp(dt[:, t, :, None] * A) * state + (dt[:, t] * x[:, t])[..., None] * B[:, t, None]
        ys.append((state * C[:, t, None]).sum(-1))
    return torch.stack(ys, dim=1)


def stepwise_ssd(x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor) -> Tensor:
    state, ys = x.new_zeros(x.shape[0], *x.shape[2:], B.shape[-1]), []
    for t in range(x.shape[1]):
        added = (dt[:, t, :, None] * x[:, t])[..., None] * B[:, t, None, None]
        state = torch.exp(dt[:, t] * A)[..., None, None] * state + added
        ys.append((state * C[:, t, None, None]).sum(-1))
    return torch.stack(ys, dim=1)


def drawn(seed: int, n_times: int, rates: tuple[int, ...], steps: tuple[int, ...], spread: float) -> list[Tensor]:
    """Inputs of a scan in float64; `spread` stretches step sizes over orders of magnitude."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    x = normal(2, n_times, *steps)
    dt = torch.exp(spread * normal(2, n_times, steps[0]))
    return [x, dt, -torch.exp(normal(*rates)), normal(2, n_times, 3), normal(2, n_times, 3)]


SELECTIVE = (selective_scan, stepwise_selective, (5, 3), (5,))
SSD = (ssd_scan, stepwise_ssd, (4,), (4, 5))


@pytest.mark.parametrize(("scan", "stepwise", "rates", "steps"), [SELECTIVE, SSD], ids=["selective", "ssd"])
@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_times=st.integers(1, 70),
    chunk=st.integers(1, 80),
    spread=st.sampled_from([0.1, 1.0, 4.0]),
)
def test_scan_equals_the_recurrence_for_any_chunk(scan, stepwise, rates, steps, seed, n_times, chunk, spread):
    inputs = drawn(seed, n_times, rates, steps, spread)
    expected = stepwise(*inputs)
    with torch.no_grad():
        unrecorded = [scan(*inputs, chunk=chunk), scan(*inputs)]
    for actual in (scan(*inputs, chunk=chunk), scan(*inputs), *unrecorded):
        assert actual.shape == expected.shape
        assert (actual - expected).abs().max() <= 1e-8 * max(1.0, float(expected.abs().max()))


@pytest.mark.parametrize(("scan", "stepwise", "rates", "steps"), [SELECTIVE, SSD], ids=["selective", "ssd"])
def test_gradients_equal_those_of_the_recurrence(scan, stepwise, rates, steps):
    inputs = [t.requires_grad_() for t in drawn(0, 23, rates, steps, 1.0)]
    expected = torch.autograd.grad(stepwise(*inputs).square().sum(), inputs)
    for y in (scan(*inputs, chunk=5), scan(*inputs)):
        for a, b in zip(torch.autograd.grad(y.square().sum(), inputs), expected, strict=True):
            assert (a - b).abs().max() <= 1e-8 * max(1.0, float(b.abs().max()))


@pytest.mark.parametrize(("scan", "stepwise", "rates", "steps"), [SELECTIVE, SSD], ids=["selective", "ssd"])
def test_states_that_forget_at_once_neither_overflow_nor_lose_small_steps(scan, stepwise, rates, steps):
    """exp(+dt A) over a chunk would be exp(4000); a difference of cumulative sums would drop the steps of 1e-3."""
    x, dt, A, B, C = (t.float() for t in drawn(1, 40, rates, steps, 0.1))
    dt = torch.where(torch.arange(40) % 2 == 0, 1e3, 1e-3)[None, :, None].expand_as(dt)
    inputs = [t.requires_grad_() for t in (x, dt.clone(), A, B, C)]
    y = scan(*inputs, chunk=20)
    expected = stepwise(*(t.detach().double() for t in inputs))
    torch.testing.assert_close(y.double(), expected, rtol=1e-5, atol=1e-5 * float(expected.abs().max()))
    assert all(torch.isfinite(g).all() for g in torch.autograd.grad(y.sum(), inputs))


@pytest.mark.parametrize("mixer", [Mamba(8), Mamba2(8, head_dim=4, d_state=5)], ids=["mamba", "mamba2"])
def test_mixer_is_causal(mixer):
    x = torch.randn(1, 30, 8, generator=torch.Generator().manual_seed(0))
    changed = x.clone()
    changed[:, 17:] += 1
    before, after = mixer(x), mixer(changed)
    torch.testing.assert_close(before[:, :17], after[:, :17])
    assert (before[:, 17] - after[:, 17]).abs().max() > 1e-4


@pytest.mark.parametrize("mixer", [Mamba(8), Mamba2(8, head_dim=4, d_state=5)], ids=["mamba", "mamba2"])
def test_mixer_runs_its_scan_in_full_precision_under_autocast(mixer):
    x = torch.randn(2, 30, 8, generator=torch.Generator().manual_seed(0))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        low = mixer(x)
    high = mixer(x)
    assert (low - high).abs().max() <= 0.05 * high.abs().max()


def test_initial_steps_are_log_uniform_between_a_thousandth_and_a_tenth():
    torch.manual_seed(0)
    steps = F.softplus(Mamba(256).dt_proj.bias)
    assert 0.9e-3 < steps.min() < 1.2e-3
    assert 0.085 < steps.max() < 0.101
    assert 0.008 < steps.median() < 0.0125
