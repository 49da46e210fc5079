"""Detection over the recordings of a cohort: parallel, resumable, one event table and one rate table a recording."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.progress import track

from omni_bench.data.cohort import Cohort, opened_by
from omni_bench.data.recording import Recording, open_recording, recording_files
from omni_bench.data.store import source_fingerprint
from omni_bench.errors import BenchError
from omni_bench.explain import near
from omni_bench.files import renamed, sweep_parts, write_atomically
from omni_bench.hfo.bids import write_events
from omni_bench.hfo.detection import detect, detect_stream
from omni_bench.hfo.events import combine, rates
from omni_bench.hfo.figures import rates_figure
from omni_bench.hfo.parameters import parameters

log = logging.getLogger(__name__)
RULES = ("union", "intersection", "majority")


@dataclass(frozen=True)
class Settings:
    """What is detected, and how detectors are combined.

    Attributes
    ----------
    detectors
        Names of `omni_bench.hfo.detect`.
    rule
        ``union``, ``intersection`` or ``majority`` of several detectors.
    band
        Hz; by the recording's rate unless given.
    compat
        ``"reference"`` detects on the whole recording at once.
    chunk_s
        Seconds held in memory.
    params
        Detector → its parameters.
    """

    detectors: tuple[str, ...] = ("ste", "mni", "hil")
    rule: str = "union"
    band: tuple[float, float] | None = None
    compat: str | None = None
    chunk_s: float = 60.0
    params: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def from_card(cls, card: Mapping[str, Any], compat: str | None = None) -> "Settings":
        band = card["band"]
        exact = {"detectors": tuple(card["detectors"]), "band": None if band is None else tuple(band), "compat": compat}
        return cls(**{**card, **exact})

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise BenchError(f"detect.rule={self.rule}: no such rule{near(self.rule, RULES)}")
        if not self.detectors:
            raise BenchError("detect.detectors is empty: name at least one")
        if self.band is not None and len(self.band) != 2:
            raise BenchError(f"detect.band={list(self.band)}: give the lower and the upper edge in Hz")
        for name in self.detectors:
            parameters(name, self.params.get(name, {}))
        for name in self.params.keys() - set(self.detectors):
            raise BenchError(f"detect.params.{name}: not one of detect.detectors{near(name, self.detectors)}")


@dataclass(frozen=True)
class Job:
    """One recording; small enough to send to another process. ``soz`` is for the picture alone."""

    name: str
    path: Path
    ch_names: tuple[str, ...] | None
    unit: str | None
    settings: Settings
    folder: Path
    skip_broken: bool
    soz: dict[str, bool | None]
    opener: Callable[..., Recording] = open_recording
    part: str | None = None

    def open(self, ch_names: Sequence[str] | None) -> Recording:
        options = {} if self.part is None else {"part": self.part}
        return self.opener(self.path, ch_names, self.unit, **options)

    @property
    def table(self) -> Path:
        return self.folder / f"{self.name}_events.tsv"

    @property
    def provenance(self) -> dict[str, Any]:
        return {
            "source": source_fingerprint(recording_files(self.path)),
            "channels": self.ch_names,
            **opened_by(self.opener, self.part),
            **asdict(self.settings),
        }


def jobs_of(cohort: Cohort, settings: Settings, folder: Path, skip_broken: bool) -> list[Job]:
    """One job per recording of a cohort, over its good channels."""
    good = cohort.channels[cohort.channels["good"].fillna(True).astype(bool)]
    jobs = []
    for row in cohort.recordings.itertuples(index=False):
        channels = good[good["recording"] == row.recording]
        soz = {c.raw_name: None if pd.isna(c.soz) else bool(c.soz) for c in channels.itertuples(index=False)}
        path = cohort.root / str(row.path)
        part = None if pd.isna(row.part) else str(row.part)
        job = Job(
            str(row.recording), path, tuple(soz), cohort.unit, settings, folder, skip_broken, soz, cohort.opener, part
        )
        jobs.append(job)
    return jobs


def detect_recordings(jobs: list[Job], on_error: str, workers: int = 1) -> pd.DataFrame:
    """Detect where there is no table of the same settings and recording yet.

    Returns
    -------
    One row per recording: ``recording, channels, minutes, events, median_rate`` (events a minute), ``table`` (its file).

    Raises
    ------
    BenchError
        A recording fails and ``on_error`` is ``raise``; tables that were written stay.
    """
    rows = []
    for job, outcome in zip(jobs, _map(jobs, workers), strict=True):
        if isinstance(outcome, dict):
            rows.append(outcome)
        elif on_error == "raise":
            raise BenchError(outcome)
        else:
            log.warning("left out: %s: %s", job.name, outcome)
    return pd.DataFrame(rows, columns=["recording", "channels", "minutes", "events", "median_rate", "table"])


def _map(jobs: list[Job], workers: int) -> Iterator[dict[str, Any] | str]:
    if workers == 1:
        yield from track(map(_detect_one, jobs), "detecting", total=len(jobs))
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from track(pool.map(_detect_one, jobs), "detecting", total=len(jobs))


def _detect_one(job: Job) -> dict[str, Any] | str:
    """A row of the summary, or the line that says why there is none."""
    try:
        rates_file = job.table.with_name(f"{job.name}_rates.tsv")
        if _is_done(job):
            table = pd.read_csv(rates_file, sep="\t")
        else:
            recording = job.open(job.ch_names)
            if job.skip_broken:
                recording = _without_broken(recording, job)
            events = _events(recording, job.settings)
            table = rates(events, recording.duration, recording.ch_names)
            job.folder.mkdir(parents=True, exist_ok=True)
            sweep_parts(job.folder)
            # an older sidecar must not vouch for what is written now
            job.table.with_suffix(".json").unlink(missing_ok=True)
            write_atomically(rates_file, table.to_csv(sep="\t", index=False))
            with renamed(rates_file.with_suffix(".png")) as part:
                rates_figure(table, job.soz).savefig(part, dpi=120, format="png")
            write_events(job.table, events, recording.sfreq, **job.provenance)
    except BenchError as error:
        return str(error)
    return {
        "recording": job.name,
        "channels": len(table),
        "minutes": float(table["minutes"].iloc[0]),
        "events": int(table["count"].sum()),
        "median_rate": float(table["rate"].median()),
        "table": str(job.table),
    }


def _is_done(job: Job) -> bool:
    """Whether a table of this recording and these settings is there; its sidecar is written last."""
    sidecar = job.table.with_suffix(".json")
    if not (job.table.is_file() and sidecar.is_file()):
        return False
    stored = json.loads(sidecar.read_text(encoding="utf-8"))["Provenance"]
    return stored == json.loads(json.dumps(job.provenance))


def _events(recording: Recording, settings: Settings) -> pd.DataFrame:
    tables = []
    for detector in settings.detectors:
        params = settings.params.get(detector, {})
        if settings.compat == "reference":
            signal = recording.read()
            found = detect(
                signal, recording.sfreq, recording.ch_names, detector, "reference", band=settings.band, **params
            )
        else:
            found = detect_stream(
                recording.read,
                recording.n_times,
                recording.sfreq,
                recording.ch_names,
                detector,
                band=settings.band,
                chunk=settings.chunk_s,
                **params,
            )
        tables.append(found)
    return tables[0] if len(tables) == 1 else combine(tables, settings.rule, settings.compat)


def _without_broken(recording: Recording, job: Job) -> Recording:
    """The recording without channels that are flat or hold values that are no numbers."""
    step = round(job.settings.chunk_s * recording.sfreq)
    low, high = np.full(len(recording.ch_names), np.inf), np.full(len(recording.ch_names), -np.inf)
    for start in range(0, recording.n_times, step):
        block = recording.read(start, min(start + step, recording.n_times))
        low, high = np.minimum(low, block.min(axis=1)), np.maximum(high, block.max(axis=1))
    usable = [name for name, least, most in zip(recording.ch_names, low, high, strict=True) if least < most]
    if not usable:
        raise BenchError(f"{recording.path}: every channel is flat or holds values that are no numbers")
    dropped = sorted(set(recording.ch_names) - set(usable))
    if dropped:
        log.warning("left out: %s: flat or not finite: %s", job.name, ", ".join(dropped))
    return job.open(usable) if dropped else recording
