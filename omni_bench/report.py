"""`python -m omni_bench.report`: cohort counts, or the results of an experiment, beside the published ones."""

import re
import sys
from pathlib import Path

from omegaconf import DictConfig

from omni_bench.cli import main_of
from omni_bench.errors import BenchError
from omni_bench.explain import near

USAGE = """
python -m omni_bench.report experiment=omni_ieeg/table5 results=outputs   ours | published | difference | interval
python -m omni_bench.report cohort                                  Tables 1-3 and task cohorts, on the demo cohort
python -m omni_bench.report cohort dataset=omni_ieeg paths.data=DIR  the same from whatever of the release is present
"""


def _report(cfg: DictConfig) -> None:
    if cfg.report is None:
        raise BenchError("no report named: say `cohort`, or experiment=NAME for a published table (omni_ieeg/table5)")
    if cfg.report not in REPORTS:
        raise BenchError(f"report={cfg.report}: no such report{near(cfg.report, REPORTS)}")
    REPORTS[cfg.report](cfg)


def _cohort(cfg: DictConfig) -> None:
    from omni_bench.files import write_atomically
    from omni_bench.results.cohort_tables import cohort_tables
    from omni_bench.results.console import print_cohort
    from omni_bench.steps import open_cohort

    cohort = open_cohort(cfg)
    table = cohort_tables(cohort)
    file = Path(cfg.paths.output_dir).expanduser() / cfg.dataset.name / "cohort.csv"
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, table.to_csv(index=False))
    print_cohort(table, cohort.excluded, file)


def _table(cfg: DictConfig) -> None:
    from omni_bench.results.comparison import compare
    from omni_bench.results.comparison_page import write_comparison
    from omni_bench.results.console import print_comparison

    cells = compare(cfg.table, Path(cfg.results).expanduser())
    files = write_comparison(cfg.table, cells, Path(cfg.to).expanduser())
    print_comparison(cfg.table, cells, files)


REPORTS = {"cohort": _cohort}

_cohort_main = main_of(_report, "report", USAGE, positional="report")
_table_main = main_of(_table, "tables", USAGE)


def main() -> None:
    """With ``experiment=`` a published table, else a cohort."""
    # composing the experiment itself would start its sweep
    arguments = [re.sub(r"^\+?experiment=", "table=", argument) for argument in sys.argv[1:]]
    named = arguments != sys.argv[1:]
    sys.argv[1:] = arguments
    (_table_main if named else _cohort_main)()


if __name__ == "__main__":
    main()
