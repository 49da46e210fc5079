"""Signal processing that knows nothing of datasets, tasks or models."""

from omni_bench.signal.morlet import MorletMap, min_max, morlet_map

__all__ = ["MorletMap", "min_max", "morlet_map"]
