"""BrainVision headers, also those of files that were renamed after they were recorded."""

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from omni_bench.errors import BenchError


def data_file(header: Path) -> Path:
    """The file that a header names as its data; where that is absent, the one that is called like the header.

    Raises
    ------
    BenchError
        Neither is there.
    """
    text = header.read_text(encoding="utf-8", errors="surrogateescape")
    name = Path(_named(text, "DataFile", header) or "").name
    named = header.with_name(name) if name else header.with_suffix(".eeg")
    renamed = header.with_suffix(named.suffix)
    for file in (named, renamed):
        if file.is_file() and file != header:
            return file
    raise BenchError(f"{header}: its data file {named.name} is missing: copy it beside the header")


@contextmanager
def readable_header(header: Path) -> Iterator[Path]:
    """A header whose data and markers are there: the file itself, or a temporary one that names what is beside it.

    Raises
    ------
    BenchError
        See `data_file`.
    """
    data = data_file(header)
    text = header.read_text(encoding="utf-8", errors="surrogateescape")
    if data.name == _named(text, "DataFile", header):
        yield header
        return
    markers = header.with_suffix(".vmrk").resolve()
    text = _point(text, "DataFile", data.resolve())
    text = _point(text, "MarkerFile", markers if markers.is_file() else None)
    with tempfile.TemporaryDirectory() as folder:
        repaired = Path(folder) / header.name
        repaired.write_text(text, encoding="utf-8", errors="surrogateescape")
        yield repaired


def _named(text: str, key: str, header: Path) -> str | None:
    pointer = re.search(rf"^{key}\s*=\s*(.+?)\s*$", text, re.MULTILINE | re.IGNORECASE)
    return pointer[1].replace("$b", header.stem) if pointer else None


def _point(text: str, key: str, file: Path | None) -> str:
    line = "" if file is None else f"{key}={file}"
    return re.sub(rf"^{key}\s*=.*$", lambda _: line, text, flags=re.MULTILINE | re.IGNORECASE)
