"""Tables 1 to 3 of the Omni-iEEG paper (arXiv 2602.16072) and its exploratory cohorts, counted here and as published.

Everything is counted from whatever is present: a cohort's tables and, for annotated events and the exploratory tasks,
the lists of the harmonised release below its root.
"""

from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq

from omni_bench.data.cohort import Cohort
from omni_bench.data.tables import read_table
from omni_bench.errors import BenchError
from omni_bench.evaluation import region_label

SELECTED_HZ = 900
REGION_S = 62
"""What a recording needs: for HFOs the rate; for region windows the length, a minute and a second at both ends."""

Groups = Iterator[tuple[str, str, pd.DataFrame]]


def cohort_tables(cohort: Cohort) -> pd.DataFrame:
    """The paper's cohort counts, ours beside the published ones.

    Selected are patients with an interictal recording of 900 Hz or more; an outcome that is known means surgery.
    Channels are those of recordings, as the paper counts them: a channel in two recordings is two. A preserved SOZ
    channel of a seizure-free patient is normal, as in the released code, whose counts the paper prints.

    Returns
    -------
    Table with ``table`` (1, 2, 3, or the task), ``split`` (train, test, all; validation counts as train), ``source``
    (``all`` = together), ``quantity``, ``ours`` and ``published``; NaN where one of them has no such number. Published
    numbers per source without split are sums over its parts.

    Raises
    ------
    BenchError
        A list or annotation file below the cohort's root is broken.
    """
    patients = _patients(cohort)
    ours = [*_rows("1", patients, _table1), *_rows("3", patients, _table3)]
    events = _events(cohort.root / "derivatives" / "hfo_annotation")
    if events is not None:
        ours += _rows("2", events, _table2)
    for task in ("anatomy", "ictal", "sleep"):
        ours += _rows(task, _task_channels(cohort, patients, task), _task_counts)
    keys = ["table", "split", "source", "quantity"]
    counted = pd.DataFrame(ours, columns=[*keys, "ours"])
    return counted.merge(published_counts(), on=keys, how="outer", sort=False).sort_values(
        keys, kind="stable", ignore_index=True
    )


def published_counts() -> pd.DataFrame:
    """Published cohort counts in the long form of `cohort_tables`."""
    tables = []
    for number in ("1", "2", "3"):
        table = _published(f"omni_ieeg_table{number}.csv")
        parts = table[table["split"] != "all"]
        pooled = parts.groupby("source", sort=False).agg(_pooling(parts)).reset_index().assign(split="all")
        tables.append(
            pd.concat([table, pooled]).assign(table=number).melt(["table", "split", "source"], var_name="quantity")
        )
    tasks = _published("omni_ieeg_cohorts.csv").rename(columns={"task": "table"}).assign(source="all")
    tables.append(tasks.melt(["table", "split", "source"], var_name="quantity"))
    return pd.concat(tables).dropna(subset="value").rename(columns={"value": "published"}).reset_index(drop=True)


def _published(name: str) -> pd.DataFrame:
    return pd.read_csv(str(files("omni_bench.results.published").joinpath(name)))


def _pooling(table: pd.DataFrame) -> dict[str, str | Callable[[pd.Series], float]]:
    rules: dict[str, str | Callable[[pd.Series], float]] = {"shortest_min": "min", "longest_min": "max"}
    counts = table.columns.difference(["split", "source"], sort=False)
    return {name: rules.get(name, lambda numbers: numbers.sum(min_count=1)) for name in counts}


def _groups(table: pd.DataFrame) -> Groups:
    for (split, source), part in table.dropna(subset="split").groupby(["split", "source"]):
        yield str(split), str(source), part
    for source, part in table.groupby("source"):
        yield "all", str(source), part
    for split, part in table.dropna(subset="split").groupby("split"):
        yield str(split), "all", part
    yield "all", "all", table


def _rows(
    name: str, table: pd.DataFrame, count: Callable[[pd.DataFrame], dict[str, float]]
) -> list[tuple[str, str, str, str, float]]:
    return [
        (name, split, source, key, value)
        for split, source, part in _groups(table)
        for key, value in count(part).items()
    ]


def _patients(cohort: Cohort) -> pd.DataFrame:
    """One row per patient with what Tables 1 and 3 count."""
    recordings = cohort.recordings
    usable = recordings[(recordings["sfreq"] >= SELECTED_HZ) & ~recordings["ictal"].fillna(False)]
    patients = cohort.patients[["subject", "source", "outcome"]].set_index("subject")
    patients["split"] = cohort.patients.set_index("subject")["split"].replace("val", "train")
    minutes = usable[usable["duration"].notna()].groupby("subject")["duration"]
    patients["shortest"], patients["longest"] = minutes.min() / 60, minutes.max() / 60
    patients["selected"] = patients.index.isin(usable["subject"])
    units = cohort.channels.merge(usable.loc[usable["duration"] >= REGION_S, ["recording", "subject"]], on="recording")
    units = units.merge(patients[["outcome"]].reset_index(), on="subject")
    units["good"] = units["good"].fillna(True)
    units["label"] = region_label(units, preserved_soz="negative")
    by_subject = pd.crosstab(units["subject"], units["label"]).reindex(columns=[0, 1], fill_value=0)
    patients["normal"], patients["pathological"] = by_subject[0], by_subject[1]
    labelled = (patients[["normal", "pathological"]].fillna(0) > 0).any(axis=1)
    patients["valid"] = patients.index.isin(units["subject"]) & (labelled | patients["outcome"].notna())
    regions = cohort.channels.loc[cohort.channels["anatomical"].notna(), "recording"]
    patients["anatomical"] = patients.index.isin(recordings.loc[recordings["recording"].isin(regions), "subject"])
    return patients.reset_index()


def _table1(part: pd.DataFrame) -> dict[str, float]:
    chosen = part[part["selected"]]
    return {
        "subjects": len(part),
        "selected": len(chosen),
        "surgery": int(chosen["outcome"].notna().sum()),
        "seizure_free": int(chosen["outcome"].sum()),
        "shortest_min": part["shortest"].min(),
        "longest_min": part["longest"].max(),
    }


def _table3(part: pd.DataFrame) -> dict[str, float]:
    valid = part[part["valid"]]
    return {
        "valid_subjects": len(valid),
        "normal_channels": valid["normal"].sum(),
        "pathological_channels": valid["pathological"].sum(),
        "seizure_free": int(valid["outcome"].sum()),
        "non_free": int((~valid["outcome"]).sum()),
        "anatomical_subjects": int(part["anatomical"].sum()),
    }


def _events(folder: Path) -> pd.DataFrame | None:
    """Annotated events, one row each: split, source, subject, artifact (1 = none), spike."""
    tables = []
    for file in sorted(folder.glob("*/*.parquet")):
        try:
            table = pq.read_table(file, columns=["artifact", "spike"]).to_pandas()
        except (OSError, ValueError, KeyError) as error:
            raise BenchError(
                f"{file}: cannot be read ({error}): expected a Parquet file with artifact and spike"
            ) from error
        subject = file.name.split("_")[0]
        source = next(
            (name for name in ("openieeg", "zurich", "hup", "sourcesink") if subject.startswith(f"sub-{name}")), "other"
        )
        tables.append(table.assign(subject=subject, source=source, split=file.parent.name))
    return pd.concat(tables, ignore_index=True) if tables else None


def _table2(part: pd.DataFrame) -> dict[str, float]:
    real = part["artifact"].astype(float) == 1
    return {
        "subjects": part["subject"].nunique(),
        "total_events": len(part),
        "artifact": int((~real).sum()),
        "real_hfo": int(real.sum()),
        "spkhfo": int((real & (part["spike"].astype(float) == 1)).sum()),
    }


def _task_channels(cohort: Cohort, patients: pd.DataFrame, task: str) -> pd.DataFrame:
    """Good channels of the task's recordings with ``positive``: ictal, asleep; NA for anatomy.

    The recordings are those of the release's list where it is there, else all whose label is known.
    """
    recordings = cohort.recordings.merge(patients[["subject", "source", "split"]], on="subject")
    channels = cohort.channels[cohort.channels["good"].fillna(True).astype(bool)]
    if task == "anatomy":
        return channels[channels["anatomical"].notna()].merge(recordings, on="recording").assign(positive=pd.NA)
    file = cohort.root / "derivatives" / "datasplit" / f"{task}_split_cross.csv"
    if file.is_file():
        listed = read_table(file, ["edf_file", "label", "split"]).rename(columns={"edf_file": "path"})
        listed["positive"] = listed["label"].map({"ictal": True, "sleep": True, "interictal": False, "awake": False})
        recordings = recordings.drop(columns="split").merge(listed[["path", "split", "positive"]], on="path")
    else:
        recordings["positive"] = (
            recordings["ictal"] if task == "ictal" else recordings["state"].map({"asleep": True, "awake": False})
        )
    return channels.merge(recordings[recordings["positive"].notna()], on="recording")


def _task_counts(part: pd.DataFrame) -> dict[str, float]:
    recordings = part.drop_duplicates("recording")
    counts = {"subjects": part["subject"].nunique(), "channels": len(part.drop_duplicates(["subject", "channel"]))}
    if part["positive"].isna().all():
        return counts
    positive = recordings["positive"].astype(bool)
    return counts | {"recordings": len(recordings), "positive": int(positive.sum()), "negative": int((~positive).sum())}
