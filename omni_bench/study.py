"""`python -m omni_bench.study`: a study of data or of a finished run, as an experiment names it."""

from pathlib import Path

from omegaconf import DictConfig

from omni_bench.cli import main_of
from omni_bench.errors import BenchError

USAGE = """
python -m omni_bench.study +experiment=omni_ieeg/shap checkpoint=DIR     which frequencies a finished run decides by
python -m omni_bench.study +experiment=omni_ieeg/permutation             can sources be told apart by their signals?
python -m omni_bench.study +experiment=omni_ieeg/hearable                what does an epileptic channel sound like?
"""


def study(cfg: DictConfig) -> Path:
    """Do what ``cfg.study`` says, print its table and write its record, ``study.json``.

    Returns
    -------
    The folder that was written, ``studies/<experiment>/seed-<n>-<hash>`` below the outputs.

    Raises
    ------
    BenchError
        The configuration names no study.
    """
    from hydra.utils import instantiate
    from rich.console import Console

    from omni_bench.results.record import STUDY_FILE, Record, metrics_table
    from omni_bench.steps import identity_of
    from omni_bench.studies.findings import Findings

    if not cfg.study:
        raise BenchError("no study is named: give +experiment=, for instance omni_ieeg/shap")
    folder = (
        Path(cfg.paths.output_dir).expanduser()
        / "studies"
        / (cfg.experiment or "own")
        / cfg.run_name.rpartition("/")[2]
    )
    folder.mkdir(parents=True, exist_ok=True)
    record = Record(folder, name=STUDY_FILE, **identity_of(cfg))
    try:
        with record.timed("study"):
            found: Findings = instantiate(cfg.study, _convert_="all")(cfg, folder)
    except Exception as error:
        record.finish("failed", error=str(error))
        raise
    rows = [{"options": row.options, "metrics": metrics_table(row.metrics)} for row in found.rows]
    record.finish("completed", rows=rows, weights=found.weights)
    console = Console()
    console.print(found.table.to_string(index=False, float_format="{:.4g}".format), highlight=False)
    console.print(str(folder), highlight=False, soft_wrap=True)
    return folder


main = main_of(study, "config", USAGE)

if __name__ == "__main__":
    main()
