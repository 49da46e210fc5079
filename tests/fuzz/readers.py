"""How each kind of file is read, as the commands read it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from omni_bench import api
from omni_bench.data.array_files import ArrayFile
from omni_bench.data.edf import edf_annotations
from omni_bench.data.embeddings import EmbeddingStore
from omni_bench.data.recording import channel_names, open_recording
from omni_bench.data.store import map_signal, open_store, verify_store
from omni_bench.data.tables import flags, numbers, read_table
from omni_bench.datasets.bids_ieeg import read_bids_ieeg
from omni_bench.datasets.download import unpack, unpack_zips
from omni_bench.inference.trained import open_trained
from omni_bench.models.pickled_modules import state_of_pickled_module
from omni_bench.models.weights import read_state
from omni_bench.modules.learner import read_checkpoint
from omni_bench.results.leaderboard import build_leaderboard
from omni_bench.results.submission import check_results
from tests.fuzz import corpus

BLOCK_S = 5
"""Seconds read at a file's beginning and end; a header may announce years."""


class Kind(NamedTuple):
    """How a valid sample is written, which of its files are broken (glob patterns), and how it is read."""

    write: Callable[[Path], Path]
    broken: str
    read: Callable[[Path], object]


def read_signal(path: Path) -> None:
    channel_names(path)
    recording = open_recording(path)
    block = max(1, min(round(BLOCK_S * recording.sfreq), 1_000_000))
    recording.read(0, block)
    recording.read(max(0, recording.n_times - block))


def read_arrays(path: Path) -> None:
    file = ArrayFile(path)
    for name in file.names or [""]:
        file.shape(name)
        file.value(name)


def read_columns(path: Path) -> None:
    content = read_table(path, ["name"])
    for column in ("soz", "onset"):
        if column in content:
            (flags if column == "soz" else numbers)(content[column], str(path))


def read_tree(root: Path) -> None:
    read_bids_ieeg(root, "tree")


def read_store(path: Path) -> None:
    map_signal.cache_clear()
    open_store(path)
    verify_store(path)


def read_embeddings(path: Path) -> None:
    """A damaged chunk must go, and its windows be missing; what stays must be right."""
    kept = EmbeddingStore(path.parent)
    assert len(kept.chunks) == path.is_file()


def read_board(path: Path) -> None:
    build_leaderboard(path.parent, 1)
    check_results(path)


def read_override(path: Path) -> None:
    api.compose_config([path.read_bytes().decode("latin-1")])


KINDS = {
    "edf": Kind(corpus.edf, "a.edf", read_signal),
    "annotations": Kind(corpus.annotated, "a.edf", edf_annotations),
    "bdf": Kind(partial(corpus.edf, suffix=".bdf"), "a.bdf", read_signal),
    "brainvision": Kind(corpus.brainvision, "a.*", read_signal),
    "set": Kind(corpus.eeglab, "a.set", read_signal),
    "fif": Kind(corpus.fif, "a_raw.fif", read_signal),
    "gdf": Kind(corpus.gdf, "a.gdf", read_signal),
    "cnt": Kind(corpus.cnt, "a.cnt", read_signal),
    "mat": Kind(corpus.matlab, "a.mat", read_arrays),
    "mat73": Kind(corpus.matlab73, "a.mat", read_arrays),
    "pickle": Kind(corpus.pickled, "a.pkl", read_arrays),
    "npy": Kind(corpus.npy, "a.npy", read_arrays),
    "tsv": Kind(corpus.table, "a.tsv", read_columns),
    "tree": Kind(corpus.tree, "tree/**/*.[tj]s*", read_tree),
    "json": Kind(corpus.record, "run/result.json", read_board),
    "store": Kind(corpus.store, "a-0123.h5", read_store),
    "embeddings": Kind(corpus.embeddings, "embeddings/*.h5", read_embeddings),
    "ckpt": Kind(corpus.checkpoint, "a.ckpt", read_checkpoint),
    "weights": Kind(corpus.checkpoint, "a.ckpt", read_state),
    "safetensors": Kind(corpus.safetensors, "a.safetensors", read_state),
    "module": Kind(corpus.pickled_module, "a.pt", state_of_pickled_module),
    "tar": Kind(corpus.tar, "a.tar", lambda path: unpack(path, path.parent / "unpacked")),
    "zip": Kind(corpus.zipped, "zips/a.zip", lambda path: unpack_zips(path.parent)),
    "config": Kind(corpus.trained, "trained/*.[jy]*", lambda path: open_trained(str(path))),
    "override": Kind(corpus.override, "override.txt", read_override),
}
