"""Event CNNs: ResNet-18 on images of an event. One network, three generations of images.

PyHFO-Omni (Omni-iEEG, arXiv 2602.16072, section 4.1), PyHFO (Zhang et al. 2024) and eHFO (Zhang et al. 2022).
None has a fault that `compat` would have to reproduce.
"""

from torch import Tensor, nn

from omni_bench.models.event_input import HALF_WIDTH, EHFOImage, EventImage, PyHFOImage
from omni_bench.models.requirements import require_one_channel
from omni_bench.models.resnet import CNNHead, imagenet_resnet18, imagenet_resnet18_rgb


class EventCNN(CNNHead):
    """ResNet-18 on what `front_end` makes of the context `(batch, 1, n_times)` µV around an event."""

    pretrained_source = imagenet_resnet18

    def __init__(self, front_end: nn.Module, in_channels: int, n_outputs: int) -> None:
        super().__init__(in_channels, n_outputs)
        self.front_end = front_end

    def images(self, x: Tensor) -> Tensor:
        """Contexts → images `(batch, in_channels, height, width)`, 0..255."""
        return self.front_end(x)

    def forward_images(self, images: Tensor) -> Tensor:
        """The published network: images → logits `(batch, n_outputs)`."""
        return self.fc_out(self.embed_trunk(images))

    def embed(self, x: Tensor) -> Tensor:
        """Contexts → embedding `(batch, 16)`."""
        return self.embed_trunk(self.images(x))

    def forward(self, x: Tensor) -> Tensor:
        return self.fc_out(self.embed(x))


class PyHFOOmni(EventCNN):
    """Artifact, non-spike HFO or spike HFO, from the 224 × 224 map of the central 570 ms.

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        1 channel; published: 3 outputs, 2000 samples at 1000 Hz. Other rates from 600 Hz on work.
    """

    def __init__(self, n_chans: int, n_outputs: int, n_times: int, sfreq: float, *, compat: str | None = None) -> None:
        require_one_channel("pyhfo_omni", n_chans)
        super().__init__(EventImage("pyhfo_omni", n_times, sfreq), 1, n_outputs)


class PyHFO(EventCNN):
    """PyHFO's networks for artifacts (1 plane) and spikes (2 planes); logits of what the originals give as probability.

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        1 channel; published: 1 output, 2000 samples at 1000 Hz. Other rates from 1000 Hz on work.
    n_planes : {1, 2}
        1 for the artifact network, 2 for the spike network.
    fmax, half_width : float
        Crop of the image in Hz and seconds, as stored with a checkpoint.
    """

    def __init__(
        self,
        n_chans: int,
        n_outputs: int,
        n_times: int,
        sfreq: float,
        *,
        compat: str | None = None,
        n_planes: int = 1,
        fmax: float = 290.0,
        half_width: float = HALF_WIDTH,
    ) -> None:
        require_one_channel("pyhfo", n_chans)
        super().__init__(PyHFOImage("pyhfo", n_times, sfreq, n_planes, fmax, half_width), n_planes, n_outputs)


class EHFO(EventCNN):
    """eHFO's networks on spectrum, line and grey-level image; logits of what the originals give as probability.

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        1 channel; published: 1 output, 2000 samples at 1000 Hz. Other rates from 1000 Hz on work.
    spectrum_only : bool
        The spectrum three times, as the artifact network takes it.
    """

    pretrained_source = imagenet_resnet18_rgb

    def __init__(
        self,
        n_chans: int,
        n_outputs: int,
        n_times: int,
        sfreq: float,
        *,
        compat: str | None = None,
        spectrum_only: bool = False,
    ) -> None:
        require_one_channel("ehfo", n_chans)
        super().__init__(EHFOImage("ehfo", n_times, sfreq), 3, n_outputs)
        self.spectrum_only = spectrum_only

    def images(self, x: Tensor) -> Tensor:
        """Contexts → images `(batch, 3, 224, 224)`, 0..255."""
        images = super().images(x)
        return images[:, :1].expand_as(images) if self.spectrum_only else images
