"""Recordings without labels: one file of any format, or a BIDS tree, a subject's folder or a recording in one."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from omni_bench.data.cohort import Cohort
from omni_bench.data.recording import Recording, open_recording
from omni_bench.datasets.bids_eeg import read_bids_eeg, scalp_channels
from omni_bench.datasets.bids_files import sidecars
from omni_bench.datasets.bids_ieeg import read_bids_ieeg
from omni_bench.datasets.bids_tables import no_brain
from omni_bench.errors import BenchError
from omni_bench.explain import near
from omni_bench.signal.channel_names import contact_name, contact_names

READERS: dict[str, Callable[..., Cohort]] = {"intracranial": read_bids_ieeg, "scalp": read_bids_eeg}
NAME = "recordings"


def read_unlabelled(
    path: Path,
    family: str,
    unit: str | None = None,
    on_error: str = "raise",
    opener: Callable[..., Recording] = open_recording,
) -> Cohort:
    """Metadata of the recordings at ``path``, as `omni_bench.datasets.bids_ieeg` or ``bids_eeg`` reads them.

    A file without a channels.tsv is one patient's, named after it, and all of its channels of the family are good.

    Parameters
    ----------
    path
        A recording, a BIDS tree or a folder in one.
    family
        ``intracranial`` or ``scalp``.
    opener
        Of a file without a channels.tsv.

    Raises
    ------
    BenchError
        Nothing is there, or (``on_error="raise"``) a recording or a table is broken.
    """
    path = path.absolute()
    if not path.exists():
        raise BenchError(f"recording={path}: no such file or folder: give a recording, a BIDS tree or a folder in one")
    marks = ("participants.tsv", "dataset_description.json")
    tree = next((folder for folder in (path, *path.parents) if any((folder / name).is_file() for name in marks)), None)
    if path.is_dir() or (tree and any(sidecars(path, tree, "channels.tsv"))):
        return READERS[family](tree or path, NAME, on_error, unit, only=path)
    return _alone(path, family, unit, opener)


def _alone(path: Path, family: str, unit: str | None, opener: Callable[..., Recording]) -> Cohort:
    recording = opener(path, unit=unit)
    name = path.stem.removesuffix("_ieeg").removesuffix("_eeg")
    if family == "scalp":
        channels, kind = scalp_channels(recording.ch_names), "EEG"
        channels["good"] = ~channels["raw_name"].isin(recording.bads)
    else:
        channels, kind = contacts(path, recording.ch_names, recording.bads), "iEEG"
    facts = {"sfreq": recording.sfreq, "duration": recording.duration, "modality": kind}
    return Cohort(
        NAME,
        path.parent,
        pd.DataFrame([{"subject": name, "person": name, "source": NAME}]),
        pd.DataFrame([{"recording": name, "subject": name, "path": path.name, **facts}]),
        channels.assign(recording=name),
        unit,
        opener=opener,
    )


def contacts(path: Path, ch_names: Sequence[str], bads: Sequence[str]) -> pd.DataFrame:
    """Channel table of a file's intracranial channels, by their names; those that the file marks are bad.

    Raises
    ------
    BenchError
        There is none.
    """
    raw = pd.Series(ch_names, dtype="str")
    channels = pd.DataFrame({"raw_name": raw, "channel": contact_names(raw)})
    others = no_brain(channels["channel"])
    if others.all():
        raise BenchError(f"{path}: no intracranial channel, by name (it has {', '.join(raw[:8])}, ...)")
    return channels[~others].assign(type="SEEG", good=~raw.isin(bads))


def with_resection(cohort: Cohort, resected: Sequence[str]) -> Cohort:
    """The cohort with these contacts as the resected ones and no others.

    Raises
    ------
    BenchError
        One of them is no channel of any recording.
    """
    wanted = {contact_name(name) for name in resected}
    known = set(cohort.channels["channel"])
    absent = sorted(wanted - known)
    if absent:
        raise BenchError(f"resected: no channel {absent[0]} in the recordings{near(absent[0], known)}")
    return replace(cohort, channels=cohort.channels.assign(resected=cohort.channels["channel"].isin(wanted)))
