"""What a GDF header says that MNE does not check before it makes lists of that length (Schlögl 2006, arXiv cs/0608052)."""

import struct
from pathlib import Path

from omni_bench.errors import BenchError

SAMPLE_BYTES = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 8, 8: 8, 16: 4, 17: 8}
BEFORE_COUNTS = 216
"""Bytes a channel has in the header before its samples per record, type of sample and reserve."""
EVENT_BYTES = 6


def check_gdf(path: Path) -> None:
    """Raise BenchError where a header announces more channels or events than its file has room for."""
    size = path.stat().st_size
    with path.open("rb") as file:
        header = file.read(256).ljust(256, b"\0")
        version = header[4:8]
        # of version 2 on the number of channels has two bytes, and the header's length counts blocks of 256
        n_chans = int.from_bytes(header[252 : 256 if version < b"1.9" else 254], "little")
        if 256 * (1 + n_chans) > size:
            raise BenchError(
                f"{path}: its header announces {n_chans} channels, more than it holds: copy the file again"
            )
        file.seek(256 + BEFORE_COUNTS * n_chans)
        counts = struct.unpack(f"<{2 * n_chans}I", file.read(8 * n_chans))
        record = sum(SAMPLE_BYTES.get(kind, 0) * n for n, kind in zip(counts[:n_chans], counts[n_chans:], strict=True))
        first = (
            int.from_bytes(header[184:192], "little") if version < b"1.9" else 256 * header[184] + 65536 * header[185]
        )
        table = first + record * max(0, int.from_bytes(header[236:244], "little", signed=True))
        if table >= size:
            return
        file.seek(table)
        events = file.read(8).ljust(8, b"\0")
    n_events = int.from_bytes(events[4:8] if version < b"1.94" else events[1:4], "little")
    if EVENT_BYTES * n_events > size:
        raise BenchError(f"{path}: its header announces {n_events} events, more than it holds: copy the file again")
