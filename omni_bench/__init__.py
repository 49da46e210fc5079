"""Benchmark framework for intracranial and scalp EEG."""

__version__ = "0.1.0"
