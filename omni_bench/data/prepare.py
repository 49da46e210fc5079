"""A cohort's recordings into its store: parallel, resumable, with a reason for each one that is left out."""

import logging
from collections.abc import Callable, Generator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

import pandas as pd
from rich.progress import track

from omni_bench.data.arrays import stored_recording
from omni_bench.data.cohort import Cohort, opened_by
from omni_bench.data.preprocess import Preprocessing, preprocess, starts_at
from omni_bench.data.recording import Recording, open_recording, recording_files
from omni_bench.data.store import Stored, open_store, source_fingerprint, store_file, write_store
from omni_bench.errors import BenchError
from omni_bench.files import sweep_parts
from omni_bench.signal.electrode_names import are_plugs, electrode_name, same_place
from omni_bench.signal.montage import MIN_MATCHED, channel_matrix

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Job:
    """One recording to prepare, by way of a ``base`` store where there is one; small enough to send to another process."""

    recording: str
    raw: Path
    ch_names: tuple[str, ...]
    line_freq: float | None
    unit: str | None
    steps: Preprocessing
    folder: Path
    memory_mb: int
    skip_broken: bool
    opener: Callable[..., Recording] = open_recording
    part: str | None = None
    base: Preprocessing | None = None

    def open(self) -> Recording:
        options = {} if self.part is None else {"part": self.part}
        return self.opener(self.raw, self.ch_names, self.unit, **options)

    @property
    def stored_names(self) -> list[str]:
        return list(self.steps.channels or self.ch_names)

    @property
    def target(self) -> Path:
        key: list[object] = [
            source_fingerprint(recording_files(self.raw)),
            self.ch_names,
            self.line_freq,
            self.unit,
            self.steps.identity(),
        ]
        key += opened_by(self.opener, self.part).values()
        return store_file(self.folder, self.recording, key)


def prepare(
    cohort: Cohort,
    steps: Preprocessing,
    cache: Path,
    *,
    on_error: str = "raise",
    workers: int = 1,
    memory_mb: int = 2048,
    line_freq: float | None = None,
) -> tuple[Cohort, dict[str, Stored]]:
    """Preprocess what is not in the store yet.

    Parameters
    ----------
    cohort
        Whose good channels are stored.
    cache
        Folder of all stores.
    on_error
        ``skip`` leaves out a recording that fails, with its reason in the cohort's ``excluded``.
    workers
        Processes; ``memory_mb`` is shared among them.
    line_freq
        Overrides what the cohort knows.

    Returns
    -------
    The cohort without what failed, and the stored file of each recording. Where the steps ask for channels, those are the
    cohort's; what they lack or leave is counted in ``excluded``.

    Raises
    ------
    BenchError
        A recording fails and ``on_error="raise"``, or too few channels are common to all recordings.
    """
    folder = cache / "store" / cohort.name
    for place in (folder, folder / "base"):
        sweep_parts(place)
    if steps.channel_policy == "intersection":
        cohort, steps = _shared_channels(cohort, steps)
    good = _good(cohort).groupby("recording")["raw_name"].agg(tuple)
    jobs, failed = [], {}
    for row in cohort.recordings.itertuples(index=False):
        if row.recording not in good:
            failed[row.recording] = "no good channel"
            continue
        line = line_freq if line_freq is not None else (None if pd.isna(row.line_freq) else float(row.line_freq))
        jobs.append(
            Job(
                row.recording,
                cohort.root / row.path,
                good[row.recording],
                line,
                cohort.unit,
                steps,
                folder,
                memory_mb // workers,
                skip_broken=on_error == "skip",
                opener=cohort.opener,
                part=None if pd.isna(row.part) else row.part,
                base=steps.base(row.sfreq),
            )
        )
    unknown = [job.recording for job in jobs if steps.notch and job.line_freq is None]
    if unknown:
        text = "no line frequency known of %s (%d in all), so no notch: say dataset.line_freq=50 or 60"
        log.warning(text, unknown[0], len(unknown))
    stored: dict[str, Stored] = {}
    with closing(_map(jobs, workers)) as outcomes:
        for job, outcome in zip(jobs, outcomes, strict=True):
            if isinstance(outcome, Stored):
                stored[job.recording] = outcome
            elif on_error == "raise":
                raise BenchError(outcome)
            else:
                log.warning("left out: %s", outcome)
                failed[job.recording] = outcome
    broken = [(name, channel, why) for name, file in stored.items() for channel, why in file.broken.items()]
    if broken and on_error == "raise":
        name, channel, why = broken[0]
        raise BenchError(f"{name}: channel {channel}: {why}: mark it bad in channels.tsv, or say on_error=skip")
    cohort = cohort.without(failed) if failed else cohort
    if steps.channels:
        cohort = _with_channels(cohort, steps, good)
    return cohort.without_channels(broken) if broken else cohort, stored


def _good(cohort: Cohort) -> pd.DataFrame:
    """Good channels, with the ``place`` that old and new 10-20 names share."""
    good = cohort.channels[cohort.channels["good"].fillna(True).astype(bool)]
    return good.assign(place=good["channel"].map(same_place))


def _shared_channels(cohort: Cohort, steps: Preprocessing) -> tuple[Cohort, Preprocessing]:
    """What all recordings have: of the wanted channels, as steps; or of all, in the first one's order and spelling."""
    good = _good(cohort)
    sets = good.groupby("recording")["place"].agg(set)
    shared = set.intersection(*sets)
    wanted = steps.channels or max(sets, key=len)
    kept = [name for name in wanted if same_place(electrode_name(name)) in shared]
    if len(kept) < MIN_MATCHED * len(wanted):
        poorest = sets.map(len).idxmin()
        raise BenchError(
            f"{cohort.root}: only {len(kept)} of {len(wanted)} channels are in every recording ({poorest} has "
            f"{len(sets[poorest])}): leave recordings out with task.cohort, or name task.preprocessing.channels with "
            "task.preprocessing.channel_policy=spline"
        )
    if steps.channels:
        return cohort, replace(steps, channels=tuple(kept), channel_policy="exact")
    first = good[good["recording"] == good["recording"].iloc[0]]
    if are_plugs(first["channel"]):
        log.warning(
            "channels are called by BioSemi's plug positions, which models that go by names take for other electrodes: "
            "name task.preprocessing.channels with task.preprocessing.channel_policy=spline"
        )
    others = good[~good["place"].isin(shared)]
    if len(others):
        dropped = [(row.recording, row.raw_name, "not in every recording") for row in others.itertuples(index=False)]
        cohort = cohort.without_channels(dropped)
    spelled = first.drop_duplicates("place").set_index("place")["channel"]
    place = cohort.channels["channel"].map(same_place)
    channels = cohort.channels.assign(channel=place.map(spelled).fillna(cohort.channels["channel"]))
    rank = place.map({name: i for i, name in enumerate(spelled.index)}).fillna(len(spelled))
    channels = channels.iloc[rank.argsort(kind="stable")]
    return replace(cohort, channels=channels), replace(steps, channel_policy=None)


def _with_channels(cohort: Cohort, steps: Preprocessing, good: pd.Series) -> Cohort:
    """The cohort with the channels that the steps made, what they lack and leave counted."""
    assert steps.channel_policy is not None
    reports = {own: channel_matrix(own, steps.channels, steps.channel_policy)[1] for own in set(good)}
    table = pd.DataFrame({"raw_name": steps.channels, "type": "EEG", "good": True})
    table["channel"] = table["raw_name"].map(electrode_name)
    tables, excluded = [], []
    for recording in cohort.recordings["recording"]:
        report = reports[good[recording]]
        for names, what in ((report.absent, f"{steps.channel_policy}, not recorded"), (report.unused, "not wanted")):
            if names:
                excluded.append({"what": "channels", "reason": f"{what}: {', '.join(names)}", "n": len(names)})
        tables.append(table.assign(recording=recording))
    return replace(cohort, channels=pd.concat(tables), excluded=[*cohort.excluded, *excluded])


def _map(jobs: list[Job], workers: int) -> Generator[Stored | str, None, None]:
    title = "preparing recordings"
    if workers == 1:
        yield from track(map(_prepare_one, jobs), title, total=len(jobs))
        return
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
    try:
        yield from track(pool.map(_prepare_one, jobs), title, total=len(jobs))
    finally:
        pool.shutdown(cancel_futures=True)


def _prepare_one(job: Job) -> Stored | str:
    """The stored recording, or the line that says why there is none."""
    try:
        target = job.target
        if target.is_file():
            return open_store(target)
        broken: dict[str, str] = {}
        steps, line_freq = job.steps, job.line_freq
        if job.base is None:
            recording = job.open()
        else:
            base = _prepare_one(replace(job, steps=job.base, base=None, folder=job.folder / "base"))
            if isinstance(base, str):
                return base
            recording, broken = stored_recording(job.raw, base), dict(base.broken)
            steps, line_freq = steps.from_base(), None
        blocks = preprocess(recording, steps, line_freq, job.memory_mb, broken if job.skip_broken else None)
        sfreq = steps.sfreq or recording.sfreq
        pieces = starts_at(steps.sfreq, recording.pieces, recording.sfreq)
        return write_store(target, blocks, job.stored_names, sfreq, broken, pieces.tolist(), source=job.raw.name)
    except BenchError as error:
        return str(error)
