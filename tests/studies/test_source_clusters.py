"""The permutation test of sources, by hand and by simulation."""

import numpy as np
import pandas as pd
import pytest

from omni_bench.studies.source_clusters import clusters, permutation_test
from omni_bench.studies.windows import drawn


def table_of(cluster: np.ndarray, per_person: int = 5) -> pd.DataFrame:
    """Four sources of four persons each."""
    person = np.repeat(np.arange(16), per_person)
    return pd.DataFrame({"person": person.astype(str), "source": (person // 4).astype(str), "cluster": cluster})


def test_clusters_that_are_the_sources_are_found() -> None:
    source = np.repeat(np.arange(4), 20)
    for permute in ("person", "window"):
        (row,) = permutation_test(table_of(source), 199, permute, 0).to_dict("records")
        assert row["homogeneity"] == pytest.approx(1)
        assert row["p"] == 1 / 200
        # no permutation of 199 reaches the sample: Clopper and Pearson's upper limit is 1 - 0.025 ** (1 / 199)
        assert (row["p_low"], row["p_high"]) == pytest.approx((0, 0.018367), abs=1e-6)


def test_clusters_of_persons_fool_the_exchange_of_windows_only() -> None:
    rng = np.random.default_rng(0)
    of_windows, of_persons = [], []
    for _ in range(20):
        table = table_of(rng.integers(0, 4, 16).repeat(5))
        of_windows.append(permutation_test(table, 39, "window", 0)["p"].iloc[0])
        of_persons.append(permutation_test(table, 39, "person", 0)["p"].iloc[0])
    assert np.mean(np.array(of_windows) <= 0.05) > 0.5
    assert np.mean(np.array(of_persons) <= 0.05) < 0.2


def test_k_means_finds_far_clouds() -> None:
    centres = 10 * np.eye(4, 8)
    points = np.repeat(centres, 6, axis=0) + 0.1 * np.random.default_rng(0).standard_normal((24, 8))
    found = clusters(points.astype(np.float32), 4, 0).reshape(4, 6)
    assert (found == found[:, :1]).all()
    assert set(found[:, 0]) == {0, 1, 2, 3}


def test_draw_takes_as_many_of_each_source_as_there_are() -> None:
    table = pd.DataFrame({"source": ["a"] * 3 + ["b"] * 10})
    rows = drawn(table, "source", 5, 0)
    assert table.loc[rows, "source"].value_counts().to_dict() == {"a": 3, "b": 5}
    assert rows.is_monotonic_increasing
    assert not rows.equals(drawn(table, "source", 5, 1))
