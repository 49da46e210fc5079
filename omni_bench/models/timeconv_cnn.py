"""TimeConv-CNN: ResNet-18 on time-compressed Morlet maps of one channel (Omni-iEEG, arXiv 2602.16072, section 5.1).

A minute's map has 224 × 60 000 values (54 MB), so a batch of maps never exists: windows go one by one through map,
min–max and the three convolutions that shrink it to 64 × 112 × 120, and the backward pass makes each map again.

The two time convolutions have kernels as wide as their stride. Folding those columns into channels turns them into
3 × 1 convolutions over an image that is already laid out channels-last: the same numbers without a copy, and a weight
gradient in an eighth of the time.
"""

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.grad import conv2d_input, conv2d_weight

from omni_bench.errors import BenchError
from omni_bench.models.resnet import CNNHead, imagenet_resnet18
from omni_bench.signal import MorletMap, min_max


class TimeConvCNN(CNNHead):
    """TimeConv-CNN on raw windows of one channel.

    Parameters
    ----------
    n_chans, n_outputs, n_times, sfreq
        Shape of input and output; ``n_chans`` must be 1.
    compat : {None, "paper", "reference"}
        ``"paper"`` makes the time kernels span one frequency row, as the text says; the published code, and so the
        default, spans three.
    n_freqs : int
        Rows of the map.
    fmin, fmax : float
        Frequency range of the map in Hz.

    Raises
    ------
    BenchError
        More than one channel, a window under 250 samples, or a rate below ``2 · fmax``.
    """

    pretrained_source = imagenet_resnet18

    def __init__(
        self,
        n_chans: int,
        n_outputs: int,
        n_times: int,
        sfreq: float,
        *,
        compat: str | None = None,
        n_freqs: int = 224,
        fmin: float = 10.0,
        fmax: float = 300.0,
    ) -> None:
        if n_chans != 1:
            raise BenchError(
                f"timeconv_cnn reads one channel at a time, got {n_chans}: use a task with one-channel samples"
            )
        if n_times < 250 or sfreq < 2 * fmax:
            raise BenchError(
                f"timeconv_cnn needs at least 250 samples at {2 * fmax:g} Hz or more, got {n_times} at {sfreq:g} Hz: "
                "raise task.window_s or lower model.net.fmax"
            )
        super().__init__(32, n_outputs)
        height = 1 if compat == "paper" else 3
        self.feature_extractor = nn.Sequential(
            nn.Conv2d(1, 16, (height, 25), stride=(1, 25), padding=(height // 2, 0)),
            nn.ReLU(),
            nn.Conv2d(16, 32, (height, 10), stride=(1, 10), padding=(height // 2, 0)),
            nn.ReLU(),
        )
        self.map = MorletMap(n_times, sfreq, n_freqs, fmin, fmax)
        self._image: Tensor | None = None  # one image is in use at a time; a new 54 MB for each costs a tenth of a step

    def forward(self, x: Tensor) -> Tensor:
        return self.fc_out(self.embed(x))

    def embed(self, x: Tensor) -> Tensor:
        """Windows ``(batch, 1, n_times)`` in µV → embedding ``(batch, 16)``."""
        stems = self._stems(x)
        self._image = None  # not needed until the backward pass, and the trunk is where memory peaks
        return self.embed_features(self.cnn.after_stem(stems))

    def forward_images(self, images: Tensor) -> Tensor:
        """The published network: maps ``(batch, 1, n_freqs, n_times)`` scaled to 0..255 → logits."""
        return self.fc_out(self.embed_features(self.cnn.after_stem(self.cnn.conv1(self._features(images)))))

    def _stems(self, x: Tensor) -> Tensor:
        conv = self.cnn.conv1
        if not torch.is_grad_enabled():
            return torch.cat([conv(self._features_of_window(window)) for window in x.split(1)])
        weights = list(self.feature_extractor.parameters())
        return torch.cat(
            [
                _Recomputed.apply(self._features_of_window, weights, conv, window, conv.weight, *weights)
                for window in x.split(1)
            ]
        )

    def _features_of_window(self, x: Tensor) -> Tensor:
        if x.requires_grad:
            return self._features(min_max(self.map(x)))
        first = self._first
        above = first.kernel_size[0] // 2
        shape = (*x.shape[:-1], self.map.n_freqs + 2 * above, self.map.n_kept)
        image = self._image
        if image is None or image.shape != shape or (image.dtype, image.device) != (x.dtype, x.device):
            image = self._image = x.new_empty(shape)
        with torch.no_grad():
            rows = image[..., above : above + self.map.n_freqs, :]
            low, high = torch.aminmax(self.map(x, out=rows))
            scale = torch.where(high > low, 255 / (high - low), 0.0)
            # min-max makes the lowest value 0, which is the convolution's padding
            image[..., :above, :] = low
            image[..., above + self.map.n_freqs :, :] = low
        # min-max is affine: the first convolution does it, without another pass over the image
        weight = first.weight * scale
        bias = cast(Tensor, first.bias) - low * weight.sum((1, 2, 3))
        return self._after_first(_convolve_folded(image, weight, bias))

    def _features(self, images: Tensor) -> Tensor:
        return self._after_first(
            _convolve_folded(images, self._first.weight, self._first.bias, self._first.kernel_size[0] // 2)
        )

    def _after_first(self, x: Tensor) -> Tensor:
        second = cast(nn.Conv2d, self.feature_extractor[2])
        x = functional.relu(x, inplace=True)
        return functional.relu(
            _convolve_folded(x, second.weight, second.bias, second.kernel_size[0] // 2), inplace=True
        )

    @property
    def _first(self) -> nn.Conv2d:
        return cast(nn.Conv2d, self.feature_extractor[0])


class _Recomputed(torch.autograd.Function):
    """``conv(features(x))``, whose backward pass computes the features once more; ``weights`` are what they read.

    `torch.utils.checkpoint` would build the graph in both passes and do the convolution again, whose result no gradient
    needs.
    """

    @staticmethod
    def forward(
        ctx: Any, features: Callable[[Tensor], Tensor], weights: list[Tensor], conv: nn.Conv2d, x: Tensor, *_: Tensor
    ) -> Tensor:
        ctx.features, ctx.weights, ctx.conv = features, weights, conv
        ctx.save_for_backward(x)
        return conv(features(x))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        (x,) = ctx.saved_tensors
        conv = ctx.conv
        x = x.detach().requires_grad_(ctx.needs_input_grad[3])
        wanted = [x, *ctx.weights]
        asked = [i for i, tensor in enumerate(wanted) if tensor.requires_grad]
        with torch.enable_grad():
            features = ctx.features(x)
        of_conv = None
        if conv.weight.requires_grad:
            of_conv = conv2d_weight(features, conv.weight.shape, gradient, conv.stride, conv.padding)
        found: dict[int, Tensor] = {}
        if asked:
            of_features = conv2d_input(features.shape, conv.weight, gradient, conv.stride, conv.padding)
            tensors = torch.autograd.grad(features, [wanted[i] for i in asked], of_features)
            found = dict(zip(asked, tensors, strict=True))
        return None, None, None, found.get(0), of_conv, *(found.get(i) for i in range(1, len(wanted)))


def _convolve_folded(x: Tensor, weight: Tensor, bias: Tensor | None, above: int = 0) -> Tensor:
    """``conv2d(x)`` with a stride as wide as the kernel and ``above`` rows of zeros on both sides, computed channels-last."""
    n_out, channels, height, width = weight.shape
    batch, _, rows, times = x.shape
    folded = x.permute(0, 2, 3, 1)[:, :, : times // width * width].reshape(
        batch, rows, times // width, width * channels
    )
    weight = weight.permute(0, 3, 1, 2).reshape(n_out, width * channels, height, 1)
    return functional.conv2d(folded.permute(0, 3, 1, 2), weight, bias, padding=(above, 0))
