"""What all commands share: arguments, composing a configuration, one-line errors, help. Imports nothing heavy."""

import multiprocessing
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hydra
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus
from hydra.experimental.callback import Callback
from hydra.plugins.search_path_plugin import SearchPathPlugin
from hydra.types import RunMode
from omegaconf import DictConfig
from omegaconf.errors import MissingMandatoryValue

from omni_bench import config
from omni_bench.cards import cards, experiments
from omni_bench.errors import BenchError
from omni_bench.explain import explain
from omni_bench.gpus import claim_gpu
from omni_bench.locate import card_root

PATH_KEYS = re.compile(
    r"\+{0,2}(checkpoint|recording|results|check|to|dataset\.root|dataset\.unit|model\.weights|paths\.\w+)=(.+)",
    re.DOTALL,
)
"""Keys whose values are quoted before Hydra sees them: its grammar minds `=`, blanks, brackets and other letters."""

HELP_GROUPS = ("task", "model", "dataset", "protocol", "adaptation", "trainer", "logger")


class _ExperimentsPath(SearchPathPlugin):
    """Puts the parent of `experiments/` on Hydra's search path, so that its files are a config group."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        search_path.append("omni_bench", f"file://{card_root()}")


def prepare_hydra() -> None:
    """Register schema, resolvers and the experiments; what every way of composing needs first."""
    config.register()
    Plugins.instance().register(_ExperimentsPath)


def overrides_from(arguments: Sequence[str]) -> list[str]:
    """Command-line arguments as Hydra is to see them.

    `experiment=x` names a file of `experiments/`; path-like values are quoted.

    Raises
    ------
    BenchError
        More than one experiment: the sweep inside each file would be ignored.
    """
    overrides = []
    for argument in arguments:
        if named := re.fullmatch(r"\+{0,2}experiment=(.*)", argument):
            if "," in named[1] or "*" in named[1]:
                raise BenchError(f"{argument}: one experiment at a time; start the command once for each")
            argument = f"+experiments={named[1]}"
        elif (path := PATH_KEYS.fullmatch(argument)) and not path[2].startswith(("'", '"')) and path[2] != "null":
            key = argument[: -len(path[2])]
            escaped = path[2].replace("'", "\\'")
            argument = f"{key}'{escaped}'"
        overrides.append(argument)
    return overrides


def main_of(
    command: Callable[[DictConfig], Any], config_name: str, usage: str, positional: str | None = None
) -> Callable[[], None]:
    """The console entry of a command that is called with the composed configuration, once per run of a sweep.

    ``positional`` is the key that a first argument without ``=`` sets.
    """

    failures: list[Exception] = []

    def job(cfg: DictConfig) -> None:
        if multiprocessing.get_start_method(allow_none=True) == "loky":
            # joblib's workers leave a start method behind that data-loader workers cannot use
            multiprocessing.set_start_method(None, force=True)
        if n_gpus := os.environ.get("OMNI_BENCH_GPUS"):
            claim_gpu(int(n_gpus), Path(cfg.paths.cache).expanduser() / "locks")
        try:
            config.check_values(cfg)
            command(cfg)
        except (BenchError, MissingMandatoryValue) as error:
            if HydraConfig.get().mode is not RunMode.RUN:
                raise
            # Hydra would print its own line above ours
            failures.append(error)

    def main() -> None:
        if {"-h", "--help"} & set(sys.argv[1:]):
            print(help_text(usage))
            return
        with one_line_errors():
            arguments = sys.argv[1:]
            if positional and arguments and re.fullmatch(r"\w+", arguments[0]):
                arguments[0] = f"{positional}={arguments[0]}"
            sys.argv[1:] = overrides_from(arguments)
            prepare_hydra()
            hydra.main(version_base="1.3", config_path=str(card_root() / "conf"), config_name=config_name)(job)()
            if failures:
                raise failures[0]

    return main


def main_of_sweep(command: Callable[[list[str]], Any], usage: str) -> Callable[[], None]:
    """The console entry of a command that is called once, with the overrides of a whole sweep."""

    def main() -> None:
        arguments = [argument for argument in sys.argv[1:] if argument not in ("-m", "--multirun")]
        if {"-h", "--help"} & set(arguments):
            print(help_text(usage))
            return
        with one_line_errors():
            command(arguments)

    return main


@contextmanager
def one_line_errors() -> Iterator[None]:
    """End the program with one line and status 2 for every error that a user can mend."""
    os.environ["HYDRA_FULL_ERROR"] = "1"
    try:
        yield
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except Exception as error:
        message = explain(error)
        if message is None:
            raise
        print(f"omni_bench: {message}", file=sys.stderr)
        raise SystemExit(2) from None


class FailedRuns(Callback):
    """Prints one line for every run of a sweep that failed, when it fails; Hydra names the first one only, at the end."""

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **_: Any) -> None:
        if config.hydra.mode is RunMode.MULTIRUN and job_return.status is JobStatus.FAILED:
            error = job_return._return_value
            line = explain(error) or f"{type(error).__name__}: {error}"
            overrides = " ".join(config.hydra.overrides.task)
            print(f"omni_bench: failed, the sweep goes on: {overrides}: {line}", file=sys.stderr)


def help_text(usage: str) -> str:
    """Usage and one line per card."""
    parts = [usage.strip()]
    for title, entries in [*((group, cards(group)) for group in HELP_GROUPS), ("+experiment", experiments())]:
        width = max(map(len, entries), default=0)
        parts.append("\n".join([f"{title}=", *(f"  {name:<{width}}  {line}" for name, line in entries.items())]))
    parts.append(
        "Any key may be set: seed=1 trainer.max_epochs=2 ...   --cfg job prints the composed run;   --hydra-help more."
    )
    return "\n\n".join(parts)
