"""The files of a run directory, and the pictures that are added to them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from markupsafe import Markup
from matplotlib.figure import Figure

from omni_bench.errors import BenchError
from omni_bench.files import renamed, write_atomically
from omni_bench.results import figures
from omni_bench.results.page import Picture
from omni_bench.results.record import read_record


@dataclass(frozen=True)
class Run:
    """The files of a run directory; None where there is no such file."""

    folder: Path
    record: dict[str, Any]
    config: dict[str, Any]
    config_text: str
    scores: pd.DataFrame | None
    patients: pd.DataFrame | None
    training: pd.DataFrame | None
    projection: pd.DataFrame | None
    examples: dict[str, np.ndarray] | None

    @property
    def classes(self) -> list[str]:
        """Class names of the task card; without a card, those of the score columns."""
        named = self.config.get("task", {}).get("classes")
        if named or self.scores is None:
            return list(named or [])
        columns = [str(name).removeprefix("prob_") for name in self.scores if str(name).startswith("prob_")]
        return columns or ["negative", "positive"]

    def class_name(self, label: int) -> str:
        """Name of a class, also of one that the card does not name."""
        return self.classes[label] if label < len(self.classes) else f"class {label}"

    @property
    def threshold(self) -> float | None:
        return self.record["threshold"]["value"] if self.record.get("threshold") else None

    def picture(self, name: str, figure: Figure, data: pd.DataFrame, alt: str, caption: str = "") -> Picture:
        """Write a figure and its data beside each other."""
        return write_picture(self.folder / "figures", name, figure, data, alt, caption)


def write_picture(folder: Path, name: str, figure: Figure, data: pd.DataFrame, alt: str, caption: str = "") -> Picture:
    """Write a figure (PNG) and its data (CSV) beside each other."""
    folder.mkdir(parents=True, exist_ok=True)
    with renamed(folder / f"{name}.png") as part:
        part.write_bytes(figures.png(figure))
    write_atomically(folder / f"{name}.csv", data.to_csv(index=data.index.name is not None))
    return Picture(name, alt, caption, Markup(figures.svg(figure)), figure.get_figwidth())


def read_run(folder: Path) -> Run:
    """Read a run directory.

    Raises
    ------
    BenchError
        There is no run in the folder.
    """
    record = read_record(folder)
    if record is None:
        raise BenchError(
            f"{folder}: no readable result.json: name a run directory (outputs/<dataset>/<task>/.../seed-...)"
        )
    config_file = folder / "config.yaml"
    text = config_file.read_text(encoding="utf-8") if config_file.is_file() else ""
    examples = None
    if (folder / "examples.npz").is_file():
        with np.load(folder / "examples.npz", allow_pickle=False) as file:
            examples = dict(file)
    return Run(
        folder,
        record,
        config=yaml.safe_load(text) or {},
        config_text=text,
        scores=_table(folder / "scores.parquet"),
        patients=_table(folder / "patients.parquet"),
        training=_csv(folder / "metrics.csv"),
        projection=_csv(folder / "projection.csv"),
        examples=examples,
    )


def _table(file: Path) -> pd.DataFrame | None:
    return pd.read_parquet(file) if file.is_file() else None


def _csv(file: Path) -> pd.DataFrame | None:
    return pd.read_csv(file) if file.is_file() else None
