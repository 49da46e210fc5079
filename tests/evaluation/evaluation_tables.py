"""Small tables in the layout that a run writes."""

import numpy as np
import pandas as pd


def channel_units(rows: list[dict[str, object]]) -> pd.DataFrame:
    """Units of the region task; anything left out is the plainest value."""
    plain = {
        "source": "demo",
        "recording": "run-01",
        "split": "test",
        "good": True,
        "soz": pd.NA,
        "resected": pd.NA,
        "outcome": pd.NA,
        "duration": 60.0,
        "label": pd.NA,
    }
    table = pd.DataFrame([plain | row for row in rows])
    table["person"] = table.get("person", table["subject"])
    table["unit_id"] = table["subject"] + "/" + table["recording"] + "/" + table["channel"]
    flags = dict.fromkeys(("good", "soz", "resected", "outcome"), "boolean")
    return table.astype(flags | {"label": "Int64"})


def window_predictions(unit_ids: pd.Series | list[str], pathological: np.ndarray | list[float]) -> pd.DataFrame:
    """One row per window with the probability of both classes."""
    p = np.asarray(pathological, dtype=float)
    return pd.DataFrame(
        {
            "sample_id": [f"s{i}" for i in range(len(p))],
            "unit_id": list(unit_ids),
            "start": 0.0,
            "duration": 60.0,
            "prob_normal": 1 - p,
            "prob_pathological": p,
        }
    )
