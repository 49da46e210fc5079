"""Reader of the affective music listening set of Daly et al. (OpenNeuro ds002721).

Codes of its events: 788 while music plays, 301 to 362 which clip, 800 to 807 a question (800: how pleasant), 901 to 909 or
833 to 841 an answer from 1 to 9.
"""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from omni_bench.data.cohort import Cohort
from omni_bench.data.tables import numbers
from omni_bench.datasets.bids_eeg import read_bids_eeg
from omni_bench.errors import BenchError

MUSIC, PLEASANT = 788, 800
CLIPS = (*range(301, 361), 362)
OTHER_QUESTIONS = range(801, 808)
ANSWERS = {code: code - zero for zero in (900, 832) for code in range(zero + 1, zero + 10)}
NEAREST_S = 30.0
"""How far apart a clip's code and its music may be; clips follow each other more slowly than this."""


def read_music_eeg(root: Path, name: str, on_error: str = "raise", unit: str | None = None) -> Cohort:
    """Runs with music; an event is one clip as one person heard it.

    Its columns: ``clip``, ``pleasant`` (this person's rating), ``clip_pleasant`` (mean rating of all persons who heard
    the clip) and ``pleasantness``: ``high`` where that mean is at least the median over clips, else ``low``. The last two
    are properties of a clip that all persons have a say in, those of the test split as well.

    Raises
    ------
    BenchError
        See `read_bids_eeg`; also no music, or no clip that anyone rated.
    """
    cohort = read_bids_eeg(root, name, on_error, unit, pattern=r"_task-run[2-5]_eeg")
    if cohort.events is None or "trial_type" not in cohort.events:
        raise BenchError(f"{root}: no *_events.tsv with trial_type, expected one per run: fetch the data set again")
    runs = cohort.events.groupby("recording")
    clips = pd.concat([_clips(own, f"{root}: events of {recording}") for recording, own in runs], ignore_index=True)
    if clips["pleasant"].isna().all():
        raise BenchError(
            f"{root}: no clip with a rating (codes {PLEASANT} and 901 to 909 after {CLIPS[0]} to {CLIPS[-1]})"
        )
    means = clips.groupby("clip")["pleasant"].mean()
    level = pd.Series(np.where(means >= means.median(), "high", "low"), means.index, dtype="str").where(means.notna())
    clips["clip_pleasant"], clips["pleasantness"] = clips["clip"].map(means), clips["clip"].map(level)
    return replace(cohort, events=clips.assign(trial_type="music"))


def _clips(events: pd.DataFrame, where: str) -> pd.DataFrame:
    """Clips of one run with the music's onset and duration, and the rating."""
    events = events.sort_values("onset", kind="stable").reset_index(drop=True)
    code = numbers(events["trial_type"], where)
    clips = events.loc[code.isin(CLIPS), ["recording", "onset"]].assign(clip=code[code.isin(CLIPS)].astype(int))
    music = events.loc[code == MUSIC, ["onset", "duration"]].assign(music=lambda table: table["onset"])
    borders = [*clips.index, len(events)]
    clips["pleasant"] = [_rating(code[begin:end]) for begin, end in pairwise(borders)]
    paired = pd.merge_asof(clips, music, on="onset", direction="nearest", tolerance=NEAREST_S)
    return paired[paired["music"].notna()].drop(columns="onset").rename(columns={"music": "onset"})


def _rating(code: pd.Series) -> float:
    """The first answer between the question and the next one."""
    asked = code.index[code == PLEASANT]
    if asked.empty:
        return np.nan
    rest = code.loc[asked[0] + 1 :]
    others = rest.index[rest.isin(OTHER_QUESTIONS)]
    told = (rest if others.empty else rest.loc[: others[0]]).map(ANSWERS).dropna()
    return float(told.iloc[0]) if len(told) else np.nan
