"""Attribution to frequency bands: completeness, and a planted effect that comes first."""

import numpy as np
import pandas as pd
import pytest
import torch

from omni_bench.models.timeconv_cnn import TimeConvCNN
from omni_bench.studies.band_importance import attribution, bands_figure, summary

BANDS = {"low": (10.0, 30.0), "gamma": (30.0, 80.0), "ripple": (80.0, 250.0), "fast_ripple": (250.0, 301.0)}
N_TIMES, SFREQ, N_FREQS = 2000, 1000.0, 59
FREQS = np.linspace(300, 10, N_FREQS)


def windows(n: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Pink-like noise; every other window has bursts of 20 Hz."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, N_TIMES)) * 10
    times = np.arange(N_TIMES) / SFREQ
    label = np.arange(n) % 2
    for i in np.flatnonzero(label):
        centre = rng.uniform(0.3, 1.7)
        x[i] += 40 * np.sin(2 * np.pi * 20 * times) * np.exp(-0.5 * ((times - centre) / 0.2) ** 2)
    return torch.from_numpy(x[:, None]).float(), torch.from_numpy(label).float()


def trained() -> TimeConvCNN:
    torch.manual_seed(0)
    net = TimeConvCNN(1, 1, N_TIMES, SFREQ, n_freqs=N_FREQS)
    x, y = windows(16, 0)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(12):
        optimizer.zero_grad()
        torch.nn.functional.binary_cross_entropy_with_logits(net(x)[:, 0], y).backward()
        optimizer.step()
    return net


def test_attributions_add_up_and_the_planted_band_comes_first() -> None:
    net = trained()
    x, _ = windows(4, 1)
    table = pd.concat([attribution(net, x[[i]], FREQS, BANDS, 0.05) for i in range(4)], ignore_index=True)
    assert (table["error"] <= 0.05).all()
    change = table["logit"] - table["baseline"]
    np.testing.assert_allclose(table[list(BANDS)].sum(axis=1), change, atol=0.06 * change.abs().max())
    with torch.no_grad():
        np.testing.assert_allclose(table["logit"], net.eval()(x)[:, 0], rtol=1e-4, atol=1e-4)
    found = summary(table, BANDS)
    assert found["band"].iloc[0] == "low"


def test_summary_by_hand() -> None:
    table = pd.DataFrame({"low": [1.0, -3.0], "gamma": [1.0, 1.0], "ripple": [0.0, 0.0], "fast_ripple": [0.5, -0.5]})
    found = summary(table, BANDS).set_index("band")
    assert found.index.tolist()[:3] == ["low", "gamma", "fast_ripple"]
    assert found.loc["low", "importance"] == 2.0
    assert found.loc["low", "contribution"] == -1.0
    assert found["share"].sum() == pytest.approx(1)
    assert (found["n_windows"] == 2).all()
    bars = bands_figure(found.reset_index()).axes[0].patches
    assert [bar.get_height() for bar in bars] == [2.0, 1.0, 0.0, 0.5]
