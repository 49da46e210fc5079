"""A writer of GDF 1.25 files of 16-bit numbers, with a table of events (Schlögl 2006)."""

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def write_gdf(
    file: Path, names: Sequence[str], counts: NDArray[np.int16], sfreq: int, events: Sequence[tuple[int, int]]
) -> Path:
    """One record per second; a count is 0.1 µV. ``events`` are (sample from 0, code)."""
    n, n_records = len(names), counts.shape[1] // sfreq

    def each(form: str, *values: float) -> bytes:
        return struct.pack(f"<{n}{form}", *(values * n))

    fixed = b"GDF 1.25" + b"x x".ljust(80) + b"session".ljust(80) + b"2008010112000000"
    fixed += struct.pack("<q", 256 * (n + 1)) + bytes(24 + 20) + struct.pack("<qIII", n_records, 1, 1, n)
    channels = b"".join(name.encode().ljust(16) for name in names) + bytes(80 * n) + b"uV".ljust(8) * n
    channels += each("d", -3276.8) + each("d", 3276.7) + each("q", -32768) + each("q", 32767) + bytes(80 * n)
    channels += each("i", sfreq) + each("i", 3) + bytes(32 * n)
    records = counts[:, : n_records * sfreq].reshape(n, n_records, sfreq).transpose(1, 0, 2)
    table = b"\x01" + sfreq.to_bytes(3, "little") + struct.pack("<I", len(events))
    table += np.array([sample + 1 for sample, _ in events], "<u4").tobytes()
    table += np.array([code for _, code in events], "<u2").tobytes()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(fixed + channels + records.astype("<i2").tobytes() + table)
    return file
