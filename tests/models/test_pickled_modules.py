"""Pickled whole modules give their weights and run nothing."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from omni_bench.convert import convert
from omni_bench.errors import BenchError
from omni_bench.models.build import build
from omni_bench.models.pickled_modules import state_of_pickled_module

OTHER_PACKAGE = """
    import sys, types, torch
    from torch import nn
    package = types.ModuleType("gone_package")
    sys.modules["gone_package"] = package
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU())
            self.register_buffer("scratch", torch.ones(5), persistent=False)
            self.note = {"freq": [10, 500]}
    Net.__module__, Net.__qualname__ = "gone_package", "Net"
    package.Net = Net
    torch.manual_seed(3)
    net = Net()
    content = {"model": net, "preprocessing_dict": {"window": 0.285}}
    torch.save(content, sys.argv[1], _use_new_zipfile_serialization=sys.argv[2] == "zip")
    torch.save(net.state_dict(), sys.argv[1] + ".state")
"""


@pytest.mark.parametrize("kind", ["zip", "old"])
def test_the_module_of_a_package_that_is_not_there(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "net.pt"
    subprocess.run([sys.executable, "-c", textwrap.dedent(OTHER_PACKAGE), file, kind], check=True)
    expected = torch.load(f"{file}.state", weights_only=True)
    assert len(expected) == 7
    for state in (state_of_pickled_module(file), _converted(file)):
        assert state.keys() == expected.keys()
        assert all(torch.equal(state[name], weight) for name, weight in expected.items())


def _converted(file: Path) -> dict[str, torch.Tensor]:
    assert convert(file, file.with_suffix(".safetensors")) == 7
    return load_file(file.with_suffix(".safetensors"))


def test_converted_weights_start_a_model(tmp_path: Path) -> None:
    net = build("pyhfo_spike", 1, 1, 2000, 1000.0, weights="random")
    torch.save(net, tmp_path / "old.pt")
    convert(tmp_path / "old.pt", tmp_path / "new.safetensors")
    again = build("pyhfo_spike", 1, 1, 2000, 1000.0, weights=str(tmp_path / "new.safetensors"))
    assert all(torch.equal(again.state_dict()[name], weight) for name, weight in net.state_dict().items())


class _Malice:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (f"touch {self.mark}",)


def test_no_code_in_the_file_runs(tmp_path: Path) -> None:
    torch.save({"model": _Malice(tmp_path / "ran")}, tmp_path / "bad.pt")
    with pytest.raises(BenchError, match="no pickled modules with weights"):
        state_of_pickled_module(tmp_path / "bad.pt")
    assert not (tmp_path / "ran").exists()


def test_files_that_cannot_be_converted(tmp_path: Path) -> None:
    (tmp_path / "broken.pt").write_bytes(b"no file of torch")
    with pytest.raises(BenchError, match="cannot be read as a file of torch"):
        convert(tmp_path / "broken.pt", tmp_path / "new.safetensors")
    with pytest.raises(BenchError, match="no such file"):
        convert(tmp_path / "absent.pt", tmp_path / "new.safetensors")
    with pytest.raises(BenchError, match=r"ends in \.safetensors"):
        convert(tmp_path / "broken.pt", tmp_path / "new.bin")
    assert not (tmp_path / "new.safetensors").exists()
