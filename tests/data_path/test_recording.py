"""Recordings of every format: lazy reading, microvolts, companions, real files."""

import re
import warnings
from collections.abc import Callable
from pathlib import Path

import mne
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pybv import write_brainvision

from omni_bench.data.recording import broken_channels, check_amplitude, open_recording, recording_files
from omni_bench.errors import BenchError
from tests.data.edf import Signal, random_digits, write_edf
from tests.data.gdf import write_gdf

NAMES = ["A1", "A2", "B1"]
N_TIMES, SFREQ = 1100, 100.0
DIGITS = random_digits(3 * N_TIMES).reshape(3, N_TIMES)
MICROVOLTS = DIGITS * 0.1


def write_edf_signals(folder: Path, suffix: str) -> Path:
    signals = [Signal(name, digits, SFREQ) for name, digits in zip(NAMES, DIGITS, strict=True)]
    return write_edf(folder / f"a{suffix}", signals)


def write_vhdr(folder: Path, unit: str = "µV") -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pybv prefers µV
        write_brainvision(
            data=MICROVOLTS * 1e-6, sfreq=SFREQ, ch_names=NAMES, fname_base="a", folder_out=folder, unit=unit
        )
    return folder / "a.vhdr"


def write_fif(folder: Path) -> Path:
    raw = mne.io.RawArray(MICROVOLTS * 1e-6, mne.create_info(NAMES, SFREQ, "seeg"), verbose="ERROR")
    raw.info["bads"] = ["A2"]
    raw.save(folder / "a_raw.fif", verbose="ERROR")
    return folder / "a_raw.fif"


WRITERS: dict[str, Callable[[Path], Path]] = {
    "edf": lambda folder: write_edf_signals(folder, ".edf"),
    "bdf": lambda folder: write_edf_signals(folder, ".bdf"),
    "brainvision": write_vhdr,
    "fif": write_fif,
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {name: write(tmp_path_factory.mktemp(name)) for name, write in WRITERS.items()}


@pytest.mark.parametrize("kind", WRITERS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_lazy_slice_is_the_slice_of_the_whole(files: dict[str, Path], kind: str, data: st.DataObject) -> None:
    recording = open_recording(files[kind])
    assert (recording.ch_names, recording.sfreq, recording.n_times) == (NAMES, SFREQ, N_TIMES)
    start = data.draw(st.integers(0, N_TIMES))
    stop = data.draw(st.one_of(st.none(), st.integers(0, N_TIMES + 50)))
    chosen = data.draw(st.permutations(NAMES).flatmap(lambda names: st.integers(1, 3).map(lambda n: names[:n])))
    signal = recording.read(start, stop, chosen)
    assert signal.dtype == np.float32
    truth = MICROVOLTS[[NAMES.index(name) for name in chosen], start:stop]
    np.testing.assert_allclose(signal, truth.reshape(len(chosen), -1), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", WRITERS)
def test_channels_come_in_the_order_asked_for(files: dict[str, Path], kind: str) -> None:
    recording = open_recording(files[kind], ["B1", "A1"])
    assert recording.ch_names == ["B1", "A1"]
    np.testing.assert_allclose(recording.read(10, 20), MICROVOLTS[[2, 0], 10:20], rtol=1e-4, atol=1e-4)
    with pytest.raises(BenchError, match=r"no channel C9 .*in the file \(it has A1, A2"):
        open_recording(files[kind], ["A1", "C9"])


@pytest.mark.parametrize("unit", ["V", "mV", "µV", "nV"])
def test_brainvision_units_become_microvolts_once(tmp_path: Path, unit: str) -> None:
    np.testing.assert_allclose(open_recording(write_vhdr(tmp_path, unit)).read(), MICROVOLTS, rtol=1e-4, atol=1e-4)


def test_brainvision_channel_without_a_unit_of_potential_is_no_voltage(tmp_path: Path) -> None:
    path = write_vhdr(tmp_path)
    header, n = re.subn(r"^(Ch2=.*),µV$", r"\1,Bogus", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert n == 1
    path.write_text(header, encoding="utf-8")
    assert open_recording(path).ch_names == ["A1", "B1"]
    with pytest.raises(BenchError, match="no channel A2 with a voltage"):
        open_recording(path, ["A1", "A2"])


def test_file_that_opens_a_million_times_too_large(tmp_path: Path) -> None:
    # microvolts taken for volts when the file was written, as an export of an MNE object in µV does
    write_brainvision(data=MICROVOLTS, sfreq=SFREQ, ch_names=NAMES, fname_base="a", folder_out=str(tmp_path))
    path = tmp_path / "a.vhdr"
    np.testing.assert_allclose(open_recording(path).read(), MICROVOLTS * 1e6, rtol=1e-4)
    np.testing.assert_allclose(open_recording(path, unit="µV").read(), MICROVOLTS, rtol=1e-4)


def test_missing_companion_is_named(tmp_path: Path) -> None:
    path = write_vhdr(tmp_path)
    assert recording_files(path) == [path, tmp_path / "a.eeg"]
    (tmp_path / "a.eeg").unlink()
    with pytest.raises(BenchError, match=r"a\.vhdr: its data file a\.eeg is missing: copy it beside the header"):
        open_recording(path)


def test_empty_data_file(tmp_path: Path) -> None:
    path = write_vhdr(tmp_path)
    (tmp_path / "a.eeg").write_bytes(b"")
    with pytest.raises(BenchError, match=r"a\.vhdr: "):
        open_recording(path)


def test_parts_of_a_split_fif_belong_to_it(tmp_path: Path) -> None:
    signal = np.random.default_rng(0).normal(0, 5e-5, (20, 60_000))
    raw = mne.io.RawArray(signal, mne.create_info(20, 1000.0, "seeg"), verbose="ERROR")
    path = tmp_path / "a_raw.fif"
    raw.save(path, split_size="3MB", verbose="ERROR")
    part = tmp_path / "a_raw-1.fif"
    assert recording_files(path) == sorted(tmp_path.glob("*.fif"))
    assert open_recording(path).n_times == 60_000
    part.unlink()
    with pytest.raises(BenchError, match=r"a_raw\.fif: cannot be read as FIF .*a_raw-1\.fif"):
        open_recording(path)


def test_absent_unknown_and_broken_files_are_one_line(tmp_path: Path) -> None:
    for name in ("b.xyz", "c.fif", "d.set", "e.vhdr", "f.gdf", "g.cnt"):
        (tmp_path / name).write_bytes(b"garbage" * 100)
    for name in ("a.edf", "b.xyz", "c.fif", "d.set", "e.vhdr", "f.gdf", "g.cnt"):
        with pytest.raises(BenchError) as error:
            open_recording(tmp_path / name)
        assert str(error.value).startswith(str(tmp_path / name))
        assert "\n" not in str(error.value)


def test_file_that_shrinks_after_it_was_opened(tmp_path: Path) -> None:
    path = write_edf_signals(tmp_path, ".edf")
    recording = open_recording(path)
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(BenchError, match=r"a\.edf: cannot be read to its end .*: copy the file again"):
        recording.read()


def test_bad_channels_of_the_file_itself_are_known(files: dict[str, Path]) -> None:
    assert open_recording(files["fif"]).bads == ["A2"]


def test_broken_channels() -> None:
    signal = np.array([[1, 2, 3], [5, 5, 5], [1, np.nan, 3], [0, 0, np.inf]], np.float32)
    found = broken_channels(signal, ["ok", "flat", "nan", "inf"])
    assert found == {"flat": "flat", "nan": "NaN or infinite values", "inf": "NaN or infinite values"}


@pytest.mark.parametrize(
    ("microvolts", "plausible"), [(5e-4, False), (5e-3, True), (50, True), (1.9e4, True), (5e7, False)]
)
def test_amplitude_guard(microvolts: float, plausible: bool) -> None:
    # one loud, one flat channel: the median of the moving ones decides
    spreads = np.array([microvolts, microvolts, 1e12, 0.0])
    if plausible:
        check_amplitude(spreads, ["A1", "A2", "A3", "A4"], Path("a.edf"))
    else:
        with pytest.raises(BenchError, match=r"a\.edf: median channel amplitude .*largest: A3.*say dataset\.unit"):
            check_amplitude(spreads, ["A1", "A2", "A3", "A4"], Path("a.edf"))


REAL = {  # channels with a voltage, sfreq, seconds, median standard deviation in µV
    "ieeg/zurich_mnehfo/sub-01/ses-interictalsleep/ieeg/sub-01_ses-interictalsleep_run-01_ieeg.vhdr": (
        50,
        2000,
        5.0,
        153,
    ),
    "formats/brainvision/test.vhdr": (26, 1000, 7.9, 24.2),  # 6 of its 32 are in °C, S or without a unit
    "formats/brainvision/test_old_layout_latin1_software_filter.vhdr": (29, 250, 1.004, 1.09),
    "formats/chtypes_edf.edf": (42, 200, 5.0, 50.2),
    "formats/nihonkohden/MB0400FU.EDF": (25, 200, 29.0, 158),  # says EDF+D, has no gap
    "formats/test.edf": (139, 512, 6.0, 23.7),
    "formats/test.bdf": (72, 2048, 1.0, 24.0),  # 73 with the status channel
    "formats/multiple_annotation_chans.bdf": (16, 125, 247.0, 537),
    "formats/eeglab/test_raw_2021.set": (3, 128, 10.0078, 20.7),
    "formats/eeglab/test_raw_chanloc_fids.set": (129, 500, 1.002, 261),
    "formats/test_1ch.gdf": (1, 150, 30.0, 83.3),
    "formats/test_CNT_events_mne_JWoess_clipped.cnt": (2, 1000, 90.0, 48.0),
    "scalp/eegmat/Subject00_2.edf": (21, 500, 62.0, 12.4),
    "scalp/rest/data_resting_EO_200Hz_raw.fif": (2, 200, 360.0, 13.9),
}


@pytest.mark.parametrize("name", REAL)
def test_real_file_opens_as_known(shared: Path, name: str) -> None:
    n_channels, sfreq, seconds, amplitude = REAL[name]
    recording = open_recording(shared / "data" / name)
    assert (len(recording.ch_names), recording.sfreq) == (n_channels, sfreq)
    assert recording.duration == pytest.approx(seconds, abs=1e-3)
    spreads = recording.read().std(axis=1, dtype=np.float64)
    assert np.median(spreads) == pytest.approx(amplitude, rel=0.01)
    check_amplitude(spreads, recording.ch_names, recording.path)
    middle = recording.n_times // 2
    np.testing.assert_array_equal(recording.read(middle, middle + 50), recording.read()[:, middle : middle + 50])


@pytest.mark.parametrize(
    ("name", "unit", "amplitude"),
    [
        (
            "ieeg/pynm_ecog_lfp/sub-testsub/ses-EphysMedOff/ieeg/sub-testsub_ses-EphysMedOff_task-gripforce_run-0_ieeg.vhdr",
            "µV",
            37.0,
        ),
        ("scalp/graz_mi/sample.gdf", "µV", 4.26),
    ],
)
def test_real_file_with_microvolts_as_volts(shared: Path, name: str, unit: str, amplitude: float) -> None:
    path = shared / "data" / name
    wrong = open_recording(path)
    with pytest.raises(BenchError, match="the unit in its header is wrong"):
        check_amplitude(wrong.read().std(axis=1), wrong.ch_names, path)
    right = open_recording(path, unit=unit).read().std(axis=1)
    assert np.median(right) == pytest.approx(amplitude, rel=0.01)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("formats/edfPlusD_SYNTHETIC.edf", "record 1 starts at 2 s, expected 1 s"),
        ("formats/eeglab/eeglab_hdf5_EPOCHS.set", "cannot be read as SET"),
        ("formats/brainvision/test.eeg", "unknown format '.eeg'"),
        ("scalp/sleep_edf_SC4001/SC4001EC-Hypnogram.edf", "no channel with a voltage"),
        ("scalp/sleep_edf_SC4001/short_psg.edf", "channels of different rates"),
        ("scalp/sleep_edf_SC4001/short_psg.bdf", "channels of different rates"),
    ],
)
def test_real_file_is_refused_in_one_line(shared: Path, name: str, reason: str) -> None:
    with pytest.raises(BenchError) as error:
        open_recording(shared / "data" / name)
    assert reason in str(error.value)
    assert "\n" not in str(error.value)


def test_real_polysomnography_by_channel(shared: Path) -> None:
    recording = open_recording(shared / "data/scalp/sleep_edf_SC4001/short_psg.edf", ["EEG Fpz-Cz", "EEG Pz-Oz"])
    assert (recording.sfreq, recording.duration) == (100, 300)


def test_fif_tags_in_a_circle(tmp_path: Path) -> None:
    """The second tag says that it is followed by itself."""
    info = mne.create_info(["A1"], 100.0, "eeg")
    path = tmp_path / "a_raw.fif"
    mne.io.RawArray(np.ones((1, 500)), info, verbose="ERROR").save(path, verbose="ERROR")
    content = bytearray(path.read_bytes())
    second = 16 + int.from_bytes(content[8:12])
    content[second + 12 : second + 16] = second.to_bytes(4)
    path.write_bytes(content)
    with pytest.raises(BenchError, match="its tags lead in a circle"):
        open_recording(path)


def test_fif_tag_larger_than_its_file(tmp_path: Path) -> None:
    info = mne.create_info(["A1"], 100.0, "eeg")
    path = tmp_path / "a_raw.fif"
    mne.io.RawArray(np.ones((1, 500)), info, verbose="ERROR").save(path, verbose="ERROR")
    open_recording(path)
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(BenchError, match=r"a_raw\.fif: truncated: a tag at byte \d+ has \d+ bytes"):
        open_recording(path)


def test_a_gdf_header_that_announces_more_channels_than_the_file_holds(tmp_path: Path) -> None:
    file = write_gdf(tmp_path / "a.gdf", NAMES, DIGITS.astype("int16"), round(SFREQ), [])
    content = bytearray(file.read_bytes())
    content[252:256] = (1 << 30).to_bytes(4, "little")
    file.write_bytes(content)
    with pytest.raises(BenchError, match="announces 1073741824 channels, more than it holds"):
        open_recording(file)


def test_a_gdf_header_that_announces_more_events_than_the_file_holds(tmp_path: Path) -> None:
    file = write_gdf(tmp_path / "a.gdf", NAMES, DIGITS.astype("int16"), round(SFREQ), [(10, 769), (20, 770)])
    assert open_recording(file).n_times > 0
    content = bytearray(file.read_bytes())
    content[-16:-12] = (1 << 31).to_bytes(4, "little")
    file.write_bytes(content)
    with pytest.raises(BenchError, match="announces 2147483648 events, more than it holds"):
        open_recording(file)
