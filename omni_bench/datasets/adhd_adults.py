"""Reader of the adult ADHD recordings of Bajestani et al.: one MATLAB file per group, a cell per condition."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from omni_bench.data.array_files import ArrayFile
from omni_bench.data.arrays import array_recording
from omni_bench.data.cohort import Cohort
from omni_bench.data.recording import Recording
from omni_bench.datasets.array_trials import channel_table, matching_files
from omni_bench.datasets.vocabulary import SEXES
from omni_bench.errors import BenchError

FILES = r"(?:^|/)(?P<sex>F|M)(?P<group>C|ADHD)\.mat$"
LABELS = {"C": "Control", "ADHD": "ADHD"}
N_CELLS = 11


@dataclass(frozen=True)
class AdultCells:
    """Opens one person (``part``, from 1) of a group's file: the chosen cells, one piece each."""

    cells: tuple[int, ...]
    channels: tuple[str, ...]
    sfreq: float

    def __call__(
        self, path: Path, ch_names: Sequence[str] | None = None, unit: str | None = None, part: str = "1"
    ) -> Recording:
        pieces = [cell[int(part) - 1].T for cell in self.read(path)]
        return array_recording(path, pieces, self.channels, self.sfreq, ch_names, unit)

    def read(self, path: Path) -> list[NDArray[Any]]:
        """The chosen cells, each ``(n_persons, n_times, 2)``.

        Raises
        ------
        BenchError
            Not eleven cells, or cells of other shapes.
        """
        cells = ArrayFile(path).value(path.stem)
        shapes = [np.shape(cell) for cell in cells]
        if len(cells) != N_CELLS or any(len(s) != 3 or s[0] != shapes[0][0] or s[2] != 2 for s in shapes):
            raise BenchError(f"{path}: cells {shapes[:3]}, ..., expected {N_CELLS} of (n_persons, n_times, 2)")
        return [cells[number - 1] for number in self.cells]


def read_adhd_adults(
    root: Path,
    name: str,
    on_error: str = "raise",
    unit: str | None = None,
    *,
    sfreq: float,
    channels: Sequence[str],
    cells: Mapping[int, str],
    exclude: Mapping[str, str],
) -> Cohort:
    """Read the metadata of four groups; one recording per person, one event per cell.

    Parameters
    ----------
    channels
        The two electrodes of the chosen cells.
    cells
        Number of the cell, from 1 → its condition.
    exclude
        Subject → why it is left out.

    Raises
    ------
    BenchError
        No such files, or a broken one.
    """
    layout = AdultCells(tuple(int(number) for number in cells), tuple(channels), sfreq)
    rows, patients, tables, trials, excluded = [], [], [], [], []
    for path, words in matching_files(root, FILES):
        try:
            found = layout.read(path)
        except BenchError as error:
            if on_error == "raise":
                raise
            excluded.append({"what": "recordings", "reason": str(error), "n": 1})
            continue
        lengths = [cell.shape[1] / sfreq for cell in found]
        events = pd.DataFrame({"onset": np.cumsum([0.0, *lengths[:-1]]), "duration": lengths})
        events = events.assign(trial_type=LABELS[words["group"]], condition=list(cells.values()))
        for number in range(1, len(found[0]) + 1):
            subject = f"{path.stem}-{number:02d}"
            if subject in exclude:
                excluded.append({"what": "recordings", "reason": exclude[subject], "n": 1})
                continue
            patients.append({"subject": subject, "person": subject, "source": name, "sex": SEXES[words["sex"]]})
            row = {"recording": subject, "subject": subject, "path": path.relative_to(root).as_posix()}
            rows.append(row | {"part": str(number), "sfreq": sfreq, "duration": sum(lengths), "modality": "EEG"})
            tables.append(channel_table(subject, channels))
            trials.append(events.assign(recording=subject))
    if not rows:
        raise BenchError(f"{root}: no file could be read ({excluded[0]['reason']})")
    return Cohort(
        name,
        root,
        pd.DataFrame(patients),
        pd.DataFrame(rows),
        pd.concat(tables),
        unit,
        excluded,
        pd.concat(trials, ignore_index=True),
        opener=layout,
    )
