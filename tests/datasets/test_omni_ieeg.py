"""The reader of the harmonised release, on the demo cohort and on what is wrong with such releases."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from omni_bench.data.cohort import Cohort
from omni_bench.datasets.demo_ieeg_roster import channels, patients
from omni_bench.datasets.omni_ieeg import read_omni_ieeg
from omni_bench.errors import BenchError

N_PATIENTS = 8


@pytest.fixture
def root(demo_root: Path, tmp_path: Path) -> Path:
    """A copy of the release that a test may change; recordings are links to the originals."""

    def copy(source: str, target: str) -> None:
        (os.symlink if source.endswith(".edf") else shutil.copy)(source, target)

    shutil.copytree(demo_root, tmp_path / "release", copy_function=copy)
    return tmp_path / "release"


def sidecar(root: Path, subject: str = "sub-openieegDetroit001") -> Path:
    return next(root.glob(f"{subject}/*/ieeg/*_channels.tsv"))


def edit(file: Path, change: Callable[[pd.DataFrame], pd.DataFrame]) -> pd.DataFrame:
    """Rewrite a table; returns it."""
    table = change(pd.read_csv(file, sep=None, engine="python", dtype=str, keep_default_na=False))
    table.to_csv(file, sep="\t" if file.suffix == ".tsv" else ",", index=False)
    return table


def reasons(cohort: Cohort) -> dict[str, int]:
    return {entry["reason"]: entry["n"] for entry in cohort.excluded}


def test_tables_are_the_rosters(demo_root: Path) -> None:
    cohort = read_omni_ieeg(demo_root)
    roster = patients(N_PATIENTS)
    table = cohort.patients.set_index("subject")
    assert len(table) == N_PATIENTS
    assert len(cohort.recordings) == sum(len(patient.recordings) for patient in roster)
    assert not cohort.excluded
    for patient in roster:
        row = table.loc[patient.subject]
        assert (row["source"], row["split"], row["person"]) == (patient.kind.source, patient.split, patient.subject)
        assert row["outcome"] == {1: True, 0: False}[patient.outcome]
        assert row["annotated"] == patient.annotated
        mine = cohort.recordings[cohort.recordings["subject"] == patient.subject]
        assert (mine["sfreq"] == patient.kind.sfreq).all()
        assert (mine["line_freq"] == patient.kind.line_freq).all()
        truth = {channel.name: channel for channel in channels(patient, seed=0)}
        for recording in mine["recording"]:
            rows = cohort.channels[cohort.channels["recording"] == recording]
            assert rows["raw_name"].tolist() == list(truth)
            for row in rows.itertuples():
                channel = truth[row.raw_name]
                assert row.good == bool(channel.good)
                assert row.resected == bool(channel.resection)
                assert pd.isna(row.soz) if patient.kind.source == "zurich" else row.soz == bool(channel.soz)
                unknown = channel.anatomical in ("-1", "N.A.")
                assert pd.isna(row.anatomical) if unknown else row.anatomical == channel.anatomical
    tasks = cohort.recordings.drop_duplicates("task").set_index("task")
    assert tasks.index[tasks["ictal"].astype(bool)].tolist() == ["ictal"]
    assert tasks["state"].dropna().to_dict() == {
        "interictalawake": "awake",
        "interictalasleep": "asleep",
        "sleep": "asleep",
    }


def test_every_recording_opens(demo_root: Path) -> None:
    cohort = read_omni_ieeg(demo_root)
    for row, recording in zip(cohort.recordings.itertuples(), cohort, strict=True):
        assert (recording.sfreq, recording.duration) == (row.sfreq, row.duration)
        assert recording.read(0, 10).shape == (len(recording.ch_names), 10)


def test_header_of_the_edf_decides_rate_and_length(root: Path) -> None:
    before = read_omni_ieeg(root).recordings.set_index("recording")
    file = sidecar(root)
    edit(file, lambda table: table.assign(sampling_frequency="200", edf_length="n/a"))
    after = read_omni_ieeg(root).recordings.set_index("recording")
    pd.testing.assert_frame_equal(before, after)


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b""])
def test_byte_order_mark_line_ends_and_padding(root: Path, demo_root: Path, mark: bytes) -> None:
    for file in [*root.glob("sub-*/*/ieeg/*_channels.tsv"), root / "participants.tsv"]:
        lines = file.read_text().splitlines()
        file.write_bytes(mark + "\r\n".join(line.replace("\t", " \t") for line in lines).encode() + b"\r\n\r\n")
    changed, plain = read_omni_ieeg(root), read_omni_ieeg(demo_root)
    for name in ("patients", "recordings", "channels"):
        pd.testing.assert_frame_equal(getattr(changed, name), getattr(plain, name))


def test_unknown_is_spelled_minus_one_or_n_a(root: Path) -> None:
    names = ["A", "B", "C", "D", "E"]
    columns = {"soz": ["-1", "n/a", "-1.0", "0.0", "1"], "resection": ["1.0", "", "0", "-1", "n/a"]}

    def change(table: pd.DataFrame) -> pd.DataFrame:
        table = table.head(5).assign(
            **columns, good=["1", "-1", "n/a", "0", "1.0"], anatomical=["-1", "N.A.", "n/a", "insula", "WM"]
        )
        names[:] = table["name"].tolist()
        return table

    edit(sidecar(root), change)
    cohort = read_omni_ieeg(root)
    rows = cohort.channels[cohort.channels["recording"].str.contains("Detroit001")].set_index("raw_name").loc[names]
    assert rows["soz"].isna().tolist() == [True, True, True, False, False]
    assert rows["soz"].dropna().tolist() == [False, True]
    assert rows["resected"].isna().tolist() == [False, True, False, True, True]
    # a channel is good only where the table says so
    assert rows["good"].tolist() == [True, False, False, False, True]
    assert rows["anatomical"].isna().tolist() == [True, True, True, False, False]
    assert reasons(cohort)["in the recording but not in channels.tsv"] > 0


def test_missing_sidecar(root: Path) -> None:
    file = sidecar(root)
    file.unlink()
    with pytest.raises(
        BenchError,
        match=rf"sub-openieegDetroit001.*_ieeg\.edf: no {file.name} beside it: fetch it, or say on_error=skip",
    ):
        read_omni_ieeg(root)
    cohort = read_omni_ieeg(root, on_error="skip")
    assert len(cohort.patients) == N_PATIENTS - 1
    assert [entry["what"] for entry in cohort.excluded] == ["recordings"]


def test_sidecar_without_a_column(root: Path) -> None:
    edit(sidecar(root), lambda table: table.drop(columns="soz"))
    with pytest.raises(BenchError, match=r"_channels\.tsv: no column soz \(found: name, good, resection"):
        read_omni_ieeg(root)


def test_value_outside_the_vocabulary(root: Path) -> None:
    edit(sidecar(root), lambda table: table.assign(soz=["2"] + ["0"] * (len(table) - 1)))
    with pytest.raises(BenchError, match=r"_channels\.tsv: column 'soz' has '2', expected 1, 0 or n/a"):
        read_omni_ieeg(root)


def test_channel_of_the_table_that_the_edf_lacks(root: Path) -> None:
    edit(sidecar(root), lambda table: table.assign(name=["Z99", *table["name"][1:]]))
    with pytest.raises(
        BenchError, match=r"_channels\.tsv: channel Z99 is not in the recording: correct the name, or say on_error=skip"
    ):
        read_omni_ieeg(root)
    cohort = read_omni_ieeg(root, on_error="skip")
    assert reasons(cohort) == {
        "in channels.tsv but not in the recording": 1,
        "in the recording but not in channels.tsv": 1,
    }
    assert len(cohort.patients) == N_PATIENTS
    assert "Z99" not in set(cohort.channels["raw_name"])


def test_channel_of_the_edf_that_the_table_lacks(root: Path) -> None:
    gone = edit(sidecar(root), lambda table: table[2:])
    cohort = read_omni_ieeg(root)
    assert reasons(cohort) == {"in the recording but not in channels.tsv": 2}
    assert (cohort.channels["recording"].str.contains("Detroit001")).sum() == len(gone)


def test_names_that_stand_twice_or_not_at_all(root: Path) -> None:
    edit(sidecar(root), lambda table: pd.concat([table, table[:1], table[:1].assign(name="n/a")]))
    cohort = read_omni_ieeg(root)
    assert reasons(cohort) == {"no name, or one that stands twice, in channels.tsv": 2}


def test_empty_sidecar(root: Path) -> None:
    sidecar(root).write_text("")
    with pytest.raises(BenchError, match=r"_channels\.tsv: empty, expected a header line"):
        read_omni_ieeg(root)
    sidecar(root).write_text("name\tgood\tsoz\tresection\tanatomical\n")
    with pytest.raises(BenchError, match=r"_channels\.tsv: none of its channels is in the recording"):
        read_omni_ieeg(root)


def test_truncated_edf(root: Path) -> None:
    edf = next(root.glob("sub-openieegDetroit001/*/ieeg/*.edf"))
    content = edf.read_bytes()
    edf.unlink()
    edf.write_bytes(content[: len(content) // 2])
    with pytest.raises(BenchError, match=rf"{edf.name}: truncated: "):
        read_omni_ieeg(root)
    cohort = read_omni_ieeg(root, on_error="skip")
    assert len(cohort.patients) == N_PATIENTS - 1


def test_patient_in_two_splits(root: Path) -> None:
    file = root / "derivatives/datasplit/final_split.csv"
    edit(
        file, lambda table: table.assign(split=["test" if i == 1 else split for i, split in enumerate(table["split"])])
    )
    with pytest.raises(BenchError, match=r"final_split\.csv: patient sub-.* stands in 2 splits: keep one"):
        read_omni_ieeg(root)


def test_patient_in_no_split_is_left_out_and_counted(root: Path) -> None:
    edit(root / "derivatives/datasplit/final_split.csv", lambda table: table[table["patient_name"] != "sub-zurich01"])
    cohort = read_omni_ieeg(root)
    assert reasons(cohort) == {"patient is not in final_split.csv": 2}
    assert "sub-zurich01" not in set(cohort.patients["subject"])


def test_release_without_a_split(root: Path) -> None:
    shutil.rmtree(root / "derivatives")
    assert read_omni_ieeg(root).patients["split"].isna().all()


def test_patients_outside_the_paper_are_counted(root: Path) -> None:
    edit(root / "participants.tsv", lambda table: table.assign(dataset=["Multicenter", *table["dataset"][1:]])[:-1])
    first, last = patients(N_PATIENTS)[0], patients(N_PATIENTS)[-1]
    cohort = read_omni_ieeg(root)
    assert not {first.subject, last.subject} & set(cohort.patients["subject"])
    assert reasons(cohort) == {
        "patient of Multicenter, outside the paper": len(first.recordings),
        "patient is not in participants.tsv": len(last.recordings),
    }


@pytest.mark.parametrize("where", ["participants.tsv", "derivatives/datasplit/final_split.csv", "folder"])
def test_upper_case_ids_are_the_same_patient(root: Path, where: str) -> None:
    subject, upper = "sub-sourcesinkjh001", "sub-sourcesinkJH001"
    if where == "folder":
        (root / subject).rename(root / upper)
        for file in root.glob(f"{upper}/*/ieeg/*"):
            file.rename(file.with_name(file.name.replace(subject, upper)))
    else:
        file = root / where
        file.write_text(file.read_text().replace(subject, upper))
    cohort = read_omni_ieeg(root)
    assert len(cohort.patients) == N_PATIENTS
    ids = cohort.patients.loc[cohort.patients["subject"].str.lower() == subject.lower()]
    assert ids["split"].tolist() == ["test"]
    assert cohort.recordings["subject"].isin(cohort.patients["subject"]).all()
    assert (cohort.recordings["subject"].str.lower() == subject).sum() == 2


def test_participant_in_two_rows(root: Path) -> None:
    edit(
        root / "participants.tsv",
        lambda table: pd.concat([table, table[:1].assign(participant_id=table["participant_id"][0].upper())]),
    )
    with pytest.raises(BenchError, match=r"participants\.tsv: SUB-OPENIEEGDETROIT001 stands in two rows: keep one"):
        read_omni_ieeg(root)


def test_nothing_there(tmp_path: Path, root: Path) -> None:
    with pytest.raises(BenchError, match=r"participants\.tsv: no such file"):
        read_omni_ieeg(tmp_path)
    for folder in root.glob("sub-*"):
        shutil.rmtree(folder)
    with pytest.raises(BenchError, match=r"no sub-\*/ses-\*/ieeg/\*_ieeg\.edf of the patients"):
        read_omni_ieeg(root)
