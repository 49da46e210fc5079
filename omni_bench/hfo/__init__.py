"""HFO detectors and the event tables that they write."""

from omni_bench.hfo.detection import detect, detect_stream

__all__ = ["detect", "detect_stream"]
