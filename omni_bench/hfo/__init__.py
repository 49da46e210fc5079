"""HFO detectors and the event tables that they write."""

from omni_bench.hfo.bids import read_events, write_events
from omni_bench.hfo.detection import detect, detect_stream
from omni_bench.hfo.events import Matching, combine, match, rates
from omni_bench.hfo.windows import event_windows

__all__ = [
    "Matching",
    "combine",
    "detect",
    "detect_stream",
    "event_windows",
    "match",
    "rates",
    "read_events",
    "write_events",
]
