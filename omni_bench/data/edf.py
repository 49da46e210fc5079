"""What an EDF or BDF header says that a general reader does not check (Kemp et al. 1992, Kemp and Olivan 2003)."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pandas as pd

from omni_bench.data.units import volts
from omni_bench.errors import BenchError, reader_said

MNE_VOLTS = {"uV": 1e-6, "µV": 1e-6, "μV": 1e-6, "\x83\xcaV": 1e-6, "mV": 1e-3}
"""Spellings that MNE scales to volts; whatever else a header says, it takes for volts."""


@dataclass(frozen=True)
class EdfHeader:
    """The signals of an EDF or BDF file, annotations left out.

    Attributes
    ----------
    labels
        Unique: a label that stands several times gets ``-0``, ``-1``, ..., as in MNE.
    rates
        Samples per record over the record's length, in Hz.
    units
        As the file spells them.
    duration
        Length in seconds.
    clock
        Time of day at which it starts, in seconds since midnight; NaN where the header does not say.
    """

    labels: list[str]
    rates: list[float]
    units: list[str]
    duration: float
    clock: float = math.nan


def edf_channels(path: Path, ch_names: Sequence[str] | None, unit: str | None) -> dict[str, float]:
    """Channels to open, all voltages by default, with the factor that makes volts of what MNE returns for each.

    Parameters
    ----------
    unit
        Unit to take for channels whose header names none.

    Raises
    ------
    BenchError
        A truncated or broken file, one with gaps, no channel to open, a wanted channel that is not there or is no voltage,
        or different rates among the wanted ones.
    """
    header = read_edf_header(path)
    absent = [name for name in ch_names or () if name not in header.labels]
    if absent:
        raise BenchError(
            f"{path}: no channel {', '.join(absent)} in the file (it has {', '.join(header.labels[:8])}, ...)"
        )
    factors, rates = {}, {}
    for label, rate, spelling in zip(header.labels, header.rates, header.units, strict=True):
        size = volts(spelling or unit or "")
        if (size is None) if ch_names is None else (label not in ch_names):
            continue
        if size is None:
            remedy = "mark it MISC in channels.tsv" if spelling else "say dataset.unit=V, mV, µV or nV"
            raise BenchError(f"{path}: channel {label} has the unit {spelling!r}, expected a voltage: {remedy}")
        factors[label] = size / MNE_VOLTS.get(spelling, 1.0) if spelling else 1.0
        rates[label] = rate
    if not factors:
        raise BenchError(f"{path}: no channel with a voltage (units: {', '.join(sorted(set(header.units))) or 'none'})")
    counts = Counter(rates.values())
    if len(counts) > 1:
        odd = min(rates, key=lambda label: counts[rates[label]])
        raise BenchError(
            f"{path}: channels of different rates ({', '.join(f'{r:g}' for r in sorted(counts))} Hz; {odd} is one): "
            "list the channels of one rate in channels.tsv, or name them with ch_names"
        )
    return factors


def read_edf_header(path: Path) -> EdfHeader:
    """Signals of an EDF or BDF file.

    Raises
    ------
    BenchError
        No such header, a file shorter than its header says, or one with gaps between its records.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        fixed = file.read(256)
        try:
            n_signals, n_records = int(fixed[252:256]), int(fixed[236:244])
            record_s, header_bytes = float(fixed[244:252]), int(fixed[184:192])
            labels, units, samples = _signal_header(file, n_signals)
            if header_bytes < 256 * (n_signals + 1):
                raise ValueError
        except ValueError:
            raise BenchError(f"{path}: not a whole EDF or BDF header ({size} bytes): copy the file again") from None
        offsets = [sum(samples[:i]) * _width(fixed) for i in range(n_signals + 1)]
        if n_records < 0:  # still being recorded when it was copied
            n_records = (size - header_bytes) // offsets[-1]
        expected = header_bytes + n_records * offsets[-1]
        if size < expected:
            raise BenchError(f"{path}: truncated: {size} bytes, its header announces {expected}: copy the file again")
        if n_records < 1 or not 0 <= record_s < math.inf:
            raise BenchError(f"{path}: no data records ({n_records} of {record_s:g} s): copy the file again")
        annotations = [i for i, label in enumerate(labels) if label in ("EDF Annotations", "BDF Annotations")]
        if fixed[192:197] in (b"EDF+D", b"BDF+D") and annotations:
            first, stop = offsets[annotations[0]], offsets[annotations[0] + 1]
            positions = range(header_bytes + first, expected, offsets[-1])
            _check_continuous(path, _onsets(file, positions, stop - first), record_s)
    signals = [i for i in range(n_signals) if i not in annotations]
    names = _unique(labels)
    rates = [samples[i] / record_s if record_s else 0.0 for i in signals]
    return EdfHeader(
        [names[i] for i in signals], rates, [units[i] for i in signals], n_records * record_s, _clock(fixed[176:184])
    )


def edf_annotations(path: Path) -> pd.DataFrame:
    """Annotations of an EDF+ or BDF+ file: ``onset`` and ``duration`` in seconds (NaN where none is given), ``trial_type``.

    Raises
    ------
    BenchError
        A truncated or broken file, or one without annotations.
    """
    import edfio

    read_edf_header(path)
    try:
        found = (edfio.read_bdf if path.suffix.lower() == ".bdf" else edfio.read_edf)(path).annotations
    except Exception as error:
        raise BenchError(
            f"{path}: its annotations cannot be read ({reader_said(error)}): copy the file again"
        ) from error
    if not found:
        raise BenchError(f"{path}: no annotations in it: copy the file again")
    table = pd.DataFrame([(note.onset, note.duration, note.text) for note in found])
    return table.set_axis(["onset", "duration", "trial_type"], axis=1).astype({"duration": "float64"})


def _clock(text: bytes) -> float:
    """``b"18.15.44"`` to seconds since midnight."""
    match = re.fullmatch(rb"(\d\d)[.:](\d\d)[.:](\d\d)", text)
    return 3600.0 * int(match[1]) + 60.0 * int(match[2]) + int(match[3]) if match else math.nan


def _signal_header(file: BinaryIO, n_signals: int) -> tuple[list[str], list[str], list[int]]:
    """Labels, units and samples per record; ValueError where the header ends early."""
    block = file.read(256 * n_signals)
    if n_signals < 1 or len(block) < 256 * n_signals:
        raise ValueError

    def column(offset: int, width: int) -> list[str]:
        start = offset * n_signals
        return [block[start + i * width : start + (i + 1) * width].decode("latin-1").strip() for i in range(n_signals)]

    samples = [int(text) for text in column(216, 8)]
    if min(samples) < 0 or not sum(samples):
        raise ValueError
    return column(0, 16), column(96, 8), samples


def _width(fixed: bytes) -> int:
    """Bytes of a sample: 3 in BDF, 2 in EDF."""
    return 3 if fixed[:1] == b"\xff" else 2


def _onsets(file: BinaryIO, positions: range, n_bytes: int) -> Iterator[float]:
    """Start of each record in seconds: the first thing in its first annotation signal, of ``n_bytes``, at ``positions``."""
    for position in positions:
        file.seek(position)
        onset = file.read(n_bytes).split(b"\x14")[0].split(b"\x15")[0]
        try:
            yield float(onset)
        except ValueError:
            raise BenchError(
                f"{file.name}: a record of this EDF+D does not begin with its time: copy the file again"
            ) from None


def _check_continuous(path: Path, onsets: Iterator[float], record_s: float) -> None:
    """Clinical exports mark continuous files as discontinuous, too, so the records' own times decide."""
    begin = next(onsets)
    for record, found in enumerate(onsets, start=1):
        expected = begin + record * record_s
        if abs(found - expected) > 1e-3:
            raise BenchError(
                f"{path}: gap in a discontinuous recording (EDF+D): record {record} starts at {found:g} s, expected "
                f"{expected:g} s: split it into continuous files"
            )


def _unique(labels: list[str]) -> list[str]:
    counts, seen = Counter(labels), Counter[str]()
    names = []
    for label in labels:
        names.append(f"{label}-{seen[label]}" if counts[label] > 1 else label)
        seen[label] += 1
    return names
