"""Tiny EDF and BDF files with any header, also wrong ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

EDF_MAX, BDF_MAX = 32767, 8388600  # so that limits at 0.1 µV fit the 8 characters that a header has for them


@dataclass(frozen=True)
class Signal:
    """One signal: integers as stored, and ``gain`` physical ``unit`` per integer."""

    label: str
    digits: np.ndarray
    sfreq: float
    unit: str = "uV"
    gain: float = 0.1


def write_edf(
    path: Path,
    signals: Sequence[Signal],
    record_s: float = 1.0,
    onsets: Sequence[float] | None = None,
    reserved: str = "",
    n_records: int | None = None,
    person: tuple[str, str, str] = ("X X X X", "Startdate X X X X", "01.01.85"),
) -> Path:
    """Write an EDF file, or a BDF file if ``path`` ends so.

    Parameters
    ----------
    onsets
        Start of each record in seconds, kept in an annotation signal of 16 samples; none by default.
    reserved
        ``EDF+C`` or ``EDF+D``.
    n_records
        What the header says instead of the truth.
    person
        The header's patient, recording and date of start.
    """
    is_bdf = path.suffix == ".bdf"
    top, width = (BDF_MAX, 3) if is_bdf else (EDF_MAX, 2)
    per_record = [round(signal.sfreq * record_s) for signal in signals]
    records = len(signals[0].digits) // per_record[0]
    notes = [] if onsets is None else ["BDF Annotations" if is_bdf else "EDF Annotations"]
    columns = [
        ([signal.label for signal in signals] + notes, 16),
        ([""] * (len(signals) + len(notes)), 80),
        ([signal.unit for signal in signals] + [""] * len(notes), 8),
        ([f"{-signal.gain * top:.8g}"[:8] for signal in signals] + ["-1"] * len(notes), 8),
        ([f"{signal.gain * top:.8g}"[:8] for signal in signals] + ["1"] * len(notes), 8),
        ([str(-top)] * (len(signals) + len(notes)), 8),
        ([str(top)] * (len(signals) + len(notes)), 8),
        ([""] * (len(signals) + len(notes)), 80),
        ([str(n) for n in per_record] + ["16"] * len(notes), 8),
        ([""] * (len(signals) + len(notes)), 32),
    ]
    count = len(signals) + len(notes)
    head = b"\xffBIOSEMI" if is_bdf else b"0       "
    patient, recording, date = person
    fields = [(patient, 80), (recording, 80), (date, 8), ("00.00.00", 8), (str(256 * (count + 1)), 8)]
    fields += [
        (reserved, 44),
        (str(records if n_records is None else n_records), 8),
        (f"{record_s:g}", 8),
        (str(count), 4),
    ]
    head += b"".join(text.encode("latin-1").ljust(n) for text, n in fields)
    head += b"".join(text.encode("latin-1").ljust(n) for texts, n in columns for text in texts)
    body = b""
    for record in range(records):
        for signal, n in zip(signals, per_record, strict=True):
            part = np.asarray(signal.digits[record * n : (record + 1) * n], "<i4")
            body += part.view("u1").reshape(-1, 4)[:, :width].tobytes()
        if onsets is not None:
            body += f"+{onsets[record]:g}\x14\x14".encode().ljust(16 * width, b"\0")
    path.write_bytes(head + body)
    return path


def random_digits(n_times: int, seed: int = 0, top: int = 2000) -> np.ndarray:
    """Integers of a noisy signal."""
    return np.random.default_rng(seed).integers(-top, top, n_times)
