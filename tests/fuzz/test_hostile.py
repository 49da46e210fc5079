"""Files that were made to run code when they are read: they are refused, and nothing runs."""

import os
import pickle
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from scipy.io import savemat

from omni_bench.data.array_files import ArrayFile
from omni_bench.data.matlab import check_elements
from omni_bench.data.store import open_store
from omni_bench.errors import BenchError
from omni_bench.inference.trained import open_trained
from omni_bench.models.pickled_modules import state_of_pickled_module
from omni_bench.models.weights import read_state
from omni_bench.modules.learner import read_checkpoint
from tests.fuzz import corpus


class Trap:
    """Makes a folder when it is unpickled."""

    def __init__(self, sign: Path) -> None:
        self.sign = sign

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        return os.mkdir, (str(self.sign),)


READERS: dict[str, Callable[[Path], object]] = {
    "a.pkl": lambda file: ArrayFile(file).value(""),
    "a.npy": lambda file: ArrayFile(file).value(""),
    "a.ckpt": read_checkpoint,
    "a.pth": read_state,
    "a.pt": state_of_pickled_module,
}


@pytest.mark.parametrize("name", READERS)
def test_pickles_are_not_run(name: str, tmp_path: Path) -> None:
    sign, file = tmp_path / "ran", tmp_path / name
    trap = {"state_dict": {"net.weight": torch.zeros(2)}, "x": Trap(sign)}
    if name == "a.pkl":
        file.write_bytes(pickle.dumps(trap))
    elif name == "a.npy":
        np.save(file, np.array([Trap(sign)], dtype=object), allow_pickle=True)
    else:
        torch.save(trap, file)
    with pytest.raises(BenchError):
        READERS[name](file)
    assert not sign.exists()
    if name == "a.pkl":
        pickle.loads(file.read_bytes())  # that the trap is one
        assert sign.exists()


@pytest.mark.parametrize(
    "line",
    [
        "seed: !!python/object/apply:os.mkdir [{sign}]",
        "seed: !!python/name:os.mkdir",
        "seed: ${{oc.env:HOME}}",
        "model: {{net: {{_target_: os.mkdir, path: {sign}}}}}",
    ],
)
def test_configurations_name_nothing_else(line: str, tmp_path: Path) -> None:
    checkpoint = corpus.trained(tmp_path)
    sign, config = tmp_path / "ran", checkpoint.with_name("config.yaml")
    config.write_text(config.read_text().replace("seed: 0", "seed: 1") + line.format(sign=sign) + "\n")
    with pytest.raises(BenchError):
        open_trained(str(checkpoint))
    assert not sign.exists()


def test_unknown_types_in_matlab_files_do_not_reach_scipy(tmp_path: Path) -> None:
    file = tmp_path / "a.mat"
    savemat(file, {"s": {"x": np.arange(3.0), "y": {"z": "abc"}}})
    check_elements(file)
    whole = file.read_bytes()
    data = whole.index(np.arange(3.0).tobytes()[8:])  # 0.0 is stored shorter, behind its tag
    for at, byte in ((data - 16, 33), (data - 12, 255)):
        broken = bytearray(whole)
        broken[at] = byte
        file.write_bytes(broken)
        with pytest.raises(BenchError, match="MATLAB file"):
            ArrayFile(file).value("s")


@pytest.mark.parametrize("options", [{"chunks": (1, 10)}, {"compression": "gzip"}, {"dtype": ">f4"}])
def test_stores_of_another_layout_are_no_stores(options: dict[str, object], tmp_path: Path) -> None:
    file = corpus.store(tmp_path)
    with h5py.File(file, "r+") as content:
        signal = content["signal"][()]
        del content["signal"]
        content.create_dataset("signal", data=signal, **options)
    with pytest.raises(BenchError, match="damaged store"):
        open_store(file)


def test_a_store_whose_signal_lies_elsewhere_is_none(tmp_path: Path) -> None:
    file, secret = corpus.store(tmp_path), tmp_path / "secret"
    secret.write_bytes(bytes(4 * 3 * 300))
    with h5py.File(file, "r+") as content:
        del content["signal"]
        outside = [(str(secret), 0, h5py.h5f.UNLIMITED)]
        content.create_dataset("signal", (3, 300), "<f4", external=outside)
    with pytest.raises(BenchError, match="damaged store"):
        open_store(file)


def test_lists_of_different_lengths_are_no_array(tmp_path: Path) -> None:
    file = tmp_path / "a.pkl"
    file.write_bytes(pickle.dumps({"data": [[1.0, 2.0], [3.0]]}))
    with pytest.raises(BenchError, match="not a regular array"):
        ArrayFile(file).shape("data")


def test_names_that_are_no_text_or_hold_line_breaks(tmp_path: Path) -> None:
    file = tmp_path / "a.pkl"
    file.write_bytes(pickle.dumps({None: 1, "a\nb": np.arange(3.0)}))
    assert ArrayFile(file).names == ["a\nb"]
    with pytest.raises(BenchError) as error:
        ArrayFile(file).value("c\nd")
    assert "no variable c?d (found: a?b)" in str(error.value)
