"""`python -m omni_bench.prepare`: fetch, check, preprocess and store a dataset for a task."""

from omegaconf import DictConfig

from omni_bench.cli import main_of

USAGE = """
python -m omni_bench.prepare dataset=omni_ieeg task=region paths.data=DIR     fetch what is open, check, preprocess, store
python -m omni_bench.prepare dataset=omni_ieeg on_error=skip                  leave out what is broken, with its reason
python -m omni_bench.prepare dataset=omni_ieeg verify=true                    compare every stored signal with its hash
"""


def _prepare(cfg: DictConfig) -> None:
    from omni_bench.data.store import verify_store
    from omni_bench.results.console import print_prepared
    from omni_bench.steps import acquire, open_data

    acquire(cfg)
    cohort, stored = open_data(cfg)
    if cfg.verify:
        for file in stored.values():
            verify_store(file.path)
    print_prepared(cohort, stored, verified=cfg.verify)


main = main_of(_prepare, "prepare", USAGE)

if __name__ == "__main__":
    main()
