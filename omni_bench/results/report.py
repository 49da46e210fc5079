"""The page of a run: what its files say, for a person to look at."""

import re
from pathlib import Path

import numpy as np
import pandas as pd

from omni_bench.files import sweep_parts, write_atomically
from omni_bench.results import figures
from omni_bench.results.diagnostic_sections import diagnostic_sections
from omni_bench.results.page import Picture, Section, number, page_of
from omni_bench.results.run_files import Run, read_run
from omni_bench.results.strips import PATIENT, channel_strips, in_shaft_order

STRIPS_PER_PAGE = 16
"""Patients of one figure of channel strips: a printed page."""
STRIP_PAGES = 3
"""Figures of channel strips that the page shows; the folder has all."""
PICTURED_CLASSES = 8
"""Of which an example is drawn: a task of 160 classes would have as many traces."""


def write_report(folder: Path) -> Path:
    """Write ``report.html`` and ``figures/`` from the files of a run directory, the same ones each time.

    Returns
    -------
    Path of the page.

    Raises
    ------
    BenchError
        There is no run in the folder.
    """
    run = read_run(Path(folder))
    sweep_parts(run.folder / "figures")
    sections = [_curves(run), _outcome(run), _strips(run), *diagnostic_sections(run), _training(run), _examples(run)]
    page = page_of(run.record, run.config, [section for section in sections if section], run.config_text)
    write_atomically(run.folder / "report.html", page)
    return run.folder / "report.html"


def _curves(run: Run) -> Section:
    scores = run.scores
    section = Section("Discrimination", "Units of the test split that have both a label and a score.")
    if scores is None:
        section.absent = "No table of scores (scores.parquet): no curves."
    elif "target" in scores:
        section.title = "Predicted against target"
        alt = f"Scatter of predicted value against target of {len(scores)} test units"
        columns = [name for name in ("unit_id", "source", "subject", "target", "predicted") if name in scores]
        section.pictures.append(
            run.picture("predicted", figures.predicted_against_target(scores), scores[columns], alt)
        )
    else:
        points = figures.curve_points(scores, run.classes)
        if points.empty:
            section.absent = "The test split has no scored units of both classes: no ROC and no precision–recall curve."
        else:
            rest = "" if "score" in scores else "each class against the rest, "
            alt = f"ROC and precision–recall curves, {rest}of {', '.join(points['class'].unique())}"
            section.pictures.append(run.picture("roc_pr", figures.roc_pr(scores, run.classes), points, alt))
        section.pictures += _confusion(run, scores)
    return section


def _confusion(run: Run, scores: pd.DataFrame) -> list[Picture]:
    known = scores[scores["label"].notna() & scores["predicted"].notna()]
    if known.empty:
        return []
    places = range(len(run.classes))
    found = pd.crosstab(known["label"].astype(int), known["predicted"].astype(int))
    counts = found.reindex(index=places, columns=places, fill_value=0)
    counts = counts.set_axis(pd.Index(run.classes, name="true"), axis=0).set_axis(run.classes, axis=1)
    rows = "; ".join(
        f"true {true}: " + ", ".join(f"{n} {name}" for name, n in row.items()) for true, row in counts.iterrows()
    )
    alt = f"Confusion matrix, predicted classes. {rows}"
    caption = "Confusion matrix, number of units. Shade: share of the row."
    return [run.picture("confusion", figures.confusion(counts), counts, alt, caption)]


def _outcome(run: Run) -> Section | None:
    if run.patients is None:
        return None
    patients = run.patients
    section = Section(
        "Resection and outcome",
        "Resection ratio: the share of a patient's summed channel scores that lay in resected channels. "
        "If scores mark what must go, it is higher in patients who became seizure-free.",
    )
    known = patients[patients["resection_ratio"].notna()]
    if known["outcome"].notna().any():
        free = known["outcome"].dropna().astype(bool)
        alt = f"Resection ratio of {int(free.sum())} seizure-free and {int((~free).sum())} not seizure-free patients"
        section.pictures.append(
            run.picture("resection_by_outcome", figures.resection_by_outcome(patients), patients, alt)
        )
    else:
        section.absent = "No patient with known outcome and resection: no resection ratio by outcome."
    section.table_title = "Patients of the test split"
    section.numeric = [False, False, False, True, True, True, True, False]
    section.table = [["patient", "source", "outcome", "channels", "SOZ", "resected", "ratio", "why no ratio"]]
    unknown = _patients_without(run.scores)
    for row in patients.to_dict("records"):
        outcome = "unknown" if pd.isna(row["outcome"]) else "seizure-free" if row["outcome"] else "not seizure-free"
        counts = [str(row["n_channels"])]
        for flag in ("soz", "resected"):
            counts.append("–" if (row["source"], row["subject"]) in unknown[flag] else str(row[f"n_{flag}"]))
        section.table.append(
            [row["subject"], row["source"], outcome, *counts, number(row["resection_ratio"]), row["reason"]]
        )
    return section


def _patients_without(scores: pd.DataFrame | None) -> dict[str, set[tuple[str, str]]]:
    """Patients none of whose channels has a known SOZ or resection flag: 0 marked channels say nothing of them."""
    flags = ["soz", "resected"]
    if scores is None or not {*PATIENT, *flags} <= set(scores):
        return {flag: set() for flag in flags}
    known = scores.groupby(PATIENT)[flags].count()
    return {flag: set(known.index[known[flag] == 0]) for flag in flags}


def _strips(run: Run) -> Section | None:
    needed = {*PATIENT, "channel", "score", "soz", "resected"}
    if run.scores is None or not needed <= set(run.scores):
        return None
    patients = list(run.scores.groupby(PATIENT, sort=True).indices)
    section = Section(
        "Channels of each patient",
        "Height: score of the channel, on one scale for all patients of a figure, which need not start at 0. "
        "Contacts run along their shafts.",
    )
    if run.scores["soz"].isna().all():
        section.intro += " No channel has a known SOZ label."
    if run.scores["resected"].isna().all():
        section.intro += " No channel is known to be resected or preserved."
    pages = [patients[i : i + STRIPS_PER_PAGE] for i in range(0, len(patients), STRIPS_PER_PAGE)]
    index = pd.MultiIndex.from_frame(run.scores[PATIENT])
    kept = ["source", "subject", "channel", "score", "label", "predicted", "soz", "resected"]
    for i, page in enumerate(pages):
        part = run.scores[index.isin(page)]
        data = in_shaft_order(part)[[name for name in kept if name in part]]
        alt = f"Strips of channel scores of {len(page)} patients: {', '.join(subject for _, subject in page)}"
        name = "channel_strips" if len(pages) == 1 else f"channel_strips_{i + 1:02d}"
        picture = run.picture(name, channel_strips(part, run.threshold), data, alt)
        if i < STRIP_PAGES:
            section.pictures.append(picture)
    if len(pages) > STRIP_PAGES:
        shown = STRIP_PAGES * STRIPS_PER_PAGE
        section.intro += (
            f" The first {shown} of {len(patients)} patients are shown; all are in figures/channel_strips_*.png."
        )
    return section


def _training(run: Run) -> Section:
    section = Section("Training")
    if run.training is None or run.training["value"].notna().sum() == 0:
        section.absent = "No training curves: nothing was trained in this run, or its metrics.csv is absent."
        return section
    names = ", ".join(run.training["metric"].unique())
    alt = f"Training curves of {names}, by optimiser step"
    section.pictures.append(run.picture("training_curves", figures.training_curves(run.training), run.training, alt))
    return section


def _examples(run: Run) -> Section:
    section = Section(
        "Signals",
        f"One test window of one channel of each class, of the first {PICTURED_CLASSES}. The map shows decibels above each "
        "frequency's median over the window; a pixel is the largest amplitude of its stretch of time.",
    )
    examples = run.examples or {}
    labels = sorted(int(key.removeprefix("signal_")) for key in examples if key.startswith("signal_"))
    if not labels:
        section.absent = "No example windows (examples.npz): no traces and maps."
    for label in labels[:PICTURED_CLASSES]:
        class_name = run.class_name(label)
        signal, sfreq = examples[f"signal_{label}"].astype(np.float32), float(examples["sfreq"])
        unit = str(examples.get(f"name_{label}", ""))
        data = pd.DataFrame({"time_s": np.arange(len(signal)) / sfreq, "microvolt": signal})
        alt = f"Trace and time-frequency map of {len(signal) / sfreq:g} s of a {class_name} channel, {unit}"
        picture = figures.trace_and_map(signal, sfreq, f"{class_name}: {unit}")
        section.pictures.append(run.picture(f"trace_{re.sub(r'[^A-Za-z0-9]+', '_', class_name)}", picture, data, alt))
    return section
