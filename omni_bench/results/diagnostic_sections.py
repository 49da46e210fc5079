"""Sections of a run's page on its probabilities, channels and embeddings, each only where its files exist."""

import numpy as np
import pandas as pd

from omni_bench.evaluation.calibration import expected_calibration_error, reliability
from omni_bench.results import diagnostics
from omni_bench.results.page import Section, number
from omni_bench.results.run_files import Run

METHODS = ("PCA", "UMAP")


def diagnostic_sections(run: Run) -> list[Section]:
    """Calibration, scalp maps, embeddings."""
    found = (_calibration(run), _scalp_maps(run), _embeddings(run))
    return [section for section in found if section is not None]


def _calibration(run: Run) -> Section | None:
    judged = None if run.scores is None else _judged(run, run.scores)
    if judged is None or judged.empty:
        return None
    bins = reliability(judged["truth"].to_numpy(), judged["probability"].to_numpy(), judged["person"])
    error = expected_calibration_error(bins)
    of_what = (
        f"of class {run.classes[1]}"
        if "score" in judged
        else "of the most probable class, against how often it was right"
    )
    section = Section("Calibration", f"Probability {of_what}. Lines: 95 %, bootstrap of persons.")
    rows = "; ".join(f"{row.predicted:.2f} predicted, {row.observed:.2f} observed" for row in bins.itertuples())
    alt = f"Calibration curve of {len(judged)} test units. {rows}"
    caption = f"Expected calibration error {number(error)} over {len(bins)} bins of equal width."
    section.pictures.append(run.picture("calibration", diagnostics.calibration(bins), bins, alt, caption))
    return section


def _judged(run: Run, scores: pd.DataFrame) -> pd.DataFrame | None:
    """Probability, truth and person of every unit; None where scores are no probabilities."""
    if "label" not in scores or "person" not in scores:
        return None
    if "score" in scores:
        # a rate of events is no probability, whatever its range
        if run.config.get("task", {}).get("evaluate", {}).get("score") == "rate":
            return None
        table = scores.assign(probability=scores["score"], truth=scores["label"] == 1)
    else:
        columns = [f"prob_{name}" for name in run.classes]
        if not set(columns) <= set(scores):
            return None
        probability = scores[columns]
        place = pd.Series(probability.fillna(-1).to_numpy().argmax(axis=1), index=scores.index)
        table = scores.assign(probability=probability.max(axis=1), truth=scores["label"] == place)
    table = table[table["label"].notna() & table["probability"].notna()]
    if not table["probability"].between(0, 1).all():
        return None
    return table.astype({"probability": float, "truth": bool})


def _scalp_maps(run: Run) -> Section | None:
    examples = run.examples or {}
    if "ch_names" not in examples:
        return None
    ch_names = [str(name) for name in examples["ch_names"]]
    labels = sorted(int(key.removeprefix("window_")) for key in examples if key.startswith("window_"))
    powers = {
        run.class_name(label): diagnostics.band_powers(
            examples[f"window_{label}"].astype(np.float32), float(examples["sfreq"]), ch_names
        )
        for label in labels
    }
    section = Section(
        "Scalp",
        "Band power of one test window of each class, the one that the model is surest of: one window, no average.",
    )
    figure = diagnostics.scalp_maps(powers) if powers else None
    if figure is None:
        section.absent = f"Fewer than {diagnostics.FEW_ELECTRODES} electrodes with a known place of their own: no maps."
        return section
    data = pd.concat(powers, names=["class", "channel"]).reset_index()
    highest = "; ".join(
        f"{name}: "
        + ", ".join(f"{band} strongest at {column.idxmax()}" for band, column in table.dropna(how="all").items())
        for name, table in powers.items()
    )
    alt = f"Maps of band power over the scalp. {highest}"
    section.pictures.append(run.picture("scalp_maps", figure, data, alt))
    return section


def _embeddings(run: Run) -> Section | None:
    table = run.projection
    methods = [] if table is None else [name for name in METHODS if f"{name}_1" in table]
    if table is None or not methods or not run.classes:
        return None
    figure = diagnostics.projection(table, methods, run.classes)
    section = Section(
        "Embeddings",
        "Test windows as the frozen backbone embeds them, in two dimensions. Distances and gaps of a projection say little: "
        "the metrics above are what counts.",
    )
    counts = table["label"].value_counts()
    words = ", ".join(f"{counts.get(i, 0)} {name}" for i, name in enumerate(run.classes))
    alt = f"Embeddings of {len(table)} test windows by {' and '.join(methods)}: {words}"
    section.pictures.append(run.picture("embeddings", figure, table, alt))
    return section
