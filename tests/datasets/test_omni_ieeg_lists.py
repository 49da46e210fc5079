"""The lists of the ictal and sleep tasks, and the labels of channels and recordings."""

from pathlib import Path

import pandas as pd
import pytest

from omni_bench.datasets.anatomy_labels import anatomy_label
from omni_bench.datasets.omni_ieeg_lists import listed, published_list
from omni_bench.errors import BenchError
from omni_bench.evaluation import state_label
from tests.cohorts import cohort_of

RECORDINGS = {
    "sub-a_ses-01_task-ictal_run-01": ("sub-a", "test"),
    "sub-a_ses-01_task-interictal_run-01": ("sub-a", "test"),
    "sub-b_ses-01_run-01": ("sub-b", "test"),
}
HEADER = "patient,edf_file,label,split\n"


def line(recording: str, label: str, split: str) -> str:
    subject = recording.split("_")[0]
    return f"{subject},{subject}/ses-01/ieeg/{recording}_ieeg.edf,{label},{split}\n"


def test_a_list_says_who_takes_part_what_it_is_and_who_is_trained_on(tmp_path: Path) -> None:
    file = tmp_path / "ictal_split_cross.csv"
    lines = [line(name, "ictal" if "task-ictal" in name else "interictal", "train") for name in list(RECORDINGS)[:2]]
    file.write_text(HEADER + "".join(lines) + line("sub-c_ses-01_run-01", "ictal", "test"))
    cohort = listed(cohort_of(tmp_path, RECORDINGS), file)
    assert cohort.recordings["ictal"].tolist() == [True, False]
    assert cohort.patients["split"].tolist() == ["train"]
    assert {(entry["reason"], entry["n"]) for entry in cohort.excluded} == {
        ("not in ictal_split_cross.csv", 1),
        ("in ictal_split_cross.csv, but not in the data", 1),
    }
    assert state_label(cohort.recordings, "ictal").tolist() == [1, 0]


def test_a_sleep_list_overrides_what_names_say(tmp_path: Path) -> None:
    file = tmp_path / "sleep_split_cross.csv"
    file.write_text(HEADER + line("sub-b_ses-01_run-01", "sleep", "train"))
    cohort = listed(cohort_of(tmp_path, RECORDINGS), file)
    assert cohort.recordings["state"].tolist() == ["asleep"]


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        # patients, and recordings per class, of both parts, as the paper and its lists have them
        ("ictal", {"train": (16, {"ictal": 33, "interictal": 27}), "test": (9, {"ictal": 15, "interictal": 16})}),
        ("sleep", {"train": (13, {"sleep": 19, "awake": 7}), "test": (8, {"sleep": 11, "awake": 4})}),
    ],
)
def test_published_lists_have_the_published_counts(name: str, counts: dict[str, tuple[int, dict[str, int]]]) -> None:
    table = published_list(name)
    assert table["recording"].is_unique
    for split, (n_patients, n_recordings) in counts.items():
        part = table[table["split"] == split]
        assert part["patient"].nunique() == n_patients
        assert part["label"].value_counts().to_dict() == n_recordings
    assert not set(table.loc[table["split"] == "train", "patient"]) & set(
        table.loc[table["split"] == "test", "patient"]
    )


def test_published_list_holds_where_the_data_bring_none(tmp_path: Path) -> None:
    recordings = {
        "sub-hupHUP140_ses-01_task-ictal_run-02": ("sub-hupHUP140", "train"),
        "sub-zurich03_ses-01_run-34": ("sub-zurich03", "train"),
        "sub-zurich03_ses-01_run-35": ("sub-zurich03", "train"),
        "sub-sourcesinkPY19N023_ses-extraoperative_task-interictal_run-01": ("sub-sourcesinkPY19N023", "test"),
    }
    cohort = listed(cohort_of(tmp_path, recordings), tmp_path / "ictal_split_cross.csv")
    found = cohort.recordings.set_index("recording")["ictal"]
    assert found.to_dict() == dict(zip(list(recordings)[:2] + list(recordings)[3:], [True, False, False], strict=True))
    assert cohort.patients.set_index("subject")["split"].to_dict() == {
        "sub-hupHUP140": "test",
        "sub-zurich03": "test",
        "sub-sourcesinkPY19N023": "train",
    }


def test_without_a_list_the_cohort_stays(tmp_path: Path) -> None:
    cohort = cohort_of(tmp_path, RECORDINGS)
    assert listed(cohort, tmp_path / "absent.csv") is cohort


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (line("sub-b_ses-01_run-01", "seizure", "train"), "label 'seizure': unknown"),
        (
            "".join(line(name, "ictal", split) for name, split in zip(RECORDINGS, ("train", "test"), strict=False)),
            "patient sub-a stands in two splits",
        ),
        (line("sub-z_ses-01_run-01", "ictal", "train"), "no recording is left"),
    ],
)
def test_bad_lists_are_one_clear_line(tmp_path: Path, lines: str, message: str) -> None:
    file = tmp_path / "list.csv"
    file.write_text(HEADER + lines)
    with pytest.raises(BenchError, match=message):
        listed(cohort_of(tmp_path, RECORDINGS), file)


def test_unknown_states_have_no_label() -> None:
    units = pd.DataFrame({"state": pd.array(["asleep", "awake", pd.NA], "string")})
    assert state_label(units, "state", "asleep").tolist() == [1, 0, pd.NA]


def test_regions_are_numbered_as_published() -> None:
    units = pd.DataFrame(
        {"anatomical": pd.array(["insula", "WM", "lateralorbitofrontal", "postcentral", pd.NA], "string")}
    )
    assert anatomy_label(units, 5).tolist() == [4, pd.NA, 4, 2, pd.NA]
    assert anatomy_label(units, 12).tolist() == [10, 11, 6, 7, pd.NA]
