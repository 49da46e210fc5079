"""Files that are whole once they are there."""

import os
import platform
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    import pandas as pd

STALE_S = 24 * 3600


@contextmanager
def renamed(path: Path) -> Iterator[Path]:
    """A temporary name in the same folder that becomes ``path`` when the block ends without an error."""
    part = part_of(path)
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def part_of(path: Path) -> Path:
    """A temporary name in the same folder that says which process of which machine writes."""
    return path.with_name(f".{path.name}-{platform.node()}-{os.getpid()}-{uuid4().hex[:8]}.part")


def sweep_parts(folder: Path) -> None:
    """Delete what ended processes of this machine left half-written, and what any process left more than a day ago."""
    own = re.compile(rf"-{re.escape(platform.node())}-(\d+)-[0-9a-f]+\.part$")
    for part in folder.glob(".*.part"):
        writer = own.search(part.name)
        with suppress(FileNotFoundError):
            if (writer and not _lives(int(writer[1]))) or time.time() - part.stat().st_mtime > STALE_S:
                part.unlink()


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        pass
    return True


def write_atomically(path: Path, text: str) -> None:
    """Write a text file under a temporary name in the same folder, then rename it."""
    with renamed(path) as part:
        part.write_text(text, encoding="utf-8")


def write_table(path: Path, table: "pd.DataFrame") -> None:
    """Write a parquet file under a temporary name in the same folder, then rename it."""
    with renamed(path) as part:
        table.to_parquet(part, index=False)
