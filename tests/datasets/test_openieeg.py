"""Open iEEG: a tiny tree in its dialect, and all real sidecars against an independent count."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from omni_bench.datasets.openieeg import read_openieeg
from omni_bench.errors import BenchError
from tests.data.openieeg import write_openieeg
from tests.data.raw_counts import noted, plain, raw_durations, raw_participants, raw_tables, real_source


def test_tiny_tree(tmp_path: Path) -> None:
    cohort = read_openieeg(write_openieeg(tmp_path))
    patients = cohort.patients.set_index("subject")
    assert plain(patients["outcome"]) == [True, None]
    assert patients["centre"].tolist() == ["Detroit", "UCLA"]
    assert patients["sex"].tolist() == ["male", "female"]
    assert patients["person"].tolist() == ["sub-openieegDetroit001", "sub-openieegUCLA42"]
    recordings = cohort.recordings.set_index("subject")
    assert recordings["sfreq"].tolist() == [1000, 200]
    assert recordings["duration"].tolist() == [4, 3899.995]
    assert recordings["modality"].tolist() == ["ECOG", "SEEG"]
    assert recordings["state"].tolist() == ["asleep", "asleep"]
    channels = cohort.channels.set_index("channel")
    assert list(channels.index) == ["A1", "A2", "A3", "A4", "G1", "G2", "LAH1-LAH2", "F3"]
    assert channels["raw_name"].tolist()[:5] == ["A1-AV", "A2-AV", "A3-AV", "A4-AV", "POL G1"]
    assert plain(channels.loc["A1":"A4", "good"]) == [True, True, False, None]
    assert plain(channels.loc["A1":"A4", "soz"]) == [False, True, None, False]
    assert plain(channels.loc["A1":"A4", "resected"]) == [True, True, None, False]
    assert plain(channels.loc["A1":"A4", "anatomical"]) == ["fusiform", "fusiform", None, "WM"]
    assert channels.loc["F3", ["type", "good"]].tolist() == ["MISC", False]
    assert noted(cohort.excluded, "sampling_frequency of participants.tsv") == 1
    assert noted(cohort.excluded, "without a recording") == 1


def test_absent_signal_is_said_only_when_it_is_opened(tmp_path: Path) -> None:
    cohort = read_openieeg(write_openieeg(tmp_path))
    with_signal, without = cohort.recordings["recording"]
    signal = cohort.open(with_signal).read()
    assert signal.shape == (3, 4000)
    assert 45 < signal.std() < 55
    with pytest.raises(BenchError, match=r"sub-UCLA42.*_ieeg\.edf: no such recording"):
        cohort.open(without)


def test_the_files_own_rate_beats_the_table(tmp_path: Path) -> None:
    root = write_openieeg(tmp_path)
    table = next(root.rglob("sub-Detroit001*_channels.tsv"))
    table.write_text(table.read_text().replace("1000.0", "2000.0"))
    cohort = read_openieeg(root)
    assert cohort.recordings["sfreq"].tolist() == [1000, 200]
    assert noted(cohort.excluded, "not the recording's") == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\t0.0\t1.0\ts\t", "\t0.0\tmaybe\ts\t", "column 'resection' has 'maybe'"),
        ("soz\tbad", "soz\tbaad", "no column bad"),
        ("A2-AV", "Q9", "no channel Q9"),
    ],
)
def test_broken_table(tmp_path: Path, old: str, new: str, message: str) -> None:
    root = write_openieeg(tmp_path)
    table = next(root.rglob("sub-Detroit001*_channels.tsv"))
    table.write_text(table.read_text().replace(old, new))
    with pytest.raises(BenchError, match=message):
        read_openieeg(root)
    left = read_openieeg(root, on_error="skip")
    assert left.patients["subject"].tolist() == ["sub-UCLA42"]
    assert noted(left.excluded, message) == 1


def test_real_sidecars(shared: Path) -> None:
    folder = real_source(shared, "ds005398")
    raw, people, lengths = raw_tables(folder), raw_participants(folder), raw_durations(folder)
    cohort = read_openieeg(folder)
    ours = cohort.channels.merge(cohort.recordings, on="recording")
    assert (
        (len(cohort.patients), len(cohort.recordings), len(ours))
        == (len(people), raw["file"].nunique(), len(raw))
        == (185, 185, 19870)
    )
    for column, name in (("soz", "soz"), ("resected", "resection")):
        number = pd.to_numeric(raw[name], errors="coerce")
        assert (ours[column].sum(), ours[column].isna().sum()) == ((number == 1).sum(), number.isna().sum())
    scalp = (ours["type"] == "MISC").to_numpy()
    assert (~ours["good"][~scalp]).sum() == (pd.to_numeric(raw["bad"], errors="coerce")[~scalp] == 1).sum()
    assert cohort.patients["outcome"].sum() == 113
    assert (cohort.patients["outcome"].sum(), cohort.patients["outcome"].isna().sum()) == (
        (people["Engel_Class1"] == "1").sum(),
        (people["Engel_Class1"] == "n/a").sum(),
    )
    rates = raw.groupby("subject")["sampling_frequency"].first().astype(float)
    assert cohort.recordings.set_index("subject")["sfreq"].to_dict() == rates.to_dict()
    assert (ours["anatomical"].isna().sum(), ours["anatomical"].nunique()) == ((raw["label"] == "n/a").sum(), 49)
    known = cohort.recordings.set_index("recording")["duration"]
    assert known[list(lengths)].to_dict() == lengths
    assert noted(cohort.excluded, "length unknown") == 185 - len(lengths)
    assert noted(cohort.excluded, "sampling_frequency of participants.tsv") == 1  # UCLA42
    assert noted(cohort.excluded, "units column") == (raw["units"] != "µV").sum() == 0
    assert cohort.recordings["modality"].value_counts().to_dict() == {"ECOG": 167, "SEEG": 18}
    assert np.isin(["A13", "G1", "LAH1-LAH2"], ours["channel"]).all()
