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

SHOWN = 40
"""Channels of the ranking's figure: a printed page; the table has all."""
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
        sections = [_over_time(pictures, patient), _means(patient)]
    else:
        sections = [_ranking(pictures, patient), _strip(pictures, patient), _shafts(pictures, patient)]
        sections += [_hfo(pictures, patient), _resection(patient)]
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
    section = Section(
        "Channels by score",
        f"{patient.score}. Neighbouring windows are alike, so intervals are narrower than a new recording's would show.",
    )
    if known.empty:
        section.absent = "No channel has a score."
    else:
        shown = known.head(SHOWN)
        picture = figures.ranked(shown, "score", "ci_low", "ci_high", _label(patient), cut.value if cut else None)
        first = ", ".join(f"{row.channel} {row.score:.3f}" for row in shown.head(5).itertuples())
        alt = f"Scores with intervals of {len(shown)} channels, the highest first: {first}"
        caption = f"The {len(shown)} highest of {len(known)} channels." if len(shown) < len(known) else ""
        section.pictures.append(write_picture(folder, "channels", picture, known, alt, caption))
    section.table_title = "All channels"
    section.table = [["rank", "channel", "score", "95 % interval", "windows", "class", "resected", "note"]]
    section.numeric = [True, False, True, True, True, False, False, False]
    if patient.kind == "event":
        section.table[0][4] = "events"
    rank = channels["score"].rank(method="min", ascending=False)
    for row, place in zip(channels.to_dict("records"), rank, strict=True):
        interval = "" if pd.isna(row["ci_low"]) else f"{number(row['ci_low'])} to {number(row['ci_high'])}"
        section.table.append(
            [
                "" if pd.isna(place) else f"{place:.0f}",
                str(row["channel"]),
                number(row["score"]),
                interval,
                str(row["n"]),
                _text(row["predicted"]),
                {True: "yes", False: "no"}.get(row["resected"], "") if pd.notna(row["resected"]) else "",
                _text(row["reason"]),
            ]
        )
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
        windows, column, width = _per_minute(patient), "events", 60.0
        label = f"{patient.scale.positive} per minute"
    else:
        width, label = float(windows["duration"].iloc[0]), _label(patient)
        if column is None:
            windows, column = windows.assign(likeliest=windows[patient.outputs].max(axis=1)), "likeliest"
    order = in_shaft_order(channels.assign(source="", subject=""))["channel"]
    wide = windows.pivot_table(column, "channel", ["recording", "start"], observed=True).reindex(order)
    limits = _limits(wide.to_numpy())
    parts = [(str(name), wide[name]) for name in wide.columns.get_level_values(0).unique()]
    for i in range(0, len(parts), PANELS):
        some = parts[i : i + PANELS]
        name = "over_time" if len(parts) <= PANELS else f"over_time_{i // PANELS + 1}"
        n = sum(part.shape[1] for _, part in some)
        alt = f"Heat strip of {len(order)} channels over {n} windows, {label} {limits[0]:.3g} to {limits[1]:.3g}"
        data = windows[windows["recording"].isin([part for part, _ in some])][["recording", "channel", "start", column]]
        section.pictures.append(write_picture(folder, name, figures.heat_strip(some, width, label, limits), data, alt))
    return section


def _per_minute(patient: Patient) -> pd.DataFrame:
    """Events of the positive class in each minute of each channel, quiet ones with 0."""
    assert patient.channels is not None
    likeliest = patient.windows[patient.outputs].idxmax(axis=1)
    events = patient.windows[likeliest == patient.scale.column]
    tables = []
    for row in patient.recordings.drop_duplicates("recording").itertuples(index=False):
        own = events[events["recording"] == row.recording]
        minutes = pd.RangeIndex(max(1, int(np.ceil(row.duration / 60))))
        names = patient.channels.loc[patient.channels["score"].notna(), "channel"]
        counts = pd.crosstab(own["channel"], own["onset"] // 60).reindex(index=names, columns=minutes, fill_value=0)
        table = counts.melt(var_name="start", value_name="events", ignore_index=False).reset_index()
        tables.append(table.assign(start=60.0 * table["start"], recording=row.recording))
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
    section.pictures.append(write_picture(folder, "hfo_rate", picture, data, alt))
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
    parts = [(str(name), part[outputs]) for name, part in table.groupby("recording", sort=False)]
    label = "predicted value" if outputs == ["prediction"] else "probability"
    means = ", ".join(f"{name} {table[name].mean():.3f}" for name in outputs)
    for i in range(0, len(parts), PANELS):
        name = "over_time" if len(parts) <= PANELS else f"over_time_{i // PANELS + 1}"
        some = parts[i : i + PANELS]
        alt = f"{label.capitalize()} over time in {len(some)} recordings, means: {means}"
        data = table[table["recording"].isin([part for part, _ in some])]
        width = float(patient.windows["duration"].iloc[0])
        section.pictures.append(write_picture(folder, name, figures.over_time(some, width, label), data, alt))
    return section


def _means(patient: Patient) -> Section:
    assert patient.means is not None
    section = Section("Means", f"{patient.score}.")
    section.table_title = "By recording"
    section.table = [["recording", "output", "mean", "95 % interval", "windows"]]
    section.numeric = [False, False, True, True, True]
    for row in patient.means.itertuples(index=False):
        interval = "" if pd.isna(row.ci_low) else f"{number(row.ci_low)} to {number(row.ci_high)}"
        output = row.output.removeprefix("prob_")
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
        "Line noise": "notch, where the line frequency is known" if steps.notch else "not filtered",
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
    return (low, high) if high > low else (low - 0.5, high + 0.5)


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
