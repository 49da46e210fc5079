"""Names of scalp electrodes, whatever a file calls them."""

import re

_REFERENCE = re.compile(r"-(REF|LE|AR|AVG|A1|A2|M1|M2)$")


def electrode_name(name: str) -> str:
    """``"EEG Fp1-REF"`` to ``"FP1"``: upper case, no EEG prefix, blanks, dots or reference suffix."""
    upper = re.sub(r"^EEG ", "", name.strip().upper())
    return _REFERENCE.sub("", re.sub(r"[ .]", "", upper))
