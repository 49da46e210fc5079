"""Small cohorts made of tables alone."""

from pathlib import Path

import pandas as pd

from omni_bench.data.cohort import Cohort


def cohort_of(root: Path, recordings: dict[str, tuple[str, str]], channels: tuple[str, ...] = ("A1", "A2")) -> Cohort:
    """Recordings as id → (subject, split), 10 s each, with the same channels; all of one source."""
    subjects = dict(recordings.values())
    patients = pd.DataFrame({"subject": list(subjects), "split": list(subjects.values())})
    patients = patients.assign(person=patients["subject"], source="openieeg", outcome=True, annotated=True)
    table = pd.DataFrame({"recording": list(recordings), "subject": [subject for subject, _ in recordings.values()]})
    paths = [f"{subject}/ses-01/ieeg/{recording}_ieeg.edf" for recording, (subject, _) in recordings.items()]
    table = table.assign(path=paths, sfreq=1000.0, duration=10.0)
    rows = [(recording, name) for recording in recordings for name in channels]
    flags = pd.DataFrame(rows, columns=["recording", "channel"])
    flags = flags.assign(raw_name=flags["channel"], good=True, soz=False, resected=False)
    return Cohort("omni_ieeg", root, patients, table, flags)
