"""One tolerant reader for the tables that come with recordings."""

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from omni_bench.errors import BenchError

MISSING = ("", "n/a", "na", "nan", "none", "null")
TRUE, FALSE = ("1", "1.0", "true", "yes", "y"), ("0", "0.0", "false", "no", "n")


def read_table(
    path: Path, required: Iterable[str] = (), sep: str | None = None, comment: str | None = None
) -> pd.DataFrame:
    """Read a TSV or CSV file as text, whatever its encoding mark, line ends and padding.

    Parameters
    ----------
    path
        A `.tsv` or `.csv` file; ``sep`` overrides what the suffix says.
    required
        Columns that must be there.
    comment
        Character that starts a comment.

    Returns
    -------
    Table of strings without surrounding blanks; missing values (empty, ``n/a``, ``nan`` in any case) are NA.

    Raises
    ------
    BenchError
        No such file, an empty or malformed one, or a required column is missing.
    """
    separator = sep or ("\t" if path.suffix == ".tsv" else ",")
    if not path.is_file():
        raise BenchError(f"{path}: no such file")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # that the last cells of all lines would be lost
            table = _read(path, separator, comment)
    except pd.errors.EmptyDataError:
        raise BenchError(
            f"{path}: empty, expected a header line with {', '.join(required) or 'column names'}"
        ) from None
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        raise BenchError(f"{path}: not a regular table: {str(error).splitlines()[-1].strip()}") from None
    table.columns = table.columns.str.strip()
    for column in table.columns:
        text = table[column].str.strip()
        table[column] = text.mask(text.str.lower().isin(MISSING))
    missing = [column for column in required if column not in table]
    if missing:
        found = ", ".join(table.columns)
        raise BenchError(f"{path}: no column {', '.join(missing)} (found: {found}): add it, with n/a where unknown")
    return table.dropna(how="all").reset_index(drop=True)


def _read(path: Path, separator: str, comment: str | None) -> pd.DataFrame:
    # without index_col=False, lines with one cell too many would shift every column by one
    options: dict[str, Any] = {"sep": separator, "dtype": "str", "keep_default_na": False, "index_col": False}
    options["comment"] = comment
    try:
        return pd.read_csv(path, encoding="utf-8-sig", **options)
    except UnicodeDecodeError:
        return pd.read_csv(path, encoding="latin-1", **options)


def flags(column: pd.Series, where: str, unknown: Iterable[str] = ("-1", "-1.0")) -> pd.Series:
    """Text of yes/no values to nullable booleans; unknown stays NA.

    Raises
    ------
    BenchError
        A value that is none of 1/0, yes/no, true/false, n/a or ``unknown``; ``where`` names the file.
    """
    text = column.astype("string").str.lower()
    result = pd.Series(pd.NA, index=column.index, dtype="boolean")
    result[text.isin(TRUE)] = True
    result[text.isin(FALSE)] = False
    strange = text[result.isna() & text.notna() & ~text.isin(tuple(unknown))]
    if len(strange):
        raise BenchError(f"{where}: column {column.name!r} has {strange.iloc[0]!r}, expected 1, 0 or n/a")
    return result


def numbers(column: pd.Series, where: str) -> pd.Series:
    """Text of numbers to floats, a decimal comma understood; NA becomes NaN.

    Raises
    ------
    BenchError
        A value that is no number; ``where`` names the file.
    """
    text = column.astype("string").str.replace(r"^(-?\d+),(\d+)$", r"\1.\2", regex=True)
    values = pd.to_numeric(text, errors="coerce")
    strange = text[values.isna() & text.notna()]
    if len(strange):
        raise BenchError(f"{where}: column {column.name!r} has {strange.iloc[0]!r}, expected a number or n/a")
    return values.astype("float64")
