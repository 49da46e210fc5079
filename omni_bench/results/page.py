"""What stands on the page of a run: texts and tables from its record, put into the template."""

import math
from dataclasses import dataclass, field
from typing import Any

import jinja2
from markupsafe import Markup

from omni_bench.results.marks import marks_of

NAMES = {
    "auc": "ROC AUC",
    "average_precision": "Average precision",
    "outcome_auc": "Outcome AUC",
    "accuracy": "Accuracy",
    "balanced_accuracy": "Balanced accuracy",
    "precision_macro": "Macro precision",
    "recall_macro": "Macro recall",
    "f1_macro": "Macro F1",
    "kappa": "Cohen's κ",
    "sensitivity": "Sensitivity",
    "specificity": "Specificity",
    "r2": "R²",
    "pearson": "Pearson's r",
    "rmse": "Root mean square error",
    "mae": "Mean absolute error",
    "p": "p value",
    "homogeneity": "Homogeneity",
    "top1_soz": "Heard first, SOZ",
    "top1_preserved": "Heard first, preserved",
    "top5_soz": "Among the first five, SOZ",
    "top5_preserved": "Among the first five, preserved",
    "n_soz": "Windows, SOZ",
    "n_preserved": "Windows, preserved",
    "n_windows": "Windows",
    "n_permutations": "Permutations",
    "importance_rank": "Place among the bands",
    "importance_share": "Share of the bands' importance",
}
HEADLINES = ("auc", "outcome_auc", "f1_macro", "balanced_accuracy", "r2", "pearson", "rmse")
"""Metrics that stand large at the top, as many as four of those that there are."""


@dataclass(frozen=True)
class Picture:
    """A figure of the page: PNG and CSV of that `name` lie in the run's ``figures``."""

    name: str
    alt: str
    caption: str
    svg: Markup
    width_in: float


@dataclass
class Section:
    """A part of the page: pictures or why there are none, and a table of texts whose first row is its head."""

    title: str
    intro: str = ""
    pictures: list[Picture] = field(default_factory=list)
    absent: str = ""
    table_title: str = ""
    table: list[list[str]] = field(default_factory=list)
    numeric: list[bool] = field(default_factory=list)


def page_of(record: dict[str, Any], config: dict[str, Any], sections: list[Section], config_text: str) -> str:
    """The page as HTML: record in front, then the sections, then where it all comes from."""
    metrics = record["metrics"]
    counts = record["counts"]
    splits = [(name, counts[name]) for name in ("train", "val", "test") if name in counts]
    units = {str(metric["ci_unit"]) for metric in metrics.values() if _interval(metric)}
    return (
        environment()
        .get_template("report.html")
        .render(
            record=record,
            title=config.get("task", {}).get("title") or record["task"],
            subtitle=config.get("dataset", {}).get("title"),
            config_text=config_text,
            identity=_identity(record),
            marks=marks_of(record),
            headlines=[name for name in HEADLINES if name in metrics][:4],
            own_metrics=[name for name in metrics if not name.startswith("baseline_")],
            baseline_metrics=[name for name in metrics if name.startswith("baseline_")],
            interval_units=" and ".join(sorted(units)),
            splits=splits,
            counted_classes=list(dict.fromkeys(name for _, split in splits for name in split["per_class"])),
            sections=sections,
            run_facts=_run_facts(record),
            weight_facts=_weight_facts(record.get("weights") or {}),
            cost_facts=_cost_facts(record),
        )
    )


def environment() -> jinja2.Environment:
    """Templates of all pages: every value is escaped, an absent one is an error."""
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("omni_bench.results"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    templates.filters |= {
        "number": number,
        "count": _count,
        "interval": _interval,
        "bar": _bar,
        "metric_name": metric_name,
        "p_value": lambda p: "–" if math.isnan(p) else "< 0.001" if p < 0.001 else number(p),
        "pair": lambda value: (value, value.replace("_", " ")),
    }
    return templates


def metric_name(name: str) -> str:
    """A metric as people write it."""
    return NAMES.get(name, name.replace("_", " "))


def number(value: float | None) -> str:
    """Three decimals; a dash where there is no value."""
    if value is None or math.isnan(value):
        return "–"
    return f"{value:.3f}".replace("-", "−") if math.isfinite(value) else "∞" if value > 0 else "−∞"


def _count(value: int) -> str:
    return f"{value:,}"


def _interval(metric: dict[str, Any]) -> str:
    low, high = number(metric["ci_low"]), number(metric["ci_high"])
    return "" if low == "–" or high == "–" else f"{low} to {high}"


def _bar(metric: dict[str, Any]) -> dict[str, float] | None:
    """Percentages of the way from 0 to 1; None where a number is absent or lies outside."""
    low, value, high = (metric[key] for key in ("ci_low", "value", "ci_high"))
    if low is None or value is None or high is None or not 0 <= low <= value <= high <= 1:
        return None
    return {"low": round(100 * low, 1), "width": round(100 * (high - low), 1), "value": round(100 * value, 1)}


def _identity(record: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [("task", f"{record['task']} v{record['task_version']}")]
    rows += [(name, str(record[name])) for name in ("dataset", "model", "protocol", "adaptation", "seed")]
    optional = {"compat": record.get("compat"), "experiment": record.get("experiment")}
    return rows + [(name, str(value)) for name, value in optional.items() if value]


def _run_facts(record: dict[str, Any]) -> list[tuple[str, str]]:
    facts = {
        "Run": record["run_id"],
        "Started": record["started"],
        "Finished": record["finished"],
        "Configuration hash": record["config_hash"],
        "Split seed": record["split_seed"],
        "Git revision": record["git_revision"] or "not run from a checkout",
        "omni_bench": record["versions"].get("omni_bench"),
        "Device": record["device"],
        "Parameters of the network": _count(record["parameters"]) if record.get("parameters") else None,
    }
    return _known(facts)


def _weight_facts(weights: dict[str, Any]) -> list[tuple[str, str]]:
    if not weights:
        return [("Source", "no weights in the record")]
    unfilled = {name: len(weights.get(name) or []) for name in ("missing", "unexpected", "mismatched")}
    facts = {
        "Source": weights["source"],
        "Pretrained": "yes" if weights["pretrained"] else "no",
        "Revision": weights["revision"],
        "SHA-256": weights["sha256"],
        "Tensors matched": _count(weights["matched"]) if weights["source"] != "random" else None,
        "Tensors not matched": ", ".join(f"{n} {name}" for name, n in unfilled.items() if n) or None,
    }
    return _known(facts)


def _cost_facts(record: dict[str, Any]) -> list[tuple[str, str]]:
    steps = {"prepare_s": "Prepare", "fit_s": "Fit", "predict_s": "Predict", "evaluate_s": "Evaluate"}
    timing, memory = record["timing"], record["memory"]
    facts = {name: f"{timing[key]:,.1f} s" for key, name in steps.items() if key in timing}
    if "samples_per_s" in timing:
        facts["Predicted samples per second"] = f"{timing['samples_per_s']:,.1f}"
    for key, name in (("peak_rss_mb", "Peak memory"), ("peak_device_mb", "Peak device memory")):
        if memory.get(key) is not None:
            facts[name] = f"{memory[key]:,.0f} MB"
    return _known(facts)


def _known(facts: dict[str, Any]) -> list[tuple[str, str]]:
    return [(name, str(value)) for name, value in facts.items() if value is not None]
