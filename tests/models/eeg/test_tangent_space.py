"""Covariances as tangent vectors."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from omni_bench import api
from omni_bench.datasets.demo_eeg import write_demo_eeg
from omni_bench.errors import BenchError
from omni_bench.models.tangent_space import TangentSpace, covariances, tangent_vectors


def test_logarithm_of_two_channels_by_hand() -> None:
    # eigenvalues 8 and 2 along (1, 1) and (1, -1)
    vector = tangent_vectors(np.array([[[5.0, 3], [3, 5]]]))[0]
    np.testing.assert_allclose(vector, math.log(2) * np.array([2, math.sqrt(2), 2]), rtol=1e-12)


def test_distances_are_log_euclidean_whatever_the_scale() -> None:
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((2, 4, 9))
    pair = factors @ factors.swapaxes(1, 2)
    first, second = tangent_vectors(pair)
    values, vectors = zip(*(np.linalg.eigh(matrix) for matrix in pair), strict=True)
    logs = [v @ np.diag(np.log(w)) @ v.T for w, v in zip(values, vectors, strict=True)]
    assert np.linalg.norm(first - second) == pytest.approx(np.linalg.norm(logs[0] - logs[1]), rel=1e-10)
    scaled = tangent_vectors(7 * pair)
    assert np.linalg.norm(scaled[0] - scaled[1]) == pytest.approx(np.linalg.norm(first - second), rel=1e-10)


def test_an_average_reference_leaves_covariances_invertible() -> None:
    x = np.random.default_rng(0).standard_normal((2, 6, 400))
    x -= x.mean(axis=1, keepdims=True)
    found = covariances(x)
    assert np.linalg.eigvalsh(np.cov(x[0])).min() < 1e-12
    assert np.linalg.eigvalsh(found).min() > 1e-4
    np.testing.assert_allclose(found.trace(axis1=1, axis2=2), [np.cov(w, ddof=0).trace() for w in x], rtol=1e-10)


def test_only_the_band_counts() -> None:
    t = torch.arange(400) / 200
    inside, outside = torch.sin(2 * torch.pi * 16 * t), torch.sin(2 * torch.pi * 50 * t)
    net = TangentSpace(1, 1, 400, 200, band=[8, 30], estimator=LogisticRegression())
    x = torch.stack([inside, inside + outside, 10 * inside, outside])[:, None]
    one, with_hum, louder, hum = net.embed(x)[:, 0].tolist()
    assert one == pytest.approx(math.log(0.5), abs=0.1)
    assert with_hum == pytest.approx(one, abs=0.1)
    assert louder == pytest.approx(one + math.log(100), rel=1e-5)
    assert hum < one - 3


@pytest.mark.parametrize(("n_times", "sfreq", "message"), [(49, 200, "n_times=49"), (400, 60, "sfreq=60")])
def test_refusals(n_times: int, sfreq: float, message: str) -> None:
    with pytest.raises(BenchError, match=f"tangent space: {message}"):
        TangentSpace(2, 1, n_times, sfreq, band=[8, 30], estimator=LogisticRegression())


def test_imagined_hands_in_unseen_persons(tmp_path: Path) -> None:
    write_demo_eeg(tmp_path / "demo_eeg", n_persons=10)
    paths = [f"dataset.root={tmp_path}/demo_eeg", f"paths.cache={tmp_path}", f"paths.output_dir={tmp_path}"]
    result = api.run(["task=demo_hands", "model=tangent_space", "trainer.progress=false", "n_boot=10", *paths])
    assert result["metrics"]["balanced_accuracy"]["value"] > 0.7
    assert result["pretraining_overlap"] is False
