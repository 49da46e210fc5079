"""Intracranial channel names: one spelling per contact, the raw one kept beside it.

The rule, in order: outer blanks go; a leading ``POL``, ``EEG``, ``SEEG`` or ``ECOG`` followed by a blank goes; a trailing
reference (``-Ref``, ``-AV``, ``-Avg``, ``-G2`` in any case) goes, but a contact of a grid ``G`` is no reference to its
neighbour (``G1-G2``); blanks inside go. What still holds a hyphen between two contacts is a bipolar derivation and keeps it.
"""

import re

import pandas as pd

_PREFIX = re.compile(r"^(POL|EEG|SEEG|ECOG)\s+", re.IGNORECASE)
_REFERENCE = re.compile(r"-(REF|AV|AVG|(?<!^G\d-)G2)$", re.IGNORECASE)


def contact_name(raw: str) -> str:
    """Normalised name of a contact or bipolar pair: ``A13-AV`` → ``A13``, ``POL G1`` → ``G1``, ``LAH1-LAH2`` unchanged."""
    return re.sub(r"\s+", "", _REFERENCE.sub("", _PREFIX.sub("", raw.strip())))


def contact_names(raw: pd.Series) -> pd.Series:
    """Normalised names of one recording's channels; where two would become the same, both keep their raw spelling."""
    names = raw.map(contact_name)
    return names.mask(names.duplicated(keep=False), raw.str.strip())


def shaft(name: str) -> tuple[str, int]:
    """Electrode and contact number of a normalised name, a bipolar pair by its first contact: ``LAH2-LAH3`` → ``("LAH", 2)``."""
    first = name.split("-")[0]
    match = re.match(r"^(.*?)(\d+)$", first)
    return (match[1], int(match[2])) if match else (first, 0)
