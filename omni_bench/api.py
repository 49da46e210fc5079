"""What a notebook imports."""

from collections.abc import Sequence
from typing import Any

from hydra import compose, initialize_config_dir
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
    try:
        with initialize_config_dir(str(card_root() / "conf"), version_base="1.3"):
            cfg = compose(config_name, overrides_from(overrides))
        config.check(cfg)
        _ = cfg.run_name
    except Exception as error:
        line = explain(error)
        if line is None:
            raise
        raise BenchError(line) from error
    return cfg


def run(overrides: Sequence[str] = ()) -> dict[str, Any]:
    """The same as ``python -m omni_bench`` with these overrides.

    Returns
    -------
    The content of ``result.json``.
    """
    from omni_bench.pipeline import run as run_composed

    return run_composed(compose_config(overrides))
