"""Anatomical labels to regions."""

from pathlib import Path

import pandas as pd
import pytest

from omni_bench.datasets.anatomy import region_classes, regions
from omni_bench.errors import BenchError
from tests.data.raw_counts import raw_tables, real_source


def test_classes_in_the_order_of_their_ids() -> None:
    assert region_classes(5) == ["frontal", "temporal", "parietal", "occipital", "limbic"]
    assert region_classes(12) == [
        "Cingulate", "Motor/premotor", "Occipital", "Mesial temporal", "Inferior temporal", "Inferior parietal",
        "Prefrontal", "Somatosensory", "Superior parietal", "Superior temporal", "Insula", "Other/Subcortical",
    ]  # fmt: skip
    sixteen = region_classes(16)
    assert (len(sixteen), sixteen[0], sixteen[7], sixteen[15]) == (
        16,
        "Anterior cingulate",
        "Orbitofrontal",
        "Anterior frontal",
    )


def test_regions() -> None:
    labels = pd.Series(["lateralorbitofrontal", "Thalamus", "thalamus", "WM", None, "speriorfrontal", "-1"])
    assert regions(labels, 5).fillna("").tolist() == ["limbic", "", "", "", "", "frontal", ""]
    other = "Other/Subcortical"
    assert regions(labels, 12).fillna("").tolist() == ["Prefrontal", other, other, other, "", "Prefrontal", ""]
    assert regions(labels, 16).fillna("").tolist() == [
        "Orbitofrontal",
        other,
        other,
        other,
        "",
        "Dorsolateral frontal",
        "",
    ]


def test_errors() -> None:
    with pytest.raises(
        BenchError, match=r"'superiortemperal' is not in anatomical_mapping\.csv; did you mean 'superiortemporal'"
    ):
        regions(pd.Series(["superiortemperal"]))
    with pytest.raises(BenchError, match="7 classes, expected 5, 12, 16"):
        regions(pd.Series(["insula"]), 7)


def test_every_real_label_has_a_region(shared: Path) -> None:
    labels = raw_tables(real_source(shared, "ds005398"))["label"].replace("n/a", pd.NA)
    assert regions(labels, 12).notna().sum() == labels.notna().sum() == 19870 - 1273
    assert regions(labels, 5).isna().sum() > 1273 + 280  # white matter has no lobe
