"""Windows that others preprocessed: order, units, classes, and what such stores do not tell."""

import json
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest

from omni_bench import api
from omni_bench.datasets.omnieeg_zarr import open_omnieeg_zarr, read_omnieeg_zarr
from omni_bench.datasets.packaged import (
    open_packaged_h5,
    read_omnieeg_hdf5,
    read_packaged_h5,
)
from omni_bench.errors import BenchError
from tests.scalp_runs import probe

SFREQ, WINDOW_S, N_TIMES = 200, 2.0, 400
HANDS = {"window_s": WINDOW_S, "column": "trial_type", "labels": {"left_hand": 0, "right_hand": 1}}
NAMES = ["C3", "C4", "Cz"]


def windows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Noise of 20 µV; window i has the offset i on channel 2."""
    x = np.random.default_rng(seed).normal(0, 20, (n, 3, N_TIMES)).astype("float32")
    x[:, 1] += np.arange(n)[:, None]
    return x, np.arange(n) % 2


def write_packaged(root: Path) -> dict[str, np.ndarray]:
    made = {}
    root.mkdir()
    for seed, (split, n) in enumerate({"train": 12, "val": 4, "test": 6}.items()):
        x, y = windows(n, seed)
        with h5py.File(root / f"{split}.h5", "w") as file:
            file["X"], file["y"] = x, y.astype("int32")
        made[split] = x
    (root / "metadata_summary.json").write_text(json.dumps({"sampling_rate_hz": SFREQ}))
    return made


def write_hdf5(root: Path) -> dict[str, np.ndarray]:
    """Three persons with eleven trials of one segment: trial10 comes after trial9, not after trial1."""
    made = {}
    root.mkdir()
    info = {
        "dataset": {"num_labels": 2, "channels": NAMES},
        "processing": {"target_sampling_rate": SFREQ, "window_sec": 2},
    }
    (root / "dataset_info.json").write_text(json.dumps(info))
    for person in ("a", "b", "c"):
        x, y = windows(11, ord(person))
        with h5py.File(root / f"sub_{person}.h5", "w") as file:
            file.attrs["subject_id"] = person
            for i in range(11):
                file[f"trial{i}/segment0/eeg"] = x[i]
                file[f"trial{i}/segment0/eeg"].attrs["label"] = [y[i]]
        made[person] = x
    return made


def write_zarr(root: Path) -> dict[str, np.ndarray]:
    """Three persons whose windows alternate; a fourth channel is padding, and the last window of each ends in it."""
    zarr = pytest.importorskip("zarr")
    x, y = windows(24, 0)
    padded = np.concatenate([x, np.zeros((24, 1, N_TIMES), "float32")], axis=1)
    group = zarr.open_group(str(root / "set.zarr"), mode="w", zarr_format=2)
    group.create_array("signals", shape=padded.shape, dtype="float32", chunks=(5, 4, N_TIMES))[:] = padded
    group.attrs.update({"sampling_rate": SFREQ, "segment_seconds": 2})
    table = pd.DataFrame({"subject_id": ["a", "b", "c"] * 8, "label_id": y, "channel_names_json": json.dumps(NAMES)})
    table["valid_time_samples"] = [N_TIMES] * 21 + [N_TIMES - 1] * 3
    table.to_parquet(root / "set.zarr" / "sample_index.parquet")
    return {person: x[i:21:3] for i, person in enumerate("abc")}


def test_packaged_windows_keep_order_and_split(tmp_path: Path) -> None:
    made = write_packaged(tmp_path / "set")
    cohort = read_packaged_h5(tmp_path / "set", "set", **HANDS)
    assert cohort.patients.set_index("person")["split"].to_dict() == {f"unknown persons of {s}": s for s in made}
    assert cohort.recordings["sfreq"].tolist() == [SFREQ] * 3
    recording = cohort.open("train-0")
    np.testing.assert_array_equal(recording.read(), made["train"].transpose(1, 0, 2).reshape(3, -1))
    assert recording.pieces == tuple(range(0, 12 * N_TIMES, N_TIMES))
    assert cohort.events is not None
    assert cohort.events["trial_type"].tolist()[:3] == ["left_hand", "right_hand", "left_hand"]
    assert cohort.events["onset"].tolist()[:3] == [0, 2, 4]
    part = open_packaged_h5(tmp_path / "set" / "train.h5", ["C3", "C4", "Cz"], "µV", part="3:5@200")
    np.testing.assert_array_equal(part.read(ch_names=["C4"])[0], made["train"][3:5, 1].ravel())


def test_stores_with_persons(tmp_path: Path) -> None:
    made = write_hdf5(tmp_path / "set")
    cohort = read_omnieeg_hdf5(tmp_path / "set", "set", **HANDS)
    assert cohort.patients["person"].tolist() == ["a", "b", "c"]
    assert cohort.channels["raw_name"].tolist() == NAMES * 3
    for person, x in made.items():
        np.testing.assert_array_equal(cohort.open(f"sub_{person}").read(), x.transpose(1, 0, 2).reshape(3, -1))


def test_zarr(tmp_path: Path) -> None:
    made = write_zarr(tmp_path)
    cohort = read_omnieeg_zarr(tmp_path, "set", **HANDS)
    assert cohort.excluded == [{"what": "windows", "reason": "end in padding", "n": 3}]
    assert cohort.events is not None
    # person a has the windows 0, 3, 6, ... of the store
    own = cohort.events[cohort.events["recording"] == "a"]
    assert own["trial_type"].tolist() == ["left_hand", "right_hand"] * 3 + ["left_hand"]
    for person, x in made.items():
        np.testing.assert_array_equal(cohort.open(person).read(), x.transpose(1, 0, 2).reshape(3, -1))
    index = tmp_path / "set.zarr" / "sample_index.parquet"
    assert open_omnieeg_zarr(index, ["Cz"], "µV", part="b").ch_names == ["Cz"]


def test_zarr_is_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "set.zarr" / "signals").mkdir(parents=True)
    (tmp_path / "set.zarr" / "sample_index.parquet").touch()
    monkeypatch.setitem(__import__("sys").modules, "zarr", None)
    with pytest.raises(BenchError, match=r"needs the package zarr: pip install 'omni_bench\[zarr\]'"):
        read_omnieeg_zarr(tmp_path, "set", **HANDS)


def test_classes_by_edges(tmp_path: Path) -> None:
    """Two classes below and above 3 are spelled as numbers below and above 3."""
    write_packaged(tmp_path / "set")
    cohort = read_packaged_h5(tmp_path / "set", "set", window_s=2, column="arousal", edges=[3])
    assert cohort.events is not None
    assert [float(v) > 3 for v in cohort.events["arousal"][:3]] == [False, True, False]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"window_s": 4.0}, "200 Hz, but the windows would have 100 Hz if they were of task.window_s=4"),
        ({"labels": {"one": 0}}, "class 1, the task has 1 classes"),
        ({"ch_names": ["C3"]}, "1 names, the windows of .* have 3 channels"),
    ],
)
def test_another_tasks_store(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    write_packaged(tmp_path / "set")
    with pytest.raises(BenchError, match=message):
        read_packaged_h5(tmp_path / "set", "set", **HANDS | changes)


def test_broken_stores(tmp_path: Path) -> None:
    write_packaged(tmp_path / "set")
    (tmp_path / "set" / "val.h5").unlink()
    with pytest.raises(BenchError, match=r"val.h5: no such file: expected train.h5, val.h5, test.h5"):
        read_packaged_h5(tmp_path / "set", "set", **HANDS)
    with h5py.File(tmp_path / "set" / "val.h5", "w") as file:
        file["X"] = np.zeros((4, 3))
        file["y"] = np.zeros(4)
    with pytest.raises(BenchError, match=r"X \(4, 3\) and y \(4,\), expected \(N, C, T\)"):
        read_packaged_h5(tmp_path / "set", "set", **HANDS)
    write_hdf5(tmp_path / "other")
    with h5py.File(tmp_path / "other" / "sub_a.h5", "a") as file:
        del file.attrs["subject_id"]
    with pytest.raises(BenchError, match=r"sub_a.h5: no attribute subject_id"):
        read_omnieeg_hdf5(tmp_path / "other", "set", **HANDS)


def test_only_the_packaged_split(tmp_path: Path) -> None:
    root = f"dataset.root={tmp_path}"
    with pytest.raises(
        BenchError, match="does not tell persons apart, protocol=cross_subject splits by them: say protocol=off"
    ):
        api.compose_config(["task=demo_hands", "dataset=packaged_h5", root])
    assert api.compose_config(["task=demo_hands", "dataset=packaged_h5", "protocol=official_split", root])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["packaged_h5", "omnieeg_hdf5", "omnieeg_zarr"])
def test_run(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "set"
    root.mkdir()
    write = {"packaged_h5": write_packaged, "omnieeg_hdf5": write_hdf5, "omnieeg_zarr": write_zarr}[kind]
    if kind != "omnieeg_zarr":
        root.rmdir()
    made = write(root)
    protocol = ["protocol=official_split"] if kind == "packaged_h5" else []
    run = probe("demo_hands", root, tmp_path, f"dataset={kind}", *protocol)
    assert len(run.units) == sum(map(len, made.values()))
    assert run.result["metrics"]["balanced_accuracy"]["n"] == run.result["counts"]["test"]["units"] > 0
    # stored as it was: neither filtered nor referenced again
    first = next(iter(made.values()))
    with h5py.File(sorted(run.store.glob({"packaged_h5": "train*"}.get(kind, "*")))[0]) as file:
        np.testing.assert_allclose(file["signal"][:, :N_TIMES], first[0], rtol=1e-5)
