"""Pickles of strangers: arrays and plain containers come out, and nothing else is built or called."""

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from omni_bench.data.pickles import SKIPPED_BYTES, read_npy, read_pickle
from omni_bench.errors import BenchError
from tests.data.scalp_arrays import python2_pickle

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
PLAIN = st.one_of(
    st.integers(-(2**70), 2**70), st.floats(allow_nan=False), st.text(max_size=5), st.booleans(), st.none()
)
NUMBERS = arrays.arrays(
    st.sampled_from([">f8", "<f4", "<i2", "?", "<c16", "<U3", "S2"]),
    arrays.array_shapes(max_dims=3, max_side=4),
)


@given(st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3) | st.tuples(inner)), st.sampled_from(PROTOCOLS))
def test_plain_values_come_back(tmp_path_factory: pytest.TempPathFactory, value: Any, protocol: int) -> None:
    file = tmp_path_factory.mktemp("p") / "a.pkl"
    file.write_bytes(pickle.dumps({"x": value}, protocol))
    assert read_pickle(file) == {"x": value}


@given(NUMBERS, st.sampled_from(PROTOCOLS))
def test_arrays_come_back(tmp_path_factory: pytest.TempPathFactory, array: np.ndarray, protocol: int) -> None:
    file = tmp_path_factory.mktemp("p") / "a.pkl"
    content = pickle.dumps([array, np.asfortranarray(array), array.ravel()[0]], protocol)
    file.write_bytes(content)
    same, transposed, scalar = read_pickle(file)
    assert same.dtype == pickle.loads(content)[0].dtype
    np.testing.assert_array_equal(same, array)
    np.testing.assert_array_equal(transposed, array)
    np.testing.assert_array_equal(scalar, array.ravel()[0])


@pytest.mark.parametrize("protocol", [1, 2, 3, 4, 5])
def test_large_arrays_can_be_skipped(tmp_path: Path, protocol: int) -> None:
    big = np.arange(SKIPPED_BYTES // 8 + 5.0).reshape(-1, 1)
    file = tmp_path / "a.pkl"
    file.write_bytes(pickle.dumps({"big": big, "labels": np.arange(4.0)}, protocol))
    content = read_pickle(file, shapes_only=True)
    assert content["big"].shape == big.shape
    assert content["big"].strides == (0, 0)  # no memory behind it
    assert content["labels"].tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(read_pickle(file)["big"], big)


def test_python_2(tmp_path: Path) -> None:
    data = np.random.default_rng(0).normal(size=(40, 40, 100))
    file = tmp_path / "s01.dat"
    file.write_bytes(python2_pickle({"labels": np.array([[1.5, 2.0]]), "data": data}))
    content = read_pickle(file)
    np.testing.assert_array_equal(content["data"], data)
    outline = read_pickle(file, shapes_only=True)
    assert (outline["data"].shape, outline["labels"].tolist()) == ((40, 40, 100), [[1.5, 2.0]])
    assert content.keys() == pickle.loads(file.read_bytes(), encoding="latin1").keys()


def test_npy_of_a_dict_and_of_numbers(tmp_path: Path) -> None:
    content = {"ch_names": ["Pz"], "data": np.ones((2, 3), np.float32)}
    np.save(tmp_path / "a.npy", np.array(content, dtype=object), allow_pickle=True)
    assert read_npy(tmp_path / "a.npy")["ch_names"] == ["Pz"]
    np.save(tmp_path / "b.npy", np.array([[1, "a"], [2.5, None]], dtype=object), allow_pickle=True)
    assert read_npy(tmp_path / "b.npy").tolist() == [[1, "a"], [2.5, None]]
    np.save(tmp_path / "c.npy", np.arange(6).reshape(2, 3))
    assert isinstance(read_npy(tmp_path / "c.npy"), np.memmap)


class Runs:
    """Asks for a call when it is unpickled."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


def evil(mark: Path) -> dict[str, bytes]:
    command = f"touch {mark}"
    state = b"\x80\x02cnumpy\ndtype\nX\x02\x00\x00\x00O8\x89\x88\x87R"
    return {
        "os.system": pickle.dumps({"data": np.ones(3), "labels": Runs(os.system, command)}),
        "eval": pickle.dumps([Runs(eval, f"__import__('os').system({command!r})")], 0),
        "memory map": pickle.dumps(Runs(np.memmap, str(mark), "u1", "w+", 0, (9,))),
        "load": pickle.dumps(Runs(np.load, str(mark))),
        "pickle in pickle": pickle.dumps(Runs(pickle.loads, pickle.dumps(Runs(os.system, command)))),
        "codec": pickle.dumps(Runs(__import__("_codecs").encode, "x", "rot13")),
        "attribute": b"\x80\x04\x8c\x08builtins\x8c\x07getattr\x93.",
        "set state": b"\x80\x02c_codecs\nencode\n}X\x08\x00\x00\x00__code__K\x01sb.",
        "persistent": b"Ptouch\n.",
        "name of two lines": b"\x80\x04\x8c\x08builtins\x8c\x07get\nttr\x93.",
        # objects whose bytes are taken for pointers: an array of them from bytes, and numbers that say they hold them
        "pointers": b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85X\x01\x00\x00\x00b\x87R"
        b"(K\x01K\x01\x85cnumpy\ndtype\nX\x02\x00\x00\x00O8\x89\x88\x87R(K\x03X\x01\x00\x00\x00|NNNJ\xff\xff\xff\xff"
        b"J\xff\xff\xff\xffK\x00tb\x89B\x08\x00\x00\x00AAAAAAAAtb.",
        "record": state[:3] + b"numpy\ndtype\nX\x0a\x00\x00\x00O8,O8,f8,f\x89\x88\x87R.",
        "size": b"\x80\x02cnumpy\ndtype\nX\x02\x00\x00\x00f8\x89\x88\x87R(K\x03X\x01\x00\x00\x00<NNNM\x00\x01K\x08K\x00tb.",
    }


@pytest.mark.parametrize("case", evil(Path()))
@pytest.mark.parametrize("shapes_only", [False, True])
def test_nothing_else_is_built_or_called(tmp_path: Path, case: str, shapes_only: bool) -> None:
    mark = tmp_path / "mark"
    content = evil(mark)[case]
    (tmp_path / "a.pkl").write_bytes(content)
    with pytest.raises(BenchError, match=r"a\.pkl: not a whole pickle of arrays") as error:
        read_pickle(tmp_path / "a.pkl", shapes_only)
    assert "\n" not in str(error.value)
    header = {"descr": "|O", "fortran_order": False, "shape": ()}
    with (tmp_path / "a.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        file.write(content)
    with pytest.raises(BenchError, match="not a whole pickle of arrays"):
        read_npy(tmp_path / "a.npy", shapes_only)
    assert not mark.exists()


@pytest.mark.parametrize("kept", [0, 1, 100, 5000])
def test_truncated_files_are_one_line(tmp_path: Path, kept: int) -> None:
    content = pickle.dumps({"data": np.ones((30, 30))})
    (tmp_path / "a.pkl").write_bytes(content[:kept])
    np.save(tmp_path / "a.npy", np.ones((30, 30)))
    (tmp_path / "a.npy").write_bytes((tmp_path / "a.npy").read_bytes()[:kept])
    for read, name in ((read_pickle, "a.pkl"), (read_npy, "a.npy")):
        with pytest.raises(BenchError, match=name) as error:
            read(tmp_path / name)
        assert "\n" not in str(error.value)
