"""Signal processing that knows nothing of datasets, tasks or models."""

from omni_bench.signal.morlet import MorletMap, morlet_map

__all__ = ["MorletMap", "morlet_map"]
