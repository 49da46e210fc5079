"""Channel matrices: by hand, against MNE's own interpolation, and what is refused."""

import mne
import numpy as np
import pytest

from omni_bench.errors import BenchError
from omni_bench.signal.electrode_names import BIOSEMI_64, electrode_name, electrode_names
from omni_bench.signal.montage import channel_matrix

TEN_TWENTY = [
    "Fp1",
    "Fp2",
    "F7",
    "F3",
    "Fz",
    "F4",
    "F8",
    "T7",
    "C3",
    "Cz",
    "C4",
    "T8",
    "P7",
    "P3",
    "Pz",
    "P4",
    "P8",
    "O1",
    "O2",
]


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("EEG Fp1-LE", "FP1"),
        ("POL F3", "F3"),
        ("EEG-F3", "F3"),
        ("C3_REF", "C3"),
        ("EEG F4-M1", "F4"),
        ("Fcz.", "FCZ"),
        ("EEG Fpz-Cz", "FPZ-CZ"),
        ("EEG A2-A1", "A2-A1"),
        ("E008", "E8"),
        ("e128", "E128"),
    ],
)
def test_spellings(raw: str, name: str) -> None:
    assert electrode_name(raw) == name


def test_biosemi_plugs_are_no_ears() -> None:
    """A1 is Fp1 on the cap of 64, Cz on that of 128, and an ear in any other recording."""
    cap = [f"{plug}{i}" for plug in "AB" for i in range(1, 33)]
    assert electrode_names([*cap, "EXG1"]) == [
        *(name.upper() for name in mne.channels.make_standard_montage("biosemi64").ch_names),
        "EXG1",
    ]
    assert electrode_names(["A1", "A2", "B1"]) == ["A1", "A2", "B1"] != [BIOSEMI_64["A1"], BIOSEMI_64["A2"], "B1"]
    large = [f"{plug}{i}" for plug in "ABCD" for i in range(1, 33)]
    matrix, _ = channel_matrix(large, ["C3", "Cz", "Pz", "Oz", "Fz"], "nearest")
    # BioSemi's own sheet of the cap of 128: C3 = D19, not plug position C3
    assert [large[i] for i in matrix.argmax(axis=1)] == ["D19", "A1", "A19", "A23", "C21"]


def test_egi_by_place() -> None:
    """Channels of the net that EGI names as those of the 10-20 system."""
    net = [f"E{i}" for i in range(1, 129)]
    matrix, report = channel_matrix(net, ["C3", "C4", "Pz", "O1", "F3"], "nearest")
    assert [net[i] for i in matrix.argmax(axis=1)] == ["E36", "E104", "E62", "E70", "E24"]
    assert (report.matched, report.absent) == (1, ("C3", "C4", "Pz", "O1", "F3"))


def test_by_name() -> None:
    channels = ["EEG T3-REF", "EEG Cz-REF", "ECG"]
    matrix, report = channel_matrix(channels, ["Cz", "T7"], "exact")
    np.testing.assert_array_equal(matrix, [[0, 1, 0], [1, 0, 0]])
    assert (report.names, report.absent, report.unused, report.matched) == (("Cz", "T7"), (), ("ECG",), 1)

    matrix, report = channel_matrix(channels, ["Cz", "Pz"], "intersection")
    np.testing.assert_array_equal(matrix, [[0, 1, 0]])
    assert (report.names, report.absent, report.matched) == (("Cz",), ("Pz",), 0.5)

    matrix, report = channel_matrix(channels, ["Cz", "Pz"], "zero")
    np.testing.assert_array_equal(matrix, [[0, 1, 0], [0, 0, 0]])
    assert (report.names, report.absent) == (("Cz", "Pz"), ("Pz",))


def test_bipolar() -> None:
    """Differences; a recorded pair as it is; zero where an electrode lacks."""
    channels = ["F7", "T3", "P3-O1", "Cz"]
    matrix, report = channel_matrix(channels, ["F7-T7", "P3-O1", "T7-P7", "T7-F7"], "bipolar")
    np.testing.assert_array_equal(matrix, [[1, -1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [-1, 1, 0, 0]])
    assert (report.absent, report.unused, report.matched) == (("T7-P7",), ("Cz",), 0.75)


def test_nearest_is_the_neighbour() -> None:
    matrix, report = channel_matrix(["Fp1", "C3", "FCz", "unknown"], ["C3", "Cz"], "nearest")
    np.testing.assert_array_equal(matrix, [[0, 1, 0, 0], [0, 0, 1, 0]])
    # FCz is further than 3 cm on the sphere, so it does not count as Cz
    assert report.matched == 0.5


def test_spline_is_that_of_mne() -> None:
    """At MNE's own positions, around the centre of the sphere that it fits to the whole template."""
    rng = np.random.default_rng(0)
    signal = rng.normal(size=(19, 50))
    missing = [3, 9, 16]
    kept = [i for i in range(19) if i not in missing]
    info = mne.create_info(TEN_TWENTY, 100.0, "eeg")
    template = mne.channels.make_standard_montage("colin27_1005")
    info.set_montage(template)
    info["bads"] = [TEN_TWENTY[i] for i in missing]
    everywhere = mne.create_info(template.ch_names, 100.0, "eeg")
    everywhere.set_montage(template)
    _, centre, _ = mne.bem.fit_sphere_to_headshape(everywhere, dig_kinds="eeg", units="m", verbose="ERROR")
    theirs = mne.EvokedArray(signal.copy(), info, verbose="ERROR").interpolate_bads(origin=centre, verbose="ERROR").data

    matrix, report = channel_matrix([TEN_TWENTY[i] for i in kept], TEN_TWENTY, "spline")
    np.testing.assert_allclose(matrix @ signal[kept], theirs, atol=1e-6)
    np.testing.assert_array_equal(matrix[kept], np.eye(16))
    assert report.absent == tuple(info["bads"])


def test_a_spline_keeps_a_constant() -> None:
    matrix, _ = channel_matrix([n for n in TEN_TWENTY if n not in ("Cz", "P3")], TEN_TWENTY, "spline")
    np.testing.assert_allclose(matrix.sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize(
    ("channels", "targets", "policy", "message"),
    [
        (["Cz"], ["Cz"], "sphere", "channel_policy=sphere: unknown"),
        (["Cz", "Pz"], ["Cz", "Pz", "Fz"], "exact", "67% of the 3 wanted channels .not Fz., expected all"),
        (["Cz"], ["Cz", "Pz", "Fz"], "zero", "33% of the 3 wanted channels .not Pz, Fz., expected 50%"),
        (["Cz", "Pz", "CB1"], ["Cz", "Pz", "X1"], "spline", "channel X1 has no known position"),
        (["Cz", "EEG CZ"], ["Cz"], "exact", "CZ stands twice"),
        (["x", "y"], ["Cz"], "nearest", "no recorded channel has a known position"),
    ],
)
def test_refused(channels: list[str], targets: list[str], policy: str, message: str) -> None:
    with pytest.raises(BenchError, match=message):
        channel_matrix(channels, targets, policy)
