"""Figures show the data they were given."""

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from omni_bench.hfo import detect, rates
from omni_bench.hfo.figures import event_figure, rates_figure
from tests.hfo.synthetic import burst, one_over_f


@pytest.mark.parametrize("start", [15_000, 100])
def test_event_figure_shows_the_burst_in_all_three_rows(start):
    x = one_over_f(np.random.default_rng(3), 30_000, 1000.0)
    wave = burst(200, 20, 100, 0, 1000.0)
    x[start : start + len(wave)] += wave
    event = detect(x[None], 1000.0, ["A1"], "hil").iloc[0]
    raw, band, image_axes, _ = event_figure(x, 1000.0, event).axes
    centre = (event["start"] + event["end"]) // 2
    ms, shown = raw.lines[0].get_data()
    np.testing.assert_array_equal(shown, x[centre + np.round(ms).astype(int)])
    assert ms[0] == max(-250, -centre)
    assert np.abs(band.lines[0].get_ydata()).max() == pytest.approx(100, rel=0.05)
    image = image_axes.images[0]
    assert image.get_array().shape == (128, len(ms))
    row, column = np.unravel_index(image.get_array().argmax(), image.get_array().shape)
    left, right, bottom, top = image.get_extent()
    assert top - row * (top - bottom) / 127 == pytest.approx(200, abs=5)
    assert abs(ms[column]) < 50
    assert (left, right) == (ms[0], ms[-1])


def test_rates_figure_marks_the_zone_and_the_unknown():
    x = one_over_f(np.random.default_rng(3), 30_000, 1000.0)
    names = ["A1", "A2", "A3"]
    events = detect(np.stack([x, x, x]), 1000.0, names)
    figure = rates_figure(rates(events, 30, names), {"A1": True, "A2": False})
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert labels == ["SOZ", "outside SOZ", "SOZ unknown"]
    bars = {(round(bar.get_x() + bar.get_width() / 2), bar.get_facecolor()) for bar in figure.axes[0].patches}
    assert bars == {(0, to_rgba("tab:red")), (1, to_rgba("tab:blue")), (2, to_rgba("0.6"))}
