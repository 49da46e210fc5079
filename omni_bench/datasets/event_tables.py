"""Events that a reader makes: of whole recordings, or from tables that are no events.tsv."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from omni_bench.data.cohort import Cohort
from omni_bench.errors import BenchError


def whole_event(row: Mapping[str, Any], told: Mapping[str, Any]) -> pd.DataFrame:
    """One event from a recording's start to its end, with what is told of it as columns."""
    return pd.DataFrame([{"recording": row["recording"], "onset": 0.0, "duration": row["duration"], **told}])


def with_events(cohort: Cohort, events_of: Callable[[dict[str, Any]], pd.DataFrame], on_error: str) -> Cohort:
    """The cohort with the events that ``events_of`` makes of each row of its recordings.

    Raises
    ------
    BenchError
        From ``events_of``; with ``on_error="skip"`` such a recording is left out, and one must be left.
    """
    tables: list[pd.DataFrame] = []
    failed: dict[str, str] = {}
    for row in cohort.recordings.to_dict("records"):
        try:
            tables.append(events_of(row))
        except BenchError as error:
            if on_error == "raise":
                raise
            failed[row["recording"]] = str(error)
    cohort = cohort.without(failed) if failed else cohort
    return replace(cohort, events=pd.concat(tables, ignore_index=True))
