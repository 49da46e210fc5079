"""Files of the synthetic cohorts: a folder that is whole once it is there, tables, and EDF recordings."""

from __future__ import annotations

import datetime
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import edfio
import numpy as np
import pandas as pd

from omni_bench.datasets.synthesis import Signal
from omni_bench.errors import BenchError

EDF_DATE = datetime.date(1985, 1, 1)  # the earliest date that EDF can state, and so nobody's
DIGITAL_MAX = 32767


@contextmanager
def new_folder(root: Path) -> Iterator[Path]:
    """Temporary folder beside ``root`` that takes its name when the block ends without an error.

    Raises
    ------
    BenchError
        If ``root`` is there and not empty.
    """
    if root.exists() and any(root.iterdir()):
        raise BenchError(f"{root}: not empty, expected a new folder for the demo cohort: remove it or name another")
    root.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f"{root.name}.part-", dir=root.parent))
    try:
        yield part
        part.chmod(0o755)
        part.replace(root)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write ``table`` as TSV or CSV, whichever the name says; a missing value becomes ``n/a`` as in BIDS."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(path, sep="\t" if path.suffix == ".tsv" else ",", index=False, na_rep="n/a", lineterminator="\n")


def write_edf(path: Path, signals: Signal, sfreq: float, ch_names: Sequence[str]) -> None:
    """Write ``signals`` (n_channels, n_times; µV) as EDF with neither name nor birth date and a fixed date.

    Each channel has its own symmetric range, so the quantum is its largest amplitude / 32767.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    channels = []
    for name, signal in zip(ch_names, signals, strict=True):
        limit = max(1.0, float(np.ceil(np.abs(signal).max())))
        channels.append(
            edfio.EdfSignal(
                signal,
                sfreq,
                label=name,
                physical_dimension="uV",
                physical_range=(-limit, limit),
                digital_range=(-DIGITAL_MAX, DIGITAL_MAX),
            )
        )
    recording = edfio.Recording(startdate=EDF_DATE)
    edfio.Edf(channels, recording=recording, starttime=datetime.time(0, 0, 0), data_record_duration=1.0).write(path)
