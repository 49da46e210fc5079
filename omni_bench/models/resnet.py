"""ResNet-18 (He et al. 2016, table 1) under torchvision's state-dict names, and the classifier head behind it.

torchvision is not a dependency, yet its ImageNet weights are the published starting point, hence its names.
"""

import torch
from torch import Tensor, nn

from omni_bench.models.pretrained import PretrainedSource, StateDict


class BasicBlock(nn.Module):
    """Two 3×3 convolutions with a shortcut; the first may halve the image."""

    def __init__(self, in_channels: int, out_channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, out_channels, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out_channels)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(out_channels, out_channels, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out_channels)
        self.downsample: nn.Module | None = None
        if stride != 1 or in_channels != out_channels:
            self.downsample = nn.Sequential(
                nn.Conv2d(in_channels, out_channels, 1, stride, bias=False), nn.BatchNorm2d(out_channels)
            )

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(x)) + shortcut)


class ResNet18(nn.Module):
    """ResNet-18 from image to `num_features_out` features.

    Parameters
    ----------
    in_channels : int
        Planes of the input image; the stem is 7×7, stride 2, without bias for any number.
    num_features_out : int
        Width of the last linear layer, a one-element sequence (`fc.0`) as in the published intracranial networks.

    Notes
    -----
    `forward` takes images `(batch, in_channels, height, width)` and returns `(batch, num_features_out)`.
    """

    def __init__(self, in_channels: int, num_features_out: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = nn.Sequential(BasicBlock(64, 64, 1), BasicBlock(64, 64, 1))
        self.layer2 = nn.Sequential(BasicBlock(64, 128, 2), BasicBlock(128, 128, 1))
        self.layer3 = nn.Sequential(BasicBlock(128, 256, 2), BasicBlock(256, 256, 1))
        self.layer4 = nn.Sequential(BasicBlock(256, 512, 2), BasicBlock(512, 512, 1))
        self.fc = nn.Sequential(nn.Linear(512, num_features_out))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        return self.after_stem(self.conv1(x))

    def after_stem(self, x: Tensor) -> Tensor:
        """Everything behind the first convolution, whose output is `(batch, 64, height / 2, width / 2)`."""
        x = x.contiguous(memory_format=torch.channels_last)  # a tenth faster on a CPU
        x = self.maxpool(self.relu(self.bn1(x)))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean(dim=(-2, -1)))


class CNNHead(nn.Module):
    """Base of the published event and segment CNNs: trunk `cnn`, then 32 → 32 → 16 → `n_outputs`.

    LeakyReLU comes before BatchNorm, as published. `bn0` is never used but is part of every published checkpoint.
    Subclasses add what stands before the trunk.
    """

    head_name = "fc_out"

    def __init__(self, in_channels: int, n_outputs: int) -> None:
        super().__init__()
        self.cnn = ResNet18(in_channels, 32)
        self.bn0 = nn.BatchNorm1d(32).requires_grad_(False)
        self.fc = nn.Linear(32, 32)
        self.bn = nn.BatchNorm1d(32)
        self.fc1 = nn.Linear(32, 16)
        self.bn1 = nn.BatchNorm1d(16)
        self.fc_out = nn.Linear(16, n_outputs)

    def embed_trunk(self, x: Tensor) -> Tensor:
        """Trunk input `(batch, in_channels, height, width)` → embedding `(batch, 16)`."""
        return self.embed_features(self.cnn(x))

    def embed_features(self, x: Tensor) -> Tensor:
        """Trunk output `(batch, 32)` → embedding `(batch, 16)`."""
        x = self.bn(nn.functional.leaky_relu(self.fc(x)))
        return self.bn1(nn.functional.leaky_relu(self.fc1(x)))


def _trunk_with_stem(weights: StateDict) -> StateDict:
    return {f"cnn.{name}": weight for name, weight in weights.items() if not name.startswith("fc.")}


def _trunk(weights: StateDict) -> StateDict:
    return {name: weight for name, weight in _trunk_with_stem(weights).items() if name != "cnn.conv1.weight"}


_HUB_ID, _LICENCE = "timm/resnet18.tv_in1k", "BSD-3-Clause"

imagenet_resnet18 = PretrainedSource(_HUB_ID, _trunk, _LICENCE)
"""torchvision's ImageNet weights for networks whose trunk is `cnn`; stem and classifier are drawn anew."""

imagenet_resnet18_rgb = PretrainedSource(_HUB_ID, _trunk_with_stem, _LICENCE)
"""The same for networks that keep the stem of three planes."""
