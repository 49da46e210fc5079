"""The reader of any BIDS tree, on tiny trees in three formats and on the real recordings."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from omni_bench.data.cohort import Cohort
from omni_bench.datasets.bids_ieeg import read_bids_ieeg
from omni_bench.errors import BenchError
from tests.data.bids_ieeg import SFREQ, write_recording, write_tree
from tests.data.edf import Signal, random_digits, write_edf

NAMES = ["LA1", "LA2", "LA3"]


def table(names: list[str] = NAMES, **columns: list[str]) -> dict[str, list[str]]:
    return {"name": names, "type": ["SEEG"] * len(names), "units": ["µV"] * len(names)} | columns


def reasons(cohort: Cohort) -> dict[str, int]:
    return {entry["reason"]: entry["n"] for entry in cohort.excluded}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Three patients, one format each; labels in the first."""
    root = write_tree(
        tmp_path / "tree",
        {
            "participant_id": ["sub-01", "sub-02", "sub-03"],
            "sex": ["F", "m", "n/a"],
            "outcome": ["S", "F", "n/a"],
            "engel": ["1A", "3B", "n/a"],
        },
    )
    labels = {
        "soz": ["yes", "n/a", "0"],
        "resected": ["1.0", "0.0", "-1"],
        "status": ["good", "bad", "n/a"],
        "anatomical": ["insula", "n/a", "WM"],
    }
    write_recording(root, "sub-01_task-ictal_run-01", ".edf", table(**labels))
    write_recording(root, "sub-02_task-interictal", ".vhdr", table())
    write_recording(root, "sub-03_task-sleep", ".fif", table())
    return root


def test_metadata_of_every_format(root: Path) -> None:
    cohort = read_bids_ieeg(root)
    assert cohort.recordings["recording"].tolist() == [
        "sub-01_task-ictal_run-01",
        "sub-02_task-interictal",
        "sub-03_task-sleep",
    ]
    assert (cohort.recordings["sfreq"] == SFREQ).all()
    assert (cohort.recordings["duration"] == 4).all()
    assert cohort.recordings["ictal"].tolist() == [True, False, False]
    assert cohort.recordings["state"].dropna().tolist() == ["asleep"]
    assert cohort.recordings["modality"].tolist() == ["SEEG"] * 3
    assert cohort.recordings["run"].dropna().tolist() == ["01"]
    # task-sleep has no *_ieeg.json
    assert cohort.recordings["line_freq"].tolist()[:2] == [50, 50]
    assert np.isnan(cohort.recordings["line_freq"][2])
    people = cohort.patients.set_index("subject")
    assert people["outcome"].tolist()[:2] == [True, False]
    assert people["outcome"].isna().tolist() == [False, False, True]
    assert people["sex"].tolist()[:2] == ["female", "male"]
    assert (people["source"] == "bids_ieeg").all()
    assert people["split"].isna().all()
    for recording in cohort:
        assert recording.read().std() == pytest.approx(50, rel=0.05)


def test_labels_are_read_and_what_is_not_there_is_unknown(root: Path) -> None:
    channels = read_bids_ieeg(root).channels
    first, others = (
        channels[channels["recording"].str.startswith("sub-01")],
        channels[~channels["recording"].str.startswith("sub-01")],
    )
    assert first["good"].tolist() == [True, False, True]
    assert (first["soz"][0], first["soz"][2]) == (True, False)
    assert (first["resected"][0], first["resected"][1]) == (True, False)
    assert first["soz"].isna().tolist() == [False, True, False]
    assert first["resected"].isna().tolist() == [False, False, True]
    assert first["anatomical"].tolist()[::2] == ["insula", "WM"]
    assert others["good"].all()
    assert others[["soz", "resected", "anatomical"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("columns", "outcome"),
    [
        ({"outcome": ["S"]}, True),
        ({"outcome": ["F"]}, False),
        ({"outcome": ["NR"]}, None),
        ({"outcome": ["1"]}, True),
        ({"outcome": ["0.0"]}, False),
        ({"engel": ["1A"]}, True),
        ({"engel": ["IIB"]}, False),
        ({"engel_score": ["1.0"]}, True),
        ({"engel_score": ["-1.0"]}, None),
        ({"engel": ["IV"], "outcome": ["n/a"]}, False),
        ({"age": ["12"]}, None),
    ],
)
def test_outcome(tmp_path: Path, columns: dict[str, list[str]], outcome: bool | None) -> None:
    root = write_tree(tmp_path, {"participant_id": ["sub-01"]} | columns)
    write_recording(root, "sub-01_task-ictal", ".edf", table())
    found = read_bids_ieeg(root).patients["outcome"][0]
    assert pd.isna(found) if outcome is None else found == outcome


def test_nearest_sidecar_wins_and_json_is_merged(root: Path) -> None:
    own = {"name": NAMES, "type": ["ECOG"] * 3}
    general = root / "task-interictal_channels.tsv"
    pd.DataFrame(own).to_csv(general, sep="\t", index=False)
    (root / "task-interictal_ieeg.json").write_text(json.dumps({"PowerLineFrequency": 60, "Manufacturer": "n/a"}))
    assert read_bids_ieeg(root).recordings["modality"].tolist() == ["SEEG"] * 3
    (root / "sub-02/ieeg/sub-02_task-interictal_channels.tsv").unlink()
    # says nothing of the line, so the general one still holds
    (root / "sub-02/ieeg/sub-02_task-interictal_ieeg.json").write_text(json.dumps({"Manufacturer": "X"}))
    cohort = read_bids_ieeg(root)
    assert cohort.recordings["modality"].tolist() == ["SEEG", "ECOG", "SEEG"]
    assert cohort.recordings["line_freq"].tolist()[:2] == [50, 60]
    (root / "sub-02/sub-02_ieeg.json").write_text(json.dumps({"PowerLineFrequency": 50}))
    assert read_bids_ieeg(root).recordings["line_freq"][1] == 50


def test_sidecars_outside_the_tree_do_not_count(root: Path) -> None:
    pd.DataFrame({"name": NAMES, "type": ["SEEG"] * 3}).to_csv(
        root.parent / "sub-02_channels.tsv", sep="\t", index=False
    )
    (root / "sub-02/ieeg/sub-02_task-interictal_channels.tsv").unlink()
    with pytest.raises(BenchError, match=r"sub-02_task-interictal_ieeg\.vhdr: no channels\.tsv for it"):
        read_bids_ieeg(root)


def test_broken_json_is_one_line(root: Path) -> None:
    (root / "task-ictal_ieeg.json").write_text("{")
    with pytest.raises(BenchError, match=r"task-ictal_ieeg\.json: not valid JSON \(.*\): correct it"):
        read_bids_ieeg(root)


def test_channels_that_are_no_brain_whatever_their_type(tmp_path: Path) -> None:
    root = write_tree(tmp_path, {"participant_id": ["sub-01"]})
    # C3 is a scalp electrode, O1 to O4 are a depth electrode O, PR2 is not the pulse rate
    names = ["LA1", "EKG1", "C3", "ROC", "O1", "O2", "O3", "O4", "PR2", "Photo"]
    types = ["SEEG"] * 9 + ["MISC"]
    write_recording(root, "sub-01_task-ictal", ".edf", {"name": names, "type": types})
    cohort = read_bids_ieeg(root)
    assert cohort.channels["raw_name"].tolist() == ["LA1", "O1", "O2", "O3", "O4", "PR2"]
    assert reasons(cohort) == {"no intracranial channel, by type or name": 4}


def test_channels_of_another_rate_or_unit_do_not_matter_unless_they_are_brain(tmp_path: Path) -> None:
    root = write_tree(tmp_path, {"participant_id": ["sub-01"]})
    file = write_recording(
        root, "sub-01_task-ictal", ".edf", {"name": ["LA1", "EKG", "SpO2"], "type": ["SEEG", "ECG", "MISC"]}
    )
    signals = [
        Signal("LA1", random_digits(1000), 500),
        Signal("EKG", random_digits(200), 100, "mV"),
        Signal("SpO2", random_digits(2), 1, "%"),
    ]
    write_edf(file, signals)
    cohort = read_bids_ieeg(root)
    assert (cohort.recordings["sfreq"][0], cohort.channels["raw_name"].tolist()) == (500, ["LA1"])
    assert next(iter(cohort)).n_times == 1000
    write_edf(file, [signals[0], Signal("EKG", signals[1].digits, 100), Signal("LA2", random_digits(200), 100)])
    tsv = file.with_name("sub-01_task-ictal_channels.tsv")
    pd.DataFrame({"name": ["LA1", "LA2"], "type": ["SEEG", "SEEG"]}).to_csv(tsv, sep="\t", index=False)
    with pytest.raises(BenchError, match=r"_ieeg\.edf: channels of different rates \(100, 500 Hz; LA1 is one\)"):
        read_bids_ieeg(root)


def test_channel_in_the_table_but_not_in_the_file_and_the_reverse(tmp_path: Path) -> None:
    root = write_tree(tmp_path, {"participant_id": ["sub-01"]})
    write_recording(root, "sub-01_task-ictal", ".vhdr", table(), in_file=["LA1", "LA2", "LB9", "LB8"])
    with pytest.raises(
        BenchError, match=r"_channels\.tsv: channel LA3 is not in the recording: correct the name, or say on_error=skip"
    ):
        read_bids_ieeg(root)
    cohort = read_bids_ieeg(root, on_error="skip")
    assert cohort.channels["raw_name"].tolist() == ["LA1", "LA2"]
    assert reasons(cohort) == {
        "in channels.tsv but not in the recording": 1,
        "in the recording but not in channels.tsv": 2,
    }


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"type": ["EEG"] * 3}, "no channel of type ECOG, SEEG, DBS: correct the type column"),
        ({"status": ["good", "so-so", "bad"]}, "status 'so-so', expected good, bad or n/a"),
        ({"soz": ["maybe", "1", "1"]}, "column 'soz' has 'maybe', expected 1, 0 or n/a"),
    ],
)
def test_broken_channel_table(tmp_path: Path, columns: dict[str, list[str]], message: str) -> None:
    root = write_tree(tmp_path, {"participant_id": ["sub-01"]})
    write_recording(root, "sub-01_task-ictal", ".edf", table() | columns)
    with pytest.raises(BenchError, match=rf"_channels\.tsv: {message}"):
        read_bids_ieeg(root)


def test_skip_counts_what_is_broken(root: Path) -> None:
    data = root / "sub-02/ieeg/sub-02_task-interictal_ieeg.eeg"
    data.unlink()
    with pytest.raises(BenchError, match=r"_ieeg\.vhdr: its data file .*_ieeg\.eeg is missing"):
        read_bids_ieeg(root)
    cohort = read_bids_ieeg(root, on_error="skip")
    assert cohort.patients["subject"].tolist() == ["sub-01", "sub-03"]
    assert [(entry["what"], entry["n"]) for entry in cohort.excluded] == [("recordings", 1)]


def test_several_trees_below_one_folder(tmp_path: Path) -> None:
    for name, outcome in (("one", "S"), ("sub-two", "F")):
        tree = write_tree(tmp_path / name, {"participant_id": ["sub-01"], "outcome": [outcome]})
        write_recording(tree, "sub-01_task-ictal", ".edf", table())
    (tmp_path / "one/derivatives/sub-01/ieeg").mkdir(parents=True)
    write_recording(tmp_path / "one/derivatives", "sub-01_task-ictal", ".edf", table())
    cohort = read_bids_ieeg(tmp_path)
    people = cohort.patients.set_index("subject")
    assert people["source"].to_dict() == {"one_sub-01": "one", "sub-two_sub-01": "sub-two"}
    assert people["outcome"].to_dict() == {"one_sub-01": True, "sub-two_sub-01": False}
    assert people["person"].nunique() == 2
    assert cohort.recordings["recording"].tolist() == ["one_sub-01_task-ictal", "sub-two_sub-01_task-ictal"]
    assert [recording.n_times for recording in cohort] == [2000, 2000]


def test_participant_in_two_rows_and_in_none(tmp_path: Path) -> None:
    root = write_tree(tmp_path, {"participant_id": ["sub-01 ", "sub-02"], "outcome": ["S", "F"]})
    write_recording(root, "sub-01_task-ictal", ".edf", table())
    write_recording(root, "sub-03_task-ictal", ".edf", table())
    people = read_bids_ieeg(root).patients.set_index("subject")["outcome"]
    assert people["sub-01"]
    assert pd.isna(people["sub-03"])
    write_tree(root, {"participant_id": ["sub-01", "sub-01"], "outcome": ["S", "F"]})
    with pytest.raises(BenchError, match=r"participants\.tsv: sub-01 stands in 2 rows: keep one"):
        read_bids_ieeg(root)


def test_later_parts_of_a_split_recording_are_not_recordings(tmp_path: Path) -> None:
    root = write_tree(tmp_path, {"participant_id": ["sub-01"]})
    for part in ("01", "02"):
        write_recording(root, f"sub-01_task-ictal_split-{part}", ".edf", table())
    assert read_bids_ieeg(root).recordings["recording"].tolist() == ["sub-01_task-ictal_split-01"]


def test_nothing_there_and_a_name_without_a_subject(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=r"no such folder: paths.data must be a BIDS tree"):
        read_bids_ieeg(tmp_path / "nowhere")
    with pytest.raises(BenchError, match=r"no \*_ieeg recordings .* could be read"):
        read_bids_ieeg(tmp_path)
    write_edf(tmp_path / "night_ieeg.edf", [Signal("LA1", random_digits(100), 100)])
    with pytest.raises(BenchError, match=r"night_ieeg\.edf: no subject in its name, expected sub-<label>"):
        read_bids_ieeg(tmp_path)


def test_real_recordings(shared: Path) -> None:
    cohort = read_bids_ieeg(shared / "data/ieeg", unit=None)
    recordings = cohort.recordings.set_index("subject")
    assert recordings["sfreq"].to_dict() == {"pynm_ecog_lfp_sub-testsub": 1000, "zurich_mnehfo_sub-01": 2000}
    assert recordings["duration"].to_dict() == pytest.approx(
        {"pynm_ecog_lfp_sub-testsub": 19.001, "zurich_mnehfo_sub-01": 5.0}
    )
    assert recordings["line_freq"].to_dict() == {"pynm_ecog_lfp_sub-testsub": 60, "zurich_mnehfo_sub-01": 50}
    assert cohort.channels["recording"].str[:4].value_counts().to_dict() == {"zuri": 50, "pynm": 9}
    assert cohort.patients.set_index("subject")["outcome"]["zurich_mnehfo_sub-01"]
    assert reasons(cohort) == {"no intracranial channel, by type or name": 1}  # the grip force
