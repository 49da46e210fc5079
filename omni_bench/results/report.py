"""A run's page."""

from pathlib import Path


def write_report(folder: Path) -> None:
    """Write ``report.html``."""
