"""Embedded intracranial demo cohort: a small synthetic release in the layout of the harmonised Omni-iEEG data set.

Everything is drawn from the seed, one random stream per patient and recording: the same seed gives the same bytes.
``derivatives/truth`` is not part of that layout; it says what was planted (see `demo_ieeg_signals`).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from rich.progress import track
from scipy.signal import resample_poly

from omni_bench.datasets.demo_files import new_folder, write_edf, write_table
from omni_bench.datasets.demo_ieeg_roster import MAPPING_FILE, Channel, Patient, channels, is_ictal, patients
from omni_bench.datasets.demo_ieeg_signals import DURATION_S, synthesise
from omni_bench.datasets.synthesis import LOWEST_HZ, Signal, stream
from omni_bench.errors import BenchError

MIN_PATIENTS = 8  # the fewest that hold every source, both outcomes in the test split, and ictal and awake recordings
DETECTION_SFREQ = 1000
# share of the planted events that each detector reports: true HFOs, and the artefacts and muscle taken for HFOs
HITS = {"ste": 0.7, "mni": 0.5, "hil": 0.6}
FALSE_HITS = {"ste": 0.9, "mni": 0.7, "hil": 0.9}
ANNOTATED_PER_DETECTOR = 40
WAVEFORM_SAMPLES = 2000
HFO_KINDS = ("ripple", "fast_ripple", "spk_ripple")


def write_demo_ieeg(root: Path, n_patients: int = 26, seed: int = 0) -> None:
    """Write the cohort under ``root``, which must be absent or empty and is whole once it is there.

    Parameters
    ----------
    root : Path
        Folder to write.
    n_patients : int
        At least 8; beyond 26 the roster starts over with new ids and new random draws.
    seed : int
        Seed of everything that is random.

    Raises
    ------
    BenchError
        If ``root`` holds anything or ``n_patients`` is below 8.
    """
    if n_patients < MIN_PATIENTS:
        raise BenchError(f"demo_ieeg: n_patients={n_patients}, expected at least {MIN_PATIENTS}: ask for more")
    with new_folder(root) as folder:
        _write_release(folder, patients(n_patients), seed)


def _write_release(root: Path, cohort: list[Patient], seed: int) -> None:
    recordings: list[dict[str, object]] = []
    truth: list[tuple[str, str, int]] = []
    for patient in track(cohort, description="demo_ieeg: writing recordings"):
        table = channels(patient, seed)
        truth += [(patient.subject, channel.name, channel.soz) for channel in table]
        for recording in patient.recordings:
            _write_recording(root, patient, recording, table, seed)
            recordings.append(_split_row(patient, recording, table))
    final_split = pd.DataFrame(recordings)
    splits = root / "derivatives" / "datasplit"
    write_table(_participants(cohort, seed), root / "participants.tsv")
    write_table(final_split, splits / "final_split.csv")
    write_table(_ictal_list(final_split), splits / "ictal_split_cross.csv")
    write_table(_sleep_list(final_split), splits / "sleep_split_cross.csv")
    (splits / "anatomical_mapping.csv").write_bytes(MAPPING_FILE.read_bytes())
    write_table(
        pd.DataFrame(truth, columns=["participant_id", "name", "soz"]), root / "derivatives" / "truth" / "channels.tsv"
    )


def _edf_name(patient: Patient, recording: str) -> str:
    return f"{patient.subject}/{patient.kind.session}/ieeg/{patient.stem(recording)}_ieeg.edf"


def _write_recording(root: Path, patient: Patient, recording: str, table: list[Channel], seed: int) -> None:
    edf_name, sfreq = _edf_name(patient, recording), patient.kind.sfreq
    stem, file_name = patient.stem(recording), Path(edf_name).name
    ch_names = [channel.name for channel in table]
    signals, events = synthesise(patient, recording, table, seed)
    write_edf(root / edf_name, signals, sfreq, ch_names)
    sidecar = _released(patient, table).assign(
        sampling_frequency=sfreq, low_cutoff=LOWEST_HZ, high_cutoff=sfreq / 2, edf_length=DURATION_S
    )
    write_table(sidecar, root / edf_name.replace("_ieeg.edf", "_channels.tsv"))
    write_table(events.round(4), root / "derivatives" / "truth" / f"{stem}_events.tsv")

    found = _detections(events, stream(seed, patient.subject, recording, "detectors"))
    csv = found[["name", "start", "end", "detector"]].assign(
        participant=patient.subject, session=patient.kind.session, file_name=file_name
    )
    write_table(
        csv, root / "derivatives" / "hfo" / patient.subject / patient.kind.session / "ieeg" / f"{stem}_ieeg.csv"
    )
    if patient.annotated and not is_ictal(recording):
        labels = _annotations(found, signals, ch_names, sfreq).assign(edf_file=file_name)
        path = root / "derivatives" / "hfo_annotation" / patient.split / f"{file_name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        labels.to_parquet(path, index=False, compression="zstd")


def _released(patient: Patient, table: list[Channel]) -> pd.DataFrame:
    """The channel table as the release knows it: Zurich never published its seizure onset zones."""
    released = pd.DataFrame(table)[["name", "good", "soz", "resection", "anatomical"]]
    return released.assign(soz=-1) if patient.kind.source == "zurich" else released


def _detections(events: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Table of detections: each detector in turn reports part of the planted events, in order of time.

    ``start``, ``end`` are samples at 1000 Hz; ``kind`` is the planted event behind the detection.
    """
    tables = []
    for detector, hits in HITS.items():
        share = events["kind"].map(
            dict.fromkeys(HFO_KINDS, hits) | {"artifact": FALSE_HITS[detector], "muscle": FALSE_HITS[detector]}
        )
        reported = events[rng.random(len(events)) < share.fillna(0.0)]
        jitter = rng.integers(-4, 5, (2, len(reported)))
        start = np.rint(reported["onset"].to_numpy() * DETECTION_SFREQ).astype(int) + jitter[0]
        length = np.rint(reported["duration"].to_numpy() * DETECTION_SFREQ).astype(int) + jitter[1]
        tables.append(
            pd.DataFrame(
                {
                    "name": reported["channel"].to_numpy(),
                    "start": start,
                    "end": start + length,
                    "detector": detector,
                    "kind": reported["kind"].to_numpy(),
                }
            )
        )
    return pd.concat(tables, ignore_index=True)


def _annotations(found: pd.DataFrame, signals: Signal, ch_names: list[str], sfreq: float) -> pd.DataFrame:
    """Expert labels of each detector's first detections whose 2 s window lies inside the recording.

    ``artifact`` is 1 where the event is *not* an artefact, as in the release.
    """
    half = WAVEFORM_SAMPLES // 2
    centre = (found["start"] + found["end"]) // 2
    inside = (centre >= half) & (centre + half <= DURATION_S * DETECTION_SFREQ)
    chosen = found.assign(centre=centre)[inside].groupby("detector", sort=False).head(ANNOTATED_PER_DETECTOR)
    resampled = resample_poly(signals, 1, round(sfreq / DETECTION_SFREQ), axis=1)
    rows = [ch_names.index(name) for name in chosen["name"]]
    waveforms = [
        resampled[row, middle - half : middle + half].astype(np.float32)
        for row, middle in zip(rows, chosen["centre"], strict=True)
    ]
    return pd.DataFrame(
        {
            "hfo_waveforms": waveforms,
            "detector": chosen["detector"].to_numpy(),
            "method": "manual",
            "artifact": chosen["kind"].isin(HFO_KINDS).astype(int).to_numpy(),
            "spike": (chosen["kind"] == "spk_ripple").astype(int).to_numpy(),
        }
    )


def _participants(cohort: list[Patient], seed: int) -> pd.DataFrame:
    rng = stream(seed, "participants")
    return pd.DataFrame(
        {
            "participant_id": [patient.subject for patient in cohort],
            "dataset": [patient.kind.source for patient in cohort],
            "outcome": [patient.outcome for patient in cohort],
            "event_annotation": [int(patient.annotated) for patient in cohort],
            "sex": rng.integers(-1, 2, len(cohort)),
            "methods": rng.choice(["SEEG", "ECoG"], len(cohort)),
        }
    )


def _split_row(patient: Patient, recording: str, table: list[Channel]) -> dict[str, object]:
    released = _released(patient, table)
    return {
        "patient_name": patient.subject,
        "edf_name": _edf_name(patient, recording),
        "dataset": patient.kind.source,
        "split": patient.split,
        "frequency": patient.kind.sfreq,
        "interictal": not is_ictal(recording),
        "length": DURATION_S,
        "outcome": patient.outcome,
        "has_resection": bool((released["resection"] == 1).any()),
        "has_soz": bool((released["soz"] == 1).any()),
        "has_anatomical": bool((released["anatomical"] != "-1").any()),
    }


def _ictal_list(final_split: pd.DataFrame) -> pd.DataFrame:
    """Ictal against interictal recordings, of every patient but those with awake and asleep ones."""
    listed = final_split[~final_split["edf_name"].str.contains("interictalawake|interictalasleep")]
    return _list(listed, listed["interictal"].map({True: "interictal", False: "ictal"}))


def _sleep_list(final_split: pd.DataFrame) -> pd.DataFrame:
    """Awake against asleep recordings; what names no state counts as asleep, as in the release."""
    listed = final_split[final_split["interictal"]]
    awake = listed["edf_name"].str.contains("task-interictalawake")
    return _list(listed, awake.map({True: "awake", False: "sleep"}))


def _list(recordings: pd.DataFrame, label: pd.Series) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "patient": recordings["patient_name"],
            "edf_file": recordings["edf_name"],
            "label": label,
            "split": recordings["split"],
        }
    )
