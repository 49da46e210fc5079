"""Who is in the synthetic intracranial cohort: patients, their recordings and their channels."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from itertools import cycle, islice

import numpy as np
import pandas as pd

from omni_bench.datasets.synthesis import stream

MAPPING_FILE = files("omni_bench.datasets").joinpath("anatomical_mapping.csv")

N_CHANNELS = (8, 14)  # good contacts per patient, both ends included
N_SOZ = (2, 4)
PRESERVED_SOZ_SHARE = 0.25  # of the seizure-free patients with known SOZ: one SOZ channel stays in


@dataclass(frozen=True)
class Kind:
    """What the patients of one hospital or batch share. ``subject`` is the pattern of the release's ids."""

    source: str
    subject: str
    session: str
    sfreq: float
    line_freq: float
    bipolar: bool = False


KINDS = {
    "Detroit": Kind("openieeg", "sub-openieegDetroit{:03d}", "ses-01", 1000.0, 60.0),
    "UCLA": Kind("openieeg", "sub-openieegUCLA{:02d}", "ses-01", 2000.0, 60.0),
    "zurich": Kind("zurich", "sub-zurich{:02d}", "ses-01", 1000.0, 50.0, bipolar=True),
    "HUP": Kind("hup", "sub-hupHUP{:03d}", "ses-01", 1000.0, 60.0),
    "jh": Kind("sourcesink", "sub-sourcesinkjh{:03d}", "ses-extraoperative", 1000.0, 60.0),
    "pt": Kind("sourcesink", "sub-sourcesinkpt{:d}", "ses-extraoperative", 1000.0, 60.0),
    "umf": Kind("sourcesink", "sub-sourcesinkumf{:03d}", "ses-extraoperative", 1000.0, 60.0),
    "PY": Kind("sourcesink", "sub-sourcesinkPY18N{:03d}", "ses-extraoperative", 1000.0, 60.0),
    "NIH": Kind("sourcesink", "sub-sourcesinkNIH{:02d}", "ses-extraoperative", 1000.0, 60.0),
}

SLEEP = ("task-sleep",)
RUN = ("run-01",)
TWO_RUNS = ("run-01", "run-02")
INTERICTAL = ("task-interictal_run-01",)
ICTAL = ("task-interictal_run-01", "task-ictal_run-01")
TWO_ICTAL = ("task-interictal_run-01", "task-ictal_run-01", "task-ictal_run-02")
BOTH_STATES = ("task-interictalawake_run-01", "task-interictalasleep_run-01")

# kind, split, outcome, recordings, expert event labels, what the bad channel is.
# Ordered so that the first eight already hold every source, both outcomes in both splits, ictal and awake recordings.
_ROSTER: tuple[tuple[str, str, int, tuple[str, ...], bool, str | None], ...] = (
    ("Detroit", "train", 1, SLEEP, True, None),
    ("HUP", "train", 0, ICTAL, True, "ekg"),
    ("Detroit", "test", 1, SLEEP, True, "noisy"),
    ("jh", "test", 0, BOTH_STATES, True, None),
    ("zurich", "train", 1, TWO_RUNS, True, None),
    ("UCLA", "test", 1, SLEEP, True, None),
    ("HUP", "test", 0, ICTAL, True, "flat"),
    ("pt", "train", 1, BOTH_STATES, True, "ekg"),
    ("UCLA", "train", 0, SLEEP, True, None),
    ("zurich", "test", 1, RUN, True, None),
    ("HUP", "train", 1, TWO_ICTAL, False, None),
    ("umf", "train", 0, BOTH_STATES, False, "flat"),
    ("Detroit", "train", 0, SLEEP, False, None),
    ("HUP", "test", 1, ICTAL, False, None),
    ("UCLA", "test", 0, SLEEP, True, "noisy"),
    ("PY", "train", -1, INTERICTAL, True, None),
    ("UCLA", "train", 1, SLEEP, True, "noisy"),
    ("Detroit", "train", 1, SLEEP, True, None),
    ("zurich", "test", 0, RUN, False, None),
    ("umf", "test", 1, BOTH_STATES, False, "ekg"),
    ("HUP", "train", 1, ICTAL, False, None),
    ("Detroit", "test", 0, SLEEP, False, None),
    ("zurich", "train", 0, RUN, False, None),
    ("NIH", "test", -1, INTERICTAL, False, None),
    ("HUP", "test", 1, INTERICTAL, False, "ekg"),
    ("Detroit", "train", -1, SLEEP, False, None),
)


@dataclass(frozen=True)
class Patient:
    """One row of the cohort; ``outcome`` 1 seizure-free, 0 not, -1 unknown (not operated)."""

    subject: str
    kind: Kind
    split: str
    outcome: int
    recordings: tuple[str, ...]
    annotated: bool
    bad: str | None

    def stem(self, recording: str) -> str:
        """File name stem of a recording, without the ``_ieeg.edf`` suffix."""
        return f"{self.subject}_{self.kind.session}_{recording}"


def patients(n_patients: int) -> list[Patient]:
    """The first ``n_patients`` of the cohort; beyond the roster's end it starts over with new ids."""
    counters = dict.fromkeys(KINDS, 0)
    cohort = []
    for name, split, outcome, recordings, annotated, bad in islice(cycle(_ROSTER), n_patients):
        counters[name] += 1
        kind = KINDS[name]
        cohort.append(Patient(kind.subject.format(counters[name]), kind, split, outcome, recordings, annotated, bad))
    return cohort


def is_ictal(recording: str) -> bool:
    return recording.startswith("task-ictal")


def is_awake(recording: str) -> bool:
    return recording.startswith("task-interictalawake")


@dataclass(frozen=True)
class Channel:
    """A contact as it truly is: ``soz`` is known even where the release does not know it.

    ``gain`` and ``line`` are the relative amplitudes of its background and of its line noise, ``slope`` is what its
    background's 1/f exponent has above the recording's.
    """

    name: str
    good: int
    soz: int
    resection: int
    anatomical: str
    gain: float
    line: float
    slope: float


def channels(patient: Patient, seed: int) -> list[Channel]:
    """Channels of a patient, the same in each recording."""
    rng = stream(seed, patient.subject, "channels")
    n_channels = int(rng.integers(N_CHANNELS[0], N_CHANNELS[1] + 1))
    n_soz = int(rng.integers(N_SOZ[0], N_SOZ[1] + 1))
    first = int(rng.integers(0, n_channels - n_soz + 1))  # neighbouring contacts, as a focus has them
    soz = np.zeros(n_channels, dtype=int)
    soz[first : first + n_soz] = 1
    names = _names(n_channels, patient.kind.bipolar)
    resection = _resection(rng, soz, patient)
    labels = _labels(patient, n_channels, seed) if patient.kind.source == "openieeg" else ["-1"] * n_channels
    gains = _balanced(rng, rng.lognormal(0.0, 0.25, n_channels), soz) * rng.lognormal(0.0, 0.1)
    lines = _balanced(rng, rng.lognormal(0.0, 0.4, n_channels), soz)
    slopes = _balanced(rng, rng.normal(0.0, 0.15, n_channels), soz)
    table = [
        Channel(
            names[i], 1, int(soz[i]), int(resection[i]), labels[i], float(gains[i]), float(lines[i]), float(slopes[i])
        )
        for i in range(n_channels)
    ]
    if patient.bad is not None:
        name = "EKG" if patient.bad == "ekg" else "X1"
        table.append(Channel(name, 0, 0, min(patient.outcome, 0), "-1", 1.0, 1.0, 0.0))
    return table


def _names(n_channels: int, bipolar: bool) -> list[str]:
    shafts = ("LA", "LH", "RA", "RH")
    contacts = [(shafts[index // 4], index % 4 + 1) for index in range(n_channels)]
    if bipolar:
        return [f"{shaft}{contact}-{shaft}{contact + 1}" for shaft, contact in contacts]
    return [f"{shaft}{contact}" for shaft, contact in contacts]


def _labels(patient: Patient, n_channels: int, seed: int) -> list[str]:
    """Raw labels, one of the 12 regions after the other, and one contact in white matter."""
    rng = stream(seed, patient.subject, "anatomy")
    with MAPPING_FILE.open() as file:
        mapping = pd.read_csv(file, dtype=str, keep_default_na=False)
    known = mapping[mapping["Proposal_2"] != "-1"]
    regions = [group["label"].to_numpy() for _, group in known.groupby("Proposal_2", sort=False)]
    shift = int(rng.integers(len(regions)))
    labels = [str(rng.choice(regions[(index + shift) % len(regions)])) for index in range(n_channels)]
    labels[int(rng.integers(n_channels))] = "WM"
    return labels


def _resection(rng: np.random.Generator, soz: np.ndarray, patient: Patient) -> np.ndarray:
    """Seizure-free: the whole SOZ went, or all but one channel; not seizure-free: one SOZ channel did."""
    if patient.outcome == -1:
        return np.full(soz.size, -1)
    focus, others = rng.permutation(np.flatnonzero(soz)), rng.permutation(np.flatnonzero(soz == 0))
    if patient.outcome == 0:
        removed = focus[:1]
    elif patient.kind.source != "zurich" and rng.random() < PRESERVED_SOZ_SHARE:
        removed = focus[:-1]
    else:
        removed = focus
    resection = np.zeros(soz.size, dtype=int)
    resection[removed] = 1
    resection[others[: rng.integers(1, 3)]] = 1
    return resection


def _balanced(rng: np.random.Generator, values: np.ndarray, soz: np.ndarray) -> np.ndarray:
    """Deal ``values`` so that the SOZ channels take evenly spaced ranks: an AUC of 1/2 within the patient by design."""
    ordered = np.sort(values)
    n_soz = int(soz.sum())
    ranks = np.floor((np.arange(n_soz) + 0.5) * values.size / n_soz).astype(int)
    dealt = np.empty_like(values)
    dealt[soz == 1] = rng.permutation(ordered[ranks])
    dealt[soz == 0] = rng.permutation(np.delete(ordered, ranks))
    return dealt
