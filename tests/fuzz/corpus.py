"""Small valid files of every kind, and what breaks them."""

import json
import pickle
import struct
import tarfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import edfio
import h5py
import mne
import numpy as np
import pandas as pd
import torch
from omegaconf import OmegaConf
from pybv import write_brainvision
from safetensors.torch import save_file
from scipy.io import savemat

from omni_bench import api
from omni_bench.data.embeddings import EmbeddingStore
from omni_bench.data.store import write_store
from tests.data.bids_ieeg import write_recording, write_tree
from tests.data.edf import Signal, random_digits, write_edf
from tests.data.gdf import write_gdf
from tests.data.scalp_cnt import write_cnt
from tests.records import finished

NAMES = ["A1", "A2", "A3"]
SFREQ = 100
DIGITS = random_digits(900).reshape(3, 300)
VOLTS = DIGITS * 1e-7


def edf(folder: Path, suffix: str = ".edf") -> Path:
    signals = [Signal(name, digits, SFREQ) for name, digits in zip(NAMES, DIGITS, strict=True)]
    return write_edf(folder / f"a{suffix}", signals, onsets=(0, 1, 2), reserved=f"{suffix[1:].upper()}+D")


def annotated(folder: Path) -> Path:
    signal = edfio.EdfSignal(VOLTS[0] * 1e6, SFREQ, label="A1", physical_dimension="uV")
    edfio.Edf([signal], annotations=[edfio.EdfAnnotation(0.5, 1, "T1"), edfio.EdfAnnotation(2, None, "T2")]).write(
        folder / "a.edf"
    )
    return folder / "a.edf"


def brainvision(folder: Path) -> Path:
    events = np.array([[10, 1], [50, 2]])
    write_brainvision(
        data=VOLTS, sfreq=SFREQ, ch_names=NAMES, fname_base="a", folder_out=str(folder), events=events, overwrite=True
    )
    return folder / "a.vhdr"


def _raw() -> mne.io.RawArray:
    return mne.io.RawArray(VOLTS, mne.create_info(NAMES, SFREQ, "eeg"), verbose="ERROR")


def fif(folder: Path) -> Path:
    _raw().save(folder / "a_raw.fif", overwrite=True, verbose="ERROR")
    return folder / "a_raw.fif"


def eeglab(folder: Path) -> Path:
    locations = np.zeros(3, [("labels", object), ("X", float), ("Y", float), ("Z", float)])
    locations["labels"] = NAMES
    eeg = {"data": VOLTS * 1e6, "srate": SFREQ, "nbchan": 3, "pnts": 300, "trials": 1, "xmin": 0.0, "xmax": 2.99}
    eeg |= {"chanlocs": locations, "event": np.array([]), "epoch": np.array([]), "setname": "a"}
    savemat(folder / "a.set", {"EEG": eeg}, appendmat=False)
    return folder / "a.set"


def cnt(folder: Path) -> Path:
    write_cnt(folder / "a.cnt", VOLTS * 1e6, NAMES, 100, [(0.5, 3)])
    return folder / "a.cnt"


def gdf(folder: Path) -> Path:
    return write_gdf(folder / "a.gdf", NAMES, DIGITS.astype("int16"), SFREQ, [(10, 769), (50, 770)])


def matlab(folder: Path) -> Path:
    cell = np.array(["a", "bc"], dtype=object)
    savemat(folder / "a.mat", {"x": VOLTS, "s": {"fs": 100.0, "name": "abc", "cell": cell}})
    return folder / "a.mat"


def matlab73(folder: Path) -> Path:
    with h5py.File(folder / "a.mat", "w") as file:
        file["x"] = VOLTS
        group = file.create_group("s")
        group["fs"] = np.array([[100.0]])
        group["name"] = np.frombuffer("abc".encode("utf-16-le"), "u2")
        group["name"].attrs["MATLAB_class"] = np.bytes_("char")
        file["refs"] = np.array([file["x"].ref, group["fs"].ref], h5py.ref_dtype)
    return folder / "a.mat"


def pickled(folder: Path) -> Path:
    content = {"data": VOLTS, "labels": ["a", "b"], "n": 3}
    (folder / "a.pkl").write_bytes(pickle.dumps(content, protocol=4))
    return folder / "a.pkl"


def npy(folder: Path) -> Path:
    np.save(folder / "a.npy", np.array([VOLTS, {"a": 1}], dtype=object), allow_pickle=True)
    return folder / "a.npy"


def table(folder: Path) -> Path:
    columns = {"name": NAMES, "soz": ["1", "0", "n/a"], "onset": ["0,5", "1.5", "n/a"]}
    pd.DataFrame(columns).to_csv(folder / "a.tsv", sep="\t", index=False)
    return folder / "a.tsv"


def tree(folder: Path) -> Path:
    participants = {"participant_id": ["sub-01"], "age": ["30"], "outcome": ["S"], "engel": ["1"]}
    channels = {"name": NAMES, "type": ["SEEG"] * 3, "units": ["µV"] * 3, "status": ["good", "bad", "n/a"]}
    root = write_tree(folder / "tree", participants)
    write_recording(root, "sub-01_task-ictal", ".edf", channels, seconds=1)
    return root


def record(folder: Path) -> Path:
    (folder / "run").mkdir(exist_ok=True)
    (folder / "run" / "result.json").write_text(json.dumps(finished("tuab", "labram", 0.7), indent=1))
    return folder / "run" / "result.json"


def store(folder: Path) -> Path:
    path = folder / "a-0123.h5"
    path.unlink(missing_ok=True)
    write_store(path, [(VOLTS * 1e6).astype("float32")], NAMES, SFREQ, {})
    return path


def embeddings(folder: Path) -> Path:
    kept = EmbeddingStore(folder / "embeddings")
    keys = pd.DataFrame({"file": ["a.h5"] * 4, "row": 0, "first": range(4)})
    kept.add(keys, np.arange(12, dtype="float32").reshape(4, 3))
    return next((folder / "embeddings").glob("*.h5"))


def checkpoint(folder: Path) -> Path:
    torch.save({"state_dict": {"net.weight": torch.zeros(3, 2)}, "epoch": 1, "global_step": 7}, folder / "a.ckpt")
    return folder / "a.ckpt"


def safetensors(folder: Path) -> Path:
    save_file({"weight": torch.zeros(3, 2)}, folder / "a.safetensors")
    return folder / "a.safetensors"


def pickled_module(folder: Path) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.save({"model": torch.nn.Linear(2, 3)}, folder / "a.pt")
    return folder / "a.pt"


def tar(folder: Path) -> Path:
    (folder / "inside.txt").write_text("x" * 100)
    with tarfile.open(folder / "a.tar", "w") as archive:
        archive.add(folder / "inside.txt", "data/inside.txt")
    return folder / "a.tar"


def zipped(folder: Path) -> Path:
    (folder / "zips").mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / "zips" / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data/inside.txt", "x" * 100)
    return folder / "zips" / "a.zip"


def trained(folder: Path) -> Path:
    run = folder / "trained"
    run.mkdir(exist_ok=True)
    checkpoint(run).rename(run / "model.ckpt")
    cfg = OmegaConf.to_container(api.compose_config(["task=demo_hands", "model=eegnet"]), resolve=True)
    (run / "config.yaml").write_text(OmegaConf.to_yaml(cfg))
    told = finished("demo_hands", "eegnet", 0.7, window={"n_times": 400, "sfreq": 200.0, "ch_names": NAMES})
    (run / "result.json").write_text(json.dumps(told))
    return run / "model.ckpt"


def override(folder: Path) -> Path:
    (folder / "override.txt").write_text("task.preprocessing={sfreq: 200.0, notch: true, channels: [Fp1, C3]}")
    return folder / "override.txt"


Mutation = Callable[[bytes, np.random.Generator], bytes]


def truncated(content: bytes, rng: np.random.Generator) -> bytes:
    return content[: rng.integers(0, len(content))]


def flipped(content: bytes, rng: np.random.Generator) -> bytes:
    """A few bits, most of them near the beginning, where headers stand."""
    changed = bytearray(content)
    for _ in range(rng.integers(1, 9)):
        end = len(changed) if rng.random() < 0.4 else min(len(changed), 1024)
        changed[rng.integers(end)] ^= 1 << rng.integers(8)
    return bytes(changed)


def overwritten(content: bytes, rng: np.random.Generator) -> bytes:
    """A run of bytes that numbers in headers mind: zeros, ones, the largest and smallest integers, digits."""
    value = [
        b"\0" * 8,
        b"\xff" * 8,
        struct.pack("<q", 2**62),
        b"\x7f\xff\xff\xff",
        b"-1      ",
        b"99999999",
        b"nan     ",
    ]
    chosen = value[rng.integers(len(value))]
    at = int(rng.integers(max(1, min(len(content), 2048))))
    return content[:at] + chosen + content[at + len(chosen) :]


def spliced(content: bytes, rng: np.random.Generator) -> bytes:
    """A part cut out, or put in a second time."""
    first, last = sorted(rng.integers(0, len(content) + 1, 2))
    return content[:first] + content[last:] if rng.random() < 0.5 else content[:last] + content[first:]


MUTATIONS: tuple[Mutation, ...] = (truncated, flipped, flipped, overwritten, spliced)


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    return MUTATIONS[rng.integers(len(MUTATIONS))](content, rng)
