"""Several sources as one cohort."""

import importlib
from functools import partial
from pathlib import Path

import pytest
from hydra.utils import instantiate

from omni_bench.api import compose_config
from omni_bench.data.cohort import Cohort
from omni_bench.datasets.fragility import read_fragility
from omni_bench.datasets.ieeg_collection import read_ieeg_collection
from omni_bench.datasets.sourcesink import read_sourcesink
from omni_bench.errors import BenchError
from tests.data.fragility import write_fragility
from tests.data.raw_counts import noted, real_source
from tests.data.sourcesink import write_sourcesink

SOURCES = {"sourcesink": read_sourcesink, "fragility": read_fragility}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_sourcesink(tmp_path / "sourcesink")
    write_fragility(tmp_path / "fragility")
    for table in (tmp_path / "fragility").rglob("*"):
        # pt2 has the same name in both sources
        if "pt01" in table.name and table.is_file():
            table.rename(table.with_name(table.name.replace("pt01", "pt2")))
    (tmp_path / "fragility" / "sub-pt01").rename(tmp_path / "fragility" / "sub-pt2")
    people = tmp_path / "fragility" / "participants.tsv"
    people.write_text(people.read_text().replace("sub-pt01", "sub-pt2"))
    for header in (tmp_path / "fragility").rglob("*.vhdr"):
        header.write_text(header.read_text().replace("sub-pt01", "sub-pt2"))
    return tmp_path


def test_one_person_of_two_subjects(root: Path) -> None:
    cohort = read_ieeg_collection(root, sources=SOURCES)
    patients = cohort.patients.set_index("subject")
    assert patients.loc[["sourcesink_sub-pt2", "fragility_sub-pt2"], "person"].tolist() == ["sub-sourcesinkpt2"] * 2
    assert (len(patients), patients["person"].nunique(), len(cohort.recordings)) == (5, 4, 6)
    assert noted(cohort.excluded, "stand in two sources") == 1
    assert noted(cohort.excluded, "outcome differs") == 0
    assert noted(cohort.excluded, "sourcesink: no name") == 2
    recording = cohort.recordings.set_index("subject").loc["fragility_sub-pt2", "recording"]
    assert cohort.open(recording).ch_names == ["AD1", "AD2"]
    assert cohort.filter(source="fragility").recordings["path"].str.startswith("fragility/sub-").all()


def test_outcomes_that_disagree_are_noted(root: Path) -> None:
    people = root / "fragility" / "participants.tsv"
    people.write_text(people.read_text().replace("R\tS\t1.0\t2.0", "R\tF\t3.0\t4.0"))
    assert noted(read_ieeg_collection(root, sources=SOURCES).excluded, "outcome differs") == 1


def test_absent_sources(root: Path) -> None:
    readers = {**SOURCES, "zurich": partial(_never)}
    cohort = read_ieeg_collection(root, sources=readers)
    assert {"what": "sources", "reason": "no folder zurich", "n": 1} in cohort.excluded
    with pytest.raises(BenchError, match="none of the folders zurich"):
        read_ieeg_collection(root, sources={"zurich": _never})


def _never(*_: object, **__: object) -> Cohort:
    raise AssertionError("read a folder that is not there")


def test_real_sources(shared: Path) -> None:
    root = real_source(shared, "ds003876").parent
    cohort = read_ieeg_collection(root, sources={"ds003876": read_sourcesink, "ds003029": read_fragility})
    assert (len(cohort.patients), cohort.patients["person"].nunique()) == (39 + 35, 39 + 35 - 10)
    assert noted(cohort.excluded, "stand in two sources") == 10
    assert noted(cohort.excluded, "outcome differs") == 0


def test_card_reads_what_is_there(root: Path) -> None:
    card = compose_config(["dataset=ieeg_collection", f"paths.data={root}"]).dataset
    cohort = instantiate(card.read)(Path(card.root), name=card.name, on_error="raise", unit=None)
    assert sorted(cohort.patients["source"].unique()) == ["fragility", "sourcesink"]
    assert [entry["reason"] for entry in cohort.excluded if entry["what"] == "sources"] == [
        "no folder openieeg",
        "no folder zurich",
        "no folder hup",
    ]


@pytest.mark.parametrize("name", ["openieeg", "zurich", "hup", "sourcesink", "fragility"])
def test_card_of_a_source(tmp_path: Path, name: str) -> None:
    write = getattr(importlib.import_module(f"tests.data.{name}"), f"write_{name}")
    write(tmp_path / name)
    card = compose_config([f"dataset={name}", f"paths.data={tmp_path}", "protocol=leave_one_dataset_out"]).dataset
    cohort = instantiate(card.read)(Path(card.root), name=card.name, on_error="raise", unit=card.unit)
    assert cohort.patients["source"].unique().tolist() == [name]
