"""A cohort of recordings that are windows in a row, as preprocessed stores hold them."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from omni_bench.data.cohort import Cohort
from omni_bench.data.recording import Recording
from omni_bench.errors import BenchError
from omni_bench.signal.electrode_names import electrode_names

LabelRule = tuple[str, Mapping[str, int] | None, Sequence[float] | None]
"""Column, labels and edges of the task: how it finds classes in events."""


def cohort_of_windows(
    name: str,
    root: Path,
    table: pd.DataFrame,
    ch_names: Mapping[str, Sequence[str]],
    sfreq: float,
    window_s: float,
    rule: LabelRule,
    unit: str | None,
    opener: Callable[..., Recording],
    excluded: Sequence[dict[str, Any]] = (),
) -> Cohort:
    """Metadata of recordings whose windows stand one after the other.

    Parameters
    ----------
    table
        ``recording, person, path, y`` (class index of every window), and perhaps ``part`` and ``split``.
    ch_names
        Of every recording, or of all under the key "".

    Raises
    ------
    BenchError
        A class index that the task has no name for.
    """
    column, labels, edges = rule
    channels, events = [], []
    for row in table.itertuples(index=False):
        own = ch_names.get(row.recording, ch_names.get("", ()))
        normal = electrode_names(own)
        channels.append(pd.DataFrame({"recording": row.recording, "channel": normal, "raw_name": own, "type": "EEG"}))
        onset = np.arange(len(row.y)) * window_s
        text = _spelled(row.y, labels, edges, where=f"{root / row.path}")
        events.append(pd.DataFrame({"recording": row.recording, "onset": onset, "duration": window_s, column: text}))
    recordings = pd.DataFrame(
        {
            "recording": table["recording"],
            "subject": table["person"],
            "path": table["path"],
            "part": table.get("part"),
            "sfreq": sfreq,
            "duration": [len(y) * window_s for y in table["y"]],
            "modality": "EEG",
        }
    )
    persons = table.drop_duplicates("person")
    patients = pd.DataFrame(
        {"subject": persons["person"], "person": persons["person"], "source": name, "split": persons.get("split")}
    )
    return Cohort(
        name,
        root,
        patients,
        recordings,
        pd.concat(channels).assign(good=True),
        unit,
        list(excluded),
        pd.concat(events, ignore_index=True),
        opener,
    )


def _spelled(
    y: NDArray[np.int64], labels: Mapping[str, int] | None, edges: Sequence[float] | None, *, where: str
) -> list[str]:
    """Class indices as the task's events spell them: the first value of a class, or a number between its edges."""
    if labels is not None:
        values = {index: str(value) for value, index in reversed(list(labels.items()))}
    elif edges is not None:
        bounds = [edges[0] - 2, *edges, edges[-1] + 2]
        values = {i: str((low + high) / 2) for i, (low, high) in enumerate(pairwise(bounds))}
    else:
        return [str(value) for value in y]
    strange = set(y.tolist()) - set(values)
    if strange:
        raise BenchError(
            f"{where}: class {min(strange)}, the task has {len(values)} classes: choose the task of these data"
        )
    return [values[int(value)] for value in y]
