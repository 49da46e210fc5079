"""`python -m omni_bench`: one run, or a sweep with `-m`."""

from typing import Any

from omegaconf import DictConfig

from omni_bench.cli import main_of

USAGE = """
python -m omni_bench task=region model=timeconv_cnn          one run, on the embedded demo cohort
python -m omni_bench dataset=omni_ieeg paths.data=DIR        the same on real recordings
python -m omni_bench -m model=a,b seed=0,1,2                 a sweep; finished runs are recognised
python -m omni_bench +experiment=omni_ieeg/table5            a table of a paper

Other commands: python -m omni_bench.prepare --help
"""


def _run(cfg: DictConfig) -> dict[str, Any]:
    from omni_bench.results.console import finished_result

    # a sweep that is started again should not import torch to find that there is nothing to do
    if (finished := finished_result(cfg)) is not None:
        return finished
    from omni_bench.pipeline import run

    return run(cfg)


main = main_of(_run, "config", USAGE)

if __name__ == "__main__":
    main()
