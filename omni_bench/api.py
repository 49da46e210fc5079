"""What a notebook imports."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from hydra import compose, initialize_config_dir
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig

from omni_bench import config
from omni_bench.cli import overrides_from, prepare_hydra
from omni_bench.errors import BenchError
from omni_bench.explain import explain
from omni_bench.locate import card_root


def compose_config(overrides: Sequence[str] = (), config_name: str = "config") -> DictConfig:
    """The configuration that a command with these overrides would run.

    Raises
    ------
    BenchError
        An override names something that does not exist, or has a value of the wrong type.
    """
    prepare_hydra()
    with _one_line_error():
        with _cards():
            cfg = compose(config_name, overrides_from(overrides))
        config.check(cfg)
        _ = cfg.run_name
    return cfg


def sweep_jobs(overrides: Sequence[str]) -> list[list[str]]:
    """Overrides of every run that ``python -m omni_bench -m`` with these overrides would start.

    Raises
    ------
    BenchError
        An override names something that does not exist.
    """
    prepare_hydra()
    arguments = overrides_from(overrides)
    parser = OverridesParser.create()
    with _one_line_error(), _cards():
        parsed = parser.parse_overrides(arguments)
        fixed = [text for text, override in zip(arguments, parsed, strict=True) if not override.is_sweep_override()]
        params = compose("config", fixed, return_hydra_config=True).hydra.sweeper.params or {}
        swept = [f"{key}={value}" for key, value in params.items()]
    (jobs,) = BasicSweeper.split_arguments(parser.parse_overrides([*swept, *arguments]), None)
    return jobs


def compose_jobs(jobs: Sequence[list[str]]) -> Iterator[DictConfig]:
    """Configurations of `sweep_jobs`, not checked: the first use of ``run_name`` does that.

    Raises
    ------
    BenchError
        An override names something that does not exist.
    """
    with _one_line_error(), _cards():
        for job in jobs:
            yield compose("config", job)


@contextmanager
def _one_line_error() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        line = explain(error)
        if line is None:
            raise
        raise BenchError(line) from error


def _cards() -> AbstractContextManager[None]:
    return initialize_config_dir(str(card_root() / "conf"), version_base="1.3")


def run(overrides: Sequence[str] = ()) -> dict[str, Any]:
    """The same as ``python -m omni_bench`` with these overrides.

    Returns
    -------
    The content of ``result.json``.
    """
    from omni_bench.pipeline import run as run_composed

    return run_composed(compose_config(overrides))
