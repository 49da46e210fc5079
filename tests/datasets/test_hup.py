"""HUP: a tiny tree in its dialect, and all real sidecars against an independent count."""

from pathlib import Path

import pandas as pd
import pytest

from omni_bench.datasets.hup import read_hup, seizures
from omni_bench.errors import BenchError
from tests.data.hup import write_hup
from tests.data.raw_counts import noted, raw_durations, raw_participants, raw_tables, real_source


def test_tiny_tree(tmp_path: Path) -> None:
    cohort = read_hup(write_hup(tmp_path))
    assert cohort.patients[["subject", "person", "outcome", "engel"]].to_numpy().tolist() == [
        ["sub-HUP151", "sub-hupHUP151", False, "2A"]
    ]
    assert noted(cohort.excluded, "without a recording") == 1
    assert cohort.recordings["ictal"].tolist() == [True, False]
    assert cohort.recordings["modality"].unique().tolist() == ["SEEG"]
    assert cohort.recordings["sfreq"].unique().tolist() == [512]
    ictal, interictal = (
        cohort.channels[cohort.channels["recording"] == r].set_index("channel") for r in cohort.recordings["recording"]
    )
    contacts = ["LA01", "LA02", "LA03", "LA04", "LA05"]
    assert ictal.loc[contacts, "soz"].tolist() == [True, False, True, False, True]
    assert ictal.loc[contacts, "resected"].tolist() == [False, True, True, False, False]
    assert ictal.loc[contacts, "good"].tolist() == [True, True, False, True, True]
    assert ictal.loc[["C3", "EKG01", "LOC"], "type"].tolist() == ["MISC"] * 3
    assert not ictal.loc[["C3", "EKG01", "LOC"], "good"].any()
    # LA05 is SOZ in the ictal run only: it is SOZ in both, and that is said
    assert interictal.loc[contacts, "soz"].tolist() == [True, False, True, False, True]
    assert noted(cohort.excluded, "soz differs between a subject's recordings") == 1
    assert noted(cohort.excluded, "resected differs") == 0


def test_without_any_mark_labels_are_unknown(tmp_path: Path) -> None:
    root = write_hup(tmp_path)
    for table in root.rglob("*_channels.tsv"):
        table.write_bytes(table.read_bytes().replace(b'"resect,soz"', b"soz").replace(b"resect", b"n/a"))
    channels = read_hup(root).channels
    assert channels["resected"].isna().all()
    assert channels["soz"].notna().all()


def test_unknown_label(tmp_path: Path) -> None:
    root = write_hup(tmp_path)
    table = next(root.rglob("*_task-ictal*_channels.tsv"))
    table.write_bytes(table.read_bytes().replace(b'"resect,soz"', b'"resect,sozz"'))
    with pytest.raises(BenchError, match="status_description 'sozz', expected soz, resect or n/a"):
        read_hup(root)


def test_seizures(tmp_path: Path) -> None:
    cohort = read_hup(write_hup(tmp_path))
    path = cohort.recordings.set_index("task")["path"]
    assert seizures(cohort.root / path["ictal"]).to_numpy().tolist() == [[120, 317.5]]
    with pytest.raises(BenchError, match=r"_events\.tsv: no such file"):
        seizures(cohort.root / path["interictal"])


def test_real_sidecars(shared: Path) -> None:
    folder = real_source(shared, "ds004100")
    raw, people, lengths = raw_tables(folder), raw_participants(folder), raw_durations(folder)
    cohort = read_hup(folder)
    ours = cohort.channels
    assert (
        (len(cohort.patients), len(cohort.recordings), len(ours))
        == (raw["subject"].nunique(), raw["file"].nunique(), len(raw))
        == (57, 319, 38346)
    )
    for column, word, n in (("soz", "soz", 3179), ("resected", "resect", 3915)):
        marked = raw["status_description"].str.contains(word)
        united = marked.groupby([raw["subject"], raw["name"]]).transform("max")
        assert (marked.sum(), ours[column].sum(), ours[column].isna().sum()) == (n, united.sum(), 0)
    assert noted(cohort.excluded, "soz differs between") == 6
    scalp = (ours["type"] == "MISC").to_numpy()
    assert (~ours["good"][~scalp]).sum() == (raw["status"] == "bad")[~scalp].sum()
    assert (scalp & (raw["status"] == "good")).sum() == 5
    names = raw["name"].str.replace("EEG ", "").str.replace("-Ref", "").str.replace(" ", "").str.upper()
    assert scalp.sum() == names.str.match(r"(?:EKG|ECG)\d*$|LOC$|ROC$|(?:FP[12]|[FCPOT][1-8Z])$").sum() == 1269
    merged = cohort.patients.merge(
        people.assign(subject=people["participant_id"].str.strip()), on="subject", suffixes=("", "_raw")
    )
    assert (merged["outcome"] == (merged["outcome_raw"] == "S")).all()
    assert (merged["engel"] == merged["engel_raw"]).all()
    assert (people["outcome"].value_counts().to_dict(), len(merged)) == ({"S": 36, "F": 22}, 57)
    rates = raw.groupby("file")["sampling_frequency"].first().astype(float)
    assert (
        cohort.recordings["sfreq"].value_counts().to_dict()
        == rates.value_counts().to_dict()
        == {512: 165, 1024: 78, 500: 69, 256: 7}
    )
    assert cohort.recordings["ictal"].sum() == raw.loc[raw["file"].str.contains("task-ictal"), "file"].nunique() == 208
    assert cohort.recordings["modality"].value_counts().to_dict() == {"SEEG": 210, "ECOG": 109}
    assert cohort.recordings.set_index("recording")["duration"][list(lengths)].to_dict() == lengths
    assert noted(cohort.excluded, "units column") == (raw["units"] != "µV").sum() == 0


def test_real_seizures(shared: Path) -> None:
    folder = real_source(shared, "ds004100")
    raw = raw_tables(folder, "events.tsv")
    found = pd.concat(
        seizures(f.with_name(f.name.replace("_events.tsv", "_ieeg.edf"))) for f in sorted(folder.rglob("*_events.tsv"))
    )
    assert len(found) == (raw["trial_type"] == "sz onset").sum() == 208
    assert found["onset"].sum() == pytest.approx(raw.loc[raw["trial_type"] == "sz onset", "onset"].astype(float).sum())
    assert (found["offset"] > found["onset"]).all()
