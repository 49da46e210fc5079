"""SourceSink: a tiny tree in its dialect, and all real sidecars against an independent count."""

from pathlib import Path

import pytest

from omni_bench.datasets.sourcesink import read_sourcesink
from tests.data.raw_counts import noted, plain, raw_durations, raw_participants, raw_tables, real_source
from tests.data.sourcesink import write_sourcesink


def test_tiny_tree(tmp_path: Path) -> None:
    cohort = read_sourcesink(write_sourcesink(tmp_path))
    patients = cohort.patients.set_index("subject")
    assert patients["outcome"].tolist() == [True, False]
    assert patients["centre"].tolist() == ["NIH", "UMF"]
    assert patients["engel"].tolist() == ["1", "3"]
    assert patients["person"].tolist() == ["sub-sourcesinkpt2", "sub-sourcesinkrns002"]
    recordings = cohort.recordings.set_index("task")
    tasks = ["interictalasleep", "interictalawake", "interictal"]
    assert plain(recordings.loc[tasks, "state"]) == ["asleep", "awake", None]
    assert recordings.loc[["interictalasleep", "interictalawake"], "duration"].tolist() == [62.5, 4]
    assert recordings["modality"].tolist() == ["ECOG", "ECOG", "SEEG"]
    asleep = cohort.channels[cohort.channels["recording"].str.contains("asleep")].set_index("channel")
    assert list(asleep.index) == ["G1", "G2", "G3", "EKG1"]
    assert asleep["soz"].tolist() == [True, True, False, False]
    assert asleep["resected"].tolist() == [True, False, False, False]
    assert asleep["good"].tolist() == [True, True, True, False]
    without_rz = cohort.channels[cohort.channels["recording"].str.contains("rns002")]
    assert without_rz["soz"].tolist() == [True, False]
    assert without_rz["resected"].isna().all()
    assert noted(cohort.excluded, "no name") == 2
    assert noted(cohort.excluded, "ILAE") == 1  # kumc1: F, ILAE 1
    assert noted(cohort.excluded, "soz differs") == 1  # G2, asleep only


def test_awake_recording_of_the_marks_of_both(tmp_path: Path) -> None:
    cohort = read_sourcesink(write_sourcesink(tmp_path))
    awake = cohort.channels[cohort.channels["recording"].str.contains("awake")].set_index("channel")
    assert awake["soz"].tolist() == [True, True, False, False]
    assert cohort.filter(state="awake").recordings["subject"].tolist() == ["sub-pt2"]


def test_real_sidecars(shared: Path) -> None:
    folder = real_source(shared, "ds003876")
    raw, people, lengths = raw_tables(folder), raw_participants(folder), raw_durations(folder)
    cohort = read_sourcesink(folder)
    named = raw[raw["name"] != "N/A"].reset_index(drop=True)
    ours = cohort.channels
    assert (
        (len(cohort.patients), len(cohort.recordings), len(ours))
        == (raw["subject"].nunique(), raw["file"].nunique(), len(named))
        == (39, 54, 6562)
    )
    assert noted(cohort.excluded, "without a recording") == people["participant_id"].str.contains("kumc").sum() == 13
    for column, name, n in (("soz", "soz", 808), ("resected", "rz", 791)):
        marked = named[name] == "yes"
        united = marked.groupby([named["subject"], named["name"]]).transform("max")
        assert (marked.sum(), ours[column].sum()) == (n, united.sum())
    assert ours["resected"].isna().sum() == raw["rz"].isna().sum() == 2007
    assert ours["soz"].isna().sum() == 0
    brain = (ours["type"] != "MISC").to_numpy()
    assert (~ours["good"][brain]).sum() == (named["status"] == "bad")[brain].sum()
    assert (~brain & (named["soz"] == "yes")).sum() == 0
    seizure_free = people.set_index("participant_id")["outcome"] == "S"
    assert (
        cohort.patients.set_index("subject")["outcome"].to_dict() == seizure_free[cohort.patients["subject"]].to_dict()
    )
    assert cohort.patients["centre"].value_counts().to_dict() == {"UMF": 15, "NIH": 14, "JHH": 10}
    rates = raw.groupby("file")["sampling_frequency"].first().astype(float)
    assert cohort.recordings["sfreq"].value_counts().to_dict() == rates.value_counts().to_dict()
    assert cohort.recordings["sfreq"].nunique() == 9
    assert cohort.recordings.set_index("recording")["duration"].to_dict() == pytest.approx(lengths)
    assert cohort.recordings["state"].fillna("unknown").value_counts().to_dict() == {
        "unknown": 29,
        "asleep": 13,
        "awake": 12,
    }
    assert noted(cohort.excluded, "units column says mV") == (raw["units"] == "mV").sum() == 6
    assert noted(cohort.excluded, "units column says n/a") == (raw["units"] == "n/a").sum() == 16
