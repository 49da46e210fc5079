"""Published numbers that do not agree with each other, recomputed from published numbers alone.

Every finding names its sources (a paper's table, or a table of the benchmark's own repository, both in
``results/published``) and says what follows from them, not why.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from omni_bench.results.factors import PRETRAINED_ON_BY_MOST, published_factors
from omni_bench.results.published import published_scores, read_published
from omni_bench.results.ranks import RULES, average_rank

IEEG, SCALP = "Omni-iEEG (arXiv 2602.16072)", "OmniEEG-Bench (arXiv 2606.00815)"


@dataclass(frozen=True)
class Finding:
    """One finding of the audit.

    Attributes
    ----------
    sources
        The tables that it is computed from.
    text
        What was found, in Markdown.
    table
        The numbers.
    """

    title: str
    sources: str
    text: str
    table: pd.DataFrame


def audit() -> list[Finding]:
    """All findings."""
    return [find() for find in FINDINGS]


def threshold_metrics(sensitivity: float, specificity: float, n_positive: int, n_negative: int) -> dict[str, float]:
    """Macro precision, recall and F1 that belong to a sensitivity, a specificity and the class counts."""
    tp, tn = sensitivity * n_positive, specificity * n_negative
    fn, fp = n_positive - tp, n_negative - tn
    return {
        "precision": (tp / (tp + fp) + tn / (tn + fn)) / 2,
        "recall": (sensitivity + specificity) / 2,
        "f1": (2 * tp / (2 * tp + fp + fn) + 2 * tn / (2 * tn + fn + fp)) / 2,
    }


def hanley_mcneil_error(auc: float, n_positive: int, n_negative: int) -> float:
    """Standard error of an AUC from its value and the class counts (Hanley and McNeil 1982, equation 1)."""
    q1, q2 = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    variance = auc * (1 - auc) + (n_positive - 1) * (q1 - auc**2) + (n_negative - 1) * (q2 - auc**2)
    return float(np.sqrt(variance / (n_positive * n_negative)))


def _test_counts(positive: str, negative: str) -> tuple[int, int]:
    """Two columns of Omni-iEEG Table 3, summed over its test patients."""
    test = read_published("omni_ieeg_table3").query("split == 'test'")
    return int(test[positive].sum()), int(test[negative].sum())


def swapped_specificity() -> Finding:
    """Table 5's specificity under both readings; the right one reproduces precision and F1."""
    n_positive, n_negative = _test_counts("pathological_channels", "normal_channels")
    rows = []
    for row in read_published("omni_ieeg_table5").to_dict("records"):
        other = 2 * row["recall"] - row["specificity"]
        readings = {
            "as printed": (other, row["specificity"]),
            "swapped": (row["specificity"], other),
        }
        found = {name: threshold_metrics(*pair, n_positive, n_negative) for name, pair in readings.items()}
        misfit = {name: abs(m["f1"] - row["f1"]) + abs(m["precision"] - row["precision"]) for name, m in found.items()}
        best = min(misfit, key=lambda name: misfit[name])
        rows.append(
            {
                "model": row["model"],
                "printed specificity": row["specificity"],
                "precision": row["precision"],
                "precision, as printed": found["as printed"]["precision"],
                "precision, swapped": found["swapped"]["precision"],
                "F1": row["f1"],
                "F1, as printed": found["as printed"]["f1"],
                "F1, swapped": found["swapped"]["f1"],
                "reading that fits": best,
                "sensitivity": readings[best][0],
                "specificity": readings[best][1],
            }
        )
    text = (
        f"The test split has {n_positive} pathological and {n_negative} normal channels (Table 3). Macro recall is the mean of "
        "sensitivity and specificity, so one of them follows from the other, and both give macro precision and macro F1. "
        "For the three event models only the reading in which the printed figure is the sensitivity gives the printed "
        "precision and F1; for the segment models the printed reading does. Corrected, eHFO and PyHFO have the highest "
        "specificity of the table (0.88), and their weakness is sensitivity (0.41)."
    )
    return Finding(
        "The event models' specificity in Table 5 is their sensitivity",
        f"{IEEG}, Tables 3 and 5",
        text,
        pd.DataFrame(rows),
    )


def outcome_intervals() -> Finding:
    """Intervals of the outcome AUCs that Tables 5, 12 and 13 print without any."""
    n_free, n_other = _test_counts("seizure_free", "non_free")
    tables = {name: read_published(f"omni_ieeg_table{name}") for name in ("5", "12", "13")}
    rows = []
    for name, table in tables.items():
        for model, auc in zip(table["model"], table["outcome_auc"], strict=True):
            error = hanley_mcneil_error(auc, n_free, n_other)
            low, high = max(auc - 1.96 * error, 0.0), min(auc + 1.96 * error, 1.0)
            rows.append((name, model, auc, error, low, high, low > 0.5))
    columns = ["table", "model", "outcome AUC", "standard error", "low", "high", "above 0.5"]
    found = pd.DataFrame(rows, columns=columns)
    text = (
        f"The outcome AUC compares {n_free} seizure-free with {n_other} other test patients (Table 3). Hanley and McNeil's "
        f"standard error at these counts is {found['standard error'].min():.3f} to {found['standard error'].max():.3f}, "
        f"so {int(found['above 0.5'].sum())} of the {len(found)} printed values lie above 0.5 by their 95 % interval, and most "
        "differences between models are within it."
    )
    return Finding("Outcome AUCs have wide intervals", f"{IEEG}, Tables 3, 5, 12 and 13", text, found)


def table2_sum() -> Finding:
    """Column sums of Table 2 beside its printed totals."""
    table = read_published("omni_ieeg_table2")
    counts = table.drop(columns=["split", "source"])
    total = table["split"] == "all"
    found = pd.DataFrame({"printed total": counts[total].sum(), "sum": counts[~total].sum()})
    found = found.rename_axis("column").reset_index()
    found["difference"] = found["printed total"] - found["sum"]
    text = "The column of spike HFOs sums to two events fewer than its printed total; the other columns add up."
    return Finding("Table 2's spkHFO column and its total", f"{IEEG}, Table 2", text, found)


def chance_column() -> Finding:
    """Printed `below chance` italics against 1 / number of classes, and against the repository's chance column."""
    shifted = read_published("omni_eegbench/chance_column").set_index("dataset")["chance"]
    rows = []
    for number in (5, 7):
        cells = read_published(f"omni_eegbench/table{number}").dropna(subset="mean")
        for dataset, part in cells.groupby("dataset", sort=False):
            # as the table prints it: the question is which chance its own italics follow
            level = round(1 / part["n_classes"].iloc[0], 4)
            marked = part["italic"] == 1
            highest = part.loc[marked, "mean"].max() if marked.any() else 0.0
            lowest = part.loc[~marked, "mean"].min() if (~marked).any() else 1.0
            if _explains(level, highest, lowest):
                continue
            column = shifted.get(dataset, np.nan)
            explained = "unknown" if np.isnan(column) else "yes" if _explains(column, highest, lowest) else "no"
            rows.append((number, dataset, level, highest, lowest, column, explained))
    names = ["1 / classes", "highest in italics", "lowest upright", "repository's column", "column explains it"]
    found = pd.DataFrame(rows, columns=["table", "dataset", *names])
    counts = {number: read_published(f"omni_eegbench/table{number}")["dataset"].nunique() for number in (5, 7)}
    per_table = found.groupby("table").size()
    checked = found[found["column explains it"] != "unknown"]
    shares = " and ".join(f"{per_table[number]} of {counts[number]} rows of Table {number}" for number in (5, 7))
    text = (
        f"Both tables print cells below chance in italics. With chance = 1 / number of classes, {shares} cannot have come "
        "about: a cell in italics is above that level, or an upright one below it. The chance column of the benchmark's "
        "repository, whose rows are shifted against its datasets, explains "
        f"{(checked['column explains it'] == 'yes').sum()} of the {len(checked)} rows that it has."
    )
    sources = f"{SCALP}, Tables 5 and 7; the repository's bacc_chance column"
    return Finding("Italics for `below chance` follow another chance", sources, text, found)


def _explains(level: float, highest_below: float, lowest_above: float) -> bool:
    # scores are printed with three decimals, chance is not
    slack = 0.0005001
    return highest_below <= level + slack and lowest_above >= level - slack


def frozen_baselines() -> Finding:
    """Baselines of the fine-tune table beside the repository's results of the same networks, frozen."""
    frozen = read_published("omni_eegbench/frozen_baselines").melt("dataset", var_name="model", value_name="frozen")
    printed = read_published("omni_eegbench/table7")[["dataset", "model", "mean"]].rename(columns={"mean": "Table 7"})
    both = printed.merge(frozen, on=["dataset", "model"]).dropna()
    both["frozen"] = both["frozen"].round(3)
    both["equal"] = np.where((both["frozen"] - both["Table 7"]).abs() < 5e-4, "yes", "no")
    n_equal = int((both["equal"] == "yes").sum())
    text = (
        f"{n_equal} of {len(both)} cells of EEGNet and EEGConformer that can be compared equal, to three decimals, the "
        "repository's results of the experiment basemodel_downsample, whose configuration trains a linear probe on the frozen "
        "networks at their random start. This suggests that the table's baselines are those frozen networks: it then holds none "
        "that was trained."
    )
    sources = f"{SCALP}, Table 7; the repository's benchmark_results_basemodel_downsample_cross_subject.csv"
    return Finding("Most baseline cells of the fine-tune table equal those of frozen networks", sources, text, both)


def size_correlation() -> Finding:
    """Rank against number of parameters: as printed, with BENDR as it is run, without BENDR."""
    factors = published_factors().reset_index()
    found = factors[factors["factor"].str.startswith("log parameters")].rename(
        columns={"median": "median Spearman ρ", "n_datasets": "datasets"}
    )
    values = found.set_index("factor")["median Spearman ρ"]
    text = (
        "The paper finds that larger models rank better (ρ = −0.21). It counts BENDR at 4.0 M parameters, its encoder alone; the "
        "benchmark runs encoder and contextualizer, 157.1 M. BENDR stands at chance on most datasets. With its true size "
        f"the median correlation is {values.iloc[1]:+.2f}, without BENDR {values.iloc[2]:+.2f}: the sign rests on one model. "
        f"Ranks: Table 5, rule strict, without {', '.join(PRETRAINED_ON_BY_MOST)}. Datasets are no independent replicates "
        "of ten models."
    )
    return Finding("The correlation of size and rank rests on BENDR", f"{SCALP}, Tables 2 and 5", text, found)


def ranks_by_rule() -> Finding:
    """Average ranks of Tables 5 to 7 under three rules beside the printed ones."""
    printed = read_published("omni_eegbench/printed_ranks")
    protocols = {5: "linear probe", 6: "multi-subject", 7: "fine-tune"}
    parts = []
    for number, protocol in protocols.items():
        scores, chance = published_scores(number)
        table = pd.DataFrame({rule: average_rank(scores, chance, rule) for rule in RULES}).sort_values("published")
        known = printed[(printed["protocol"] == protocol) & printed["model"].isin(table.index)]
        table["printed"] = known.set_index("model")["average_rank"]
        parts.append(table.rename_axis("model").reset_index().assign(table=number))
    found = pd.concat(parts, ignore_index=True)[["table", "model", *RULES, "printed"]]
    found["difference"] = found["published"] - found["printed"]
    worst = found.groupby("table")["difference"].apply(lambda values: values.abs().max())
    plain = found[found["table"] == 5].sort_values("plain")["model"].iloc[0]
    text = (
        "`published`: models at or below chance share the last rank; `strict`: only those below; `plain`: chance plays no part. "
        "Under `published` the printed order of the linear probe comes out (Table 5 prints no ranks); the plain average would "
        f"put {plain} first. The printed fine-tune ranks are reproduced to {worst[7]:.2f} at best, the multi-subject ranks to "
        f"{worst[6]:.2f}: three-decimal rounding explains a part of that only."
    )
    return Finding("Average ranks depend on the rule", f"{SCALP}, Tables 5 to 7, section 4.1, appendix F", text, found)


FINDINGS: tuple[Callable[[], Finding], ...] = (
    swapped_specificity,
    outcome_intervals,
    table2_sum,
    chance_column,
    frozen_baselines,
    size_correlation,
    ranks_by_rule,
)
