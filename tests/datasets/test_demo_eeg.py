"""The synthetic scalp data set: layout, determinism, and a class effect that holds across persons."""

import hashlib
import json
from pathlib import Path

import mne
import numpy as np
import pandas as pd
import pytest
from scipy.signal import welch
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from omni_bench.datasets.demo_eeg import CH_NAMES, SFREQ, write_demo_eeg
from omni_bench.errors import BenchError

BANDS = ((1, 4), (4, 8), (8, 13), (13, 30), (30, 45))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "scalp"
    write_demo_eeg(folder)
    return folder


def test_layout(root: Path) -> None:
    persons = pd.read_csv(root / "participants.tsv", sep="\t")["participant_id"]
    assert len(persons) == 12
    assert json.loads((root / "dataset_description.json").read_text())["DatasetType"] == "raw"
    for person in persons:
        for session in ("ses-01", "ses-02"):
            stem = root / person / session / "eeg" / f"{person}_{session}_task-motorimagery"
            raw = mne.io.read_raw_edf(f"{stem}_eeg.edf", verbose="error")
            channels = pd.read_csv(f"{stem}_channels.tsv", sep="\t")
            events = pd.read_csv(f"{stem}_events.tsv", sep="\t")
            assert raw.ch_names == channels["name"].tolist() == list(CH_NAMES)
            assert len(raw.ch_names) == 19
            assert set(channels["type"]) == {"EEG"}
            assert raw.info["sfreq"] == SFREQ == json.loads(Path(f"{stem}_eeg.json").read_text())["SamplingFrequency"]
            assert events["trial_type"].value_counts().to_dict() == {"left_hand": 10, "right_hand": 10}
            assert (events["trial_type"].map({"left_hand": 1, "right_hand": 2}) == events["value"]).all()
            assert (events["sample"] == events["onset"] * SFREQ).all()
            assert (np.diff(events["onset"]) >= events["duration"].iloc[0]).all()
            assert events["duration"].between(2, 4).all()
            assert (events["onset"] + events["duration"]).max() <= raw.n_times / SFREQ
            assert events["vigilance"].between(0, 1).all()


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    digests = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        write_demo_eeg(tmp_path / name, n_persons=2, seed=seed)
        files = sorted(path for path in (tmp_path / name).rglob("*") if path.is_file())
        digests.append(
            {path.relative_to(tmp_path / name): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
        )
    assert digests[0] == digests[1]
    assert all(digests[0][path] != digests[2][path] for path in digests[0] if path.suffix == ".edf")


@pytest.fixture(scope="module")
def trials(root: Path) -> tuple[np.ndarray, pd.DataFrame]:
    """Log band power (n_trials, n_channels, n_bands) and the trials' events with their person."""
    powers, tables = [], []
    for edf in sorted(root.glob("sub-*/*/eeg/*.edf")):
        signals = mne.io.read_raw_edf(edf, preload=True, verbose="error").get_data() * 1e6
        events = pd.read_csv(str(edf).replace("_eeg.edf", "_events.tsv"), sep="\t")
        for start, duration in zip(events["sample"], events["duration"], strict=True):
            freqs, power = welch(signals[:, start : start + round(duration * SFREQ)], SFREQ, nperseg=200)
            powers.append([power[:, (freqs >= low) & (freqs < high)].mean(axis=1) for low, high in BANDS])
        tables.append(events.assign(person=edf.name.split("_")[0]))
    return np.log(np.array(powers)).transpose(0, 2, 1), pd.concat(tables, ignore_index=True)


def test_class_is_learnable_across_persons(trials: tuple[np.ndarray, pd.DataFrame]) -> None:
    power, events = trials
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1))
    features = power.reshape(len(power), -1)
    predicted = cross_val_predict(model, features, events["value"], groups=events["person"], cv=GroupKFold(6))
    assert 0.75 < balanced_accuracy_score(events["value"], predicted) < 0.9


def test_class_is_in_the_topography_of_mu_not_in_the_overall_power(trials: tuple[np.ndarray, pd.DataFrame]) -> None:
    power, events = trials
    left = events["trial_type"] == "left_hand"
    mu = power[:, :, BANDS.index((8, 13))]
    lateral = mu[:, CH_NAMES.index("C3")] - mu[:, CH_NAMES.index("C4")]
    assert roc_auc_score(left, lateral) > 0.75  # left hand: power falls over the right hemisphere, C4
    assert 0.4 < roc_auc_score(left, mu.mean(axis=1)) < 0.6
    assert 0.4 < roc_auc_score(left, power[:, :, BANDS.index((30, 45))].mean(axis=1)) < 0.6


def test_vigilance_is_learnable_across_persons_and_independent_of_the_class(
    trials: tuple[np.ndarray, pd.DataFrame],
) -> None:
    power, events = trials
    model = make_pipeline(StandardScaler(), RidgeCV(np.logspace(0, 4, 9)))
    features = power.reshape(len(power), -1)
    predicted = cross_val_predict(model, features, events["vigilance"], groups=events["person"], cv=GroupKFold(6))
    assert np.corrcoef(predicted, events["vigilance"])[0, 1] > 0.4
    assert abs(np.corrcoef(events["value"], events["vigilance"])[0, 1]) < 0.15


def test_refuses_a_used_folder(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(BenchError, match="not empty"):
        write_demo_eeg(tmp_path)
