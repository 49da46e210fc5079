"""Benchmark framework for intracranial and scalp EEG."""

import os

__version__ = "0.1.0"

# PyTorch reads it once, with its first tensor: blocks of 2 MB and more then lie on huge pages where the system has them,
# and a large activation costs a handful of page faults instead of thousands
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
