"""Which names are those of scalp, heart and unused inputs, by the company they stand in."""

import pandas as pd
import pytest

from omni_bench.datasets.bids_tables import no_brain


@pytest.mark.parametrize(
    ("names", "outside"),
    [
        (["C3", "C4", "CZ", "LA1", "LA2", "LA3"], ["C3", "C4", "CZ"]),
        ([f"C{i}" for i in range(1, 65)], []),
        (["C01", "C02", "C03", "C04"], []),
        (["F1", "F2", "F3", "F4", "P3", "P4"], ["P3", "P4"]),
        (["FP1", "FP2", "F7", "F8"], ["FP1", "FP2", "F7", "F8"]),
        ([f"FP{i}" for i in range(1, 17)], []),
        (["T3", "T4", "T5"], ["T3", "T4", "T5"]),
        (["PR", "PR1", "PR2", "LOC", "LOC1", "E", "E1"], ["PR", "LOC", "E"]),
        (["EKG", "EKG1", "ECGL", "EKGR", "DC01", "AIN17", "EVENT", "OSAT", "$G11", "REF", "G11"], None),
        (["A1", "A2"], ["A1", "A2"]),
        (["A1", "A2", "A3"], []),
    ],
)
def test_no_brain(names: list[str], outside: list[str] | None) -> None:
    found = [name for name, is_outside in zip(names, no_brain(pd.Series(names)), strict=True) if is_outside]
    assert found == (names[:-1] if outside is None else outside)
