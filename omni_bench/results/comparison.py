"""Our results beside the published tables: ours, published, difference, interval, and why a cell has no value of ours."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from omni_bench.errors import BenchError
from omni_bench.explain import near
from omni_bench.results.collect import records_below
from omni_bench.results.marks import marks_of
from omni_bench.results.published import read_published
from omni_bench.results.record import STUDY_FILE

REGION = {
    "precision": "precision_macro",
    "recall": "recall_macro",
    "f1": "f1_macro",
    "specificity": "specificity",
    "auc": "auc",
}
OUTCOME = REGION | {"outcome_auc": "outcome_auc"}
STATE = {"f1": "f1_macro", "acc": "balanced_accuracy"}
LEGACY = "no run: it needs the paper's own checkpoint, which is not public"
MODELS = {
    "LSTM+Attention": "lstm_attention",
    "PatchTST Transformer": "patchtst",
    "TimesNet": "timesnet",
    "PyHFO-Omni": "pyhfo_omni",
    "PyHFO-Omni_spkHFO": "pyhfo_omni",
    "eHFO": "ehfo",
    "PyHFO_spkHFO": "pyhfo_spike",
    "TimeConv-CNN": "timeconv_cnn",
    "CLAP": "clap",
    "SEEG-NET": "seegnet",
    "EEGNet (adapted)": "eegnet_1ch",
    "Linear baseline": "handcrafted",
}
"""Models of the Omni-iEEG paper by our names; OmniEEG-Bench's are ours in small letters."""

OF_PERSONS = (
    "Intervals: 95 %, bootstrap of persons, limits averaged over seeds; they hold the uncertainty of our test persons and "
    "none of the paper's."
)

Row = Mapping[str, Any]


@dataclass(frozen=True)
class PublishedTable:
    """A printed table and the runs that answer it.

    Attributes
    ----------
    source
        Paper and table.
    rows
        Rows of the printed table.
    labels
        Columns that name a row.
    metrics
        Printed column → name in ``result.json``.
    wanted
        Row → what its runs have: ``task, model, protocol, adaptation`` (those that matter), ``options``.
    absent
        Row → why it has no run where it has none; empty = it was not run.
    caveat
        Row, printed column → what to know of the two numbers.
    intervals
        What our intervals are.
    study
        Whether studies (``study.json``) answer it in place of runs.
    """

    source: str
    rows: pd.DataFrame
    labels: list[str]
    metrics: dict[str, str]
    wanted: Callable[[Row], dict[str, Any]]
    absent: Callable[[Row], str] = field(default=lambda row: "")
    caveat: Callable[[Row, str], str] = field(default=lambda row, column: "")
    intervals: str = OF_PERSONS
    study: bool = False


def published_table(experiment: str) -> PublishedTable:
    """The printed table that an experiment answers.

    Raises
    ------
    BenchError
        None is known.
    """
    if experiment not in TABLES:
        raise BenchError(f"experiment={experiment}: no published table is known for it{near(experiment, TABLES)}")
    return TABLES[experiment]()


def compare(experiment: str, results: Path) -> pd.DataFrame:
    """Every cell of a published table with our value or the reason why there is none.

    The dataset with the fewest disqualifying marks stands for a row, then the one that finished last; seeds are put
    together as the mean of values and of interval limits.

    Returns
    -------
    One row per printed cell: the row's labels joined as ``row``, ``metric``, ``ours, ci_low, ci_high, published,
    difference`` (NaN where one is absent), ``inside`` (the published value lies in our interval; NA = no interval),
    ``n_seeds``, ``dataset``, ``remark`` (marks of the runs, or the reason).
    """
    table = published_table(experiment)
    if not results.is_dir():
        raise BenchError(f"results={results}: no such folder: name the output_dir of runs")
    records = list(_study_rows(results) if table.study else _completed(results))
    rows = []
    for row in table.rows.to_dict("records"):
        runs = _runs(records, table.wanted(row))
        label = " · ".join(_label(row[name]) for name in table.labels)
        for column, metric in table.metrics.items():
            cell = _ours(runs, metric) if runs else {"remark": table.absent(row) or "no finished run in these results"}
            caveats = [cell["remark"], table.caveat(row, column), "" if row[column] == row[column] else "not printed"]
            remark = "; ".join(filter(None, caveats))
            rows.append({"row": label, "metric": metric, "published": row[column]} | cell | {"remark": remark})
    names = ["row", "metric", "ours", "ci_low", "ci_high", "published", "n_seeds", "dataset", "remark"]
    cells = pd.DataFrame(rows).reindex(columns=names)
    numbers = ["ours", "ci_low", "ci_high", "published"]
    cells[numbers] = cells[numbers].astype(float)
    cells.insert(6, "difference", cells["ours"] - cells["published"])
    known = cells[["ci_low", "ci_high", "published"]].notna().all(axis=1)
    inside = cells["published"].between(cells["ci_low"], cells["ci_high"])
    cells.insert(7, "inside", inside.astype("boolean").where(known))
    return cells


def _completed(results: Path, record_name: str = "result.json") -> Iterator[dict[str, Any]]:
    for _, record in records_below(results, record_name):
        if record and record.get("status") == "completed":
            yield record


def _study_rows(results: Path) -> Iterator[dict[str, Any]]:
    """A record for every row of every finished study."""
    for record in _completed(results, STUDY_FILE):
        yield from (record | row for row in record["rows"])


def _runs(records: list[dict[str, Any]], wanted: dict[str, Any]) -> list[dict[str, Any]]:
    """The newest run of each seed on the dataset that suits best."""
    options = wanted.pop("options", {})
    fitting = [
        record
        for record in records
        if all(record.get(key) == value for key, value in wanted.items())
        and not record.get("compat")
        and all((record.get("options") or {}).get(key) == value for key, value in options.items())
    ]
    if not fitting:
        return []
    fitting.sort(key=lambda record: record.get("finished") or "")
    best = min(reversed(fitting), key=lambda record: sum(mark.disqualifies for mark in marks_of(record)))
    same = ("dataset", "synthetic", "reduced")
    chosen = [record for record in fitting if all(record[key] == best[key] for key in same)]
    return list({record["seed"]: record for record in chosen}.values())


def _ours(runs: list[dict[str, Any]], metric: str) -> dict[str, Any]:
    entries = [run["metrics"].get(metric) for run in runs]
    facts = {"n_seeds": len(runs), "dataset": runs[0]["dataset"]}
    marks = list(dict.fromkeys(mark.name for run in runs for mark in marks_of(run)))
    missing = [entry for entry in entries if entry is None or _nan(entry["value"])]
    if missing:
        note = (missing[0] or {}).get("note") or f"the run has no {metric}"
        return facts | {"remark": f"not defined: {note}"}
    means = {
        name: float(np.mean([math.nan if _nan(entry[key]) else entry[key] for entry in entries if entry]))
        for name, key in (("ours", "value"), ("ci_low", "ci_low"), ("ci_high", "ci_high"))
    }
    return facts | means | {"remark": "; ".join(marks)}


def _nan(value: float | None) -> bool:
    return value is None or math.isnan(value)


def _label(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _ieeg(
    name: str,
    labels: list[str],
    metrics: dict[str, str],
    task: str = "region",
    protocol: str = "official_split",
    model: str | None = None,
    other_models: Mapping[str, str] | None = None,
    **options: Any,
) -> Callable[[], PublishedTable]:
    """A table of Omni-iEEG; a column of `held_out` or `segment_s` becomes the runs' option."""

    def wanted(row: Row) -> dict[str, Any]:
        own = {
            key: row[column] for column, key in (("held_out", "held_out"), ("segment_s", "window_s")) if column in row
        }
        found = {
            "task": task,
            "model": model or (MODELS | dict(other_models or {}))[row["model"]],
            "protocol": protocol,
        }
        return found | {"options": options | own}

    def table() -> PublishedTable:
        source = f"Omni-iEEG (arXiv 2602.16072), Table {name.removeprefix('table')}"
        return PublishedTable(source, read_published(f"omni_ieeg_{name}"), labels, metrics, wanted, _legacy, _swapped)

    return table


def _legacy(row: Row) -> str:
    return LEGACY if row.get("model") in ("eHFO", "PyHFO_spkHFO") else ""


def _swapped(row: Row, column: str) -> str:
    swapped = column == "specificity" and row.get("group") == "event"
    return "the printed figure is the recall of pathological channels: see the audit" if swapped else ""


def _exploratory(tasks: dict[str, str]) -> Callable[[], PublishedTable]:
    """Rows of Omni-iEEG Table 8 by our tasks."""

    def table() -> PublishedTable:
        rows = read_published("omni_ieeg_table8")
        return PublishedTable(
            "Omni-iEEG (arXiv 2602.16072), Table 8",
            rows[rows["task"].isin(tasks)],
            ["task", "model"],
            STATE,
            lambda row: {"task": tasks[row["task"]], "model": MODELS[row["model"]], "protocol": "official_split"},
        )

    return table


def _scalp(number: int, protocol: str, adaptation: str) -> Callable[[], PublishedTable]:
    """A table of OmniEEG-Bench: mean balanced accuracy of every dataset and model."""

    def wanted(row: Row) -> dict[str, Any]:
        baseline = row["model"] in ("EEGNet", "EEGConformer")
        found = {"task": row["task"], "model": row["model"].lower(), "protocol": protocol}
        return found | {"adaptation": "from_scratch" if baseline else adaptation}

    def table() -> PublishedTable:
        rows = read_published(f"omni_eegbench/table{number}")
        rows = rows.merge(read_published("omni_eegbench/tasks"), on="dataset", how="left", validate="many_to_one")
        return PublishedTable(
            f"OmniEEG-Bench (arXiv 2606.00815), Table {number}",
            rows,
            ["dataset", "model"],
            {"mean": "balanced_accuracy"},
            wanted,
        )

    return table


def _vigilance() -> PublishedTable:
    return PublishedTable(
        "OmniEEG-Bench (arXiv 2606.00815), Table 8",
        read_published("omni_eegbench/table8"),
        ["model"],
        {"r2": "r2", "pearson": "pearson", "rmse": "rmse"},
        lambda row: {"task": "seed_vig_regression", "model": row["model"].lower(), "adaptation": "linear_probe"},
    )


def _study(
    name: str, labels: list[str], metrics: Sequence[str], intervals: str, caveat: str = ""
) -> Callable[[], PublishedTable]:
    """Figures that the text of Omni-iEEG prints of a study; ``labels`` name its rows and are what a study's row is found by."""

    def table() -> PublishedTable:
        return PublishedTable(
            f"Omni-iEEG (arXiv 2602.16072), {name} study",
            read_published(f"omni_ieeg_{name}"),
            labels,
            dict(zip(metrics, metrics, strict=True)),
            lambda row: {"experiment": f"omni_ieeg/{name}", "options": {label: row[label] for label in labels}},
            caveat=lambda row, column: caveat,
            intervals=intervals,
            study=True,
        )

    return table


TABLES: dict[str, Callable[[], PublishedTable]] = {
    "omni_ieeg/table4": _ieeg("table4", ["model"], {k: v for k, v in REGION.items() if k != "specificity"}, "events"),
    "omni_ieeg/table5": _ieeg("table5", ["group", "model"], OUTCOME, sfreq=1000, min_test_s=0),
    "omni_ieeg/anatomy": _exploratory({"anatomy5": "anatomy_lobe", "anatomy12": "anatomy_region"}),
    "omni_ieeg/ictal": _exploratory({"ictal": "ictal"}),
    "omni_ieeg/sleep_awake": _exploratory({"sleep": "sleep_awake"}),
    "omni_ieeg/table9": _ieeg(
        "table9",
        ["held_out"],
        {key: REGION[key] for key in ("precision", "recall", "f1")},
        "events",
        "leave_one_dataset_out",
        "pyhfo_omni",
    ),
    "omni_ieeg/table10": _ieeg("table10", ["held_out", "model"], OUTCOME, protocol="leave_one_dataset_out"),
    "omni_ieeg/table11": _ieeg("table11", ["segment_s"], REGION, model="timeconv_cnn", min_test_s=122),
    "omni_ieeg/table12": _ieeg(
        "table12", ["model"], OUTCOME, other_models={"TimeConv-CNN": "timeconv_cnn_250hz"}, sfreq=500
    ),
    "omni_ieeg/table13": _ieeg("table13", ["model"], OUTCOME, sfreq=1000, min_test_s=0),
    "omni_ieeg/permutation": _study(
        "permutation",
        ["permute"],
        ["p", "homogeneity", "n_windows", "n_permutations"],
        "Interval of p: 95 %, Clopper and Pearson; what more permutations could change, and nothing of other patients.",
    ),
    "omni_ieeg/hearable": _study(
        "hearable",
        ["name"],
        ["top1_soz", "top1_preserved", "top5_soz", "top5_preserved", "n_soz", "n_preserved"],
        "No intervals: the windows are of one patient.",
        "ours by an Audio Spectrogram Transformer, theirs by YAMNet",
    ),
    "omni_ieeg/shap": _study(
        "shap",
        ["low", "high"],
        ["importance_rank", "importance_share"],
        "No intervals: the windows are of one finished run.",
    ),
    "omni_eegbench/leaderboard": _scalp(5, "cross_subject", "linear_probe"),
    "omni_eegbench/multi_subject": _scalp(6, "multi_subject", "linear_probe"),
    "omni_eegbench/finetune": _scalp(7, "cross_subject", "full_finetune"),
    "omni_eegbench/seed_vig": _vigilance,
}
"""Experiments that answer a printed table."""
