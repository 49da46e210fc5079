"""What file headers say of a person stays there, and names of channels and files stay text."""

import datetime
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import mne
import numpy as np
import pandas as pd
import pytest
from pybv import write_brainvision

from omni_bench.data.edf import edf_annotations
from omni_bench.data.recording import channel_names, open_recording
from omni_bench.datasets.demo_eeg import write_demo_eeg
from omni_bench.errors import BenchError, reader_said
from omni_bench.inference.publish import publish
from omni_bench.inference.trained import open_trained
from omni_bench.predict import predict
from omni_bench.results.leaderboard import build_leaderboard, write_leaderboard
from tests.browser import opened
from tests.data.edf import Signal, random_digits, write_edf
from tests.data.gdf import write_gdf
from tests.trained_runs import CHANNEL_RUN, settings, write_run

SCRIPT = "<img src=x onerror=alert(1)>"
PERSON = ("MCH-0234567 F 02-MAY-1951 Haagse_Harry", "Startdate 07-JAN-1987 PSG-1234 NN Telemetry03", "07.01.87")
PERSONAL = ("Haagse", "Harry", "0234567", "1951", "02-MAY", "1987", "07.01.87", "07-JAN", "PSG-1234", "Telemetry03")
NAMES, SFREQ, SECONDS = ["LA1", "LA2"], 1000, 14


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("run"), *CHANNEL_RUN)


def digits(seconds: int) -> np.ndarray:
    return random_digits(len(NAMES) * seconds * SFREQ, top=100).reshape(len(NAMES), -1)


def edf(folder: Path, seconds: int, suffix: str = ".edf") -> Path:
    signals = [Signal(name, row, SFREQ) for name, row in zip(NAMES, digits(seconds), strict=True)]
    onsets, reserved = range(seconds), f"{suffix[1:].upper()}+C"
    return write_edf(folder / f"p1{suffix}", signals, onsets=onsets, reserved=reserved, person=PERSON)


def bdf(folder: Path, seconds: int) -> Path:
    return edf(folder, seconds, ".bdf")


def brainvision(folder: Path, seconds: int) -> Path:
    write_brainvision(
        data=digits(seconds) * 1e-6,
        sfreq=SFREQ,
        ch_names=NAMES,
        fname_base="p1",
        folder_out=str(folder),
        meas_date="19870107000000000000",
        overwrite=True,
    )
    header = folder / "p1.vhdr"
    header.write_text(header.read_text() + f"\n{PERSON[0]}\n{PERSON[1]}\n")
    return header


def fif(folder: Path, seconds: int) -> Path:
    raw = mne.io.RawArray(digits(seconds) * 1e-6, mne.create_info(NAMES, SFREQ, "seeg"), verbose="ERROR")
    raw.set_meas_date(datetime.datetime(1987, 1, 7, tzinfo=datetime.UTC))
    person = {"his_id": "MCH-0234567", "first_name": "Haagse", "last_name": "Harry"}
    raw.info["subject_info"] = person | {"birthday": datetime.date(1951, 5, 2)}
    raw.info["experimenter"], raw.info["description"] = "Telemetry03", "PSG-1234"
    raw.save(folder / "p1_ieeg.fif", overwrite=True, verbose="ERROR")
    return folder / "p1_ieeg.fif"


def gdf(folder: Path, seconds: int) -> Path:
    file = write_gdf(folder / "p1.gdf", NAMES, digits(seconds).astype("int16"), SFREQ, [])
    content = bytearray(file.read_bytes())
    content[8:184] = PERSON[0].encode().ljust(80) + PERSON[1].encode().ljust(80) + b"1987010700000000"
    file.write_bytes(content)
    return file


FORMATS: dict[str, Callable[[Path, int], Path]] = {
    "edf": edf,
    "bdf": bdf,
    "brainvision": brainvision,
    "fif": fif,
    "gdf": gdf,
}


def written(folder: Path) -> dict[Path, bytes]:
    """Every file's content, tables that are compressed as text; drawings left out."""
    files = [file for file in folder.rglob("*") if file.is_file() and file.suffix != ".png"]
    tables = {file: pd.read_parquet(file).to_csv().encode() for file in files if file.suffix == ".parquet"}
    return {file: file.read_bytes() for file in files} | tables


def told_of_a_person(content: bytes) -> list[str]:
    # drawings and hashes are full of digits
    around = {text: (f" {text}", f"{text}-", f"-{text}") if text.isdigit() else (text,) for text in PERSONAL}
    return [text for text, parts in around.items() if any(part.encode() in content for part in parts)]


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_of_a_header_is_written(
    name: str, run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    recording = FORMATS[name](tmp_path, SECONDS)
    raw = mne.io.read_raw(recording, verbose="ERROR")
    assert raw.info["meas_date"].year == 1987
    assert told_of_a_person(b" ".join(file.read_bytes() for file in tmp_path.iterdir()))
    predict(settings(run, recording, tmp_path / "out", f"hfo={name == 'edf'}"))
    files = written(tmp_path / "out")
    assert {".html", ".tsv", ".json", ".h5"} <= {file.suffix for file in files}
    said = capfd.readouterr()
    texts = [*files.values(), said.out.encode(), said.err.encode(), caplog.text.encode()]
    assert told_of_a_person(b"\n".join(texts)) == []


def said_of(file: Path) -> str:
    """The line for a file that cannot be read, nothing for one that can."""
    try:
        channel_names(file)
        open_recording(file).read()
        if file.suffix in (".edf", ".bdf"):
            edf_annotations(file)
    except BenchError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", FORMATS)
def test_errors_do_not_quote_headers(name: str, tmp_path: Path) -> None:
    file = FORMATS[name](tmp_path, 2)
    whole, rng, said = file.read_bytes(), np.random.default_rng(0), []
    for _ in range(60):  # a part lost or put in, after which a reader takes names for numbers
        first, last = rng.integers(0, min(len(whole), 1200), 2)
        file.write_bytes(whole[:first] + whole[last:])
        said.append(said_of(file))
    assert len(set(said)) > 3
    assert told_of_a_person("\n".join(said).encode()) == []


def test_what_a_reader_quotes_is_left_out() -> None:
    error = ValueError("can't read b'Harry': not \"07.01.87\",\n but 'O'Brien' at 7")
    assert reader_said(error) == "ValueError: can't read ...: not ..., but ... at 7"


@pytest.mark.slow
def test_nothing_of_headers_reaches_a_run_or_what_is_made_of_it(tmp_path: Path) -> None:
    root, cache, outputs = (tmp_path / name for name in ("demo_eeg", "cache", "outputs"))
    write_demo_eeg(root, n_persons=5)
    recordings = sorted(root.rglob("*.edf"))
    for file in recordings:
        content = bytearray(file.read_bytes())
        content[8:176] = "".join(text.ljust(80) for text in PERSON).encode()[:168]
        file.write_bytes(content)
    recordings[0].write_bytes(recordings[0].read_bytes()[10:])  # unreadable: one line in the log and the record
    tensorboard = ("_target_: omni_bench.modules.loggers.tensorboard", "_partial_: true")
    command = [
        *(sys.executable, "-m", "omni_bench", "task=demo_hands", "model=eegnet", "trainer.max_epochs=1", "n_boot=10"),
        *("logger=wandb", f"+logger.tensorboard={{{', '.join(tensorboard)}}}", "on_error=skip"),
        *(f"dataset.root={root}", f"paths.cache={cache}", f"paths.output_dir={outputs}"),
    ]
    offline = os.environ | {"WANDB_MODE": "offline", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, cwd=tmp_path, env=offline, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (record,) = outputs.rglob("result.json")
    assert json.loads(record.read_text())["excluded"]
    publish(open_trained(str(record.parent)), tmp_path / "export")
    write_leaderboard(build_leaderboard(outputs, 1), tmp_path / "board", 1)
    files = {file: content for file, content in written(tmp_path).items() if not file.is_relative_to(root)}
    kinds = {file.suffix for file in files} | {file.name.split(".")[1] for file in files if "tfevents" in file.name}
    assert {".wandb", "out", ".html", ".h5", ".parquet", ".log", ".ckpt", ".safetensors", ".csv"} <= kinds
    assert {str(file): told_of_a_person(content) for file, content in files.items() if told_of_a_person(content)} == {}
    assert told_of_a_person((done.stdout + done.stderr).encode()) == []


def test_names_with_html_are_text(run: Path, tmp_path: Path) -> None:
    names = [SCRIPT, "LA1", "</svg><script>alert(2)</script>"]
    info = mne.create_info(names, 1000.0, "seeg")
    data = np.random.default_rng(0).normal(scale=1e-5, size=(3, 14000))
    file = tmp_path / "<b onclick=alert(3)>p_ieeg.fif"
    mne.io.RawArray(data, info, verbose="ERROR").save(file, verbose="ERROR")
    (page,) = predict(settings(run, file, tmp_path / "out", f"resected=['{SCRIPT}']", "hfo=true"))
    text = page.read_text()
    assert "<img" not in text
    assert "<script" not in text
    assert "<b onclick" not in text
    with opened(page) as (shown, requests):
        cells = shown.locator("table.listing >> nth=-1").locator("tbody tr td:nth-child(2)").all_inner_texts()
        heading = shown.inner_text("h1")
        scripts = shown.evaluate("document.querySelectorAll('img, script, [onerror], [onclick]').length")
    assert set(cells) == {name.replace(" ", "") for name in names}
    assert heading == "<b onclick=alert(3)>p"
    assert scripts == 0
    assert requests == [page.as_uri()]
