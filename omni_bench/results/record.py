"""The record of a run: `result.json`, written at its start and replaced at its end."""

import json
import math
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from omni_bench.files import write_atomically

SCHEMA = 1
STUDY_FILE = "study.json"
"""The record of a study, whose metrics stand in ``rows``."""
PACKAGES = (
    "omni_bench",
    "torch",
    "lightning",
    "numpy",
    "scipy",
    "pandas",
    "mne",
    "scikit-learn",
    "transformers",
    "braindecode",
)


def read_record(folder: Path) -> dict[str, Any] | None:
    """The record of a run directory, None where there is none or a half-written one."""
    try:
        content = json.loads((folder / "result.json").read_text(encoding="utf-8"), parse_constant=float)
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


class Record:
    """What is known of a run; see the architecture page for its fields.

    Parameters
    ----------
    folder
        The run's directory.
    name
        Of the file.
    **identity
        Fields that are known at the start.
    """

    def __init__(self, folder: Path, *, name: str = "result.json", **identity: Any) -> None:
        self.folder, self.name = folder, name
        self.fields: dict[str, Any] = {
            "schema": SCHEMA,
            "run_id": folder.name,
            "status": "running",
            "started": _now(),
            "finished": None,
            **identity,
            "metrics": {},
            "threshold": None,
            "counts": {},
            "excluded": [],
            "weights": None,
            "pretraining_overlap": None,
            "timing": {},
            "memory": {},
            "device": None,
            "versions": _versions(),
            "git_revision": _git_revision(),
            "warnings": [],
        }
        self.write()

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Add the wall time of a step to ``timing``; a resumed run adds up only what it did itself."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.fields["timing"][f"{step}_s"] = round(time.perf_counter() - start, 3)

    def note(self, **fields: Any) -> None:
        """Add fields and write the record."""
        self.fields |= fields
        self.write()

    def throughput(self, n_samples: int) -> None:
        """Samples predicted per second, after the step ``predict``."""
        self.fields["timing"]["samples_per_s"] = round(n_samples / max(self.fields["timing"]["predict_s"], 1e-9), 1)

    def step_time(self, learner: Any) -> None:
        """Seconds of a training step, where a learner takes steps that can be timed."""
        clock = getattr(learner, "clock", None)
        if clock is not None and clock.n_steps:
            self.fields["timing"]["step_s"] = round(clock.seconds / clock.n_steps, 5)

    def warn(self, line: str) -> None:
        """Keep a warning, once."""
        if line not in self.fields["warnings"]:
            self.fields["warnings"].append(line)

    def finish(self, status: str, **fields: Any) -> dict[str, Any]:
        """Write the last word on the run."""
        # ru_maxrss counts bytes on macOS and kB elsewhere
        unit = 2**20 if sys.platform == "darwin" else 2**10
        self.fields["memory"]["peak_rss_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 1)
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_initialized():
            self.fields["device"] = torch.cuda.get_device_name()
            self.fields["memory"]["peak_device_mb"] = round(torch.cuda.max_memory_allocated() / 2**20, 1)
        self.fields |= {"status": status, "finished": _now(), **fields}
        self.write()
        return self.fields

    def write(self) -> None:
        """Write the record as it stands."""
        write_atomically(self.folder / self.name, json.dumps(self.fields, indent=1, default=_plain) + "\n")


def metrics_table(metrics: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """`Evaluation.metrics` as the record spells them."""
    table = {}
    for name, metric in metrics.items():
        entry = {key: getattr(metric, key) for key in ("value", "ci_low", "ci_high", "ci_unit", "n")}
        table[name] = entry | ({"note": metric.note} if metric.note else {})
    return table


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):
        value = value.item()
        return None if isinstance(value, float) and math.isnan(value) else value
    return str(value)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except ImportError:
            continue
    return found


def _git_revision() -> str | None:
    """Revision of the checkout that the package runs from, None for an installed one."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return None
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or None
