"""The tolerant table reader and what it makes of values."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omni_bench.data.tables import flags, numbers, read_table
from omni_bench.errors import BenchError

PLAIN = "name\ttype\tnote\nA1\tECOG\tLésion\nB1\tn/a\t\n"
VARIANTS = {
    "utf-8": PLAIN.encode(),
    "byte order mark": PLAIN.encode("utf-8-sig"),
    "latin-1": PLAIN.encode("latin-1"),
    "CRLF": PLAIN.replace("\n", "\r\n").encode(),
    "CRLF and mark": PLAIN.replace("\n", "\r\n").encode("utf-8-sig"),
    "padded": "  name \ttype\t note\n A1\tECOG \tLésion\nB1 \t n/a  \t   \n".encode(),
    "blank lines": PLAIN.replace("\nB1", "\n\n\t\t\n   \t\t\nB1").encode() + b"\n\n",
    "other spellings of missing": PLAIN.replace("n/a", "NaN").encode(),
    "short last line": PLAIN.replace("n/a\t\n", "n/a\n").encode(),
    "quoted": PLAIN.replace("ECOG", '"ECOG"').encode(),
}


@pytest.mark.parametrize("content", VARIANTS.values(), ids=VARIANTS)
def test_the_same_table_however_it_is_written(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "channels.tsv"
    file.write_bytes(content)
    table = read_table(file, ["name", "type"])
    assert table.columns.tolist() == ["name", "type", "note"]
    assert table.index.tolist() == [0, 1]
    assert table["name"].tolist() == ["A1", "B1"]
    assert table["type"].isna().tolist() == [False, True]
    assert (table["type"][0], table["note"][0]) == ("ECOG", "Lésion")
    assert table["note"].isna()[1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty, expected a header line with name, soz"),
        (b"\xef\xbb\xbf", "empty, expected a header line with name, soz"),
        (b"\n\n\n", "empty, expected a header line with name, soz"),
        (b"name\ttype\nA1\tECOG\n", r"no column soz \(found: name, type\): add it, with n/a where unknown"),
        (b"name\tsoz\nA1\t1\t7\nA2\t1\n", "not a regular table"),
        (b"name\tsoz\nA1\t1\nA2\t1\t7\n", "not a regular table: .*line 3"),
        # pandas would make an index of the first column here, and shift all others
        (b"name\tsoz\nA1\t1\t7\nA2\t1\t7\n", "not a regular table"),
        (b'name\tsoz\nA1\t"1\nA2\t1\n', "not a regular table"),
    ],
)
def test_broken_table_is_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "channels.tsv"
    file.write_bytes(content)
    with pytest.raises(BenchError, match=rf"channels\.tsv: {message}") as error:
        read_table(file, ["name", "soz"])
    assert "\n" not in str(error.value)


def test_absent_file_and_header_alone(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=r"nowhere\.tsv: no such file"):
        read_table(tmp_path / "nowhere.tsv")
    (tmp_path / "head.tsv").write_text("name\tsoz\n")
    assert read_table(tmp_path / "head.tsv", ["soz"]).empty


def test_suffix_decides_the_separator(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('patient,split\n"Doe, J",train\n')
    assert read_table(tmp_path / "a.csv")["patient"].tolist() == ["Doe, J"]


cells = st.text(st.characters(blacklist_categories=("C", "Z"), blacklist_characters='"'), min_size=1, max_size=8)


@given(
    rows=st.lists(st.tuples(cells, cells), min_size=1, max_size=6),
    mark=st.booleans(),
    newline=st.sampled_from(["\n", "\r\n"]),
)
def test_any_text_survives(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], mark: bool, newline: str
) -> None:
    file = tmp_path_factory.getbasetemp() / "fuzz.tsv"
    text = newline.join("\t".join(row) for row in [("one", "two"), *rows]) + newline
    file.write_bytes(text.encode("utf-8-sig" if mark else "utf-8"))
    missing = {"n/a", "na", "nan", "none", "null"}
    expected = [[pd.NA if cell.lower() in missing else cell for cell in row] for row in rows]
    expected = [row for row in expected if not all(cell is pd.NA for cell in row)]
    found = read_table(file)
    assert [[pd.NA if pd.isna(cell) else cell for cell in row] for row in found.to_numpy()] == expected


def test_flags() -> None:
    column = pd.Series(["1", "0", "1.0", "0.0", "Yes", "no", "TRUE", "-1", "-1.0", pd.NA], name="soz", dtype="str")
    result = flags(column, "a.tsv")
    assert result.dtype == "boolean"
    assert result[:7].tolist() == [True, False, True, False, True, False, True]
    assert result[7:].isna().all()
    with pytest.raises(BenchError, match=r"a.tsv: column 'soz' has 'maybe', expected 1, 0 or n/a"):
        flags(pd.Series(["1", "maybe"], name="soz"), "a.tsv")


def test_numbers() -> None:
    column = pd.Series(["1.5", "-2,25", "1e3", "999,41", pd.NA], name="rate", dtype="str")
    np.testing.assert_array_equal(numbers(column, "a.tsv"), [1.5, -2.25, 1000, 999.41, np.nan])
    with pytest.raises(BenchError, match=r"a.tsv: column 'rate' has '1.000,5', expected a number or n/a"):
        numbers(pd.Series(["1", "1.000,5"], name="rate"), "a.tsv")
