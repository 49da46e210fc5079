"""What a single-channel network asks of its input, checked when it is built."""

from collections.abc import Sequence

from omni_bench.errors import BenchError


def require_one_channel(network: str, n_chans: int) -> None:
    """Raise `BenchError` unless the window has exactly one channel."""
    if n_chans != 1:
        raise BenchError(f"{network}: n_chans={n_chans}, expected 1: use a task with one-channel samples")


def require_n_times(network: str, n_times: int, minimum: int) -> None:
    """Raise `BenchError` if a window has fewer samples than the network's layers need."""
    if n_times < minimum:
        raise BenchError(f"{network}: n_times={n_times} samples, expected at least {minimum}: use a longer window")


def require_sfreq(network: str, sfreq: float, minimum: float) -> None:
    """Raise `BenchError` if the rate is too low for the frequencies that the network reads."""
    if sfreq < minimum:
        raise BenchError(f"{network}: sfreq={sfreq:g} Hz, expected at least {minimum:g} Hz: resample to a higher rate")


def shortest_input(layers: Sequence[tuple[int, int]], n_out: int = 1) -> int:
    """Samples that unpadded layers of these `(kernel, stride)`, first to last, need for `n_out` outputs."""
    for kernel, stride in reversed(layers):
        n_out = (n_out - 1) * stride + kernel
    return n_out
