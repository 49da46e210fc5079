"""One clear line for an error that the user can mend, with the near match where a name was misspelt."""

import difflib
import errno
from collections.abc import Iterable, Iterator

import yaml
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, MissingMandatoryValue, OmegaConfBaseException

from omni_bench.cards import cards, experiments
from omni_bench.errors import BenchError

NO_SPACE = {errno.ENOSPC: "disk full", errno.EDQUOT: "quota used up", errno.EFBIG: "limit of a file's size reached"}

NO_PLACE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG)


def near(name: str, options: Iterable[str]) -> str:
    """`; did you mean 'x'?`, or the options where none is near and not just one holds the name, or nothing without options."""
    options = sorted(map(str, options))
    if matches := difflib.get_close_matches(name, options, n=1, cutoff=0.6):
        return f"; did you mean '{matches[0]}'?"
    if len(holders := [option for option in options if name in option]) == 1:
        return f"; did you mean '{holders[0]}'?"
    return f"; known: {', '.join(options)}" if options else ""


def explain(error: BaseException) -> str | None:
    """The line for an error, or None if it is a fault of ours that deserves its trace."""
    chain = list(_chain(error))
    for cause in chain:
        if isinstance(cause, BenchError):
            return str(cause)
    for cause in chain:
        if isinstance(cause, OSError) and cause.errno in NO_SPACE:
            what = NO_SPACE[cause.errno]
            return f"{what} while writing {cause.filename or 'a file'}: free some space and repeat, finished results are kept"
        if isinstance(cause, OSError) and cause.errno in NO_PLACE and cause.filename:
            what = str(cause.strerror).lower()
            return f"{cause.filename}: {what}: name another place, or see to it that it can be used"
        if isinstance(cause, yaml.MarkedYAMLError) and cause.problem_mark:
            mark = cause.problem_mark
            return f"{mark.name}:{mark.line + 1}: not valid YAML: {cause.problem}"
        if type(cause).__name__ == "MisconfigurationException":
            # Lightning's; named by its name, so that nothing heavy is imported
            return str(cause).splitlines()[0]
        if isinstance(cause, MissingConfigException):
            return _missing(cause)
        if isinstance(cause, OverrideParseException):
            said = [line for line in str(cause).splitlines() if not line.startswith(("Error parsing", "See "))]
            return f"{cause.override}: not of the form key=value: {said[0]}"
        if isinstance(cause, ConfigKeyError | ConfigAttributeError) and cause.key is not None:
            options = cause.parent_node.keys() if cause.parent_node is not None else ()
            return f"{_card(chain)}{cause.full_key or cause.key}: unknown key{near(str(cause.key), map(str, options))}"
        if isinstance(cause, MissingMandatoryValue):
            return f"{cause.full_key}: no value given, and it needs one"
    for cause in reversed(chain):
        if isinstance(cause, OmegaConfBaseException) and cause.full_key:
            return f"{_card(chain)}{cause.full_key}: {str(cause.msg or cause).splitlines()[0]}"
    for cause in chain:
        if isinstance(cause, HydraException):
            return str(cause).splitlines()[0]
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _card(chain: list[BaseException]) -> str:
    """The card that the error stands in, as Hydra's message names it."""
    for cause in chain:
        if isinstance(cause, HydraException) and str(cause).startswith("In '"):
            return str(cause).split(":")[0] + ": "
    return ""


def _missing(error: MissingConfigException) -> str:
    group, _, name = (error.missing_cfg_file or "").partition("/")
    if group == "experiments":
        return f"+experiment={name}: no such experiment{near(name, experiments())}"
    return f"{group}={name}: no such {group}{near(name, error.options or cards(group))}"
