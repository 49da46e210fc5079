"""Fragility: a tiny tree in its dialect, and all real sidecars against an independent count."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omni_bench.data.cohort import Cohort
from omni_bench.datasets.fragility import read_fragility, seizures
from omni_bench.datasets.seizure_marks import pair_marks
from tests.data.fragility import write_fragility
from tests.data.raw_counts import noted, plain, raw_durations, raw_participants, raw_tables, real_source

WITHOUT_ONSET = {
    "jh102": 1,
    "jh103": 3,
    "jh104": 6,
    "jh105": 5,
    "jh106": 1,
    "jh108": 6,
    "pt17": 2,
    "pt2": 1,
    "pt3": 1,
    "pt6": 1,
}
"""Subject → recordings in which nobody marked an electrographic onset, counted by hand from the event lists."""


def test_tiny_tree(tmp_path: Path) -> None:
    cohort = read_fragility(write_fragility(tmp_path))
    patients = cohort.patients.set_index("subject")
    assert plain(patients.loc[["sub-pt01", "sub-jh104", "sub-ummc001"], "outcome"]) == [True, False, None]
    assert plain(patients.loc[["sub-pt01", "sub-jh104", "sub-ummc001"], "engel"]) == ["1", "3", None]
    assert patients.loc[["sub-pt01", "sub-jh104"], "person"].tolist() == ["sub-sourcesinkpt1", "sub-fragilityjh104"]
    assert cohort.recordings["ictal"].all()
    assert cohort.recordings.set_index("subject")["sfreq"].to_dict() == pytest.approx(
        {"sub-jh104": 1000, "sub-pt01": 1000, "sub-ummc001": 249.85355222464145}
    )
    assert cohort.recordings.set_index("subject")["duration"].to_dict() == {
        "sub-jh104": 181.2,
        "sub-pt01": 2,
        "sub-ummc001": 181.2,
    }
    assert cohort.channels[["soz", "resected"]].isna().all(axis=None)
    assert cohort.channels.loc[cohort.channels["channel"] == "EKG1", "good"].tolist() == [False] * 3
    assert noted(cohort.excluded, "ILAE") == 1  # jh104: F, ILAE 1
    found = {
        s: seizures(cohort.root / p).to_numpy().tolist()
        for s, p in cohort.recordings.set_index("subject")["path"].items()
    }
    assert found == {"sub-pt01": [[75.95, 161.82]], "sub-jh104": [], "sub-ummc001": [[31, 133]]}


def test_marks_pair() -> None:
    # an end before any onset, a second onset inside a seizure, a second end, a seizure that nobody saw the end of
    table = pair_marks(pd.Series([50.0, 10.0, 12.0]), pd.Series([5.0, 20.0, 30.0]))
    np.testing.assert_array_equal(table, [[10, 20], [50, np.nan]])


@given(st.lists(st.tuples(st.integers(0, 1000), st.booleans()), unique_by=lambda mark: mark[0]))
def test_seizures_never_overlap(marks: list[tuple[int, bool]]) -> None:
    onsets, offsets = (
        pd.Series([float(t) for t, is_onset in marks if is_onset == kind], dtype=float) for kind in (True, False)
    )
    table = pair_marks(onsets, offsets)
    times = table.to_numpy().ravel()
    times = times[~np.isnan(times)]
    assert (np.diff(times) > 0).all()
    assert table["offset"].iloc[:-1].notna().all()
    assert set(table["onset"]) <= set(onsets)
    assert (len(table) > 0) == (len(onsets) > 0)


@pytest.fixture(scope="module")
def real(shared: Path) -> Cohort:
    return read_fragility(real_source(shared, "ds003029"))


def test_real_sidecars(real: Cohort) -> None:
    folder, cohort = real.root, real
    raw, people, lengths = raw_tables(folder), raw_participants(folder), raw_durations(folder)
    named = raw[raw["name"] != "N/A"].reset_index(drop=True)
    ours = cohort.channels
    assert (
        (len(cohort.patients), len(cohort.recordings), len(ours))
        == (len(people), raw["file"].nunique(), len(named))
        == (35, 106, 11841)
    )
    assert ours[["soz", "resected"]].isna().all(axis=None)
    brain = (ours["type"] != "MISC").to_numpy()
    assert (~ours["good"][brain]).sum() == (named["status"] == "bad")[brain].sum()
    assert cohort.patients["outcome"].value_counts(dropna=False).to_dict() == {True: 20, False: 10, pd.NA: 5}
    assert people["outcome"].value_counts().to_dict() == {"S": 20, "F": 10, "NR": 5}
    assert cohort.patients["centre"].value_counts().to_dict() == people["site"].value_counts().to_dict()
    rates = raw.groupby("file")["sampling_frequency"].first().astype(float)
    assert sorted(cohort.recordings["sfreq"]) == pytest.approx(sorted(rates))
    assert cohort.recordings.set_index("recording")["duration"].to_dict() == pytest.approx(lengths)
    assert cohort.recordings["modality"].value_counts().to_dict() == {"ECOG": 105, "SEEG": 1}
    assert noted(cohort.excluded, "units column says n/a") == (named["units"] == "n/a").sum()
    assert (raw["units"] == "n/a").sum() == 8509
    in_sourcesink = cohort.patients["person"].str.startswith("sub-sourcesink")
    assert in_sourcesink.sum() == 10


def test_ten_persons_agree_with_sourcesink(real: Cohort, shared: Path) -> None:
    here = raw_participants(real.root).set_index("participant_id")
    there = raw_participants(real_source(shared, "ds003876")).set_index("participant_id")
    persons = real.patients.set_index("subject")["person"]
    joined = persons[persons.str.startswith("sub-sourcesink")].str.replace("sub-sourcesink", "sub-")
    for column in ("age", "sex", "outcome"):
        assert here.loc[joined.index, column].tolist() == there.loc[joined, column].tolist()


def test_channel_names_tell_the_same_ten_pairs(real: Cohort, shared: Path) -> None:
    persons = real.patients.set_index("subject")["person"]
    here, there = (_electrode_names(real_source(shared, accession)) for accession in ("ds003029", "ds003876"))
    for subject, names in here.items():
        for other, others in there.items():
            overlap = len(names & others) / len(names | others)
            same = persons[subject] == other.replace("sub-", "sub-sourcesink")
            assert overlap > 0.9 if same else overlap < 0.7, (subject, other)


def _electrode_names(folder: Path) -> dict[str, set[str]]:
    raw = raw_tables(folder)
    raw = raw[~raw["name"].str.match(r"(?:EKG|ECG|DC|\$|E$|EVENT|AIN|N/A|REF)")]
    return raw["name"].str.upper().groupby(raw["subject"]).agg(set).to_dict()


def test_real_seizures(shared: Path) -> None:
    folder = real_source(shared, "ds003029")
    files = sorted(folder.rglob("*_events.tsv"))
    found = {f.name: seizures(f.with_name(f.name.replace("_events.tsv", "_ieeg.vhdr"))) for f in files}
    missing = pd.Series(
        [name.split("_")[0].removeprefix("sub-") for name, table in found.items() if table.empty]
    ).value_counts()
    assert missing.to_dict() == WITHOUT_ONSET
    assert len(files) == 106
    together = pd.concat(found.values())
    assert len(together) == 106 - sum(WITHOUT_ONSET.values()) == 79
    assert together["offset"].isna().sum() == 3  # jh102, runs 04 to 06
    lengths = together["offset"] - together["onset"]
    assert (lengths.dropna() > 5).all()
    by_stem = {
        name.replace("_ses-presurgery_task-ictal_acq-ecog", "").removesuffix("_events.tsv"): table
        for name, table in found.items()
    }
    assert by_stem["sub-pt15_run-01"].to_numpy().tolist() == [[150.849, 269.064]]
    assert by_stem["sub-jh102_run-05"]["onset"].tolist() == pytest.approx([83.0], abs=0.1)
