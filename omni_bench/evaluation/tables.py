"""The two tables that an evaluation reads: checks, and totals of samples per unit."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from omni_bench.errors import BenchError

PATIENT = ["source", "subject"]
_MERGED = ["label", "soz", "resected", "outcome"]


def check_choice(option: str, value: str, allowed: Sequence[str]) -> None:
    """Raise BenchError unless `value` is one of the named rules."""
    if value not in allowed:
        raise BenchError(f"{option}={value!r} is not a known rule: choose one of {', '.join(allowed)}")


def check_columns(table: pd.DataFrame, name: str, columns: Sequence[str]) -> None:
    """Raise BenchError unless `table` has all `columns`."""
    missing = [column for column in columns if column not in table]
    if missing:
        raise BenchError(
            f"{name} table: no column {', '.join(missing)} (found {', '.join(map(str, table.columns))}): "
            "write the table anew with the run's task card"
        )


def probability_columns(predictions: pd.DataFrame, classes: Sequence[str]) -> list[str]:
    """Names of the probability columns of `classes`, in that order."""
    columns = [f"prob_{name}" for name in classes]
    check_columns(predictions, "predictions", ["unit_id", *columns])
    return columns


def evaluated_rows(units: pd.DataFrame) -> pd.DataFrame:
    """Rows of the test split; BenchError if there are none."""
    rows = units[units["split"] == "test"]
    if rows.empty:
        found = ", ".join(sorted(units["split"].dropna().unique())) or "no split at all"
        raise BenchError(f"units table: no unit of split 'test' (found {found}): nothing to evaluate")
    return rows


def unit_positions(predictions: pd.DataFrame, units: pd.DataFrame) -> np.ndarray:
    """Row of `units` that each prediction belongs to, `(n_samples,)`.

    Raises
    ------
    BenchError
        On a unit id that occurs twice in `units` or is absent from it, and on a sample that is predicted twice.
    """
    ids = pd.Index(units["unit_id"])
    if not ids.is_unique:
        raise BenchError(f"units table: unit_id {ids[ids.duplicated()][0]!r} occurs twice: unit ids must be unique")
    positions = ids.get_indexer(pd.Index(predictions["unit_id"]))
    if (positions < 0).any():
        stray = predictions["unit_id"].iloc[int(np.argmax(positions < 0))]
        raise BenchError(f"predictions table: unit_id {stray!r} is not in the units table: predict and split again")
    if "sample_id" in predictions and predictions["sample_id"].duplicated().any():
        twice = predictions.loc[predictions["sample_id"].duplicated(), "sample_id"].iloc[0]
        raise BenchError(f"predictions table: sample_id {twice!r} is predicted twice: predict again")
    return positions


def unit_totals(predictions: pd.DataFrame, units: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Sum of each column over a unit's samples, and `n_samples` that have a value.

    Returns
    -------
    One row per row of `units`, on its index: `columns` (NaN samples are skipped; 0 where no sample has a value) and
    `n_samples`.
    """
    positions = unit_positions(predictions, units)
    values = predictions[list(columns)].astype("float64")
    values = values.where(values.notna().all(axis=1))
    groups = values.groupby(positions)
    totals = groups.sum()
    totals["n_samples"] = groups[columns[0]].count()
    return totals.reindex(range(len(units)), fill_value=0).set_axis(units.index)


def merge_patient_channels(units: pd.DataFrame, summed: Sequence[str]) -> pd.DataFrame:
    """One row per channel of a patient instead of one per channel of a recording.

    `summed` columns are added up; labels, flags and outcome take the known value. `unit_id` becomes
    `source/subject/channel`, `recording` goes.

    Raises
    ------
    BenchError
        Where two recordings disagree on a known label, SOZ, resection or outcome.
    """
    groups = units.groupby([*PATIENT, "channel", "split"], sort=False, observed=True)
    known = [column for column in _MERGED if column in units]
    low, high = groups[known].min(), groups[known].max()
    for column in known:
        conflict = (low[column] != high[column]).fillna(False).to_numpy(dtype=bool)
        if conflict.any():
            source, subject, channel, _ = low.index[int(np.argmax(conflict))]
            raise BenchError(
                f"units table: recordings of {subject} ({source}) disagree on {column!r} of channel {channel}: "
                "correct the channels files, or evaluate with unit=recording_channel"
            )
    merged = pd.concat([groups[["person"]].first(), high, groups[list(summed)].sum()], axis=1).reset_index()
    source, subject, channel = (merged[column].astype(str) for column in [*PATIENT, "channel"])
    merged.insert(0, "unit_id", source + "/" + subject + "/" + channel)
    return merged
