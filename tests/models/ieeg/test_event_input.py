"""Images of events against the published ones, and what a flat context gives."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from omni_bench.errors import BenchError
from omni_bench.models.event_input import OctaveMap, centre
from omni_bench.models.pyhfo import EHFO, PyHFO, PyHFOOmni
from omni_bench.signal import MorletMap

EVENT = {"n_chans": 1, "n_times": 2000, "sfreq": 1000.0}


@pytest.fixture(scope="module")
def published(golden: Path) -> dict[str, np.ndarray]:
    return dict(np.load(golden / "models/event_images.npz"))


@pytest.fixture(scope="module")
def context(published: dict[str, np.ndarray]) -> Tensor:
    return torch.from_numpy(published["waveform"])[None, None]


@pytest.mark.parametrize(
    ("n_times", "sfreq", "n_freqs", "fmax"),
    [(2000, 1000.0, 224, 300), (2000, 1000.0, 512, 500), (1200, 600.0, 224, 300), (4000, 2000.0, 512, 500)],
)
def test_octaves_are_rows_of_the_whole_map(n_times: int, sfreq: float, n_freqs: int, fmax: float) -> None:
    """Whether or not the Nyquist frequency cuts off the upper rows."""
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((2, n_times)).cumsum(axis=1))
    kept = centre("it", n_times, sfreq, 0.285)
    whole = MorletMap(n_times, sfreq, n_freqs, 10, fmax).double()(x)[..., kept]
    octaves = OctaveMap(n_times, sfreq, n_freqs, 10, fmax, kept).double()
    assert (octaves(x) - whole).abs().max() < 1e-7 * whole.max()
    assert sum(len(transform.filters) for transform in octaves.maps) == n_freqs
    assert octaves.maps[-2].n_fft < octaves.maps[-1].n_fft


def test_pyhfo_omni_image(published: dict[str, np.ndarray], context: Tensor) -> None:
    image = PyHFOOmni(n_outputs=3, **EVENT).images(context)
    assert image.shape == (1, 1, 224, 224)
    np.testing.assert_allclose(image[0, 0, ::8, ::8], published["image_step8"], atol=1e-3)


def test_pyhfo_image_and_crop(published: dict[str, np.ndarray], context: Tensor) -> None:
    """10–290 Hz and ± 285 ms are rows 96..223 and columns 49..174 of the image, which is scaled before the crop."""
    image = PyHFO(n_outputs=1, **EVENT).images(context)
    assert image.shape == (1, 1, 128, 126)
    np.testing.assert_allclose(image[0, 0, ::4, 3::4], published["legacy_step4"][24:, 13:44], atol=1e-3)


def test_amplitude_coding_is_constant_over_rows_and_follows_the_waveform() -> None:
    ramp = torch.arange(2000.0)[None, None]
    plane = PyHFO(n_outputs=1, n_planes=2, **EVENT).images(ramp)[0, 1]
    assert torch.equal(plane, plane[:1].expand_as(plane))
    expected = 255 * (torch.arange(49, 175) - 0.0) / 223
    torch.testing.assert_close(plane[0], expected, atol=0.5, rtol=0)


def test_ehfo_planes(published: dict[str, np.ndarray], context: Tensor) -> None:
    """The spectrum's published frequency axis is stretched by 1/4001 against ours: 0.2 % of its maximum."""
    spectrum, line, grey = EHFO(n_outputs=1, **EVENT).front_end.planes(context)[0, :, ::8, ::8].numpy()
    tolerance = 3e-3 * published["ehfo_spectrum_step8"].max()
    np.testing.assert_allclose(spectrum, published["ehfo_spectrum_step8"], atol=tolerance)
    np.testing.assert_allclose(line, published["ehfo_line_step8"], atol=1e-4)
    np.testing.assert_allclose(grey, published["ehfo_grey_step8"], atol=1e-4)


def test_ehfo_artifact_network_sees_the_spectrum_thrice(context: Tensor) -> None:
    images = EHFO(n_outputs=1, spectrum_only=True, **EVENT).images(context)
    full = EHFO(n_outputs=1, **EVENT).images(context)
    assert torch.equal(images[:, 0], full[:, 0])
    assert torch.equal(images[:, 2], full[:, 0])
    assert not torch.equal(full[:, 2], full[:, 0])


def test_image_peaks_at_the_tone_and_at_any_rate() -> None:
    for sfreq in (1000.0, 2000.0):
        time = torch.arange(-sfreq, sfreq) / sfreq
        burst = torch.cos(2 * torch.pi * 150 * time) * torch.exp(-0.5 * (time / 0.05) ** 2)
        image = PyHFOOmni(1, 3, len(time), sfreq).images(burst[None, None])[0, 0]
        row, column = divmod(int(image.argmax()), 224)
        assert abs((300 - 290 * row / 223) - 150) < 5
        assert abs(column - 112) <= 2


@pytest.mark.parametrize("net", [PyHFOOmni(n_outputs=3, **EVENT), PyHFO(n_outputs=1, n_planes=2, **EVENT)])
@pytest.mark.parametrize("level", [0.0, 7.0])
def test_flat_context_gives_a_black_image(net: PyHFOOmni, level: float) -> None:
    context = torch.full((2, 1, 2000), level)
    assert torch.isfinite(net.eval()(context)).all()
    if level == 0:
        assert torch.equal(net.images(context), torch.zeros_like(net.images(context)))


def test_centre() -> None:
    assert centre("net", 2000, 1000.0) == slice(715, 1285)
    assert centre("net", 2000, 1000.0, half_width=0.5) == slice(500, 1500)
    with pytest.raises(BenchError, match="n_times=569 samples, expected at least 570"):
        centre("net", 569, 1000.0)
