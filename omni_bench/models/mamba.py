"""Selective state-space layers (Mamba, Mamba-2) in plain PyTorch.

The recurrences are those of Gu & Dao 2023 (Mamba, Algorithm 2) and Dao & Gu 2024 (state-space duality, section 6),
computed in chunks: all chunks at once from a zero state, then one short pass that hands the states on. Mamba's large
state is arithmetic enough for a CPU at each step, so there it goes through time once. Every decay is the exponential of
a sum of non-positive numbers, never a quotient, so nothing overflows however fast a state forgets.

Where ``mamba_ssm`` imports and the tensors are on a GPU, its fused kernels are used instead (untested here).
"""

import math
from functools import lru_cache
from importlib import import_module
from types import SimpleNamespace

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

# 4 to 16 take the same time, 32 is slower: the states of so many steps (FEMBA: 1.6 MB per sample) leave the cache.
_STEPS_AT_ONCE = 8


@lru_cache(maxsize=1)
def _fused_kernels() -> SimpleNamespace | None:
    try:
        selective = import_module("mamba_ssm.ops.selective_scan_interface").selective_scan_fn
        ssd = import_module("mamba_ssm.ops.triton.ssd_combined").mamba_chunk_scan_combined
    except ImportError:
        return None
    return SimpleNamespace(selective=selective, ssd=ssd)


def _in_chunks(x: Tensor, length: int) -> Tensor:
    """``(batch, n_times, ...)`` to ``(batch, n_chunks, length, ...)``; zero steps at the end leave a state as it is."""
    missing = -x.shape[1] % length
    return F.pad(x, (0, 0) * (x.ndim - 2) + (0, missing)).unflatten(1, (-1, length))


def _handed_on(local: Tensor, decay: Tensor) -> Tensor:
    """State that enters each chunk, from the states that chunks end with and the decay over each; chunks on axis 1."""
    entering = [torch.zeros_like(local[:, 0])]
    for k in range(local.shape[1] - 1):
        entering.append(torch.addcmul(local[:, k], decay[:, k], entering[-1]))
    return torch.stack(entering, dim=1)


def selective_scan(x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, chunk: int | None = None) -> Tensor:
    """Mamba's recurrence ``s_t = exp(dt_t A) s_{t-1} + dt_t x_t B_t``, ``y_t = <s_t, C_t>`` with ``s_0 = 0``.

    Parameters
    ----------
    x, dt : (batch, n_times, d_inner)
        Input and positive step size.
    A : (d_inner, d_state)
        Negative rates.
    B, C : (batch, n_times, d_state)
    chunk : int, optional
        Steps per chunk, computed side by side, for devices whose cost is the number of calls; changes the speed only.
        Default: near the square root of the length on a GPU; one pass over time on a CPU, which computes the states again
        for the gradient instead of keeping them.

    Returns
    -------
    (batch, n_times, d_inner)
    """
    if x.is_cuda and (kernels := _fused_kernels()):
        rows = (t.transpose(1, 2).contiguous() for t in (x, dt))
        return kernels.selective(*rows, A, B.transpose(1, 2), C.transpose(1, 2)).transpose(1, 2)
    rate, n_times = A.T.contiguous(), x.shape[1]
    if chunk is None and not x.is_cuda:
        return _OnePass.apply(dt * x, dt, rate, B, C)
    chunk = chunk or math.isqrt(n_times - 1) + 1
    steps, gain, into, out = (_in_chunks(t, chunk).unbind(2) for t in (dt, dt * x, B, C))
    state, ys = x.new_zeros(len(x), steps[0].shape[1], *rate.shape), []
    for dt_t, gain_t, B_t, C_t in zip(steps, gain, into, out, strict=True):
        state = torch.addcmul(gain_t[:, :, None] * B_t[..., None], torch.exp(dt_t[:, :, None] * rate), state)
        ys.append((C_t[:, :, None] @ state)[:, :, 0])
    y = torch.stack(ys, dim=2)
    if state.shape[1] > 1:
        since_start = torch.stack(steps, dim=2).cumsum(2)
        entering = _handed_on(state, torch.exp(since_start[:, :, -1, None] * rate))
        decays = (torch.exp(total[:, :, None] * rate) for total in since_start.unbind(2))
        carried = [(C_t[:, :, None] @ (decay * entering))[:, :, 0] for C_t, decay in zip(out, decays, strict=True)]
        y = y + torch.stack(carried, dim=2)
    return y.flatten(1, 2)[:, :n_times]


def _states(state: Tensor, gain: Tensor, dt: Tensor, rate: Tensor, B: Tensor) -> tuple[Tensor, Tensor]:
    """Decays and states `(batch, steps, d_state, d_inner)` of a few steps that begin from `state`."""
    decays = torch.exp2_(dt[:, :, None] * (rate * math.log2(math.e)))  # exp takes three times as long
    states = gain[:, :, None] * B[..., None]
    for decay, following in zip(decays.unbind(1), states.unbind(1), strict=True):
        state = following.addcmul_(decay, state)
    return decays, states


class _OnePass(torch.autograd.Function):
    """`selective_scan` step by step, with what does not depend on the state computed for a few steps at once.

    ``gain`` and ``dt`` are ``(batch, n_times, d_inner)``, ``rate`` is ``(d_state, d_inner)``. For the gradient only the
    state before each block of steps is kept.
    """

    @staticmethod
    def forward(ctx, gain: Tensor, dt: Tensor, rate: Tensor, B: Tensor, C: Tensor) -> Tensor:
        state, before, y = gain.new_zeros(len(gain), *rate.shape), [], []
        blocks = zip(*(t.split(_STEPS_AT_ONCE, dim=1) for t in (gain, dt, B, C)), strict=True)
        for gain_k, dt_k, B_k, C_k in blocks:
            before.append(state)
            states = _states(state, gain_k, dt_k, rate, B_k)[1]
            y.append((C_k[:, :, None] @ states)[:, :, 0])
            state = states[:, -1].clone()
        ctx.save_for_backward(gain, dt, rate, B, C, *before)
        return torch.cat(y, dim=1)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_y: Tensor) -> tuple[Tensor, ...]:
        gain, dt, rate, B, C, *before = ctx.saved_tensors
        grad_rate, carried, blocks = torch.zeros_like(rate), torch.zeros_like(before[0]), []
        split = (t.split(_STEPS_AT_ONCE, dim=1) for t in (gain, dt, B, C, grad_y))
        for state, gain_k, dt_k, B_k, C_k, grad_y_k in reversed(list(zip(before, *split, strict=True))):
            decays, states = _states(state, gain_k, dt_k, rate, B_k)
            grad_states = C_k[..., None] * grad_y_k[:, :, None]
            for decay, grad_state in zip(reversed(decays.unbind(1)), reversed(grad_states.unbind(1)), strict=True):
                carried = decay * grad_state.add_(carried)
            grad_C = (grad_y_k[:, :, None] @ states.mT)[:, :, 0]
            grad_gain = (B_k[:, :, None] @ grad_states)[:, :, 0]
            grad_B = (gain_k[:, :, None] @ grad_states.mT)[:, :, 0]
            # d exp(dt A): the state before each step times its decay
            grad_exponent = decays.mul_(grad_states)
            grad_exponent[:, 1:] *= states[:, :-1]
            grad_exponent[:, 0] *= state
            grad_rate += (grad_exponent * dt_k[:, :, None]).sum((0, 1))
            blocks.append((grad_gain, (grad_exponent * rate).sum(2), grad_B, grad_C))
        grad_gain, grad_dt, grad_B, grad_C = (torch.cat(parts[::-1], dim=1) for parts in zip(*blocks, strict=True))
        return grad_gain, grad_dt, grad_rate, grad_B, grad_C


def _segment_sums(a: Tensor) -> Tensor:
    """``out[..., i, j]`` = sum of ``a[..., j+1 : i+1]`` for i >= j, -inf above the diagonal.

    Each sum is added up by itself: the difference of two cumulative sums would lose the digits of a small step that
    follows large ones.
    """
    n = a.shape[-1]
    below = torch.ones(n, n, dtype=torch.bool, device=a.device).tril(-1)
    sums = a[..., None].expand(*a.shape, n).masked_fill(~below, 0).cumsum(-2)
    return sums.masked_fill(below.T, -torch.inf)


def ssd_scan(x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, chunk: int = 32) -> Tensor:
    """Mamba-2's recurrence ``S_t = exp(dt_t A) S_{t-1} + dt_t x_t (x) B_t``, ``y_t = S_t C_t`` with ``S_0 = 0``.

    Parameters
    ----------
    x : (batch, n_times, n_heads, head_dim)
    dt : (batch, n_times, n_heads)
        Positive step size.
    A : (n_heads,)
        Negative rate of each head.
    B, C : (batch, n_times, d_state)
        One group, shared by all heads.
    chunk : int
        Steps per chunk; changes the speed only.

    Returns
    -------
    (batch, n_times, n_heads, head_dim)
    """
    if x.is_cuda and (kernels := _fused_kernels()):
        return kernels.ssd(x, dt, A, B[:, :, None], C[:, :, None], chunk_size=256)
    n_times, (n_heads, head_dim) = x.shape[1], x.shape[2:]
    chunk = min(chunk, n_times)
    gain = _in_chunks((x * dt[..., None]).flatten(2), chunk).unflatten(3, (n_heads, head_dim))  # (b, k, q, h, p)
    exponent = _in_chunks(dt * A, chunk)  # (b, k, q, h)
    into, out = (_in_chunks(t, chunk) for t in (B, C))  # (b, k, q, n)

    decay = torch.exp(_segment_sums(exponent.transpose(2, 3)))  # (b, k, h, q, q)
    y = (((out @ into.mT)[:, :, None] * decay) @ gain.transpose(2, 3)).transpose(2, 3)
    # states as (n, heads * head_dim): one product for all heads
    to_end = decay[..., -1, :].transpose(2, 3)
    ends_with = into.mT @ (gain * to_end[..., None]).flatten(3)
    since_start = torch.exp(exponent.cumsum(2))
    entering = _handed_on(ends_with, since_start[:, :, -1:].repeat_interleave(head_dim, dim=3))
    y = y + (out @ entering).unflatten(3, (n_heads, head_dim)) * since_start[..., None]
    return y.flatten(1, 2)[:, :n_times]


def _step_bias(n: int, low: float = 1e-3, high: float = 0.1) -> Tensor:
    """Bias whose softplus is log-uniform in [low, high], the published initial step sizes."""
    dt = torch.exp(torch.empty(n).uniform_(math.log(low), math.log(high)))
    return dt + torch.log(-torch.expm1(-dt))


class _CausalConv(nn.Conv1d):
    """Depthwise convolution over ``(batch, n_times, channels)`` that sees the present and the past."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__(channels, channels, width, groups=channels)

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(F.pad(x.transpose(1, 2), (self.kernel_size[0] - 1, 0))).transpose(1, 2)


class Mamba(nn.Module):
    """Mamba mixer of the first version; ``(batch, n_times, d_model)`` to the same shape."""

    def __init__(self, d_model: int, *, d_state: int = 16, d_conv: int = 4, expand: int = 2) -> None:
        super().__init__()
        d_inner, self.dt_rank, self.d_state = expand * d_model, math.ceil(d_model / 16), d_state
        self.in_proj = nn.Linear(d_model, 2 * d_inner, bias=False)
        self.conv1d = _CausalConv(d_inner, d_conv)
        self.x_proj = nn.Linear(d_inner, self.dt_rank + 2 * d_state, bias=False)
        self.dt_proj = nn.Linear(self.dt_rank, d_inner)
        self.dt_proj.bias.data.copy_(_step_bias(d_inner))
        self.A_log = nn.Parameter(torch.arange(1.0, d_state + 1).log().repeat(d_inner, 1))
        self.D = nn.Parameter(torch.ones(d_inner))
        self.out_proj = nn.Linear(d_inner, d_model, bias=False)

    def forward(self, u: Tensor) -> Tensor:
        x, z = self.in_proj(u).chunk(2, dim=-1)
        x = F.silu(self.conv1d(x))
        dt, B, C = self.x_proj(x).split([self.dt_rank, self.d_state, self.d_state], dim=-1)
        dt = F.softplus(self.dt_proj(dt))
        # states add up over the whole sequence: never in half precision
        with torch.autocast(u.device.type, enabled=False):
            x, dt, B, C = (t.to(self.A_log.dtype) for t in (x, dt, B, C))
            y = selective_scan(x, dt, -torch.exp(self.A_log), B, C) + self.D * x
        return self.out_proj(y * F.silu(z))


class Mamba2(nn.Module):
    """Mamba-2 mixer, one B/C group, gate before norm; ``(batch, n_times, d_model)`` to the same shape."""

    def __init__(self, d_model: int, *, head_dim: int, d_state: int = 64, d_conv: int = 4, expand: int = 2) -> None:
        super().__init__()
        self.d_inner, self.d_state, self.head_dim = expand * d_model, d_state, head_dim
        self.n_heads = self.d_inner // head_dim
        self.in_proj = nn.Linear(d_model, 2 * self.d_inner + 2 * d_state + self.n_heads, bias=False)
        self.conv1d = _CausalConv(self.d_inner + 2 * d_state, d_conv)
        self.dt_bias = nn.Parameter(_step_bias(self.n_heads))
        self.A_log = nn.Parameter(torch.empty(self.n_heads).uniform_(1, 16).log())
        self.D = nn.Parameter(torch.ones(self.n_heads))
        self.norm = nn.RMSNorm(self.d_inner, eps=1e-5)
        self.out_proj = nn.Linear(self.d_inner, d_model, bias=False)

    def forward(self, u: Tensor) -> Tensor:
        z, x, dt = self.in_proj(u).split([self.d_inner, self.d_inner + 2 * self.d_state, self.n_heads], dim=-1)
        x, B, C = F.silu(self.conv1d(x)).split([self.d_inner, self.d_state, self.d_state], dim=-1)
        x = x.unflatten(-1, (self.n_heads, self.head_dim))
        with torch.autocast(u.device.type, enabled=False):
            x, dt, B, C = (t.to(self.A_log.dtype) for t in (x, dt, B, C))
            y = ssd_scan(x, F.softplus(dt + self.dt_bias), -torch.exp(self.A_log), B, C) + self.D[:, None] * x
        return self.out_proj(self.norm(y.flatten(2) * F.silu(z)))
