"""Words that intracranial data sets use for the same thing."""

import re

INTRACRANIAL_TYPES = ("ECOG", "SEEG", "DBS")

SEXES = {"M": "male", "F": "female", "m": "male", "f": "female", "male": "male", "female": "female"}

CENTRES = {"MIAMI": "UMF", "JHU": "JHH"}
"""Two spellings of one hospital → the one that is kept."""


def seizure_free(outcome: str | None, engel: str | None = None) -> bool | None:
    """Seizure freedom from an outcome or Engel column: S, F, 1, 0, Engel 1/I/IA … 4/IV; None where it says neither."""
    words = {"s": True, "success": True, "1": True, "1.0": True, "f": False, "failure": False, "0": False, "0.0": False}
    if outcome is not None and outcome.strip().lower() in words:
        return words[outcome.strip().lower()]
    grade = re.match(r"^(?:engel\s*)?(IV|I{1,3}|[1-4])(?:[A-D]|\.0)?$", (engel or "").strip(), re.IGNORECASE)
    return None if grade is None else grade[1].upper() in ("I", "1")


def state_of(task: str | None, session: str | None) -> str | None:
    """``asleep`` or ``awake`` where task or session say so."""
    words = f"{task or ''} {session or ''}".lower()
    if "awake" in words:
        return "awake"
    return "asleep" if "sleep" in words else None
