"""What an EDF or BDF header says that a general reader does not check (Kemp et al. 1992, Kemp and Olivan 2003)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omni_bench.errors import BenchError

VOLTAGES = {"uv", "µv", "μv", "mv", "v", "nv", "microv", "uvolt", "volt", ""}


def check_edf(path: Path, ch_names: Sequence[str] | None) -> dict[str, Any]:
    """Check a header; return the reader's options that open the wanted channels only, by default all voltages.

    Raises
    ------
    BenchError
        A truncated or broken file, a discontinuous EDF+D or BDF+D, different rates among the wanted channels, or a unit
        that is no voltage.
    """
    labels, rates, units = _read_header(path)
    voltage = [unit.lower() in VOLTAGES and "Annotations" not in label for label, unit in zip(labels, units, strict=True)]
    wanted = [i for i, label in enumerate(labels) if (voltage[i] if ch_names is None else label in set(ch_names))]
    for i in wanted:
        if not voltage[i]:
            raise BenchError(f"{path}: channel {labels[i]} is in {units[i]!r}, which is no voltage: mark it MISC in channels.tsv")
    found = {rates[i] for i in wanted}
    if len(found) > 1:
        odd = min(wanted, key=lambda i: [rates[j] for j in wanted].count(rates[i]))
        raise BenchError(
            f"{path}: channels of different rates ({', '.join(f'{r:g}' for r in sorted(found))} Hz; {labels[odd]} is one): "
            "list the channels of one rate in channels.tsv, or name them with ch_names"
        )
    return {"include": [labels[i] for i in wanted]}


def edf_labels(path: Path) -> list[str]:
    """Labels of the signals in an EDF or BDF file, annotations left out."""
    return [label for label in _read_header(path)[0] if "Annotations" not in label]


def _read_header(path: Path) -> tuple[list[str], list[float], list[str]]:
    """Labels, rates in Hz and units of all signals, after the checks that concern the whole file."""
    with path.open("rb") as file:
        fixed = file.read(256)
        try:
            n_signals, n_records = int(fixed[252:256]), int(fixed[236:244])
            record_s, header_bytes = float(fixed[244:252]), int(fixed[184:192])
        except ValueError:
            raise BenchError(f"{path}: not an EDF or BDF header ({len(fixed)} bytes read): copy the file again") from None
        block = file.read(256 * n_signals)
    if fixed[192:197] in (b"EDF+D", b"BDF+D"):
        raise BenchError(
            f"{path}: discontinuous recording (EDF+D): its gaps would shift every later time; split it into continuous files"
        )
    if len(block) < 256 * n_signals or n_signals < 1:
        raise BenchError(f"{path}: header ends early ({n_signals} signals announced): copy the file again")

    def column(offset: int, width: int) -> list[str]:
        start = offset * n_signals
        return [block[start + i * width : start + (i + 1) * width].decode("latin-1").strip() for i in range(n_signals)]

    labels, units = column(0, 16), column(96, 8)
    try:
        samples = [int(text) for text in column(216, 8)]
    except ValueError:
        raise BenchError(f"{path}: samples per record are no numbers: copy the file again") from None
    width = 3 if fixed[:1] == b"\xff" else 2
    expected = header_bytes + n_records * sum(samples) * width
    if n_records >= 0 and path.stat().st_size < expected:
        raise BenchError(f"{path}: truncated: {path.stat().st_size} bytes, its header announces {expected}: copy the file again")
    return labels, [s / record_s if record_s > 0 else 0.0 for s in samples], units
