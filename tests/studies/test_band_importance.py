"""Attribution to frequency bands: completeness, and a planted effect that comes first."""

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from omni_bench.models.timeconv_cnn import TimeConvCNN
from omni_bench.signal import MorletMap
from omni_bench.studies.band_importance import attribution, background, bands_figure, summary

BANDS = {"low": (10.0, 30.0), "gamma": (30.0, 80.0), "ripple": (80.0, 250.0), "fast_ripple": (250.0, 301.0)}
N_TIMES, SFREQ, N_FREQS = 1000, 1000.0, 30
FREQS = np.linspace(300, 10, N_FREQS)


def windows(n: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Noise with a loud burst of 200 Hz in every window, and one of 20 Hz in every other."""
    rng = np.random.default_rng(seed)
    times = np.arange(N_TIMES) / SFREQ
    label = np.arange(n) % 2
    x = rng.standard_normal((n, N_TIMES))
    for i in range(n):
        for frequency, size in ((200, 20), (20, 15 * label[i])):
            centre = rng.uniform(0.2, 0.8)
            x[i] += size * np.sin(2 * np.pi * frequency * times) * np.exp(-0.5 * ((times - centre) / 0.1) ** 2)
    return torch.from_numpy(x[:, None]).float(), torch.from_numpy(label).float()


class BandReader(nn.Module):
    """A network whose logit is 0.01 × the mean of the map's rows from 10 to 30 Hz."""

    def __init__(self) -> None:
        super().__init__()
        self.map = MorletMap(N_TIMES, SFREQ, N_FREQS, 10, 300)
        self.rows = torch.from_numpy((FREQS >= 10) & (FREQS < 30))

    def forward_images(self, images: torch.Tensor) -> torch.Tensor:
        return 0.01 * images[:, :, self.rows].mean(dim=(2, 3))


def attributed(net: nn.Module, x: torch.Tensor) -> pd.DataFrame:
    start = background(net, x.split(1))
    return pd.concat([attribution(net, window, start, FREQS, BANDS, 0.05) for window in x.split(1)], ignore_index=True)


def test_a_network_that_reads_one_band_credits_that_band_alone() -> None:
    table = attributed(BandReader(), windows(4, 0)[0])
    np.testing.assert_allclose(table["low"], table["logit"] - table["baseline"], rtol=1e-3)
    np.testing.assert_allclose(table[["gamma", "ripple", "fast_ripple"]], 0, atol=1e-9)
    np.testing.assert_array_equal(table["baseline"], table["baseline"][0])
    assert (table["low"][[1, 3]] > table["low"][[0, 2]].max()).all()


def test_attributions_add_up_to_the_change_of_the_logit() -> None:
    torch.manual_seed(0)
    net = TimeConvCNN(1, 1, N_TIMES, SFREQ, n_freqs=N_FREQS)
    x, _ = windows(3, 0)
    table = attributed(net, x)
    assert (table["error"] <= 0.05).all()
    change = table["logit"] - table["baseline"]
    assert ((table[list(BANDS)].sum(axis=1) - change).abs() <= 0.0501 * change.abs()).all()
    with torch.no_grad():
        np.testing.assert_allclose(table["logit"], net.eval()(x)[:, 0], rtol=1e-3, atol=1e-4)


@pytest.mark.slow
def test_the_planted_band_comes_first_after_training() -> None:
    torch.manual_seed(0)
    net = TimeConvCNN(1, 1, N_TIMES, SFREQ, n_freqs=N_FREQS)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for step in range(60):
        x, y = windows(16, 100 + step)
        optimizer.zero_grad()
        torch.nn.functional.binary_cross_entropy_with_logits(net(x)[:, 0], y).backward()
        optimizer.step()
    test, truth = windows(8, 1)
    table = attributed(net, test)
    assert ((table["logit"] > 0) == truth.bool().numpy()).all()
    assert (table["error"] <= 0.05).all()
    assert summary(table, BANDS)["band"].iloc[0] == "low"


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
