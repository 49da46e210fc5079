"""Where an event's samples are cut from a recording for the event tasks."""

import pandas as pd

from omni_bench.errors import BenchError

CONTEXT_SECONDS = 2.0
"""Cut of the recording that the time-frequency transform sees (Omni-iEEG)."""
CROP_SECONDS = 0.570
"""Cut of the transformed context that the model sees."""


def event_windows(events: pd.DataFrame, n_times: int, sfreq: float, compat: str | None = None) -> pd.DataFrame:
    """Context and crop of each event in samples of the recording, both centred on the event where there is room.

    Near a border both are moved inside the record, each by as little as it takes, so the event stays within its crop
    unless it is longer. ``compat="reference"`` moves the context of every event that starts in the first 2 s or ends in
    the last 2 s to the border and always crops its middle, which can leave the event outside the crop.

    Returns
    -------
    DataFrame
        ``context_start, context_end, crop_start, crop_end`` (half-open) and ``moved``: whether the context is not
        centred. Index of ``events``.
    """
    context, crop = round(CONTEXT_SECONDS * sfreq), round(CROP_SECONDS * sfreq)
    if n_times < context:
        raise BenchError(f"the recording lasts {n_times / sfreq:g} s; event windows need {CONTEXT_SECONDS:g} s")
    centre = (events["start"] + events["end"]) // 2
    wanted = centre - context // 2
    if compat == "reference":
        moved = (events["start"] < context) | (events["end"] > n_times - context)
        context_start = wanted.mask(events["end"] > n_times - context, n_times - context)
        context_start = context_start.mask(events["start"] < context, 0)
        crop_start = context_start + (context - crop) // 2
    else:
        context_start = wanted.clip(0, n_times - context)
        crop_start = (centre - crop // 2).clip(0, n_times - crop)
        moved = context_start != wanted
    return pd.DataFrame(
        {
            "context_start": context_start,
            "context_end": context_start + context,
            "crop_start": crop_start,
            "crop_end": crop_start + crop,
            "moved": moved,
        }
    )
