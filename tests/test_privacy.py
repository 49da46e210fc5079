"""What file headers say of a person stays there, and names of channels and files stay text."""

from pathlib import Path

import mne
import numpy as np
import pytest

from omni_bench.predict import predict
from tests.browser import opened
from tests.trained_runs import CHANNEL_RUN, settings, write_recording, write_run

SCRIPT = "<img src=x onerror=alert(1)>"
PERSON = ("MCH-0234567 F 02-MAY-1951 Haagse_Harry", "Startdate 07-JAN-1987 PSG-1234 NN Telemetry03", "07.01.87")
PERSONAL = ("Haagse", "Harry", "0234567", "1951", "02-MAY", "1987", "07.01.87", "07-JAN", "PSG-1234", "Telemetry03")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("run"), *CHANNEL_RUN)


def written(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_nothing_of_a_header_is_written(
    run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    recording = write_recording(tmp_path / "p1.edf", ["LA1", "LA2"], person=PERSON)
    raw = mne.io.read_raw_edf(recording, verbose="ERROR")
    assert raw.info["subject_info"]["last_name"] == "Harry"
    assert raw.info["meas_date"].year == 1987
    predict(settings(run, recording, tmp_path / "out", "hfo=true"))
    files = written(tmp_path / "out")
    assert {".html", ".tsv", ".json", ".csv", ".png", ".h5"} <= {file.suffix for file in files}
    said = capfd.readouterr()
    texts = [content for file, content in files.items() if file.suffix != ".png"]
    everything = b"\n".join([*texts, said.out.encode(), said.err.encode(), caplog.text.encode()])
    for text in PERSONAL:
        # drawings and hashes are full of digits
        parts = (
            [text.encode()] if not text.isdigit() else [f" {text}".encode(), f"{text}-".encode(), f"-{text}".encode()]
        )
        assert not any(part in everything for part in parts), text


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
