"""Embedded scalp demo cohort: a small synthetic motor imagery data set as a BIDS tree.

Two classes differ in the topography of the mu rhythm, which falls over the hand area opposite to the imagined hand. A
continuous ``vigilance`` per trial sets the size of the occipital alpha rhythm and is independent of the class.
"""

from __future__ import annotations

import json
from pathlib import Path

import mne
import numpy as np
import pandas as pd
from rich.progress import track

from omni_bench.datasets.demo_files import new_folder, write_edf, write_table
from omni_bench.datasets.synthesis import Signal, add, background, band_noise, line_noise, stream

CH_NAMES = (
    "Fp1", "Fp2", "F7", "F3", "Fz", "F4", "F8", "T7", "C3", "Cz", "C4", "T8", "P7", "P3", "Pz", "P4", "P8", "O1", "O2",
)  # fmt: skip
CLASSES = ("left_hand", "right_hand")
SFREQ, LINE_HZ = 200.0, 50.0
DURATION_S, FIRST_TRIAL_S, TRIAL_S, PAUSE_S = 62.0, 1.0, 2.0, 1.0
N_TRIALS = int((DURATION_S - FIRST_TRIAL_S) / (TRIAL_S + PAUSE_S))

BACKGROUND_UV, EXPONENT, LINE_UV = 12.0, 1.2, 1.5
MU_UV, ALPHA_UV = 6.0, 8.0
MU_WIDTH, ALPHA_WIDTH = 2.0, 3.0  # Hz
SPREAD_M = 0.045  # of a rhythm over the scalp: the standard deviation of its topography
# Mean natural logarithm of the contralateral mu amplitude's fall, and the spread over trials that hides it.
# Chosen so that log band power and logistic regression reach a balanced accuracy of about 0.8 in unseen persons.
SUPPRESSION, SUPPRESSION_SD = 0.8, 0.5
VIGILANCE_GAIN = 1.2  # natural logarithm of the alpha amplitude's range from vigilance 0 to 1
SESSIONS = ("01", "02")


def write_demo_eeg(root: Path, n_persons: int = 12, seed: int = 0) -> None:
    """Write the cohort under ``root``, which must be absent or empty and is whole once it is there.

    Parameters
    ----------
    root : Path
        Folder to write.
    n_persons : int
        Number of persons, each with two sessions of 20 trials.
    seed : int
        Seed of everything that is random.

    Raises
    ------
    BenchError
        If ``root`` holds anything.
    """
    with new_folder(root) as folder:
        _write_tree(folder, n_persons, seed)


def _write_tree(root: Path, n_persons: int, seed: int) -> None:
    persons = [f"sub-{number:02d}" for number in range(1, n_persons + 1)]
    rng = stream(seed, "participants")
    participants = pd.DataFrame(
        {
            "participant_id": persons,
            "age": rng.integers(20, 60, n_persons),
            "sex": rng.choice(["F", "M"], n_persons),
        }
    )
    write_table(participants, root / "participants.tsv")
    _write_json(
        {"Name": "omni_bench synthetic scalp EEG", "BIDSVersion": "1.9.0", "DatasetType": "raw", "License": "CC0"},
        root / "dataset_description.json",
    )
    (root / "README").write_text("Synthetic scalp EEG made by omni_bench.datasets.demo_eeg; no person was recorded.\n")
    for person in track(persons, description="demo_eeg: writing recordings"):
        for session in SESSIONS:
            _write_recording(root, person, session, seed)


def _write_recording(root: Path, person: str, session: str, seed: int) -> None:
    signals, events = _synthesise(person, session, seed)
    folder = root / person / f"ses-{session}" / "eeg"
    stem = f"{person}_ses-{session}_task-motorimagery"
    write_edf(folder / f"{stem}_eeg.edf", signals, SFREQ, CH_NAMES)
    channels = pd.DataFrame(
        {"name": CH_NAMES, "type": "EEG", "units": "uV", "sampling_frequency": SFREQ, "status": "good"}
    )
    write_table(channels, folder / f"{stem}_channels.tsv")
    write_table(events, folder / f"{stem}_events.tsv")
    _write_json(
        {
            "TaskName": "motorimagery",
            "SamplingFrequency": SFREQ,
            "PowerLineFrequency": LINE_HZ,
            "EEGReference": "average of both earlobes",
            "SoftwareFilters": "n/a",
        },
        folder / f"{stem}_eeg.json",
    )
    _write_json(
        {
            "trial_type": {"Levels": {"left_hand": "imagined left hand", "right_hand": "imagined right hand"}},
            "vigilance": {"Description": "alertness during the trial, from 0 (drowsy) to 1 (awake)"},
        },
        folder / f"{stem}_events.json",
    )


def _synthesise(person: str, session: str, seed: int) -> tuple[Signal, pd.DataFrame]:
    """Signals (n_channels, n_times; µV) and events of one session; rhythms' frequencies and sizes are the person's."""
    traits, rng = stream(seed, person), stream(seed, person, session)
    mu_hz, alpha_hz = traits.uniform(9.5, 12.0), traits.uniform(8.5, 10.5)
    mu_uv, alpha_uv = MU_UV * traits.lognormal(0, 0.2), ALPHA_UV * traits.lognormal(0, 0.2)
    labels = rng.permutation(np.arange(N_TRIALS) % 2)
    vigilance = rng.uniform(0, 1, N_TRIALS)
    onsets = FIRST_TRIAL_S + np.arange(N_TRIALS) * (TRIAL_S + PAUSE_S)

    n_times = round(DURATION_S * SFREQ)
    signals = np.stack([background(rng, n_times, SFREQ, BACKGROUND_UV, EXPONENT) for _ in CH_NAMES])
    phase = rng.uniform(0, 2 * np.pi)
    signals += line_noise(n_times, SFREQ, LINE_HZ, LINE_UV, phase)
    falls = SUPPRESSION + SUPPRESSION_SD * rng.standard_normal(N_TRIALS)
    for hemisphere, site in enumerate(("C4", "C3")):  # left hand: C4 falls; right hand: C3
        mu = _rhythm(rng, n_times, mu_hz, MU_WIDTH, mu_uv, onsets, -falls * (labels == hemisphere))
        signals += _topography(site)[:, None] * mu
    alpha = _rhythm(rng, n_times, alpha_hz, ALPHA_WIDTH, alpha_uv, onsets, VIGILANCE_GAIN * (vigilance - 0.5))
    signals += np.maximum(_topography("O1"), _topography("O2"))[:, None] * alpha
    events = pd.DataFrame(
        {
            "onset": onsets,
            "duration": TRIAL_S,
            "trial_type": [CLASSES[label] for label in labels],
            "value": labels + 1,
            "sample": np.rint(onsets * SFREQ).astype(int),
            "vigilance": vigilance.round(4),
        }
    )
    return signals, events


def _rhythm(
    rng: np.random.Generator,
    n_times: int,
    centre: float,
    width: float,
    rms: float,
    onsets: np.ndarray,
    log_gains: np.ndarray,
) -> Signal:
    """Narrow-band noise of ``rms`` µV around ``centre`` Hz whose amplitude is ``exp(log_gain)`` during each trial."""
    envelope = np.ones(n_times)
    n_trial = round(TRIAL_S * SFREQ)
    for onset, log_gain in zip(onsets, log_gains, strict=True):
        add(envelope, np.full(n_trial, np.exp(log_gain) - 1), onset, SFREQ)
    return envelope * band_noise(rng, n_times, SFREQ, rms, centre - width / 2, centre + width / 2)


def _topography(site: str) -> Signal:
    """Weight of a source under ``site`` at each channel: Gaussian in the distance, 1 at the site itself."""
    # MNE 1.13 renamed standard_1020 and 1.14 drops the old name
    name = "colin27_1020" if "colin27_1020" in mne.channels.get_builtin_montages() else "standard_1020"
    positions = mne.channels.make_standard_montage(name).get_positions()["ch_pos"]
    distances = np.array([np.linalg.norm(positions[name] - positions[site]) for name in CH_NAMES])
    return np.exp(-0.5 * (distances / SPREAD_M) ** 2)


def _write_json(content: dict[str, object], path: Path) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n")
