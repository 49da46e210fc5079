"""Scalp datasets read as their cards say."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from hydra.utils import instantiate
from omegaconf import OmegaConf

from omni_bench.data.cohort import Cohort
from omni_bench.data.store import map_signal, open_store
from omni_bench.locate import card_root
from tests.scalp_runs import probe


def read_card(dataset: str, root: Path, on_error: str = "raise", **options: object) -> Cohort:
    """The cohort of a dataset below ``root``, read as its card says, but for ``options`` of its reader."""
    card = OmegaConf.load(card_root() / "conf" / "dataset" / f"{dataset}.yaml")
    return instantiate(card.read)(root, name=dataset, on_error=on_error, unit=card.get("unit"), **options)


@dataclass
class Trees:
    """A tree per dataset, written on first use, and its cohort as the card says; both for reading only."""

    folder: Path
    writers: Mapping[str, Callable[[Path], Path]]
    cohorts: dict[str, Cohort] = field(default_factory=dict)

    def root(self, dataset: str) -> Path:
        """Where the tree is."""
        root = self.folder / dataset
        return root if root.is_dir() else self.writers[dataset](root)

    def read(self, dataset: str) -> Cohort:
        """The cohort, read once."""
        if dataset not in self.cohorts:
            self.cohorts[dataset] = read_card(dataset, self.root(dataset))
        return self.cohorts[dataset]

    def copy(self, dataset: str, folder: Path) -> Path:
        """A copy of the tree that may be changed."""
        return Path(shutil.copytree(self.root(dataset), folder / dataset))


def events_of(cohort: Cohort, column: str) -> dict[str, list[str]]:
    """Recording → values of a column of its events, in their order; unknown ones left out."""
    assert cohort.events is not None
    known = cohort.events.dropna(subset=[column])
    return {str(name): own[column].tolist() for name, own in known.groupby("recording")}


def persons_of(cohort: Cohort) -> list[str]:
    """Every person once."""
    return sorted(cohort.patients["person"].unique())


def left_out(cohort: Cohort, what: str = "recordings") -> dict[str, int]:
    """Reason → how many."""
    return {entry["reason"]: entry["n"] for entry in cohort.excluded if entry["what"] == what}


def amplitudes(signal: np.ndarray, sfreq: float, freq: float) -> np.ndarray:
    """Amplitude of a sine at ``freq`` in each channel of ``(n_channels, n_times)``; times must hold whole periods."""
    t = np.arange(signal.shape[1]) / sfreq
    return np.abs(signal @ np.exp(-2j * np.pi * freq * t)) * 2 / len(t)


def whole_events(cohort: Cohort) -> bool:
    """Whether there is one event per recording, from its start to its end."""
    assert cohort.events is not None
    lengths = cohort.recordings.set_index("recording")["duration"]
    own = cohort.events.set_index("recording")
    return bool(
        own.index.is_unique
        and (own["onset"] == 0).all()
        and own["duration"].equals(lengths[own.index].rename("duration"))
    )


def edit(file: Path, **columns: object) -> None:
    """Set columns of a TSV or CSV file, or drop those that are None."""
    separator = "\t" if file.suffix == ".tsv" else ","
    table = pd.read_csv(file, sep=separator, dtype=str, keep_default_na=False)
    table = table.drop(columns=[name for name, value in columns.items() if value is None])
    table.assign(**{name: value for name, value in columns.items() if value is not None}).to_csv(
        file, sep=separator, index=False
    )


def run_counted(
    trees: Trees,
    task: str,
    dataset: str,
    persons: list[str],
    per_class: Mapping[int, int],
    folder: Path,
    *overrides: str,
) -> tuple[list[str], np.ndarray, float]:
    """Run a task, check persons and units per class; channels, signal (µV) and rate of the last stored recording."""
    run = probe(task, trees.root(dataset), folder, *overrides)
    assert run.units["label"].value_counts().to_dict() == per_class
    assert sorted(run.units["person"].unique()) == persons
    assert set(run.result["counts"]) == {"train", "val", "test"}
    file = sorted(run.store.glob("*.h5"))[-1]
    stored = open_store(file)
    return list(stored.ch_names), map_signal(file), stored.sfreq
