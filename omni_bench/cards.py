"""The cards that exist, by name and first line."""

from pathlib import Path

from omni_bench.locate import card_root


def cards(group: str) -> dict[str, str]:
    """Name → first comment line of every card of a group."""
    folder = card_root() / "conf" / group
    return {file.stem: _first_comment(file) for file in sorted(folder.glob("*.yaml"))}


def experiments() -> dict[str, str]:
    """Name → first comment line after the package line of every experiment."""
    folder = card_root() / "experiments"
    return {
        file.relative_to(folder).with_suffix("").as_posix(): _first_comment(file)
        for file in sorted(folder.rglob("*.yaml"))
    }


def _first_comment(file: Path) -> str:
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("#") and "@package" not in line:
                return line.lstrip("# ").strip()
    return ""
