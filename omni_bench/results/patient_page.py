"""The page of a patient: what a trained model says of recordings without labels, for a person to look at and print."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from omni_bench import __version__
from omni_bench.files import write_atomically
from omni_bench.inference.patient import Patient
from omni_bench.results import patient_figures as figures
from omni_bench.results.page import Section, environment, number
from omni_bench.results.run_files import write_picture
from omni_bench.results.strips import in_shaft_order

SHOWN = 24
"""Channels of the ranking's figure: half a printed page; the table has all."""
PANELS = 4
"""Recordings of one figure over time."""


def write_page(folder: Path, patient: Patient) -> Path:
    """Write ``<subject>.html``, and its figures as PNG with their data as CSV below ``figures``.

    Returns
    -------
    Path of the page.
    """
    pictures = folder / "figures"
    if patient.channels is None:
        sections: list[Section | None] = [_over_time(pictures, patient), _means(patient)]
    else:
        sections = [_ranking(pictures, patient), _strip(pictures, patient), _shafts(pictures, patient)]
        sections += [_hfo(pictures, patient), _resection(patient), _table(patient.channels, patient.kind)]
    sections.append(_excluded(patient))
    model, task = patient.model, patient.trained.config.task
    page = (
        environment()
        .get_template("patient.html")
        .render(
            subject=patient.subject,
            title=task.title or task.name,
            model=model,
            identity=_identity(patient),
            marks=patient.marks,
            tiles=_tiles(patient),
            sections=[section for section in sections if section],
            model_facts=_model_facts(model),
            done_facts=_done_facts(patient),
            recordings=patient.recordings.to_dict("records"),
        )
    )
    write_atomically(folder / f"{patient.subject}.html", page)
    return folder / f"{patient.subject}.html"


def _identity(patient: Patient) -> list[tuple[str, str]]:
    record = patient.trained.record
    return [(name, str(record[name])) for name in ("task", "model", "adaptation")] + [("trained on", record["dataset"])]


def _tiles(patient: Patient) -> list[tuple[str, str, str]]:
    seconds = patient.recordings.drop_duplicates("recording")["duration"].sum()
    n = patient.recordings["recording"].nunique()
    tiles = [("Recorded", _clock(seconds), f"{n} recording{'s' if n > 1 else ''}")]
    channels = patient.channels
    if channels is None:
        return [*tiles, ("Windows", f"{len(patient.windows):,}", f"of {patient.trained.config.task.window_s:g} s")]
    scored = int(channels["score"].notna().sum())
    tiles.append(
        ("Channels with a score", f"{scored} of {len(channels)}", f"{len(patient.windows):,} {patient.kind} windows")
    )
    cut, positive = patient.scale.threshold, patient.scale.positive
    if cut and positive:
        n_positive = int((channels["predicted"] == positive).sum())
        tiles.append((f"Called {positive}", str(n_positive), f"score from {number(cut.value)} (rule {cut.rule})"))
    if patient.resection:
        ratio = patient.resection["resection_ratio"]
        tiles.append(("Resection ratio", number(ratio), patient.resection["reason"] or "share of the summed score"))
    return tiles


def _ranking(folder: Path, patient: Patient) -> Section:
    channels, cut = patient.channels, patient.scale.threshold
    assert channels is not None
    known = channels[channels["score"].notna()]
    alike = "" if patient.kind == "event" else " Neighbouring windows are alike, so a new recording can differ by more."
    section = Section("Channels by score", f"{patient.score}.{alike}")
    if known.empty:
        section.absent = "No channel has a score."
    else:
        shown = known.head(SHOWN)
        picture = figures.ranked(shown, "score", "ci_low", "ci_high", _label(patient), cut.value if cut else None)
        first = ", ".join(f"{row.channel} {row.score:.3f}" for row in shown.head(5).itertuples())
        alt = f"Scores of {len(shown)} channels, the highest first: {first}"
        section.pictures.append(write_picture(folder, "channels", picture, known, alt, _shown(shown, known)))
    return section


def _table(channels: pd.DataFrame, kind: str) -> Section:
    """Every channel in the order of its score."""
    section = Section("All channels", table_title="By score")
    counted = "events" if kind == "event" else "windows"
    with_hfo = "hfo_rate" in channels
    head = ["rank", "channel", "score", "95 % interval", counted, "class", "resected"]
    section.table = [[*head, *(["HFO/min"] if with_hfo else []), "note"]]
    section.numeric = [True, False, True, True, True, False, False, *([True] if with_hfo else []), False]
    rank = channels["score"].rank(method="min", ascending=False)
    for row, place in zip(channels.to_dict("records"), rank, strict=True):
        cells = ["" if pd.isna(place) else f"{place:.0f}", str(row["channel"]), number(row["score"])]
        cells += [
            _interval(row["ci_low"], row["ci_high"]),
            str(row["n"]),
            _text(row["predicted"]),
            _flag(row["resected"]),
        ]
        hfo = [number(row["hfo_rate"])] if with_hfo else []
        section.table.append([*cells, *hfo, _text(row["reason"])])
    return section


def _strip(folder: Path, patient: Patient) -> Section:
    section = Section(
        "Score over time", "Each channel in the order of its electrode's contacts; grey where there is no score."
    )
    column, channels = patient.scale.column, patient.channels
    assert channels is not None
    windows = patient.windows
    if windows.empty:
        section.absent = "No window, so nothing over time."
        return section
    if patient.kind == "event":
        windows, column, label = _per_minute(patient), "events", f"{patient.scale.positive} per minute"
    else:
        label = _label(patient)
        if column is None:
            windows, column = windows.assign(likeliest=windows[patient.outputs].max(axis=1)), "likeliest"
    order = in_shaft_order(channels.assign(source="", subject=""))["channel"]
    limits = _limits(windows[column].to_numpy(dtype=float))
    parts = []
    for name, part in windows.groupby("recording", sort=False):
        wide = part.pivot_table(column, "channel", "start", observed=True).reindex(order)
        parts.append((_without_subject(patient, str(name)), wide, float(part["duration"].iloc[0])))
    data = windows[["recording", "channel", "start", "duration", column]]
    for i in range(0, len(parts), PANELS):
        some = parts[i : i + PANELS]
        n = sum(part.shape[1] for _, part, _ in some)
        alt = f"Heat strip of {len(order)} channels over {n} windows, {label} {limits[0]:.3g} to {limits[1]:.3g}"
        name = _numbered("over_time", i, len(parts))
        section.pictures.append(write_picture(folder, name, figures.heat_strip(some, label, limits), data, alt))
    return section


def _numbered(name: str, first: int, n: int) -> str:
    return name if n <= PANELS else f"{name}_{first // PANELS + 1}"


def _without_subject(patient: Patient, recording: str) -> str:
    return recording.removeprefix(f"{patient.subject}_")


def _per_minute(patient: Patient) -> pd.DataFrame:
    """Rate of the positive class in equal parts of about a minute of each recording, channels without events with 0."""
    assert patient.channels is not None
    likeliest = patient.windows[patient.outputs].idxmax(axis=1)
    events = patient.windows[likeliest == patient.scale.column]
    names = patient.channels.loc[patient.channels["score"].notna(), "channel"]
    tables = []
    for row in patient.recordings.drop_duplicates("recording").itertuples(index=False):
        n_parts = max(1, round(row.duration / 60))
        width = row.duration / n_parts
        own = events[events["recording"] == row.recording]
        place = pd.Series((own["onset"] // width).astype(int), name="start")
        counts = pd.crosstab(own["channel"], place).reindex(index=names, columns=range(n_parts), fill_value=0)
        table = counts.melt(var_name="start", value_name="events", ignore_index=False).reset_index()
        per_minute = table["events"] * 60 / width
        tables.append(
            table.assign(start=table["start"] * width, events=per_minute, duration=width, recording=row.recording)
        )
    return pd.concat(tables, ignore_index=True)


def _shafts(folder: Path, patient: Patient) -> Section | None:
    channels = patient.channels
    assert channels is not None
    if channels["score"].isna().all():
        return None
    section = Section(
        "Along the electrodes", "Contacts in the order of their numbers, as the channels' names tell them."
    )
    limits = _limits(channels["score"].to_numpy(dtype=float))
    placed = figures.contacts(channels["channel"].tolist())
    means = channels["score"].groupby(placed["shaft"]).mean().sort_values(ascending=False).dropna()
    highest = ", ".join(f"{name} {value:.3f}" for name, value in means.head(5).items())
    alt = f"Contacts of {placed['shaft'].nunique()} electrodes coloured by score; electrodes with the highest mean: {highest}"
    data = placed.merge(channels[["channel", "score", "resected"]], on="channel")
    section.pictures.append(
        write_picture(folder, "electrodes", figures.shafts(channels, _label(patient), limits), data, alt)
    )
    return section


def _hfo(folder: Path, patient: Patient) -> Section | None:
    channels = patient.channels
    if channels is None or "hfo_rate" not in channels:
        return None
    section = Section(
        "HFO rate", "Detected high-frequency oscillations per minute, with the exact Poisson 95 % interval."
    )
    found = channels[channels["hfo_rate"].notna()].sort_values("hfo_rate", ascending=False, kind="stable")
    shown = found.head(SHOWN)
    first = ", ".join(f"{row.channel} {row.hfo_rate:.1f}" for row in shown.head(5).itertuples())
    alt = f"HFO rates with intervals of {len(shown)} channels, the highest first: {first}"
    picture = figures.ranked(shown, "hfo_rate", "hfo_ci_low", "hfo_ci_high", "events per minute")
    data = found[["channel", "hfo_count", "hfo_rate", "hfo_ci_low", "hfo_ci_high"]]
    section.pictures.append(write_picture(folder, "hfo_rate", picture, data, alt, _shown(shown, found)))
    return section


def _resection(patient: Patient) -> Section | None:
    found = patient.resection
    if found is None:
        return None
    section = Section(
        "Resection",
        "Share of the summed channel scores that lies in channels given as resected. Channels without a score have no part.",
    )
    section.table_title = "Resection ratio"
    section.table = [["channels", "resected", "resection ratio", "note"]]
    section.table.append(
        [str(found["n_channels"]), str(found["n_resected"]), number(found["resection_ratio"]), found["reason"]]
    )
    section.numeric = [True, True, True, False]
    return section


def _over_time(folder: Path, patient: Patient) -> Section:
    section = Section("Over time", "What the model says of each window of all channels.")
    outputs = [name.removeprefix("prob_") for name in patient.outputs]
    table = patient.windows.set_index("start")[["recording", *patient.outputs]].set_axis(
        ["recording", *outputs], axis=1
    )
    parts = [
        (_without_subject(patient, str(name)), part[outputs]) for name, part in table.groupby("recording", sort=False)
    ]
    label = "predicted value" if outputs == ["prediction"] else "probability"
    means = ", ".join(f"{name} {table[name].mean():.3f}" for name in outputs)
    width = float(patient.windows["duration"].iloc[0])
    for i in range(0, len(parts), PANELS):
        some = parts[i : i + PANELS]
        alt = f"{label.capitalize()} over time in {len(some)} recordings, means of all: {means}"
        name = _numbered("over_time", i, len(parts))
        section.pictures.append(write_picture(folder, name, figures.over_time(some, width, label), table, alt))
    return section


def _means(patient: Patient) -> Section:
    assert patient.means is not None
    section = Section("Means", f"{patient.score}.")
    section.table_title = "By recording"
    section.table = [["recording", "output", "mean", "95 % interval", "windows"]]
    section.numeric = [False, False, True, True, True]
    for row in patient.means.itertuples(index=False):
        output, interval = row.output.removeprefix("prob_"), _interval(row.ci_low, row.ci_high)
        section.table.append([row.recording, output, number(row.mean), interval, str(row.n)])
    return section


def _excluded(patient: Patient) -> Section | None:
    if not patient.excluded:
        return None
    section = Section("Left out")
    section.table_title = "Recordings and channels"
    section.table = [["what", "reason", "n"], *([e["what"], e["reason"], str(e["n"])] for e in patient.excluded)]
    section.numeric = [False, False, True]
    return section


def _model_facts(model: dict[str, Any]) -> list[tuple[str, str]]:
    facts = {
        "Model": model["model"],
        "Task": f"{model['task']} v{model['task_version']}",
        "Trained on": model["trained_on"] or model["dataset"],
        "Protocol, adaptation, seed": f"{model['protocol']}, {model['adaptation']}, {model['seed']}",
        "Run": model["run_id"],
        "Weights, SHA-256": model["weights_sha256"],
        "Marks": ", ".join(model["marks"]),
    }
    return [(name, str(value)) for name, value in facts.items() if value]


def _done_facts(patient: Patient) -> list[tuple[str, str]]:
    task, window = patient.trained.config.task, patient.trained.window
    steps = task.preprocessing
    band = " to ".join("–" if edge is None else f"{edge:g}" for edge in (steps.low, steps.high))
    cut = patient.scale.threshold
    facts = {
        "Score": patient.score,
        "Window": f"{task.window_s:g} s, {task.edge_s:g} s left out at both ends",
        "Sampling rate seen by the model": f"{window['sfreq']:g} Hz",
        "Band-pass (Hz)": None if steps.low is None and steps.high is None else band,
        "Line noise": "notch at the recording's line frequency, where known" if steps.notch else "not filtered",
        "Reference": steps.reference,
        "Threshold": f"{number(cut.value)}, rule {cut.rule}, from the model's run" if cut else None,
        "omni_bench": __version__,
    }
    return [(name, str(value)) for name, value in facts.items() if value]


def _label(patient: Patient) -> str:
    if patient.kind == "event":
        return f"{patient.scale.positive} per minute"
    if patient.scale.positive:
        return f"probability of {patient.scale.positive}"
    return "predicted value" if patient.scale.column else "probability of the likeliest class"


def _limits(values: np.ndarray) -> tuple[float, float]:
    """Of colours: the range of the values, widened where they are all the same."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if high > low:
        return low, high
    return (0.0, 2 * high or 1.0) if low >= 0 else (low - 0.5, high + 0.5)


def _shown(some: pd.DataFrame, every: pd.DataFrame) -> str:
    return f"The {len(some)} highest of {len(every)} channels." if len(some) < len(every) else ""


def _interval(low: float, high: float) -> str:
    return "" if pd.isna(low) else f"{number(low)} to {number(high)}"


def _flag(value: Any) -> str:
    return "" if pd.isna(value) else "yes" if value else "no"


def _text(value: Any) -> str:
    return "" if pd.isna(value) else str(value)


def _clock(seconds: float) -> str:
    return (
        f"{seconds:.0f} s"
        if seconds < 120
        else f"{seconds / 60:.1f} min"
        if seconds < 7200
        else f"{seconds / 3600:.1f} h"
    )
