"""Reader of the paediatric scalp HFO set of Zurich (Cserpan et al. 2021, OpenNeuro ds003555).

HFOs were marked in five-minute pieces of N3 sleep that the release stores as bipolar derivatives at 2000 Hz; here their
times go back to the raw recording, which has the electrodes themselves. Two clocks: DataIntervals.tsv counts samples of
the raw recording, the tables of events those of the derivatives.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from omni_bench.data.cohort import Cohort
from omni_bench.data.tables import flags, numbers, read_table
from omni_bench.datasets.bids_eeg import read_bids_eeg
from omni_bench.datasets.event_tables import with_events

DERIVATIVE_HZ = 2000.0
NOT_SCALP = "A1|A2|T1|T2|Cz2"
"""References, anterior temporal extras and a second Cz, that not every child has."""


def read_scalp_hfo(
    root: Path, name: str, on_error: str = "raise", unit: str | None = None, *, span_s: float = 2.0
) -> Cohort:
    """Raw recordings with two kinds of events: scored sleep (``stage``), and marked pieces (``hfo``).

    Parameters
    ----------
    span_s
        Length in seconds of the pieces that are ``present`` if an accepted HFO of any bipolar channel reaches into them,
        else ``absent``.

    Raises
    ------
    BenchError
        See `read_bids_eeg`; also a table of intervals or HFOs that is absent or broken (``on_error="raise"``).
    """
    cohort = read_bids_eeg(root, name, on_error, unit, not_eeg=NOT_SCALP)
    return with_events(cohort, lambda row: _events(root, row, span_s), on_error)


def _events(root: Path, row: dict[str, Any], span_s: float) -> pd.DataFrame:
    folder = (root / "derivatives" / row["path"]).parent
    file = folder / "DataIntervals.tsv"
    intervals = read_table(file, ["StartInd", "EndInd", "SleepStage", "RunNb"])
    start, end, run = (numbers(intervals[column], str(file)) for column in ("StartInd", "EndInd", "RunNb"))
    scored = pd.DataFrame(
        {"onset": start / row["sfreq"], "duration": (end - start) / row["sfreq"], "stage": intervals["SleepStage"]}
    )
    pieces = [
        _pieces(folder / f"{row['recording']}_run-{int(number):02d}_events.tsv", interval, span_s)
        for number, interval in zip(run, scored.itertuples(), strict=True)
        if number > 0
    ]
    return pd.concat([scored, *pieces], ignore_index=True).assign(recording=row["recording"])


def _pieces(file: Path, interval: Any, span_s: float) -> pd.DataFrame:
    """One marked interval in pieces, by whether an accepted HFO reaches into them."""
    table = read_table(file, ["indStart", "indStop", "EvPassRejection"])
    accepted = table[flags(table["EvPassRejection"], str(file)).fillna(False)]
    first, last = (
        (numbers(accepted[column], str(file)) / DERIVATIVE_HZ // span_s).astype(int)
        for column in ("indStart", "indStop")
    )
    present = np.zeros(int(interval.duration / span_s + 1e-6), bool)
    for begin, stop in zip(first, last, strict=True):
        present[begin : stop + 1] = True
    onsets = interval.onset + span_s * np.arange(len(present))
    return pd.DataFrame({"onset": onsets, "duration": span_s, "hfo": np.where(present, "present", "absent")})
