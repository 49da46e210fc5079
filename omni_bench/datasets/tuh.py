"""Annotations of the Temple University corpora: events in ``.rec`` and ``.csv`` files beside a recording."""

import numpy as np
import pandas as pd

from omni_bench.data.tables import numbers, read_table
from omni_bench.datasets.bids_tables import Notes, note
from omni_bench.datasets.edf_tree import EdfFile, beside
from omni_bench.errors import BenchError

_TCP = """
FP1-F7 F7-T3 T3-T5 T5-O1 FP2-F8 F8-T4 T4-T6 T6-O2 A1-T3 T3-C3 C3-CZ CZ-C4 C4-T4 T4-A2
FP1-F3 F3-C3 C3-P3 P3-O1 FP2-F4 F4-C4 C4-P4 P4-O2
"""
TCP = _TCP.split()
"""The temporal central parasagittal montage: what the first column of a ``.rec`` counts, not channels of the EDF file."""
CODES = {1: "spsw", 2: "gped", 3: "pled", 4: "eyem", 5: "artf", 6: "bckg"}
BACKGROUND = "bckg"


def rec_events(file: EdfFile, excluded: Notes, *, margin_s: float = 2.0) -> pd.DataFrame:
    """Events of one second from the ``.rec`` file, each with ``margin_s`` seconds on both sides.

    The file has one line per second and derivation; see `one_label_a_moment` for what becomes of that.

    Raises
    ------
    BenchError
        No such file, or lines that are not derivation, start, stop and code.
    """
    path = beside(file, f"{file.path.stem}.rec")
    try:
        lines = np.loadtxt(path, delimiter=",", ndmin=2)
    except ValueError as error:
        raise BenchError(f"{path}: not a table of numbers ({error}): copy it again") from error
    if lines.shape[1:] != (4,) or not set(lines[:, 0]) <= set(range(len(TCP))) or not set(lines[:, 3]) <= set(CODES):
        raise BenchError(
            f"{path}: expected lines of derivation (0 to {len(TCP) - 1}), start, stop, code (1 to {len(CODES)}): copy it again"
        )
    table = pd.DataFrame(
        {
            "onset": lines[:, 1],
            "duration": lines[:, 2] - lines[:, 1],
            "trial_type": [CODES[int(code)] for code in lines[:, 3]],
            "derivation": [TCP[int(index)] for index in lines[:, 0]],
        }
    )
    table = one_label_a_moment(table, excluded)
    return table.assign(onset=table["onset"] - margin_s, duration=table["duration"] + 2 * margin_s)


def csv_events(file: EdfFile, excluded: Notes) -> pd.DataFrame:
    """Events from the ``.csv`` file; see `one_label_a_moment`.

    Raises
    ------
    BenchError
        No such file, or one without the columns channel, start_time, stop_time and label.
    """
    path = beside(file, f"{file.path.stem}.csv")
    lines = read_table(path, ["channel", "start_time", "stop_time", "label"], comment="#")
    start, stop = (numbers(lines[column], str(path)) for column in ("start_time", "stop_time"))
    renamed = {"trial_type": lines["label"], "derivation": lines["channel"]}
    return one_label_a_moment(pd.DataFrame({"onset": start, "duration": stop - start, **renamed}), excluded)


def one_label_a_moment(lines: pd.DataFrame, excluded: Notes) -> pd.DataFrame:
    """One event per start and stop, its ``derivation`` those of all lines that say so.

    Where derivations disagree, background yields to anything else, then the label on fewer derivations to that on more,
    then the later in the file.
    """
    keys = ["onset", "duration", "trial_type"]
    same = lines.groupby(keys, sort=False)["derivation"]
    events = pd.DataFrame({"derivation": same.agg(" ".join), "n": same.size()}).reset_index()
    note(excluded, "events", "the same event on a further derivation", len(lines) - len(events))
    events["background"] = events["trial_type"] == BACKGROUND
    ranked = events.sort_values(["onset", "background", "n"], ascending=[True, True, False], kind="stable")
    first = ranked.drop_duplicates("onset")
    note(excluded, "events", "another label on other derivations at the same time", len(events) - len(first))
    return first[[*keys, "derivation"]].reset_index(drop=True)
