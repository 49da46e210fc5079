"""Tables of text as Markdown and LaTeX; whatever stands in a cell stays text."""

import html
import re
from collections.abc import Sequence

_LATEX = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "−": "$-$",
    "–": "--",
    "±": r"$\pm$",
    "·": r"$\cdot$",
    "ρ": r"$\rho$",
    "χ": r"$\chi$",
    "²": "$^2$",
    "κ": r"$\kappa$",
    "≥": r"$\geq$",
}
_SPECIAL = re.compile("|".join(map(re.escape, _LATEX)))


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> str:
    """A table of GitHub's Markdown; `numeric` columns stand to the right."""
    lines = [head, ["---:" if right else "---" for right in numeric], *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines) + "\n"


def latex_table(head: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool], caption: str) -> str:
    """A table with booktabs rules."""
    columns = "".join("r" if right else "l" for right in numeric)
    body = [" & ".join(map(latex, line)) + r" \\" for line in rows]
    lines = [
        r"\begin{table}",
        rf"\caption{{{latex(caption)}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        " & ".join(map(latex, head)) + r" \\",
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def latex(text: str) -> str:
    """Text with LaTeX's own signs escaped."""
    return _SPECIAL.sub(lambda sign: _LATEX[sign[0]], " ".join(text.split()))


def _cell(text: str) -> str:
    # Markdown passes HTML on, and a bar ends the cell
    return re.sub(r"([\\`*\[\]|])", r"\\\1", html.escape(" ".join(text.split()), quote=False))
