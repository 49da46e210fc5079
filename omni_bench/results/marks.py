"""What a reader must know of a run before its numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

UNTRAINED = ("from_scratch", "classical")
"""Adaptations that start from nothing: random start weights are what they mean."""


@dataclass(frozen=True)
class Mark:
    """A property of a run; one that disqualifies keeps it out of the ranking proper."""

    name: str
    why: str
    disqualifies: bool = True


def marks_of(record: Mapping[str, Any]) -> list[Mark]:
    """Marks of a run's record."""
    marks = []
    if record["status"] != "completed":
        marks.append(Mark(record["status"], record.get("error") or "the run has not finished"))
    if record["synthetic"]:
        marks.append(Mark("synthetic data", "signals and labels were generated"))
    if record["reduced"]:
        marks.append(Mark("reduced settings", "smaller than the task's and the model's own"))
    if (record.get("weights") or {}).get("source") == "random":
        meant = record["adaptation"] in UNTRAINED
        marks.append(Mark("random start weights", "nothing was pretrained", disqualifies=not meant))
    rule = (record.get("threshold") or {}).get("rule")
    if rule == "youden_test":
        marks.append(Mark("fallback threshold", "chosen on the test labels, so the metrics at it are optimistic"))
    if rule == "inherited":
        marks.append(Mark("fallback threshold", "taken from the checkpoint's run, not chosen on this run's data"))
    if record.get("fallback"):
        marks.append(Mark("fallback protocol", f"the data cannot serve the protocol: split by {record['fallback']}"))
    return marks
