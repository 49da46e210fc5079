"""The cohort that a dataset's card reads from a tree, and what tests ask of it."""

from pathlib import Path
from typing import Any

import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf

from omni_bench.data.cohort import Cohort
from omni_bench.errors import BenchError
from omni_bench.locate import card_root
from tests.data.scalp_arrays import PLANTED_UV, amplitude


def cohort_of(dataset: str, root: Path, **changes: Any) -> Cohort:
    """As `dataset=...` would read it; ``changes`` are arguments of the card's reader, or of all readers."""
    card = OmegaConf.load(card_root() / "conf" / "dataset" / f"{dataset}.yaml")
    return instantiate(card.read)(root, **({"name": dataset} | changes))


def events(cohort: Cohort, recording: str, *columns: str) -> list[Any]:
    """Values of one column, or rows of several, of a recording's events."""
    own = cohort.events[cohort.events["recording"] == recording]
    return own[list(columns)].to_numpy().tolist() if len(columns) > 1 else own[columns[0]].tolist()


def planted(cohort: Cohort, recording: str, start: float, seconds: float) -> str:
    """The only channel with the tone of 80 µV in a stretch of a recording, by its normalised name."""
    opened = cohort.open(recording)
    found = amplitude(opened.read(), opened.sfreq, start, seconds)
    assert (found > PLANTED_UV / 2).sum() == 1
    assert found.max() == pytest.approx(PLANTED_UV, rel=0.1)
    names = cohort.channels.set_index(["recording", "raw_name"])["channel"]
    return str(names[recording, opened.ch_names[int(found.argmax())]])


def truncate(file: Path) -> None:
    """Keep the first half of a file."""
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


def assert_refused(dataset: str, root: Path, complaint: str, **changes: Any) -> None:
    """Reading the tree is one line of BenchError that matches."""
    with pytest.raises(BenchError, match=complaint) as error:
        cohort_of(dataset, root, **changes)
    assert "\n" not in str(error.value)
