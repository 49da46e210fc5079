"""Results that others bring: the schema of ``result.json``, and the check that a pull request runs."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from omni_bench.errors import BenchError
from omni_bench.results.record import SCHEMA

SCHEMA_FILE = Path(__file__).parent / "result.schema.json"
NAME = r"^[A-Za-z0-9][A-Za-z0-9 ._()=+-]*$"


class MetricEntry(BaseModel):
    """One metric; a value or a limit is null where it is not defined, and the note says why."""

    value: float | None
    ci_low: float | None
    ci_high: float | None
    ci_unit: str | None
    n: int = Field(ge=0)
    note: str = ""

    @model_validator(mode="after")
    def _ordered(self) -> "MetricEntry":
        if self.ci_low is not None and self.ci_high is not None and self.ci_low > self.ci_high:
            raise ValueError(f"ci_low = {self.ci_low:g} is above ci_high = {self.ci_high:g}")
        return self


class Threshold(BaseModel):
    """Where a score was cut, and by which rule."""

    rule: str
    value: float


class SplitCounts(BaseModel):
    """What a split held."""

    patients: int = Field(ge=0)
    recordings: int = Field(ge=0)
    units: int = Field(ge=0)
    per_class: dict[str, int] = {}


class Weights(BaseModel):
    """What the network started from; ``source`` is `random` where that is nothing."""

    source: str
    pretrained: bool
    sha256: str | None = Field(pattern=r"^[0-9a-f]{64}$")


class Submission(BaseModel):
    """A result that may stand on the leaderboard: the fields of ``result.json`` that it reads."""

    model_config = ConfigDict(title="omni_bench result", extra="allow")

    schema_version: int = Field(alias="schema", ge=SCHEMA, le=SCHEMA)
    run_id: str
    status: str = Field(pattern="^completed$")
    finished: str
    dataset: str = Field(pattern=NAME)
    task: str = Field(pattern=NAME)
    task_version: int = Field(ge=1)
    model: str = Field(pattern=NAME)
    protocol: str = Field(pattern=NAME)
    adaptation: str = Field(pattern=NAME)
    seed: int
    compat: str | None
    config_hash: str
    synthetic: bool
    reduced: bool
    options: dict[str, Any]
    metrics: dict[str, MetricEntry] = Field(min_length=1)
    threshold: Threshold | None
    counts: dict[str, SplitCounts]
    weights: Weights | None
    pretraining_overlap: bool | str | list[str] | dict[str, Any] | None
    versions: dict[str, str]


@cache
def schema_text() -> str:
    """The JSON schema as the package ships it."""
    return json.dumps(Submission.model_json_schema(by_alias=True), indent=1) + "\n"


def faults_of(record: Any) -> list[str]:
    """One line per fault of a record: the field, what stands there, what is wrong with it."""
    try:
        Submission.model_validate(record, strict=True)
    except ValidationError as error:
        return [
            f"{'.'.join(map(str, fault['loc'])) or 'record'}: {fault['msg']}"
            + (f", found {str(fault['input'])[:80]!r}" if fault["type"] != "missing" else "")
            for fault in error.errors()
        ]
    return _unfit(record)


def check_results(path: Path) -> int:
    """Check one result or all below a folder and print what the board will say of each.

    Returns
    -------
    Number of results.

    Raises
    ------
    BenchError
        There is nothing to check, or a result has a fault: all faults are printed before.
    """
    from rich.console import Console

    from omni_bench.results.collect import row_of

    files = sorted(path.rglob("*.json")) if path.is_dir() else [path]
    if not path.exists() or not files:
        raise BenchError(f"check={path}: no such file, or no .json below it: name a result.json or a folder of them")
    console = Console()
    n_faulty = 0
    for file in files:
        try:
            record = json.loads(file.read_bytes())
        except (OSError, ValueError) as error:
            record, faults = None, [f"not valid JSON: {error}"]
        else:
            faults = faults_of(record)
        n_faulty += bool(faults)
        for fault in faults:
            console.print(f"{file}: {fault}", style="red", markup=False, highlight=False, soft_wrap=True)
        if not faults:
            row = row_of(record)
            marks = "; ".join(f"{mark.name} ({mark.why})" for mark in row["marks"]) or "no mark"
            line = f"{file}: {row['model']} on {row['task']}, {row['metric']} {row['value']:.4f}: {marks}"
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    if n_faulty:
        raise BenchError(
            f"check={path}: {n_faulty} of {len(files)} results have faults: mend the fields named above; "
            f"the schema is {SCHEMA_FILE}"
        )
    return len(files)


def _unfit(record: dict[str, Any]) -> list[str]:
    """What a schema cannot say."""
    from omni_bench.results.collect import primary_metric

    metric, _ = primary_metric(record)
    if metric not in record["metrics"]:
        return [f"metrics: no {metric}, which {record['task']} is ranked by (found {', '.join(record['metrics'])})"]
    if not record["counts"].get("test"):
        return ["counts: no test split"]
    return []
