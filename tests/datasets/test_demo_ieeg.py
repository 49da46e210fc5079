"""The synthetic intracranial release: layout, determinism, and what does and does not tell the classes apart."""

import hashlib
from pathlib import Path

import mne
import numpy as np
import pandas as pd
import pytest
from scipy.signal import butter, sosfiltfilt, welch
from sklearn.metrics import roc_auc_score

from omni_bench.datasets.demo_ieeg import write_demo_ieeg
from omni_bench.datasets.demo_ieeg_roster import channels, is_ictal, patients
from omni_bench.datasets.demo_ieeg_signals import DURATION_S, synthesise
from omni_bench.errors import BenchError

N_SMALL = 8
ID_PATTERNS = {
    "openieeg": r"sub-openieeg(Detroit\d{3}|UCLA\d{2})",
    "zurich": r"sub-zurich\d{2}",
    "hup": r"sub-hupHUP\d{3}",
    "sourcesink": r"sub-sourcesink(jh\d{3}|pt\d+|umf\d{3}|PY\d{2}N\d{3}|NIH\d{2})",
}
TASKS = {
    "openieeg": r"ses-01_task-sleep",
    "zurich": r"ses-01_run-\d{2}",
    "hup": r"ses-01_task-(interictal|ictal)_run-\d{2}",
    "sourcesink": r"ses-extraoperative_task-interictal(awake|asleep)?_run-\d{2}",
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "release"
    write_demo_ieeg(folder, n_patients=N_SMALL, seed=3)
    return folder


@pytest.fixture(scope="module")
def final_split(root: Path) -> pd.DataFrame:
    return pd.read_csv(root / "derivatives/datasplit/final_split.csv")


def sidecar(root: Path, edf_name: str) -> pd.DataFrame:
    return pd.read_csv(
        root / edf_name.replace("_ieeg.edf", "_channels.tsv"), sep="\t", dtype={"anatomical": str, "name": str}
    )


def read_uv(path: Path) -> tuple[np.ndarray, float, list[str]]:
    raw = mne.io.read_raw_edf(path, preload=True, verbose="error")
    return raw.get_data() * 1e6, raw.info["sfreq"], raw.ch_names


def digest(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_same_seed_same_bytes_and_another_seed_other_recordings(root: Path, tmp_path: Path) -> None:
    write_demo_ieeg(tmp_path / "again", n_patients=N_SMALL, seed=3)
    write_demo_ieeg(tmp_path / "other", n_patients=N_SMALL, seed=4)
    first, again, other = digest(root), digest(tmp_path / "again"), digest(tmp_path / "other")
    assert first == again
    assert first.keys() == other.keys()
    assert all(first[name] != other[name] for name in first if name.endswith((".edf", ".parquet")))


def test_participants(root: Path) -> None:
    table = pd.read_csv(root / "participants.tsv", sep="\t")
    assert list(table.columns) == ["participant_id", "dataset", "outcome", "event_annotation", "sex", "methods"]
    assert len(table) == N_SMALL
    assert set(table["dataset"]) == set(ID_PATTERNS)
    for row in table.itertuples():
        assert pd.Series([row.participant_id]).str.fullmatch(ID_PATTERNS[str(row.dataset)]).item()
    assert set(table["outcome"]) <= {-1, 0, 1}
    assert set(table["event_annotation"]) <= {0, 1}
    assert set(table["sex"]) <= {-1, 0, 1}


def test_final_split_names_every_recording_once_by_a_relative_path(root: Path, final_split: pd.DataFrame) -> None:
    assert list(final_split.columns) == [
        "patient_name", "edf_name", "dataset", "split", "frequency", "interictal", "length", "outcome",
        "has_resection", "has_soz", "has_anatomical",
    ]  # fmt: skip
    on_disk = {str(path.relative_to(root)) for path in root.glob("sub-*/*/ieeg/*.edf")}
    assert sorted(final_split["edf_name"]) == sorted(on_disk)
    assert not final_split.drop_duplicates(["patient_name", "split"])["patient_name"].duplicated().any()
    assert set(final_split["split"]) == {"train", "test"}
    assert (final_split["length"] >= 62).all()
    for row in final_split.itertuples():
        stem = Path(str(row.edf_name)).name.removesuffix("_ieeg.edf")
        assert pd.Series([stem]).str.fullmatch(f"{row.patient_name}_{TASKS[str(row.dataset)]}").item()
        assert row.interictal == ("task-ictal" not in stem)
        table = sidecar(root, str(row.edf_name))
        assert row.has_soz == (table["soz"] == 1).any()
        assert row.has_resection == (table["resection"] == 1).any() == (row.outcome != -1)
        assert row.has_anatomical == (table["anatomical"] != "-1").any() == (row.dataset == "openieeg")


def test_channel_tables_match_their_recordings(root: Path, final_split: pd.DataFrame) -> None:
    mapping = pd.read_csv(root / "derivatives/datasplit/anatomical_mapping.csv", dtype=str, keep_default_na=False)
    assert len(mapping) == 60
    n_bad = 0
    for row in final_split.itertuples():
        table = sidecar(root, str(row.edf_name))
        assert list(table.columns) == [
            "name", "good", "soz", "resection", "anatomical", "sampling_frequency", "low_cutoff", "high_cutoff",
            "edf_length",
        ]  # fmt: skip
        signals, sfreq, ch_names = read_uv(root / str(row.edf_name))
        assert table["name"].tolist() == ch_names
        assert (table["sampling_frequency"] == sfreq).all()
        assert sfreq == row.frequency == (2000 if "UCLA" in str(row.edf_name) else 1000)
        assert (table["edf_length"] == signals.shape[1] / sfreq).all()
        assert 8 <= (table["good"] == 1).sum() <= 14
        assert set(table["soz"]) == ({-1} if row.dataset == "zurich" else {0, 1})
        assert set(table["anatomical"]) <= set(mapping["label"])
        n_bad += (table["good"] == 0).sum()
    assert n_bad > 0


def test_resection_covers_the_focus_of_the_seizure_free_only() -> None:
    cohort = [patient for patient in patients(26) if patient.outcome != -1]
    share = {}
    for patient in cohort:
        table = channels(patient, seed=0)
        share[patient.subject] = sum(c.soz * c.resection for c in table) / sum(c.soz for c in table)
    free = [share[patient.subject] for patient in cohort if patient.outcome == 1]
    others = [share[patient.subject] for patient in cohort if patient.outcome == 0]
    assert min(free) >= 0.5
    assert max(others) <= 0.5
    assert 0.5 < np.mean(free) < 1.0  # a preserved SOZ channel in a seizure-free patient occurs
    outcome = [patient.outcome for patient in cohort if patient.split == "test"]
    assert roc_auc_score(outcome, [share[patient.subject] for patient in cohort if patient.split == "test"]) > 0.7


def test_roster_of_the_whole_cohort() -> None:
    cohort = patients(26)
    assert len({patient.subject for patient in cohort}) == 26
    test = [patient for patient in cohort if patient.split == "test"]
    assert len(test) >= 10
    for split in ("train", "test"):
        assert {patient.kind.source for patient in cohort if patient.split == split} == set(ID_PATTERNS)
        assert {patient.outcome for patient in cohort if patient.split == split} == {-1, 0, 1}
    assert len({patient.subject for patient in patients(80)}) == 80


def test_ictal_and_sleep_lists(root: Path, final_split: pd.DataFrame) -> None:
    split_of = final_split.set_index("patient_name")["split"].groupby(level=0).first()
    for name, labels in (("ictal", {"ictal", "interictal"}), ("sleep", {"sleep", "awake"})):
        table = pd.read_csv(root / f"derivatives/datasplit/{name}_split_cross.csv")
        assert list(table.columns) == ["patient", "edf_file", "label", "split"]
        assert set(table["edf_file"]) <= set(final_split["edf_name"])
        assert (table["split"].to_numpy() == split_of[table["patient"]].to_numpy()).all()
        for _, part in table.groupby("split"):
            assert set(part["label"]) == labels
        if name == "ictal":
            assert ((table["label"] == "ictal") == table["edf_file"].str.contains("task-ictal")).all()
        else:
            assert ((table["label"] == "awake") == table["edf_file"].str.contains("interictalawake")).all()


def test_detections(root: Path, final_split: pd.DataFrame) -> None:
    for row in final_split.itertuples():
        edf = Path(str(row.edf_name))
        table = pd.read_csv(root / "derivatives/hfo" / edf.parent / edf.name.replace(".edf", ".csv"))
        assert list(table.columns) == ["name", "start", "end", "detector", "participant", "session", "file_name"]
        assert set(table["detector"]) == {"ste", "mni", "hil"}
        assert set(table["file_name"]) == {edf.name}
        assert (table["start"] < table["end"]).all()
        assert table["start"].min() >= 0
        assert table["end"].max() <= DURATION_S * 1000
        assert set(table["name"]) <= set(sidecar(root, str(row.edf_name))["name"])


def test_annotations_show_the_labelled_event(root: Path, final_split: pd.DataFrame) -> None:
    annotated = pd.read_csv(root / "participants.tsv", sep="\t").query("event_annotation == 1")["participant_id"]
    expected = final_split[final_split["patient_name"].isin(annotated) & final_split["interictal"]]
    found = sorted((root / "derivatives/hfo_annotation").rglob("*.parquet"))
    assert {(path.parent.name, path.name) for path in found} == {
        (row.split, f"{Path(row.edf_name).name}.parquet") for row in expected.itertuples()
    }
    events = pd.concat([pd.read_parquet(path) for path in found], ignore_index=True)
    assert set(events.columns) == {"hfo_waveforms", "edf_file", "detector", "method", "artifact", "spike"}
    waveforms = np.stack(events["hfo_waveforms"].to_list())
    assert waveforms.shape == (len(events), 2000)
    classes = np.where(events["artifact"] == 0, 0, 1 + events["spike"])
    assert not ((events["artifact"] == 0) & (events["spike"] == 1)).any()
    assert (np.bincount(classes, minlength=3) / len(events) > 0.1).all()

    # the spike of class 2 is the large negative wave in the middle of its window, which class 1 lacks
    slow = sosfiltfilt(butter(2, [3, 40], "band", fs=1000, output="sos"), waveforms)
    depth = -slow[:, 960:1040].min(axis=1) / slow.std(axis=1)
    assert roc_auc_score(classes[classes > 0] == 2, depth[classes > 0]) > 0.95
    # and the ripple of both is there
    fast = sosfiltfilt(butter(4, [80, 400], "band", fs=1000, output="sos"), waveforms)
    peak = np.abs(fast[:, 950:1050]).max(axis=1) / np.median(np.abs(fast), axis=1)
    assert np.quantile(peak[classes > 0], 0.05) > 4


def test_recordings_read_back_within_one_quantum(root: Path) -> None:
    for patient in patients(N_SMALL)[:2]:
        for recording in patient.recordings:
            written, _ = synthesise(patient, recording, channels(patient, 3), 3)
            path = root / patient.subject / patient.kind.session / "ieeg" / f"{patient.stem(recording)}_ieeg.edf"
            quantum = np.ceil(np.abs(written).max(axis=1, keepdims=True)) / 32767
            assert (np.abs(read_uv(path)[0] - written) <= quantum).all()
            assert quantum.max() < 0.1
            header = path.read_bytes()[:184].decode("ascii")
            assert header[8:88].split() == ["X", "X", "X", "X"]  # patient's code, sex, birth date, name
            assert header[88:168].split() == ["Startdate", "01-JAN-1985", "X", "X", "X"]
            assert header[168:184] == "01.01.8500.00.00"


def test_truth_locates_the_planted_events(root: Path) -> None:
    ratios: dict[str, list[float]] = {"spike": [], "ripple": [], "fast_ripple": [], "spk_ripple": []}
    for edf in sorted(root.glob("sub-openieeg*/*/ieeg/*.edf")):
        signals, sfreq, ch_names = read_uv(edf)
        events = pd.read_csv(root / "derivatives/truth" / edf.name.replace("_ieeg.edf", "_events.tsv"), sep="\t")
        assert list(events.columns) == ["onset", "duration", "channel", "kind", "frequency"]
        assert set(events["kind"]) <= {*ratios, "gamma", "artifact", "muscle"}
        fast = sosfiltfilt(butter(4, [80, 400], "band", fs=sfreq, output="sos"), signals)
        for kind, planted in events[events["kind"].isin(ratios.keys())].groupby("kind"):
            trace = signals if kind == "spike" else fast
            for event in planted.itertuples():
                row = ch_names.index(event.channel)
                inside = slice(round(event.onset * sfreq), round((event.onset + event.duration) * sfreq))
                ratios[str(kind)].append(np.abs(trace[row, inside]).max() / np.median(np.abs(trace[row])))
    for kind, values in ratios.items():
        assert np.quantile(values, 0.05) > 4, kind


def test_seizures_dominate_the_ictal_recordings(root: Path) -> None:
    edfs = sorted(root.glob("sub-hup*/*/ieeg/*task-ictal*.edf"))
    assert edfs
    for edf in edfs:
        signals, sfreq, ch_names = read_uv(edf)
        events = pd.read_csv(root / "derivatives/truth" / edf.name.replace("_ieeg.edf", "_events.tsv"), sep="\t")
        seizures = events[events["kind"] == "seizure"]
        assert len(seizures) == (sidecar(root, f"{edf.relative_to(root)}")["good"] == 1).sum()
        for seizure in seizures.itertuples():
            trace = signals[ch_names.index(seizure.channel)]
            end = seizure.onset + seizure.duration
            late = trace[round((end - 8) * sfreq) : round(end * sfreq)]
            after = trace[round(end * sfreq) : round((end + 4) * sfreq)]
            assert late.std() > 2 * after.std()


@pytest.fixture(scope="module")
def channel_features() -> pd.DataFrame:
    """Amplitudes and planted counts of each good channel in every patient's first recording."""
    rows = []
    for patient in patients(26):
        table = channels(patient, 0)
        recording = patient.recordings[0]
        assert not is_ictal(recording)
        signals, events = synthesise(patient, recording, table, 0)
        freqs, power = welch(signals, patient.kind.sfreq, nperseg=round(2 * patient.kind.sfreq))
        counts = pd.crosstab(events["channel"], events["kind"])
        for index, channel in enumerate(table):
            if channel.good:
                line = np.abs(freqs - patient.kind.line_freq) <= 1
                rows.append(
                    {
                        "subject": patient.subject,
                        "soz": channel.soz,
                        "std": signals[index].std(),
                        "rms_1_40": np.sqrt(power[index, (freqs >= 1) & (freqs <= 40)].sum()),
                        "ripple_band": np.sqrt(power[index, (freqs >= 80) & (freqs <= 250)].sum()),
                        "fast_band": np.sqrt(power[index, (freqs >= 250) & (freqs <= 350)].sum()),
                        "line": power[index, line].sum(),
                        "spikes": counts.loc[channel.name, ["spike", "spk_ripple"]].sum(),
                        "lone_ripples": counts.loc[channel.name, ["ripple", "fast_ripple"]].sum(),
                        "artifacts": counts.loc[channel.name, "artifact"],
                        "riding": counts.loc[channel.name, "spk_ripple"],
                    }
                )
    return pd.DataFrame(rows)


def auc_within_patients(features: pd.DataFrame, name: str) -> float:
    return float(np.mean([roc_auc_score(part["soz"], part[name]) for _, part in features.groupby("subject")]))


@pytest.mark.parametrize(
    "name", ["std", "rms_1_40", "ripple_band", "fast_band", "line", "spikes", "lone_ripples", "artifacts"]
)
def test_amplitude_and_counts_carry_no_class(channel_features: pd.DataFrame, name: str) -> None:
    assert 0.4 < auc_within_patients(channel_features, name) < 0.6
    assert 0.4 < roc_auc_score(channel_features["soz"], channel_features[name]) < 0.6


def test_spike_riding_ripples_carry_the_class(channel_features: pd.DataFrame) -> None:
    assert auc_within_patients(channel_features, "riding") > 0.95
    assert roc_auc_score(channel_features["soz"], channel_features["riding"]) > 0.95


def test_refuses_a_used_folder_and_too_few_patients(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(BenchError, match="not empty"):
        write_demo_ieeg(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]
    with pytest.raises(BenchError, match="n_patients=7"):
        write_demo_ieeg(tmp_path / "new", n_patients=7)
    assert not (tmp_path / "new").exists()
