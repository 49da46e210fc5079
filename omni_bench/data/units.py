"""Units of potential as file headers spell them."""

_MICRO = ("u", "µ", "μ", "micro", "\x83\xca", "âµ", "î¼")
"""Prefixes of a microvolt; the last three are µ and μ in Shift-JIS and UTF-8, read as the Latin-1 that headers should be in."""

_PREFIXES = {"": 1.0, "m": 1e-3, "n": 1e-9, **dict.fromkeys(_MICRO, 1e-6)}
VOLTS = {prefix + volt: size for prefix, size in _PREFIXES.items() for volt in ("v", "volt", "volts")}
"""Lower-case spelling → volts."""


def volts(unit: str) -> float | None:
    """Size of a unit in volts, or None if it is no unit of potential that we know."""
    return VOLTS.get(unit.strip().lower())
