"""Recordings in files of arrays: whatever the order of axes and the container, pieces hold what was stored."""

import pickle
from itertools import permutations
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from scipy.io import savemat

from omni_bench.data.array_files import ArrayFile, ArrayLayout
from omni_bench.data.arrays import array_recording
from omni_bench.data.matlab import mat_shapes, read_mat
from omni_bench.data.prepare import Job
from omni_bench.data.preprocess import Preprocessing
from omni_bench.errors import BenchError

AXES = ("block", "trial", "channel", "time")
NAMES = ("C3", "C4")
SIGNAL = np.arange(2 * 3 * 2 * 5, dtype=float).reshape(2, 3, 2, 5)


def layout(**changes: Any) -> ArrayLayout:
    return ArrayLayout(**({"axes": AXES, "sfreq": 10.0, "channels": NAMES, "variable": "x"} | changes))


def write(file: Path, array: np.ndarray) -> Path:
    """The array as ``x`` in a file of the kind that its suffix says."""
    if file.suffix == ".mat":
        savemat(file, {"x": array, "y": 1.0})
    elif file.suffix == ".npy":
        np.save(file, np.array({"x": array}, dtype=object), allow_pickle=True)
    else:
        file.write_bytes(pickle.dumps({"x": array}))
    return file


@pytest.mark.parametrize("suffix", [".mat", ".npy", ".pkl"])
@pytest.mark.parametrize("order", permutations(range(4)))
def test_any_order_of_axes(tmp_path: Path, suffix: str, order: tuple[int, ...]) -> None:
    axes = tuple(AXES[i] for i in order)
    file = write(tmp_path / f"a{suffix}", SIGNAL.transpose(order))
    own = layout(axes=axes)
    recording, pieces = own(file), own.pieces_in(ArrayFile(file, shapes_only=True))
    assert (recording.n_times, recording.sfreq, recording.pieces) == (30, 10, tuple(range(0, 30, 5)))
    signal = recording.read()
    for number, piece in pieces.iterrows():
        expected = SIGNAL[piece["block"], piece["trial"]]
        np.testing.assert_array_equal(signal[:, 5 * number : 5 * number + 5], expected)
    assert pieces["n_times"].tolist() == [5] * 6


def test_last_dimensions_of_one_are_not_stored_by_matlab(tmp_path: Path) -> None:
    file = write(tmp_path / "a.mat", SIGNAL[0, 0])
    own = layout(axes=("channel", "time", "block", "target"))
    np.testing.assert_array_equal(own(file).read(), SIGNAL[0, 0])
    assert own.pieces_in(ArrayFile(file))[["block", "target"]].to_numpy().tolist() == [[0, 0]]


def test_numbered_variables_are_pieces_in_order(tmp_path: Path) -> None:
    content = {f"ab_eeg{i}": np.full((2, 3 + i), float(i)) for i in (10, 2, 1, *range(3, 10))}
    savemat(tmp_path / "a.mat", content)
    recording = layout(axes=("channel", "time"), variable=r"\w+_eeg(\d+)")(tmp_path / "a.mat")
    assert recording.read()[0].tolist() == [float(i) for i in range(1, 11) for _ in range(3 + i)]


def test_scale_unit_and_chosen_channels(tmp_path: Path) -> None:
    file = write(tmp_path / "a.mat", SIGNAL.astype(np.int16))
    recording = layout(scale=0.1)(file, ["C4"], "mV")
    np.testing.assert_allclose(recording.read(stop=5), 100 * SIGNAL[0, 0, 1:2], rtol=1e-6)


def test_stores_of_other_options_are_others(tmp_path: Path) -> None:
    file = write(tmp_path / "a.mat", SIGNAL)

    def target(opener: ArrayLayout) -> Path:
        return Job("a", file, NAMES, 50.0, None, Preprocessing(), tmp_path, 100, False, opener).target

    assert target(layout()) == target(layout())
    assert target(layout()) != target(layout(scale=0.1))
    assert target(pickle.loads(pickle.dumps(layout()))) == target(layout())


def test_both_versions_of_matlab_files_read_alike(tmp_path: Path) -> None:
    names = np.empty((1, 2), object)
    names[0, :] = ["C3", "Cz"]
    x = np.arange(24.0).reshape(2, 3, 4)
    savemat(tmp_path / "five.mat", {"s": {"x": x, "clab": names, "word": "left", "none": np.zeros((0, 0))}})
    with h5py.File(tmp_path / "seven.mat", "w") as file:
        file["s/x"] = x.T
        texts = []
        for i, text in enumerate(("C3", "Cz", "left")):
            item = file.create_dataset(f"#refs#/{i}", data=np.array([[ord(c)] for c in text], np.uint16))
            item.attrs["MATLAB_class"] = np.bytes_("char")
            texts.append(item)
        file["s/clab"] = np.array([[text.ref] for text in texts[:2]], h5py.ref_dtype)
        file["s/word"] = texts[2]
        file["s/none"] = np.zeros(2, np.uint64)
        file["s/none"].attrs["MATLAB_empty"] = 1
    for name in ("five.mat", "seven.mat"):
        assert mat_shapes(tmp_path / name) == {"s": (1, 1)}
        content = read_mat(tmp_path / name, "s")
        np.testing.assert_array_equal(content["x"], x)
        assert (content["clab"], content["word"], content["none"].size) == (["C3", "Cz"], "left", 0)


def test_a_list_of_structs_is_a_list_of_pieces(tmp_path: Path) -> None:
    runs = np.empty((1, 2), [("eeg", object), ("note", object)])
    runs[0, 0] = (np.zeros((4, 2)), "a")
    runs[0, 1] = (np.ones((6, 2)), "b")
    savemat(tmp_path / "a.mat", {"run": runs})
    own = layout(axes=("time", "channel"), variable="run", field="eeg")
    assert own.pieces_in(ArrayFile(tmp_path / "a.mat"))["n_times"].tolist() == [4, 6]
    recording = own(tmp_path / "a.mat")
    assert recording.pieces == (0, 4)
    assert recording.read().sum() == 12


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"variable": "z"}, "0 variables z, expected one .it has x, y."),
        ({"axes": ("channel", "time")}, r"shape \(2, 3, 2, 5\), expected \(channel, time\)"),
        ({"channels": ("C3", "C4", "Cz")}, r"an array of shape \(2, 5\), expected \(3, n_times\)"),
        ({"sfreq": "fs"}, "no variable fs .found: x, y."),
        ({"field": "eeg"}, "x has no field eeg"),
        ({"shapes": (("a.mat", (2, 3, 2, 6)),)}, r"shape \(2, 3, 2, 5\), expected \(2, 3, 2, 6\)"),
    ],
)
def test_another_layout_is_one_line(tmp_path: Path, changes: dict[str, Any], complaint: str) -> None:
    file = write(tmp_path / "a.mat", SIGNAL)
    with pytest.raises(BenchError, match=complaint):
        layout(**changes)(file)


def test_array_recording_refuses_what_it_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="no channel O1"):
        array_recording(tmp_path, [np.ones((2, 3))], ["C3", "C4"], 1.0, ["O1"])
    with pytest.raises(BenchError, match="no samples"):
        array_recording(tmp_path, [np.ones((2, 0))], ["C3", "C4"], 1.0)
    with pytest.raises(BenchError, match="unknown unit"):
        array_recording(tmp_path, [np.ones((2, 3))], ["C3", "C4"], 1.0, unit="ft")
