"""Names of scalp electrodes, whatever a file calls them.

A name is upper case, without a leading ``EEG`` or ``POL``, blanks, dots, and a trailing reference. A hyphen between two
electrodes is a bipolar derivation and stays. Numbers of EGI's nets lose leading zeros (``E001`` → ``E1``).
"""

import re
from collections.abc import Sequence

_PREFIX = re.compile(r"^(EEG|POL)[ _-]+(?=\S)")
_REFERENCE = re.compile(r"[-_](REF|LE|CLE|AR|AV|AVG|A1|A2|A1A2|M1|M2)$")
_EARS = re.compile(r"[AM][12]-[AM][12]")
_SAME_PLACE = {"T3": "T7", "T4": "T8", "T5": "P7", "T6": "P8"}
_BIOSEMI = re.compile(r"[A-H]([1-9]|[12]\d|3[0-2])")

# the cap's labels in the order of its two plugs, A1-A32 and B1-B32
_BIOSEMI_64 = """
FP1 AF7 AF3 F1 F3 F5 F7 FT7 FC5 FC3 FC1 C1 C3 C5 T7 TP7 CP5 CP3 CP1 P1 P3 P5 P7 P9 PO7 PO3 O1 IZ OZ POZ PZ CPZ
FPZ FP2 AF8 AF4 AFZ FZ F2 F4 F6 F8 FT8 FC6 FC4 FC2 FCZ CZ C2 C4 C6 T8 TP8 CP6 CP4 CP2 P2 P4 P6 P8 P10 PO8 PO4 O2
"""
BIOSEMI_64 = dict(zip([f"{plug}{i}" for plug in "AB" for i in range(1, 33)], _BIOSEMI_64.split(), strict=True))
"""Plug position → 10-10 name of BioSemi's cap of 64."""
BIOSEMI = "BIOSEMI:"


def electrode_name(name: str) -> str:
    """``"EEG Fp1-REF"`` to ``"FP1"``; ``"A2-A1"``, one ear against the other, stays a pair."""
    text = re.sub(r"[ .]", "", _PREFIX.sub("", name.strip().upper()))
    alone = _REFERENCE.sub("", text)
    return re.sub(r"^E0+(?=[1-9])", "E", text if _EARS.fullmatch(text) else alone)


def electrode_names(names: Sequence[str]) -> list[str]:
    """Normalised names of one recording's channels, with BioSemi's plug positions told from 10-10 names.

    Those of the cap of 64 become 10-10 names; those of larger caps, whose ``C3`` is no 10-10 ``C3``, are spelled
    ``BIOSEMI:C3``. Only a recording that numbers whole plugs is read so: by itself ``A1`` is an ear.
    """
    plain = [electrode_name(name) for name in names]
    if not are_plugs(plain):
        return plain
    if any(name in plain for name in ("C32", "D32")):
        return [f"{BIOSEMI}{name}" if _BIOSEMI.fullmatch(name) else name for name in plain]
    return [BIOSEMI_64.get(name, name) for name in plain]


def are_plugs(names: Sequence[str]) -> bool:
    """Whether normalised names are BioSemi's plug positions: from A3 on, no other system has such names."""
    return {f"A{i}" for i in range(3, 33)} <= set(names)


def same_place(name: str) -> str:
    """A normalised name, or pair of names, with the 10-20 names T3 to T6 as T7, T8, P7, P8."""
    return "-".join(_SAME_PLACE.get(part, part) for part in name.split("-"))
