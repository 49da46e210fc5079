"""Nights of sleep datasets, scored beside the recording."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from omni_bench.data.edf import edf_annotations
from omni_bench.data.recording import open_recording
from omni_bench.datasets.sleep import annotated_stages, scored_epochs
from omni_bench.errors import BenchError
from tests.data import scalp_sleep as nights
from tests.data.scalp_cards import cohort_of
from tests.data.scalp_edf import count, edit, events_of, only_sine, stored_sines, write_recording
from tests.scalp_runs import probe

HYPNOGRAM = partial(annotated_stages, scoring=["SC4{subject}{session}*-Hypnogram.edf"])
STAGES = ("W", "N1", "N2", "N3", "REM")


def test_sleep_edf_keeps_half_an_hour_of_wake(tmp_path: Path) -> None:
    cohort = cohort_of("sleep_edf", nights.write_sleep_edf(tmp_path))
    own = events_of(cohort, "SC400_ses-1")
    assert own[0] == [1200, 1800, "Sleep stage W"]
    assert own[-1] == [3450, 1800, "Sleep stage W"]
    assert own[1:-1] == [list(note) for note in nights.LONG_NIGHT[1:-2]]
    short = events_of(cohort, "SC400_ses-2", "onset", "duration")
    assert (short[0], short[-1]) == ([0, 300], [690, 310])  # to the recording's end, not the scoring's


def test_sleep_edf_persons_are_not_nights(tmp_path: Path) -> None:
    cohort = cohort_of("sleep_edf", nights.write_sleep_edf(tmp_path))
    assert cohort.patients["person"].tolist() == ["SC400", "SC401", "SC436"]
    assert len(cohort) == 4
    assert not cohort.recordings["path"].str.contains("ST7").any()
    assert cohort.recordings["sfreq"].unique().tolist() == [100]
    assert cohort.channels["raw_name"].unique().tolist() == ["EEG Fpz-Cz", "EEG Pz-Oz"]
    assert only_sine(cohort, "SC401_ses-1") == "PZ-OZ"


def test_nobody_sleeps(tmp_path: Path) -> None:
    events = partial(HYPNOGRAM, asleep=["Sleep stage N9"], wake_margin_s=1800)
    with pytest.raises(BenchError, match="nobody sleeps in it, expected Sleep stage N9"):
        cohort_of("sleep_edf", nights.write_sleep_edf(tmp_path), events=events)


def test_no_hypnogram_or_two(tmp_path: Path) -> None:
    root = nights.write_sleep_edf(tmp_path)
    hypnogram = root / "sleep-cassette" / "SC4011EC-Hypnogram.edf"
    hypnogram.with_name("SC4011EH-Hypnogram.edf").write_bytes(hypnogram.read_bytes())
    with pytest.raises(BenchError, match=r"SC4011EC-Hypnogram\.edf and SC4011EH-Hypnogram\.edf both fit"):
        cohort_of("sleep_edf", root)
    for file in hypnogram.parent.glob("SC4011*Hypnogram.edf"):
        file.unlink()
    with pytest.raises(BenchError, match=r"no SC4011\*-Hypnogram.edf beside it"):
        cohort_of("sleep_edf", root)


def test_hmc_scoring_as_edf_and_as_table(tmp_path: Path) -> None:
    cohort = cohort_of("hmc", nights.write_hmc(tmp_path))
    assert cohort.recordings["recording"].tolist() == ["SN001", "SN002", "SN003"]
    as_edf, as_table = (sorted(events_of(cohort, person), key=repr) for person in ("SN001", "SN002"))
    assert as_edf == as_table == sorted(map(list, nights.CLINICAL), key=repr)
    assert cohort.channels["channel"].tolist()[:4] == ["F4", "C4", "O2", "C3"]
    assert only_sine(cohort, "SN002") == "O2"
    edit(tmp_path / "recordings" / "SN002_sleepscoring.txt", {"Recording onset": "Onset"})
    with pytest.raises(BenchError, match="no column Recording onset"):
        cohort_of("hmc", tmp_path)


@pytest.mark.parametrize(
    ("number", "recordings"), [(1, ["1", "2", "3"]), (2, ["1_ses-1", "1_ses-2"]), (3, ["1", "2", "3"])]
)
def test_isruc_epochs_count_from_the_start(tmp_path: Path, number: int, recordings: list[str]) -> None:
    cohort = cohort_of(f"isruc_{number}", nights.write_isruc(tmp_path, number))
    assert cohort.patients["person"].tolist() == ["1", "2", "3"]
    assert cohort.recordings["recording"].tolist()[: len(recordings)] == recordings
    assert events_of(cohort, recordings[0]) == [[30 * i, 30, stage] for i, stage in enumerate(nights.STAGES)]
    assert count(cohort, "scored after the recording's end") == 30 * len(cohort)
    names = cohort.channels.groupby("recording")["channel"].agg(list)
    assert names.map(tuple).unique().tolist() == [("F3", "C3", "O1", "F4", "C4", "O2")]
    assert only_sine(cohort, "2_ses-1" if number == 2 else "2") == "C4"  # other order, M1 for A1


def test_isruc_other_scorer_and_broken_list(tmp_path: Path) -> None:
    root = nights.write_isruc(tmp_path, 3)
    other = cohort_of("isruc_3", root, events=partial(scored_epochs, scorer=2))
    assert events_of(other, "1", "trial_type") == [["1"]] * 10
    edit(root / "Subgroup_3/2/2_1.txt", {"5\n": "REM\n"})
    with pytest.raises(BenchError, match="'REM' in it, expected one whole number per epoch of 30 s"):
        cohort_of("isruc_3", root)


def test_rec_is_read_lazily_as_edf(tmp_path: Path) -> None:
    """The same bytes under both names give the same signal, channel by channel."""
    edf = write_recording(tmp_path / "1.edf", nights.ISRUC_NAMES, 200, 20, sine="C4-A1", slow=["SaO2"])
    rec = tmp_path / "1.rec"
    rec.write_bytes(edf.read_bytes())
    first, second = (open_recording(path, ["X1", "C4-A1"]) for path in (edf, rec))
    assert (second.sfreq, second.n_times) == (200, 4000)
    np.testing.assert_array_equal(second.read(100, 900), first.read(100, 900))
    assert second._raw.preload is False


def test_real_sleep_edf(shared: Path, tmp_path: Path) -> None:
    real = shared / "data/scalp/sleep_edf_SC4001"
    (tmp_path / "SC4001E0-PSG.edf").symlink_to(real / "short_psg.edf")
    (tmp_path / "SC4001EC-Hypnogram.edf").symlink_to(real / "SC4001EC-Hypnogram.edf")
    everything = cohort_of("sleep_edf", tmp_path, events=HYPNOGRAM)
    assert everything.recordings.loc[0, ["sfreq", "duration"]].tolist() == [100, 300]
    assert events_of(everything, "SC400_ses-1") == [[0, 300, "Sleep stage W"]]
    assert count(everything, "before or after") == 153
    found = edf_annotations(real / "SC4001EC-Hypnogram.edf")["trial_type"].value_counts()
    assert found.rename(lambda text: text[-1]).to_dict() == {
        "3": 48,
        "2": 40,
        "1": 24,
        "4": 23,
        "W": 12,
        "R": 6,
        "?": 1,
    }
    signal = everything.open("SC400_ses-1").read()
    assert 5 < np.median(signal.std(axis=1)) < 100


PROBES: dict[str, tuple[Callable[[Path], object], tuple[int, ...], int, str]] = {
    # 9000 s: 120 epochs of wake are left, 2 of N1, 3 + 2 of N2, 2 + 3 of N3, 2 of REM; 1000 s three times
    "sleep_edf": (nights.write_sleep_edf, (120 + 3 * 20, 2 + 3 * 3, 5 + 3 * 3, 5 + 3 * 4, 2 + 3 * 3), 3, "PZ-OZ"),
    "hmc": (nights.write_hmc, (9, 6, 6, 6, 6), 3, "O2"),
    "isruc_1": (lambda root: nights.write_isruc(root, 1), (6, 6, 6, 9, 3), 3, "C4"),
    "isruc_2": (lambda root: nights.write_isruc(root, 2), (12, 12, 12, 18, 6), 3, "C4"),
    "isruc_3": (lambda root: nights.write_isruc(root, 3), (6, 6, 6, 9, 3), 3, "C4"),
}


@pytest.mark.slow
@pytest.mark.parametrize("task", PROBES)
def test_probe(task: str, tmp_path: Path) -> None:
    write, expected, persons, channel = PROBES[task]
    write(tmp_path / "tree")
    run = probe(task, tmp_path / "tree", tmp_path)
    assert run.units["label"].value_counts().to_dict() == dict(enumerate(expected))
    assert run.units["person"].nunique() == persons
    assert run.units.groupby("person")["split"].nunique().max() == 1
    assert (run.units["duration"] == 30).all()
    assert stored_sines(run.store, channel, 300) == pytest.approx([100] * len(run.cohort), rel=0.03)
    assert run.result["counts"]["test"]["per_class"].keys() == set(STAGES)
