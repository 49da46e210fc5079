"""Files of a BIDS tree: recordings of a datatype, their entities, and the sidecars that hold for them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from omni_bench.data.recording import READERS
from omni_bench.errors import BenchError

OUTSIDE = ("derivatives", "sourcedata", "code", "stimuli")


def recordings_below(root: Path, datatype: str, only: Path | None = None) -> Iterator[Path]:
    """Recordings of a ``datatype`` (``eeg``, ``ieeg``) below a folder that may hold several trees.

    ``only`` is a folder or recording in it that is wanted alone.

    Raises
    ------
    BenchError
        There is no such folder.
    """
    if not root.is_dir():
        raise BenchError(f"{root}: no such folder: paths.data must be a BIDS tree")
    place = only or root
    for file in sorted(place.rglob(f"*_{datatype}.*")) if place.is_dir() else [place]:
        # the first part of a split recording brings the others
        part = entities_of(file)["split"]
        if (
            file.suffix.lower() in READERS
            and part in (None, "01")
            and not set(OUTSIDE) & set(file.relative_to(root).parts)
        ):
            yield file


def entities_of(file: Path) -> dict[str, str | None]:
    """BIDS entities of a file name: subject, session, task, run, split, ..."""
    from mne_bids import get_entities_from_fname

    return get_entities_from_fname(file, on_error="ignore")


def tree_of(file: Path, root: Path) -> Path:
    """The BIDS root above a recording: the nearest folder with participants.tsv or dataset_description.json."""
    for folder in file.parents:
        if (folder / "participants.tsv").is_file() or (folder / "dataset_description.json").is_file() or folder == root:
            return folder
    return root


def sidecars(file: Path, tree: Path, suffix: str) -> Iterator[Path]:
    """Sidecars that hold for a recording by the inheritance principle, the nearest first."""
    entities = set(file.stem.split("_")[:-1])
    for folder in file.parents:
        candidates = [path for path in folder.glob(f"*_{suffix}") if set(path.name.split("_")[:-1]) <= entities]
        yield from sorted(candidates, key=lambda path: -len(path.name.split("_")))
        if folder == tree:
            break


def facts_of(file: Path, tree: Path, datatype: str) -> dict[str, Any]:
    """Content of all ``*_<datatype>.json`` that hold for a recording; the nearest decides.

    Raises
    ------
    BenchError
        One of them is not JSON.
    """
    facts: dict[str, Any] = {}
    for sidecar in sidecars(file, tree, f"{datatype}.json"):
        try:
            facts = json.loads(sidecar.read_text(encoding="utf-8-sig")) | facts
        except ValueError as error:
            raise BenchError(f"{sidecar}: not valid JSON ({error}): correct it") from error
    return facts
