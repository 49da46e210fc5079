"""Scores on disk: BIDS-style TSV with a JSON sidecar that says what each column is."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from omni_bench.files import write_atomically
from omni_bench.inference.patient import Patient

PER_MINUTE = {"Units": "1/min"}
DESCRIPTIONS: dict[str, dict[str, Any]] = {
    "recording": {"Description": "File name of the recording without its suffix"},
    "channel": {"Description": "Normalised name of the channel"},
    "onset": {"Description": "First sample of the window or event, from the start of the recording", "Units": "s"},
    "duration": {"Description": "Length of the window or event", "Units": "s"},
    "score": {"Description": "What channels are ranked by"},
    "ci_low": {"Description": "Lower end of the 95 % interval"},
    "ci_high": {"Description": "Upper end of the 95 % interval"},
    "n": {"Description": "Windows, or events, that the row is made of"},
    "predicted": {"Description": "Class by the threshold of the model's run, or the likeliest of several"},
    "prediction": {"Description": "Predicted value, in the unit of the model's target"},
    "soz": {"Description": "Whether channels.tsv says that the channel is of the seizure-onset zone"},
    "resected": {"Description": "Whether the channel is given as resected"},
    "reason": {"Description": "Why there is no score"},
    "output": {"Description": "What the model predicts: the probability of a class, or a value"},
    "mean": {"Description": "Mean of the output over the recording's windows"},
    "hfo_count": {"Description": "Detected high-frequency oscillations"},
    "hfo_rate": {"Description": "Detected high-frequency oscillations per minute", **PER_MINUTE},
    "hfo_ci_low": {"Description": "Lower end of the exact Poisson 95 % interval of hfo_rate", **PER_MINUTE},
    "hfo_ci_high": {"Description": "Upper end of the exact Poisson 95 % interval of hfo_rate", **PER_MINUTE},
}


def write_tsv(path: Path, table: pd.DataFrame, score: str, **facts: Any) -> None:
    """Write a table (``n/a`` where nothing is known) and, beside it, its description with ``facts``, what JSON can hold."""
    sidecar = {str(name): dict(DESCRIPTIONS.get(str(name), {})) for name in table.columns}
    for name, words in sidecar.items():
        if name.startswith("prob_"):
            words["Description"] = f"Probability of {name.removeprefix('prob_')}; of a channel its mean"
    if "score" in sidecar:
        sidecar["score"]["Description"] = score
    write_atomically(path.with_suffix(".json"), json.dumps({**sidecar, **facts}, indent=2) + "\n")
    write_atomically(path, table.to_csv(sep="\t", index=False, na_rep="n/a"))


def write_tables(folder: Path, patient: Patient) -> None:
    """Write a patient's tables: ``_channels`` or ``_recordings``, and ``_windows`` or ``_events``."""
    folder.mkdir(parents=True, exist_ok=True)
    files = patient.recordings.drop(columns="channels").astype(object)
    recordings = files.where(files.notna(), None).to_dict("records")
    facts = {"Model": patient.model, "Recordings": recordings, "Note": "Research use only"}

    def write(name: str, table: pd.DataFrame) -> None:
        write_tsv(folder / f"{patient.subject}_{name}.tsv", table, patient.score, **facts)

    if patient.channels is not None:
        write("channels", patient.channels)
    if patient.means is not None:
        write("recordings", patient.means)
    write("events" if patient.kind == "event" else "windows", window_table(patient))


def window_table(patient: Patient) -> pd.DataFrame:
    """Predictions as they are written: ``recording, onset, duration``, then channel and outputs."""
    if patient.kind == "event":
        table = patient.windows.drop(columns=["start", "duration"]).rename(columns={"lasts": "duration"})
    else:
        table = patient.windows.rename(columns={"start": "onset"})
    names = [] if patient.kind == "all" else ["channel"]
    return table[["recording", "onset", "duration", *names, *patient.outputs]]
