"""BrainVision files that were renamed after they were recorded."""

import warnings
from pathlib import Path

import mne
import numpy as np
import pytest
from pybv import write_brainvision

from omni_bench.data.brainvision import data_file, readable_header
from omni_bench.data.recording import open_recording, recording_files
from omni_bench.errors import BenchError


@pytest.fixture
def header(tmp_path: Path) -> Path:
    """Recorded as ``old`` and renamed to ``new``; a ramp of 0.1 µV a sample, a mark at 0.5 s."""
    signal = np.arange(200.0)[None] * 1e-7
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        events = np.array([[50, 7]])
        write_brainvision(
            data=signal, sfreq=100, ch_names=["Cz"], fname_base="old", folder_out=str(tmp_path), events=events
        )
    for file in list(tmp_path.iterdir()):
        file.rename(file.with_name("new" + file.suffix))
    return tmp_path / "new.vhdr"


def test_files_called_like_the_header_are_taken(header: Path) -> None:
    before = header.read_bytes()
    assert recording_files(header) == [header, header.with_suffix(".eeg")]
    recording = open_recording(header)
    np.testing.assert_allclose(recording.read()[0], np.arange(200) * 0.1, atol=0.01)
    with readable_header(header) as file:
        assert mne.io.read_raw_brainvision(file, verbose="error").annotations.onset.tolist() == [0.5]
    assert header.read_bytes() == before
    assert not file.exists()


def test_markers_that_are_not_there(header: Path) -> None:
    header.with_suffix(".vmrk").unlink()
    assert open_recording(header).n_times == 200


def test_the_named_file_is_taken_first(header: Path) -> None:
    named = header.with_name("old.eeg")
    named.write_bytes(header.with_suffix(".eeg").read_bytes())
    header.with_name("old.vmrk").write_bytes(header.with_suffix(".vmrk").read_bytes())
    assert data_file(header) == named
    with readable_header(header) as file:
        assert file == header


def test_neither_is_there(header: Path) -> None:
    header.with_suffix(".eeg").unlink()
    with pytest.raises(BenchError, match=r"new\.vhdr: its data file old\.eeg is missing: copy it beside the header"):
        open_recording(header)


def test_a_header_that_names_a_folder(header: Path) -> None:
    (header.parent / "folder").mkdir()
    header.write_bytes(header.read_bytes().replace(b"DataFile=old.eeg", b"DataFile=folder"))
    header.with_suffix(".eeg").unlink()
    with pytest.raises(BenchError, match="its data file folder is missing"):
        open_recording(header)
