"""Sleep stages that lie beside an EDF recording: as EDF+ annotations, a table, or one number per epoch."""

from collections.abc import Sequence

import pandas as pd

from omni_bench.data.edf import edf_annotations
from omni_bench.data.tables import numbers, read_table
from omni_bench.datasets.bids_tables import Notes, note
from omni_bench.datasets.edf_tree import EdfFile, beside
from omni_bench.errors import BenchError

TABLE_COLUMNS = {"Recording onset": "onset", "Duration": "duration", "Annotation": "trial_type"}
"""Of the tables that EDFbrowser exports."""


def annotated_stages(
    file: EdfFile,
    excluded: Notes,
    *,
    scoring: Sequence[str],
    asleep: Sequence[str] | None = None,
    wake_margin_s: float | None = None,
) -> pd.DataFrame:
    """Stages as intervals of the recording, from EDF+ annotations or a table.

    Parameters
    ----------
    scoring
        Names of the file with the stages, see `beside`; a name that ends in ``.txt`` is a table.
    asleep
        Annotations that mean sleep.
    wake_margin_s
        Time that is kept before the first and after the last moment of sleep, in seconds; None keeps all.

    Raises
    ------
    BenchError
        No scoring, a broken one, or (with a margin) one without sleep.
    """
    path = beside(file, *scoring)
    if path.suffix == ".txt":
        table = read_table(path, TABLE_COLUMNS, sep=",")[list(TABLE_COLUMNS)].rename(columns=TABLE_COLUMNS)
        table = table.assign(**{column: numbers(table[column], str(path)) for column in ("onset", "duration")})
    else:
        table = edf_annotations(path)
    begin, end = 0.0, file.duration
    if wake_margin_s is not None:
        sleep = table[table["trial_type"].isin(list(asleep or ()))]
        if sleep.empty:
            raise BenchError(f"{path}: nobody sleeps in it, expected {' or '.join(asleep or ())}")
        begin = max(begin, sleep["onset"].min() - wake_margin_s)
        end = min(end, (sleep["onset"] + sleep["duration"]).max() + wake_margin_s)
    return _between(table, begin, end, excluded)


def _between(table: pd.DataFrame, begin: float, end: float, excluded: Notes) -> pd.DataFrame:
    """Intervals cut to a stretch of the recording; what lies outside of it is counted."""
    first = table["onset"].clip(lower=begin)
    last = (table["onset"] + table["duration"].fillna(0)).clip(upper=end)
    outside = (last < first) | ((last == first) & (table["duration"] > 0))
    note(excluded, "events", "before or after the part of the recording that counts", int(outside.sum()))
    return table.assign(onset=first, duration=last - first)[~outside]


def scored_epochs(file: EdfFile, excluded: Notes, *, scorer: int = 1, epoch_s: float = 30.0) -> pd.DataFrame:
    """Epochs from ``<recording>_<scorer>.txt``: one stage per line, the first at the recording's start.

    The lists go on after the recording's end; that part is left out.

    Raises
    ------
    BenchError
        No such list, or one with something else than whole numbers.
    """
    path = beside(file, f"{file.path.stem}_{scorer}.txt")
    stages = path.read_text(encoding="utf-8-sig").split()
    strange = [stage for stage in stages if not stage.isdigit()]
    if strange or not stages:
        raise BenchError(
            f"{path}: {strange[0] if strange else 'nothing'!r} in it, expected one whole number per epoch of {epoch_s:g} s"
        )
    n = min(len(stages), int(file.duration / epoch_s + 1e-6))
    note(excluded, "epochs", "scored after the recording's end", len(stages) - n)
    note(excluded, "epochs", "without a stage", int(file.duration / epoch_s + 1e-6) - n)
    onsets = [epoch_s * i for i in range(n)]
    return pd.DataFrame({"onset": onsets, "duration": epoch_s, "trial_type": stages[:n]})
