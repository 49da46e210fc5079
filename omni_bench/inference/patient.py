"""All that is known of one patient: what tables and the page are written from."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from omni_bench.config import file_sha256
from omni_bench.data.recording import recording_files
from omni_bench.evaluation.resection import resection_ratios
from omni_bench.inference.channel_scores import Scale, channel_scores, recording_means, scale_of
from omni_bench.inference.scoring import Scored
from omni_bench.inference.trained import Trained
from omni_bench.results.marks import Mark, marks_of

MODEL = (
    "run_id",
    "task",
    "task_version",
    "dataset",
    "model",
    "protocol",
    "adaptation",
    "seed",
    "compat",
    "config_hash",
)
NOT_ADVICE = Mark("not a diagnosis", "scores of a statistical model; no output of this page may guide treatment")
SEEN = Mark(
    "trained on this patient", "the model learned from a patient of this name, so its scores look better than they are"
)


@dataclass(frozen=True)
class Patient:
    """Scores and provenance of one patient; nothing of it comes from what file headers say of a person or a date.

    Attributes
    ----------
    score
        What the score of a channel is, in words.
    channels
        See `channel_scores`, with ``hfo_count, hfo_rate, hfo_ci_low, hfo_ci_high`` where HFOs were looked for; None where a
        window is of all channels.
    means
        See `recording_means`; None where a window is of one channel.
    windows
        `Scored.predictions` of the patient's recordings.
    resection
        A row of `resection_ratios`; None where no resection is known.
    recordings
        ``recording, file, sha256, sfreq, duration, line_freq`` (NaN = unknown, so no notch), ``channels`` of each.
    excluded
        ``what, reason, n`` that was left out.
    """

    subject: str
    trained: Trained
    kind: str
    outputs: list[str]
    scale: Scale
    score: str
    channels: pd.DataFrame | None
    means: pd.DataFrame | None
    windows: pd.DataFrame
    resection: dict[str, Any] | None
    recordings: pd.DataFrame
    excluded: list[dict[str, Any]]

    @property
    def model(self) -> dict[str, Any]:
        """What names the model."""
        record, card = self.trained.record, self.trained.config.dataset
        named = {key: record.get(key) for key in MODEL}
        weights = file_sha256(self.trained.weights)
        return named | {
            "weights_sha256": weights,
            "trained_on": card.title,
            "marks": [mark.name for mark in self.marks],
        }

    @property
    def marks(self) -> list[Mark]:
        """What a reader must know before the scores."""
        seen = [SEEN] if self.subject in self.trained.seen else []
        return [NOT_ADVICE, *seen, *marks_of(self.trained.record)]


def patient_of(
    subject: str, trained: Trained, scored: Scored, rates: pd.DataFrame | None, n_boot: int, seed: int
) -> Patient:
    """Gather what is known of a subject of a scored cohort.

    Parameters
    ----------
    rates
        HFO counts of the recordings: ``recording, channel`` (as the file spells it), ``count, minutes``.
    n_boot, seed
        Of the bootstrap over windows.
    """
    scale, cohort = scale_of(trained), scored.cohort
    recordings = cohort.recordings[cohort.recordings["subject"] == subject]
    channels = means = resection = None
    if scored.kind == "all":
        means = recording_means(scored, subject, n_boot, seed)
    else:
        channels = channel_scores(scored, scale, subject, n_boot, seed)
        resection = _resection(channels, subject)
        if rates is not None:
            channels = channels.merge(_hfo(scored, recordings["recording"], rates), on="channel", how="left")
    return Patient(
        subject,
        trained,
        scored.kind,
        scored.outputs,
        scale,
        _words(scored.kind, scale, n_boot),
        channels,
        means,
        scored.predictions[scored.predictions["recording"].isin(recordings["recording"])],
        resection,
        _recordings(scored, recordings),
        # reasons name files, and a folder may be named after a person
        [entry | {"reason": entry["reason"].replace(f"{cohort.root}/", "")} for entry in cohort.excluded],
    )


def _words(kind: str, scale: Scale, n_boot: int) -> str:
    interval = ", with the 95 % percentile interval of a bootstrap over windows" if n_boot else ""
    if kind == "all":
        return f"Mean of each output over windows{interval}"
    if kind == "event":
        return f"Events per minute that are likeliest {scale.positive}, with the exact Poisson 95 % interval"
    if scale.positive:
        what = f"probability of {scale.positive}"
    else:
        what = "predicted value" if scale.column else "probability of the likeliest class"
    return f"Mean {what} over windows{interval}"


def _resection(channels: pd.DataFrame, subject: str) -> dict[str, Any] | None:
    if channels["resected"].isna().all():
        return None
    scored = channels[channels["reason"].isna()]
    alone = scored.assign(source="", subject=subject, person=subject, outcome=pd.NA)
    return resection_ratios(alone).iloc[0].to_dict()


def _hfo(scored: Scored, recordings: pd.Series, counts: pd.DataFrame) -> pd.DataFrame:
    """HFO rates of channels over all recordings."""
    from omni_bench.hfo.events import poisson_rates

    names = scored.cohort.channels[["recording", "raw_name", "channel"]]
    own = counts[counts["recording"].isin(recordings)].rename(columns={"channel": "raw_name"})
    sums = own.merge(names, on=["recording", "raw_name"]).groupby("channel", sort=False)[["count", "minutes"]].sum()
    table = poisson_rates(sums["count"].to_numpy(), sums["minutes"].to_numpy()).set_index(sums.index)
    return table.add_prefix("hfo_").assign(hfo_count=sums["count"]).reset_index()


def _recordings(scored: Scored, recordings: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for row in recordings.itertuples(index=False):
        files = recording_files(scored.cohort.root / row.path)
        good = scored.cohort.channels[scored.cohort.channels["recording"] == row.recording]["good"].fillna(True)
        facts = (row.sfreq, row.duration, row.line_freq, int(good.sum()))
        rows += [(row.recording, file.name, file_sha256(file), *facts) for file in files]
    return pd.DataFrame(rows, columns=["recording", "file", "sha256", "sfreq", "duration", "line_freq", "channels"])
