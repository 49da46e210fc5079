"""Run records, ranks, pages and pictures, made from saved results only."""

from omni_bench.results.ranks import average_rank

__all__ = ["average_rank"]
