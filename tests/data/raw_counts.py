"""Counting real sidecars without any reader of ours."""

import json
from pathlib import Path

import pandas as pd
import pytest


def real_source(shared: Path, accession: str) -> Path:
    """Folder of the real sidecars of a source; skips where it is absent."""
    folder = shared / "data" / "sidecars_ieeg" / accession
    if not folder.is_dir():
        pytest.skip(f"no real sidecars at {folder}")
    return folder


def raw_tables(folder: Path, suffix: str = "channels.tsv") -> pd.DataFrame:
    """All rows of all tables of one kind as text, with ``file`` and ``subject``."""
    tables = []
    for file in sorted(folder.rglob(f"*_{suffix}")):
        table = pd.read_csv(file, sep="\t", dtype=str, keep_default_na=False, encoding="utf-8-sig")
        tables.append(table.assign(file=file.name, subject=file.name.split("_")[0]))
    return pd.concat(tables, ignore_index=True)


def raw_participants(folder: Path) -> pd.DataFrame:
    """participants.tsv as text."""
    return pd.read_csv(folder / "participants.tsv", sep="\t", dtype=str, keep_default_na=False, encoding="utf-8-sig")


def raw_durations(folder: Path) -> dict[str, float]:
    """Recording → seconds, of those that have an ieeg.json."""
    files = folder.rglob("*_ieeg.json")
    return {f.name.removesuffix("_ieeg.json"): json.loads(f.read_text("utf-8-sig"))["RecordingDuration"] for f in files}


def plain(column: pd.Series) -> list:
    """Values of a column, None where unknown."""
    return [None if pd.isna(value) else value for value in column]


def noted(excluded: list[dict], words: str) -> int:
    """Number behind the one entry of ``excluded`` whose reason holds these words; 0 where there is none."""
    counts = [entry["n"] for entry in excluded if words in entry["reason"]]
    assert len(counts) <= 1
    return sum(counts)
