"""What MNE does not check of a FIF file: that the chain of its tags ends, and that no tag is larger than the file."""

import struct
from pathlib import Path
from typing import BinaryIO

from omni_bench.errors import BenchError

DIRECTORY_AT = 36
"""Where the second tag stands, whose number tells the place of the directory; not above 0 where there is none."""


def check_fif(path: Path) -> None:
    """Raise BenchError where reading the tags, as MNE does, would never end."""
    file_size = path.stat().st_size
    with path.open("rb") as file:
        chain: set[int] = set()
        position = 0
        while tag := _tag(file, position):
            if position in chain:
                raise BenchError(f"{path}: its tags lead in a circle: copy the file again")
            chain.add(position)
            size, following = tag
            position = following or position + 16 + size
        for position in chain | _directory(file):
            tag = _tag(file, position)
            if tag and not 0 <= tag[0] <= file_size - position - 16:
                raise BenchError(f"{path}: truncated: a tag at byte {position} has {tag[0]} bytes: copy the file again")


def _tag(file: BinaryIO, position: int) -> tuple[int, int] | None:
    """Size of a tag and place of the following one, 0 where it follows at once; None where there is no whole tag."""
    if position < 0:
        return None
    file.seek(position)
    head = file.read(16)
    if len(head) < 16:
        return None
    _, _, size, following = struct.unpack(">4i", head)
    return size, following


def _directory(file: BinaryIO) -> set[int]:
    """Places of the directory and of the tags that it lists."""
    file.seek(DIRECTORY_AT + 16)
    place = int.from_bytes(file.read(4), "big", signed=True)
    if place <= 0:
        return set()
    size, _ = _tag(file, place) or (0, 0)
    file.seek(place + 16)
    entries = file.read(max(0, size))
    return {place, *(position for *_, position in struct.iter_unpack(">4i", entries[: len(entries) // 16 * 16]))}
