"""A channels.tsv beside the recording that it describes."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pandas as pd

from omni_bench.errors import BenchError


def match_channels(
    table: pd.DataFrame, tsv: Path, in_file: Collection[str], on_error: str, excluded: list[dict[str, Any]]
) -> pd.DataFrame:
    """The rows of a channel table whose channel is in the recording, once each.

    Parameters
    ----------
    table
        Of ``tsv``, with the column ``name``.
    in_file
        Names in the recording.
    excluded
        Receives what does not match, with counts.

    Raises
    ------
    BenchError
        No row is left, or (``on_error="raise"``) a channel is not in the recording.
    """
    nameless = table["name"].isna() | table["name"].duplicated()
    absent = ~nameless & ~table["name"].isin(in_file)
    if absent.any() and on_error == "raise":
        first = table.loc[absent, "name"].iloc[0]
        raise BenchError(f"{tsv}: channel {first} is not in the recording: correct the name, or say on_error=skip")
    counts = {
        "no name, or one that stands twice, in channels.tsv": int(nameless.sum()),
        "in channels.tsv but not in the recording": int(absent.sum()),
        "in the recording but not in channels.tsv": len(set(in_file) - set(table["name"])),
    }
    excluded += [{"what": "channels", "reason": reason, "n": n} for reason, n in counts.items() if n]
    table = table[~nameless & ~absent]
    if table.empty:
        raise BenchError(f"{tsv}: none of its channels is in the recording (it has {', '.join(sorted(in_file)[:8])})")
    return table
