"""One spelling per contact."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omni_bench.signal.channel_names import contact_name, contact_names, shaft


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("A13-AV", "A13"),
        ("POL G1", "G1"),
        ("EEG LAH1-Ref", "LAH1"),
        ("SEEG B'3", "B'3"),
        ("EEG X 1-REF", "X1"),
        ("A1-G2", "A1"),  # G2 is an amplifier's reference input ...
        ("G1-G2", "G1-G2"),  # ... and a contact of grid G beside another
        ("LAH1-LAH2", "LAH1-LAH2"),
        ("  A1 ", "A1"),
        ("EEGA1", "EEGA1"),
        ("POL", "POL"),
    ],
)
def test_contact_name(raw: str, name: str) -> None:
    assert contact_name(raw) == name
    assert contact_name(name) == name


def test_names_that_would_become_one_keep_their_spelling() -> None:
    raw = pd.Series(["A1-Ref", "A1-AV", "EEG A2-Ref", "POL A2", "A3-Ref"])
    assert contact_names(raw).tolist() == ["A1-Ref", "A1-AV", "EEG A2-Ref", "POL A2", "A3"]


pieces = st.tuples(
    st.sampled_from(["", "POL ", "EEG ", "SEEG "]),
    st.sampled_from(["A1", "A2", "G1", "G1-G2", "A1-A2"]),
    st.sampled_from(["", "-Ref", "-AV", "-G2"]),
)


@given(st.lists(pieces.map("".join), unique=True, min_size=1))
def test_names_of_one_recording_are_unique(raw: list[str]) -> None:
    assert contact_names(pd.Series(raw)).is_unique


@pytest.mark.parametrize(
    ("name", "expected"), [("LAH2-LAH3", ("LAH", 2)), ("B'12", ("B'", 12)), ("EKG", ("EKG", 0)), ("A01", ("A", 1))]
)
def test_shaft(name: str, expected: tuple[str, int]) -> None:
    assert shaft(name) == expected
