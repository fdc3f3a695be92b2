"""Networks as torchvision and PyTorch's tutorials have them, with their names of parameters, and few channels."""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["Encoder", "MobileNetV2", "ResNet", "Tagger"]


class BasicBlock(nn.Module):
    """Two convolutions and a shortcut."""

    def __init__(self, channels: int, filters: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, filters, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(filters)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(filters, filters, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(filters)
        self.downsample: nn.Module | None = None
        if stride != 1 or channels != filters:
            self.downsample = nn.Sequential(
                nn.Conv2d(channels, filters, 1, stride, bias=False), nn.BatchNorm2d(filters)
            )

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class ResNet(nn.Module):
    """ResNet-18 of torchvision, with any width."""

    def __init__(self, width: int = 64, classes: int = 1000) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        channels = width
        for stage in range(4):
            filters = width << stage
            blocks = [BasicBlock(channels, filters, 2 if stage else 1), BasicBlock(filters, filters, 1)]
            setattr(self, f"layer{stage + 1}", nn.Sequential(*blocks))
            channels = filters
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(channels, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        for stage in (self.layer1, self.layer2, self.layer3, self.layer4):
            x = stage(x)
        return self.fc(torch.flatten(self.avgpool(x), 1))


def _convolution(channels: int, filters: int, kernel: int, stride: int = 1, groups: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(channels, filters, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(filters),
        nn.ReLU6(inplace=True),
    )


class InvertedResidual(nn.Module):
    """Wide, depthwise, narrow; with a shortcut where the shape does not change."""

    def __init__(self, channels: int, filters: int, stride: int, wider: int) -> None:
        super().__init__()
        inside = channels * wider
        self.has_shortcut = stride == 1 and channels == filters
        self.conv = nn.Sequential(
            *([_convolution(channels, inside, 1)] if wider != 1 else []),
            _convolution(inside, inside, 3, stride, inside),
            nn.Conv2d(inside, filters, 1, bias=False),
            nn.BatchNorm2d(filters),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(x) if self.has_shortcut else self.conv(x)


class MobileNetV2(nn.Module):
    """MobileNet v2 of torchvision, with a part of its channels."""

    STAGES = (
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
    )  # fmt: skip

    def __init__(self, part: int = 1, classes: int = 1000) -> None:
        super().__init__()
        channels = 32 // part
        features: list[nn.Module] = [_convolution(3, channels, 3, 2)]
        for wider, filters, count, stride in self.STAGES:
            for i in range(count):
                features.append(InvertedResidual(channels, filters // part, stride if i == 0 else 1, wider))
                channels = filters // part
        features.append(_convolution(channels, 1280 // part, 1))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280 // part, classes))

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.adaptive_avg_pool2d(self.features(x), (1, 1))
        return self.classifier(torch.flatten(x, 1))


class Encoder(nn.Module):
    """A transformer encoder over words with positions, and the mean of its outputs."""

    def __init__(self, words: int = 20, width: int = 16, classes: int = 4) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.positions = nn.Parameter(torch.randn(1, 10, width) * 0.1)
        layer = nn.TransformerEncoderLayer(width, 4, 32, dropout=0.0, batch_first=True, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, words: Tensor) -> Tensor:
        x = self.embedding(words) + self.positions[:, : words.shape[1]]
        return self.head(self.norm(self.encoder(x)).mean(1))


class Tagger(nn.Module):
    """Words to tags by an LSTM in both directions."""

    def __init__(self, words: int = 20, width: int = 8, tags: int = 5) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, num_layers=2, batch_first=True, bidirectional=True)
        self.tags = nn.Linear(2 * width, tags)

    def forward(self, words: Tensor) -> Tensor:
        return self.tags(self.lstm(self.embedding(words))[0]).log_softmax(-1)
