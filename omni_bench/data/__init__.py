"""Recordings, cohorts, preprocessing, stores, windows, splits and what serves them to a trainer."""

from omni_bench.data.cohort import Cohort
from omni_bench.data.recording import Recording, open_recording

__all__ = ["Cohort", "Recording", "open_recording"]
