"""Models as people write them in plain PyTorch, small: their blocks, not their widths."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["MODELS"]


class ConvNeXt(nn.Module):
    """ConvNeXt: a depthwise convolution, a LayerNorm over channels, two dense layers, a learnt scale."""

    class Block(nn.Module):
        """One block."""

        def __init__(self, width: int) -> None:
            super().__init__()
            self.dwconv = nn.Conv2d(width, width, 7, padding=3, groups=width)
            self.norm = nn.LayerNorm(width, eps=1e-6)
            self.pwconv1 = nn.Linear(width, 4 * width)
            self.pwconv2 = nn.Linear(4 * width, width)
            self.gamma = nn.Parameter(torch.full((width,), 0.5))

        def forward(self, x: Tensor) -> Tensor:
            y = self.norm(self.dwconv(x).permute(0, 2, 3, 1))
            y = self.gamma * self.pwconv2(F.gelu(self.pwconv1(y)))
            return x + y.permute(0, 3, 1, 2)

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 4, 4)
        self.blocks = nn.Sequential(self.Block(8), self.Block(8))
        self.norm = nn.LayerNorm(8)
        self.head = nn.Linear(8, 5)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.norm(self.blocks(self.stem(x)).mean([-2, -1])))


class EfficientNet(nn.Module):
    """EfficientNet: SiLU, depthwise convolutions, squeeze and excitation."""

    class Block(nn.Module):
        """One inverted bottleneck."""

        def __init__(self, channels: int, filters: int, stride: int) -> None:
            super().__init__()
            inside = 4 * channels
            self.expand = nn.Sequential(
                nn.Conv2d(channels, inside, 1, bias=False), nn.BatchNorm2d(inside), nn.SiLU()
            )
            self.depthwise = nn.Sequential(
                nn.Conv2d(inside, inside, 5, stride, 2, groups=inside, bias=False),
                nn.BatchNorm2d(inside),
                nn.SiLU(),
            )
            self.fc1, self.fc2 = nn.Conv2d(inside, 2, 1), nn.Conv2d(2, inside, 1)
            self.project = nn.Sequential(nn.Conv2d(inside, filters, 1, bias=False), nn.BatchNorm2d(filters))
            self.same = stride == 1 and channels == filters

        def forward(self, x: Tensor) -> Tensor:
            y = self.depthwise(self.expand(x))
            scale = F.adaptive_avg_pool2d(y, 1)
            y = y * torch.sigmoid(self.fc2(F.silu(self.fc1(scale))))
            y = self.project(y)
            return x + y if self.same else y

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1), self.Block(8, 12, 2), self.Block(12, 12, 1), nn.AdaptiveAvgPool2d(1)
        )
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(12, 5))

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x).flatten(1))


class UNet(nn.Module):
    """U-Net: one way up by a transposed convolution, one by bilinear upsampling and a border."""

    @staticmethod
    def double(channels: int, filters: int) -> nn.Sequential:
        return nn.Sequential(
            nn.Conv2d(channels, filters, 3, padding=1), nn.BatchNorm2d(filters), nn.ReLU(inplace=True),
            nn.Conv2d(filters, filters, 3, padding=1), nn.BatchNorm2d(filters), nn.ReLU(inplace=True),
        )  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = self.double(3, 4), self.double(4, 8), self.double(8, 8)
        self.up = nn.ConvTranspose2d(8, 8, 2, 2)
        self.up2 = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
        self.after, self.last = self.double(16, 8), self.double(12, 4)
        self.out = nn.Conv2d(4, 2, 1)

    @staticmethod
    def joined(small: Tensor, large: Tensor) -> Tensor:
        down, right = large.shape[2] - small.shape[2], large.shape[3] - small.shape[3]
        small = F.pad(small, [right // 2, right - right // 2, down // 2, down - down // 2])
        return torch.cat([large, small], dim=1)

    def forward(self, x: Tensor) -> Tensor:
        x1 = self.first(x)
        x2 = self.second(F.max_pool2d(x1, 2))
        x3 = self.third(F.max_pool2d(x2, 2))
        y = self.after(self.joined(self.up(x3), x2))
        return self.out(self.last(self.joined(self.up2(y), x1)))


class Generator(nn.Module):
    """The generator of a DCGAN, with pixels from -1 to 1."""

    def __init__(self) -> None:
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(10, 8, 4, 1, 0, bias=False), nn.BatchNorm2d(8), nn.ReLU(True),
            nn.ConvTranspose2d(8, 4, 4, 2, 1, bias=False), nn.InstanceNorm2d(4, affine=True), nn.LeakyReLU(0.2, True),
            nn.ConvTranspose2d(4, 3, 5, 2, 2, output_padding=1), nn.Tanh(),
        )  # fmt: skip

    def forward(self, noise: Tensor) -> Tensor:
        return self.main(noise[:, :, None, None])


def _image(batch: int, channels: int = 3, height: int = 32, width: int = 32) -> Tensor:
    return torch.randn(batch, channels, height, width, generator=torch.Generator().manual_seed(batch))


def _noise(*shape: int) -> Callable[[int], Tensor]:
    return lambda batch: torch.randn(batch, *shape, generator=torch.Generator().manual_seed(batch))


#: What makes each model, and an input for a size of the batch.
MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[int], Tensor]]] = {
    "gan generator": (Generator, _noise(10)),
    "convnext": (ConvNeXt, _image),
    "efficientnet": (EfficientNet, _image),
    "unet": (UNet, _noise(3, 22, 18)),
}
