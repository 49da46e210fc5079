"""Folders of loose recordings: what a file says, what options say, and one line for what nobody says."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hydra.utils import instantiate
from scipy.io import savemat

from omni_bench import api
from omni_bench.data.cohort import Cohort
from omni_bench.data.prepare import prepare
from omni_bench.data.preprocess import Preprocessing
from omni_bench.data.store import map_signal
from omni_bench.datasets.ieeg_files import read_ieeg_files
from omni_bench.errors import BenchError
from omni_bench.predict import predict
from tests.data.edf import Signal, write_edf
from tests.trained_runs import CHANNEL_RUN, settings, write_run

NAMES = ["LA1", "LA2", "RB1"]
SIGNAL = np.random.default_rng(0).normal(0, 30, (3, 600)).round(3)
AS_IS = Preprocessing(notch=False)


def signals(cohort: Cohort, folder: Path) -> dict[str, np.ndarray]:
    _, stored = prepare(cohort, AS_IS, folder)
    return {name: np.asarray(map_signal(file.path)) for name, file in stored.items()}


def test_files_that_say_all_are_read_as_they_are(tmp_path: Path) -> None:
    cells = np.array(NAMES, dtype=object)
    savemat(tmp_path / "a.mat", {"data": SIGNAL, "ch_names": cells, "fs": 250, "unit": "uV", "pos": np.ones((3, 3))})
    (tmp_path / "deep").mkdir()
    np.savez(tmp_path / "deep/b.npz", x=SIGNAL.T * 1000, labels=np.array(NAMES), sfreq=500.0, unit="nV", soz=[1, 0, 0])
    write_edf(tmp_path / "c.edf", [Signal(name, np.arange(600) % 50, 200.0) for name in NAMES])
    cohort = read_ieeg_files(tmp_path)
    facts = cohort.recordings.set_index("recording")
    assert facts["sfreq"].to_dict() == {"a": 250, "c": 200, "deep_b": 500}
    assert facts["duration"].to_dict() == {"a": 2.4, "c": 3.0, "deep_b": 1.2}
    assert cohort.patients["person"].tolist() == ["a", "c", "deep_b"]
    assert cohort.channels.groupby("recording")["channel"].agg(list).tolist() == [NAMES] * 3
    found = signals(cohort, tmp_path / "cache")
    np.testing.assert_allclose(found["a"], SIGNAL, rtol=1e-6)
    np.testing.assert_allclose(found["deep_b"], SIGNAL, rtol=1e-6)


@pytest.mark.parametrize("head", ["", "LA1{0}LA2{0}RB1\n", "0{0}1{0}2\n"])
@pytest.mark.parametrize("sep", [" ", ",", ";", "\t"])
def test_tables_of_numbers(tmp_path: Path, head: str, sep: str) -> None:
    rows = "\n".join(sep.join(map(str, row)) for row in SIGNAL.T)
    (tmp_path / "a.TXT").write_text(head.format(sep) + rows)
    cohort = read_ieeg_files(tmp_path, sfreq=100, unit="nV")
    named = {"": ["CH1", "CH2", "CH3"], "L": NAMES, "0": ["0", "1", "2"]}[head[:1]]
    assert cohort.channels["channel"].tolist() == named
    np.testing.assert_allclose(signals(cohort, tmp_path / "cache")["a"], SIGNAL / 1000, rtol=1e-6)


def test_options_say_what_files_do_not(tmp_path: Path) -> None:
    np.save(tmp_path / "s1_day1.npy", SIGNAL[0])
    np.save(tmp_path / "s1_day2.npy", SIGNAL[1])
    savemat(tmp_path / "s2_day1.mat", {"EEG": {"data": SIGNAL[:1], "rate": 250}, "other": np.ones((9, 900))})
    options: dict[str, Any] = {"unit": "µV", "subject": r"^(s\d)_"}
    cohort = read_ieeg_files(tmp_path, files=r"\.npy$", sfreq=250.0, ch_names=["LA1"], **options)
    assert cohort.recordings[["recording", "subject"]].to_numpy().tolist() == [["s1_day1", "s1"], ["s1_day2", "s1"]]
    assert cohort.patients["person"].tolist() == ["s1"]
    assert signals(cohort, tmp_path / "cache")["s1_day2"][0] == pytest.approx(SIGNAL[1], rel=1e-6)
    structs = read_ieeg_files(tmp_path, files="mat", sfreq="EEG.rate", variable="EEG.data", **options)
    assert structs.recordings["sfreq"].tolist() == [250]
    np.testing.assert_allclose(signals(structs, tmp_path / "cache")["s2_day1"], SIGNAL[:1], rtol=1e-6)


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ({"x": SIGNAL}, {"unit": "µV"}, r"a\.npz: no sampling rate in the file: say dataset.read.sfreq="),
        ({"x": SIGNAL}, {"sfreq": 100}, r"a\.npz: no unit in the file: say dataset.unit=V, mV, µV or nV"),
        ({"x": SIGNAL, "fs": 0}, {"unit": "µV"}, "sampling rate .*0.*, expected Hz"),
        ({"x": SIGNAL, "unit": "furlong", "fs": 9}, {}, "furlong: unknown unit"),
        ({"x": SIGNAL}, {"sfreq": 9, "unit": "V", "variable": "y"}, r"no variable y \(found: x\)"),
        (
            {"x": SIGNAL.reshape(3, 2, 300)},
            {"sfreq": 9, "unit": "V"},
            r"x has shape \(3, 2, 300\) .* channels × samples",
        ),
        ({"x": np.array(NAMES)}, {"sfreq": 9, "unit": "V"}, "expected numbers"),
        ({"x": SIGNAL}, {"sfreq": 9, "unit": "V", "ch_names": ["LA1"]}, r"an array of shape \(600, 3\), expected \(1,"),
        ({"x": SIGNAL}, {"sfreq": 9, "unit": "V", "ch_names": ["ECG", "C3", "Fz"]}, "no intracranial channel, by name"),
        ({"x": np.array([{}])}, {"sfreq": 9, "unit": "V"}, "cannot be read as NPZ"),
    ],
)
def test_what_nobody_says(tmp_path: Path, content: dict[str, Any], options: dict[str, Any], message: str) -> None:
    np.savez(tmp_path / "a.npz", **content)
    with pytest.raises(BenchError, match=message):
        read_ieeg_files(tmp_path, **options)


def test_broken_files_are_left_out_with_their_reason(tmp_path: Path) -> None:
    (tmp_path / "README.txt").write_text("Recorded in 1999\nby us")
    np.save(tmp_path / "a.npy", SIGNAL)
    options: dict[str, Any] = {"sfreq": 100, "unit": "µV"}
    with pytest.raises(BenchError, match=r"README\.txt: no regular table .* leave it out with dataset.read.files="):
        read_ieeg_files(tmp_path, **options)
    cohort = read_ieeg_files(tmp_path, on_error="skip", **options)
    assert cohort.recordings["recording"].tolist() == ["a"]
    assert [entry["n"] for entry in cohort.excluded] == [1]
    np.savez(tmp_path / "a.npz", x=SIGNAL)
    with pytest.raises(BenchError, match=r"a\.npz: a second file of that name"):
        read_ieeg_files(tmp_path, files="^a", **options)
    with pytest.raises(BenchError, match=r"dataset.read.subject=\^p: not found in a\.npy"):
        read_ieeg_files(tmp_path, files="npy", subject="^p", **options)
    with pytest.raises(BenchError, match="no recordings"):
        read_ieeg_files(tmp_path, files="nothing", **options)


def test_real_files(shared: Path) -> None:
    """Four laboratories' files as they are: what their lists say of rate, length, channels and amplitude."""
    root = shared / "data" / "ieeg"
    sleep = read_ieeg_files(root / "epyhfo_sleep_seeg", files=r"\.mat$", unit="µV")
    assert sleep.recordings[["sfreq", "duration"]].to_numpy().tolist() == [[1024, 120]]
    assert sleep.channels["channel"].tolist() == ["LA5", "LA6", "PoS9", "PoS10", "SMA1", "SMA2"]
    ictal = read_ieeg_files(root / "fragility_pt01", files=r"\.npz$")
    assert ictal.recordings[["sfreq", "duration"]].to_numpy().tolist() == [[1000, pytest.approx(3.001)]]
    assert len(ictal.channels) == 84
    bonn = read_ieeg_files(root / "bonn", files="(?i)txt$", sfreq=173.61, unit="µV", subject="([A-Z])_")
    assert len(bonn) == 15
    assert bonn.patients["subject"].tolist() == list("ABCDE")
    assert bonn.recordings["duration"].to_numpy() == pytest.approx(4097 / 173.61)
    spread = {}
    for cohort in (sleep, ictal, bonn):
        for row in cohort.recordings.itertuples():
            spread[row.recording] = float(
                np.median(cohort.opener(cohort.root / row.path, unit=cohort.unit).read().std(1))
            )
    assert spread["EEG_1_0s-120s_Sleep"] == pytest.approx(211, rel=0.01)
    assert spread["pt01_ictal_run01_m1s_p2s_DERIVED"] == pytest.approx(126, rel=0.01)
    assert [spread[f"{name}001"] for name in ("A_Z_Z", "C_N_N", "E_S_S")] == pytest.approx([42.6, 49.3, 478], rel=0.01)


@pytest.mark.slow
def test_loose_files_are_scored_by_a_finished_run(tmp_path: Path) -> None:
    """By the pipeline and by predict, with the same scores."""
    run = write_run(tmp_path / "run", *CHANNEL_RUN, cut=0.5)
    data = tmp_path / "data"
    data.mkdir()
    signal = np.random.default_rng(1).normal(0, 30, (3, 20_000))
    np.savez(data / "p1.npz", signal=signal, ch_names=np.array(NAMES), sfreq=1000.0)
    np.savez(data / "p2.npz", signal=signal[::-1], ch_names=np.array(NAMES), sfreq=1000.0)
    cfg = [
        *CHANNEL_RUN,
        "dataset=ieeg_files",
        f"paths.data={data}",
        "dataset.unit=µV",
        "dataset.line_freq=50",
        f"checkpoint={run}",
        f"paths.cache={tmp_path}/cache",
        f"paths.output_dir={tmp_path}/outputs",
        "n_boot=10",
        "trainer.progress=false",
    ]
    result = api.run(cfg)
    assert result["counts"]["test"]["units"] == 6
    scores = pd.read_parquet(tmp_path / "outputs" / api.compose_config(cfg).run_name / "predictions.parquet")
    predict(settings(run, data / "p1.npz", tmp_path / "out", "dataset.unit=µV", "dataset.line_freq=50"))
    windows = pd.read_csv(tmp_path / "out/p1/p1_windows.tsv", sep="\t")
    ours = scores[scores["unit_id"].str.startswith("p1/")].sort_values(["unit_id", "start"])
    theirs = windows.sort_values(["channel", "onset"])
    assert len(ours) == 12
    assert theirs["prob_pathological"].to_numpy() == pytest.approx(ours["prob_pathological"].to_numpy(), abs=1e-6)


def test_card_names_the_reader() -> None:
    cfg = api.compose_config(["dataset=ieeg_files", "task=region", "paths.data=.", "dataset.read.sfreq=173.61"])
    assert instantiate(cfg.dataset.read).keywords["sfreq"] == 173.61
