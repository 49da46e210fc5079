"""The audit as a Markdown page."""

import re
from typing import Any

import pandas as pd

from omni_bench.results.audit import Finding
from omni_bench.results.markup import markdown_table

INTRO = """# Audit of published numbers

Made by `python -m omni_bench.audit to=docs/audit.md`, from published figures only (`omni_bench/results/published/`). Each
finding names its sources. The papers' results stand on much careful work that is not in question here; what follows is
what a reader who reuses these numbers should know. If one of these findings is wrong, please open an issue.
"""


def audit_page(findings: list[Finding]) -> str:
    """All findings as Markdown."""
    parts = [INTRO, "\n".join(f"- [{finding.title}](#{_anchor(finding.title)})" for finding in findings) + "\n"]
    return "\n".join([*parts, *map(_section, findings)])


def table_rows(table: pd.DataFrame) -> tuple[list[list[str]], list[bool]]:
    """Cells as texts, and which columns are numeric."""
    rows = [[_text(value) for value in row] for row in table.itertuples(index=False)]
    return rows, [pd.api.types.is_numeric_dtype(table[name]) for name in table]


def _section(finding: Finding) -> str:
    rows, numeric = table_rows(finding.table)
    table = markdown_table(list(finding.table), rows, numeric)
    return f"## {finding.title}\n\n{finding.text}\n\nSources: {finding.sources}.\n\n{table}"


def _anchor(title: str) -> str:
    """What a heading is called in links, by GitHub and by the documentation's builder."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return (
            "–"
            if pd.isna(value)
            else f"{value:.2g}"
            if 0 < abs(value) < 5e-4
            else f"{value:.4f}".rstrip("0").rstrip(".")
        )
    return str(value)
