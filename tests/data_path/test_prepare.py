"""A cohort into its store: resumed, parallel, with a reason for what is left out."""

import json
import logging
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from pybv import write_brainvision

from omni_bench.data.cohort import Cohort
from omni_bench.data.datamodule import WindowDataModule
from omni_bench.data.prepare import prepare
from omni_bench.data.preprocess import Preprocessing
from omni_bench.data.recording import Recording, open_recording
from omni_bench.data.samples import channel_windows
from omni_bench.data.store import map_signal, open_store, verify_store
from omni_bench.data.trials import check_channels
from omni_bench.errors import BenchError
from omni_bench.signal.electrode_names import electrode_name
from tests.data.edf import Signal, random_digits, write_edf

SFREQ = 200.0
AS_IS = Preprocessing(notch=False)
NAMES = ["A1", "A2", "A3"]


def digits(i: int) -> np.ndarray:
    return random_digits(3 * 800, seed=i).reshape(3, 800)


def cohort_of(root: Path, n: int = 4, **columns: list[object]) -> Cohort:
    """``n`` patients with one EDF of three channels each."""
    ids = [f"sub-{i}" for i in range(n)]
    for i, name in enumerate(ids):
        write_edf(
            root / f"{name}.edf", [Signal(label, row, SFREQ) for label, row in zip(NAMES, digits(i), strict=True)]
        )
    patients = pd.DataFrame({"subject": ids, "person": ids, "source": "tiny"})
    recordings = pd.DataFrame(
        {"recording": ids, "subject": ids, "path": [f"{name}.edf" for name in ids], "sfreq": SFREQ, "duration": 4.0}
    )
    channels = pd.DataFrame(
        [
            {"recording": name, "channel": label, "raw_name": label, "good": label != "A2"}
            for name in ids
            for label in NAMES
        ]
    )
    return Cohort("tiny", root, patients, recordings.assign(**columns), channels)


def break_file(cohort: Cohort, i: int) -> None:
    path = cohort.root / f"sub-{i}.edf"
    path.write_bytes(path.read_bytes()[:-100])


def set_digits(cohort: Cohort, i: int, channel: str, values: np.ndarray) -> None:
    rows = [values if label == channel else row for label, row in zip(NAMES, digits(i), strict=True)]
    write_edf(cohort.root / f"sub-{i}.edf", [Signal(label, row, SFREQ) for label, row in zip(NAMES, rows, strict=True)])


def test_good_channels_are_stored(tmp_path: Path) -> None:
    cohort, stored = prepare(cohort_of(tmp_path), AS_IS, tmp_path / "cache")
    assert list(stored) == cohort.recordings["recording"].tolist() == [f"sub-{i}" for i in range(4)]
    for i, file in enumerate(stored.values()):
        assert (file.ch_names, file.sfreq, file.n_times, file.broken) == (("A1", "A3"), SFREQ, 800, {})
        np.testing.assert_allclose(map_signal(file.path), digits(i)[[0, 2]] * 0.1, rtol=1e-5)
        verify_store(file.path)


def test_what_is_stored_is_not_done_again(tmp_path: Path) -> None:
    cohort = cohort_of(tmp_path)
    _, first = prepare(cohort, AS_IS, tmp_path / "cache")
    times = {name: file.path.stat().st_mtime_ns for name, file in first.items()}
    _, second = prepare(cohort, AS_IS, tmp_path / "cache")
    assert second == first
    assert times == {name: file.path.stat().st_mtime_ns for name, file in second.items()}


def test_another_content_preprocessing_or_channel_list_is_another_file(tmp_path: Path) -> None:
    cohort = cohort_of(tmp_path, n=2)
    paths = {"first": prepare(cohort, AS_IS, tmp_path / "cache")[1]}
    paths["steps"] = prepare(cohort, replace(AS_IS, high=50.0), tmp_path / "cache")[1]
    everything = replace(cohort, channels=cohort.channels.assign(good=True))
    paths["channels"] = prepare(everything, AS_IS, tmp_path / "cache")[1]
    paths["unit"] = prepare(replace(cohort, unit="mV"), AS_IS, tmp_path / "cache")[1]
    paths["line"] = prepare(cohort, AS_IS, tmp_path / "cache", line_freq=50)[1]
    set_digits(cohort, 1, "A1", digits(7)[0])
    paths["content"] = prepare(cohort, AS_IS, tmp_path / "cache")[1]
    assert len({stored["sub-1"].path for stored in paths.values()}) == 6
    assert paths["content"]["sub-0"] == paths["first"]["sub-0"]
    np.testing.assert_allclose(map_signal(paths["content"]["sub-1"].path)[0], digits(7)[0] * 0.1, rtol=1e-5)


def test_data_file_of_brainvision_keys_the_store(tmp_path: Path) -> None:
    cohort = cohort_of(tmp_path, n=1, path=["a.vhdr"])
    paths = []
    for i in (0, 1):
        write_brainvision(
            data=digits(i) * 1e-7, sfreq=SFREQ, ch_names=NAMES, fname_base="a", folder_out=str(tmp_path), overwrite=True
        )
        paths.append(prepare(cohort, AS_IS, tmp_path / "cache")[1]["sub-0"].path)
    assert paths[0] != paths[1]
    np.testing.assert_allclose(map_signal(paths[1]), digits(1)[[0, 2]] * 0.1, rtol=1e-3)


@pytest.mark.parametrize("workers", [1, 2])
def test_raise_stops_and_loses_nothing(tmp_path: Path, workers: int) -> None:
    cohort = cohort_of(tmp_path)
    break_file(cohort, 2)
    with pytest.raises(BenchError, match=r"sub-2\.edf: truncated"):
        prepare(cohort, AS_IS, tmp_path / "cache", workers=workers)
    kept = {file.name[:5]: file.stat().st_mtime_ns for file in (tmp_path / "cache/store/tiny").glob("*.h5")}
    assert {"sub-0", "sub-1"} <= set(kept)
    set_digits(cohort, 2, "A1", digits(2)[0])
    _, stored = prepare(cohort, AS_IS, tmp_path / "cache", workers=workers)
    assert len(stored) == 4
    assert all(stored[name].path.stat().st_mtime_ns == time for name, time in kept.items())


def test_skip_counts_recordings_and_channels_with_their_reasons(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cohort = cohort_of(tmp_path)
    break_file(cohort, 0)
    (cohort.root / "sub-1.edf").unlink()
    set_digits(cohort, 2, "A3", np.full(800, 7))
    set_digits(cohort, 3, "A2", np.full(800, 7))  # a bad channel may be flat
    with caplog.at_level(logging.WARNING):
        left, stored = prepare(cohort, AS_IS, tmp_path / "cache", on_error="skip")
    assert list(stored) == left.recordings["recording"].tolist() == ["sub-2", "sub-3"]
    assert set(left.patients["subject"]) == set(left.channels["recording"]) == {"sub-2", "sub-3"}
    reasons = {
        entry["reason"].removeprefix(f"{tmp_path}/").split(":")[0]: (entry["what"], entry["n"])
        for entry in left.excluded
    }
    assert reasons == {"sub-0.edf": ("recordings", 1), "sub-1.edf": ("recordings", 1), "flat": ("channels", 1)}
    assert left.channels.set_index(["recording", "raw_name"])["good"].to_dict() == {
        ("sub-2", "A1"): True,
        ("sub-2", "A2"): False,
        ("sub-2", "A3"): False,
        ("sub-3", "A1"): True,
        ("sub-3", "A2"): False,
        ("sub-3", "A3"): True,
    }
    assert "left out" in caplog.text
    json.dumps(left.excluded)


def test_channel_that_was_skipped_before_is_an_error_when_errors_count(tmp_path: Path) -> None:
    cohort = cohort_of(tmp_path)
    set_digits(cohort, 2, "A3", np.full(800, 7))
    with pytest.raises(BenchError, match=r"sub-2\.edf: channel A3: flat: mark it bad"):
        prepare(cohort, AS_IS, tmp_path / "cache")
    prepare(cohort, AS_IS, tmp_path / "cache", on_error="skip")
    with pytest.raises(BenchError, match=r"sub-2: channel A3: flat: mark it bad"):
        prepare(cohort, AS_IS, tmp_path / "cache")


def test_nothing_left_is_an_error(tmp_path: Path) -> None:
    cohort = cohort_of(tmp_path, n=2)
    for i in (0, 1):
        break_file(cohort, i)
    with pytest.raises(BenchError, match=r"tiny: no recording is left; the last reason: .*truncated"):
        prepare(cohort, AS_IS, tmp_path / "cache", on_error="skip")


def test_line_frequency_is_the_recordings_own_the_options_or_missed_aloud(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    notched = Preprocessing(notch=True)
    cohort = cohort_of(tmp_path, line_freq=[50.0, 60.0, None, 50.0])
    times = np.arange(800) / SFREQ
    for i in range(4):
        set_digits(cohort, i, "A1", np.rint(1000 * np.sin(2 * np.pi * 50 * times)))
    with caplog.at_level(logging.WARNING):
        _, stored = prepare(cohort, notched, tmp_path / "cache")
    inner = [map_signal(file.path)[0, 200:-200].std() for file in stored.values()]
    assert [spread < 5 for spread in inner] == [True, False, False, True]
    assert "no line frequency known of sub-2 (1 in all)" in caplog.text
    _, stored = prepare(cohort, notched, tmp_path / "cache", line_freq=50.0)
    assert all(map_signal(file.path)[0, 200:-200].std() < 5 for file in stored.values())


def test_demo_cohort_is_stored_as_its_reader_says(demo_root: Path, tmp_path: Path) -> None:
    from omni_bench.datasets.omni_ieeg import read_omni_ieeg

    cohort = read_omni_ieeg(demo_root).filter(source="zurich")
    _, stored = prepare(cohort, Preprocessing(sfreq=500, min_sfreq=990), tmp_path / "cache")
    for recording in cohort:
        file = stored[recording.path.name.removesuffix("_ieeg.edf")]
        assert file.ch_names == tuple(recording.ch_names)
        assert file.duration == pytest.approx(recording.duration, abs=1 / 500)
    shutil.rmtree(tmp_path / "cache")


def test_window_is_the_file_at_that_time(tmp_path: Path) -> None:
    cohort, stored = prepare(cohort_of(tmp_path), AS_IS, tmp_path / "cache")
    _, windows = channel_windows(
        cohort,
        stored,
        window_s=1,
        stride_s=0.25,
        edge_s=0.5,
        label=lambda units: pd.Series(1, index=units.index, dtype="Int64"),
    )
    windows["path"] = windows["recording"].map({name: str(file.path) for name, file in stored.items()})
    data = WindowDataModule(
        windows.assign(split="test"), 200, SFREQ, batch_size=8, eval_batch_size=16, windows_per_unit=None, seed=0
    )
    predicted = data.evaluate_windows
    assert predicted["start"].unique().tolist() == [0.5, 1.5, 2.5]
    signals = torch.cat([x for x, *_ in data.predict_dataloader()])[:, 0].numpy()
    for window, signal in zip(predicted.itertuples(), signals, strict=True):
        first = round(window.start * SFREQ)
        raw = digits(int(window.recording[-1]))[NAMES.index(window.unit_id[-2:])]
        np.testing.assert_allclose(signal, raw[first : first + 200] * 0.1, rtol=1e-5)


def channels_cohort(root: Path, names: list[list[str]]) -> tuple[Cohort, list[np.ndarray]]:
    """One EDF per person with channels of its own; the signals in µV."""
    ids = [f"sub-{i}" for i in range(len(names))]
    signals = [random_digits(len(own) * 800, seed=i).reshape(len(own), 800) for i, own in enumerate(names)]
    for name, own, rows in zip(ids, names, signals, strict=True):
        write_edf(root / f"{name}.edf", [Signal(label, row, SFREQ) for label, row in zip(own, rows, strict=True)])
    patients = pd.DataFrame({"subject": ids, "person": ids, "source": "tiny"})
    recordings = pd.DataFrame(
        {"recording": ids, "subject": ids, "path": [f"{name}.edf" for name in ids], "sfreq": SFREQ, "duration": 4.0}
    )
    channels = pd.DataFrame(
        [
            {"recording": name, "channel": electrode_name(label), "raw_name": label, "good": True}
            for name, own in zip(ids, names, strict=True)
            for label in own
        ]
    )
    return Cohort("mixed", root, patients, recordings, channels), [rows * 0.1 for rows in signals]


def test_recordings_keep_the_channels_they_share(tmp_path: Path) -> None:
    """In the first recording's order, an old name as the new one; what is left out is counted."""
    cohort, signals = channels_cohort(tmp_path, [["EEG T3-REF", "Cz", "Pz", "Fz"], ["Pz", "O1", "T7", "CZ", "FZ"]])
    shared, stored = prepare(cohort, replace(AS_IS, channel_policy="intersection"), tmp_path / "cache")
    assert [file.ch_names for file in stored.values()] == [("EEG T3-REF", "Cz", "Pz", "Fz"), ("T7", "CZ", "Pz", "FZ")]
    np.testing.assert_allclose(map_signal(stored["sub-0"].path), signals[0], rtol=1e-5)
    np.testing.assert_allclose(map_signal(stored["sub-1"].path), signals[1][[2, 3, 0, 4]], rtol=1e-5)
    check_channels(shared, stored)
    assert shared.excluded == [{"what": "channels", "reason": "not in every recording", "n": 1}]
    # nothing was asked, nothing was lost
    untouched, stored = prepare(cohort, AS_IS, tmp_path / "cache")
    assert (untouched.excluded, stored["sub-1"].ch_names) == ([], ("Pz", "O1", "T7", "CZ", "FZ"))


def test_too_few_shared_channels(tmp_path: Path) -> None:
    cohort, _ = channels_cohort(tmp_path, [["Cz", "Pz", "Fz"], ["Cz", "O1", "O2"]])
    with pytest.raises(BenchError, match="only 1 of 3 channels are in every recording"):
        prepare(cohort, replace(AS_IS, channel_policy="intersection"), tmp_path / "cache")


def test_wanted_channels_are_made_and_counted(tmp_path: Path) -> None:
    cohort, signals = channels_cohort(tmp_path, [["F7", "T7", "Cz"], ["T3", "F7", "P7"]])
    steps = replace(AS_IS, channels=("F7-T7", "T7-P7"), channel_policy="bipolar")
    made, stored = prepare(cohort, steps, tmp_path / "cache")
    first, second = (map_signal(file.path) for file in stored.values())
    np.testing.assert_allclose(first, [signals[0][0] - signals[0][1], np.zeros(800)], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(
        second, [signals[1][1] - signals[1][0], signals[1][0] - signals[1][2]], rtol=1e-4, atol=1e-4
    )
    check_channels(made, stored)
    assert made.channels["channel"].tolist() == ["F7-T7", "T7-P7"] * 2
    assert made.excluded == [
        {"what": "channels", "reason": "bipolar, not recorded: T7-P7", "n": 1},
        {"what": "channels", "reason": "not wanted: Cz", "n": 1},
    ]


def test_a_broken_channel_makes_no_other(tmp_path: Path) -> None:
    """Cz is flat: with ``nearest`` it comes from its neighbour, and the flat channel is counted."""
    cohort, signals = channels_cohort(tmp_path, [["Cz", "FCz", "Pz"]])
    flat = [Signal(label, row, SFREQ) for label, row in zip(["Cz", "FCz", "Pz"], signals[0] * 10, strict=True)]
    flat[0] = Signal("Cz", np.zeros(800), SFREQ)
    write_edf(tmp_path / "sub-0.edf", flat)
    steps = replace(AS_IS, channels=("Cz", "Pz"), channel_policy="nearest")
    with pytest.raises(BenchError, match="channel Cz: flat"):
        prepare(cohort, steps, tmp_path / "cache")
    made, stored = prepare(cohort, steps, tmp_path / "cache", on_error="skip")
    np.testing.assert_allclose(map_signal(stored["sub-0"].path), signals[0][[1, 2]], rtol=1e-4)
    assert {"what": "channels", "reason": "flat", "n": 1} in made.excluded


BASED = Preprocessing(sfreq=100, low=0.5, high=40, reference="average", base_sfreq=512)


def opened_by(path: Path, *rest: Any) -> Recording:
    """Opens, and leaves a line for each time beside the file; with a border of pieces in the middle."""
    with path.with_suffix(".log").open("a") as log:
        log.write("opened\n")
    return replace(open_recording(path, *rest), pieces=(0, 401))


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_models_rates_and_channels_derive_from_one_store(tmp_path: Path, on_error: str) -> None:
    cohort = replace(cohort_of(tmp_path, n=1), opener=opened_by)
    asked = [
        BASED,
        replace(BASED, sfreq=128),
        replace(BASED, sfreq=256, channels=("A3", "A1"), channel_policy="exact"),
        replace(BASED, sfreq=200, channels=("A3",), channel_policy="exact"),
    ]
    cache = tmp_path / "cache"
    derived = [prepare(cohort, steps, cache, line_freq=50, on_error=on_error)[1]["sub-0"] for steps in asked]
    assert (tmp_path / "sub-0.log").read_text().count("opened") == 1
    assert len(list((cache / "store/tiny").glob("*.h5"))) == len(asked)
    assert len(list((cache / "store/tiny/base").iterdir())) == 1
    for steps, file in zip(asked, derived, strict=True):
        at_once = prepare(cohort, replace(steps, base_sfreq=None), tmp_path / "direct", line_freq=50)[1]["sub-0"]
        assert (file.sfreq, file.ch_names, file.n_times) == (at_once.sfreq, at_once.ch_names, at_once.n_times)
        values = map_signal(at_once.path)
        np.testing.assert_allclose(map_signal(file.path), values, rtol=0, atol=4e-7 * np.abs(values).max())


def test_whether_a_base_was_there_changes_no_bit(tmp_path: Path) -> None:
    cohort = cohort_of(tmp_path, n=1)
    prepare(cohort, replace(BASED, sfreq=128), tmp_path / "warm", line_freq=50)
    caches = [tmp_path / name for name in ("warm", "cold")]
    warm, cold = (prepare(cohort, BASED, cache, line_freq=50)[1]["sub-0"] for cache in caches)
    assert map_signal(warm.path).tobytes() == map_signal(cold.path).tobytes()
    assert warm.path.name == cold.path.name


def test_a_base_is_stored_at_its_own_rate_at_most(tmp_path: Path) -> None:
    """A sine of 7 Hz at 1000 Hz is stored at 512 Hz and comes out at 200 Hz; one of 150 Hz leaves no alias at 50 Hz."""
    t = np.arange(20_000) / 1000
    rows = [1000 * np.sin(2 * np.pi * 7 * t), 1000 * np.sin(2 * np.pi * 150 * t), 1000 * np.sin(2 * np.pi * 11 * t)]
    cohort = cohort_of(tmp_path, n=1, sfreq=[1000.0])
    write_edf(tmp_path / "sub-0.edf", [Signal(n, r.astype("<i2"), 1000.0) for n, r in zip(NAMES, rows, strict=True)])
    cohort = replace(cohort, channels=cohort.channels.assign(good=True))
    steps = Preprocessing(sfreq=200, notch=False, low=0.5, base_sfreq=512)
    stored = prepare(cohort, steps, tmp_path / "cache")[1]["sub-0"]
    files = {open_store(path).sfreq for path in (tmp_path / "cache/store/tiny").rglob("*.h5")}
    assert (stored.sfreq, stored.n_times, files) == (200.0, 4000, {200.0, 512.0})
    seven, alias, _ = map_signal(stored.path)[:, 1000:3000]
    at = np.arange(1000, 3000) / 200
    np.testing.assert_allclose(seven, 100 * np.sin(2 * np.pi * 7 * at), atol=1.0)
    assert np.abs(alias).max() < 1.0


def test_broken_channels_keep_their_reason_by_way_of_a_base(tmp_path: Path) -> None:
    cohort = cohort_of(tmp_path, n=1)
    set_digits(cohort, 0, "A3", np.zeros(800, int))
    cohort = replace(cohort, channels=cohort.channels.assign(good=True))
    left, stored = prepare(cohort, BASED, tmp_path / "cache", on_error="skip", line_freq=50)
    assert stored["sub-0"].broken == {"A3": "flat"}
    assert set(left.channels.loc[left.channels["good"], "channel"]) == {"A1", "A2"}
    for cache in ("cache", "other"):
        with pytest.raises(BenchError, match=r"sub-0\.edf: channel A3: flat"):
            prepare(cohort, replace(BASED, sfreq=128), tmp_path / cache, line_freq=50)


@pytest.mark.parametrize(
    ("steps", "sfreq", "base"),
    [
        (BASED, 500.0, None),
        (BASED, 2000.0, 512.0),
        (BASED, 512.0, None),
    ],
)
def test_rate_of_a_base(steps: Preprocessing, sfreq: float, base: float | None) -> None:
    found = steps.base(sfreq)
    assert found is not None
    assert (found.sfreq, found.low, found.high, found.channels) == (base, 0.5, 40, ())


@pytest.mark.parametrize(
    "steps",
    [
        replace(BASED, base_sfreq=None),
        replace(BASED, sfreq=1000),
        replace(BASED, sfreq=None),
        replace(BASED, sfreq=500),
        BASED.without_filters(),
    ],
)
def test_no_base_where_it_would_serve_nothing(steps: Preprocessing) -> None:
    assert steps.base(500.0) is None
