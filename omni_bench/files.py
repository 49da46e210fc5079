"""Files that are whole once they are there."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


@contextmanager
def renamed(path: Path) -> Iterator[Path]:
    """A temporary name in the same folder that becomes ``path`` when the block ends without an error."""
    part = path.with_name(f".{path.name}-{os.getpid()}.part")
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def write_atomically(path: Path, text: str) -> None:
    """Write a text file under a temporary name in the same folder, then rename it."""
    with renamed(path) as part:
        part.write_text(text, encoding="utf-8")


def write_table(path: Path, table: "pd.DataFrame") -> None:
    """Write a parquet file under a temporary name in the same folder, then rename it."""
    with renamed(path) as part:
        table.to_parquet(part, index=False)
