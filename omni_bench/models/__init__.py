"""Networks, one module per family, and the function that builds one from its card."""

from omni_bench.models.build import build

__all__ = ["build"]
