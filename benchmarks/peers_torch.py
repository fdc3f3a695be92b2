"""The same networks as a competent PyTorch user writes them, and their `Driver`.

No tricks on either side: `nn.Module`, in-place activations, no bias before batch norm, the fused `nn.LSTM`,
`F.cross_entropy`, `torch.optim.SGD` with its default settings, inference under `torch.inference_mode`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .drivers import Setting
from .networks import (
    BATCH_NORM_EPSILON,
    BATCH_NORM_MOMENTUM,
    HIDDEN,
    IMAGE_CLASSES,
    LEARNING_RATE,
    LSTM_LAYERS,
    MOMENTUM,
    VOCABULARY,
    Row,
    initial_value,
    make_batch,
)


class MLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(784, 128)
        self.fc2 = nn.Linear(128, 64)
        self.fc3 = nn.Linear(64, 10)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc3(self.relu(self.fc2(self.relu(self.fc1(x)))))


class WideMLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(784, 4096)
        self.fc2, self.fc3, self.fc4 = (nn.Linear(4096, 4096) for _ in range(3))
        self.fc5 = nn.Linear(4096, 10)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        for layer in (self.fc1, self.fc2, self.fc3, self.fc4):
            x = self.relu(layer(x))
        return self.fc5(x)


class LeNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 20, 5)
        self.conv2 = nn.Conv2d(20, 50, 5)
        self.fc1 = nn.Linear(800, 500)
        self.fc2 = nn.Linear(500, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(torch.tanh(self.conv1(x)), 2)
        x = F.max_pool2d(torch.tanh(self.conv2(x)), 2)
        return self.fc2(torch.tanh(self.fc1(x.flatten(1))))


def _batch_norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, eps=BATCH_NORM_EPSILON, momentum=1 - BATCH_NORM_MOMENTUM)


def _convolution(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)


class Downsample(nn.Module):
    """The shortcut where size or channels change."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv = _convolution(inputs, outputs, 1, stride)
        self.bn = _batch_norm(outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.bn(self.conv(x))


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = _convolution(inputs, width, 3, stride)
        self.bn1 = _batch_norm(width)
        self.conv2 = _convolution(width, width, 3)
        self.bn2 = _batch_norm(width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = Downsample(inputs, width, stride) if stride != 1 or inputs != width else None

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.bn2(self.conv2(x))
        x += shortcut
        return self.relu(x)


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = _convolution(inputs, width, 1)
        self.bn1 = _batch_norm(width)
        self.conv2 = _convolution(width, width, 3, stride)
        self.bn2 = _batch_norm(width)
        self.conv3 = _convolution(width, 4 * width, 1)
        self.bn3 = _batch_norm(4 * width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = (
            Downsample(inputs, 4 * width, stride) if stride != 1 or inputs != 4 * width else None
        )

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.bn2(self.conv2(x)))
        x = self.bn3(self.conv3(x))
        x += shortcut
        return self.relu(x)


class ResNet(nn.Module):
    """Residual network for small images (stem of one 3x3) or large ones (stem of 7x7 and pooling)."""

    def __init__(
        self,
        block: type[BasicBlock] | type[Bottleneck],
        units: tuple[int, ...],
        classes: int,
        small_images: bool,
    ) -> None:
        super().__init__()
        self.conv1 = _convolution(3, 64, 3) if small_images else _convolution(3, 64, 7, 2)
        self.bn1 = _batch_norm(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.Identity() if small_images else nn.MaxPool2d(3, 2, padding=1)
        channels, stages = 64, []
        for stage, count in enumerate(units):
            width, members = 64 * 2**stage, []
            for unit in range(count):
                members.append(block(channels, width, stride=2 if stage > 0 and unit == 0 else 1))
                channels = block.expansion * width
            stages.append(nn.Sequential(*members))
        self.layer1, self.layer2, self.layer3, self.layer4 = stages
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(channels, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.pool(x).flatten(1))


class LanguageModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, HIDDEN)
        self.lstm = nn.LSTM(HIDDEN, HIDDEN, LSTM_LAYERS, batch_first=True)
        self.decoder = nn.Linear(HIDDEN, VOCABULARY)

    def forward(self, words: Tensor) -> Tensor:
        hidden, _ = self.lstm(self.embedding(words))
        return self.decoder(hidden.flatten(0, 1))


def resnet18() -> ResNet:
    return ResNet(BasicBlock, (2, 2, 2, 2), 10, small_images=True)


def resnet50() -> ResNet:
    return ResNet(Bottleneck, (3, 4, 6, 3), IMAGE_CLASSES, small_images=False)


#: By the part of a row's name before its batch and mode.
NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "mlp": MLP,
    "lenet": LeNet,
    "resnet18": resnet18,
    "resnet50": resnet50,
    "lstm": LanguageModel,
    "wide": WideMLP,
}


def model_of(row: Row) -> nn.Module:
    """The network of a row."""
    return NETWORKS[row.name.partition("-")[0]]()


def parameter_groups(model: nn.Module) -> dict[str, nn.Module]:
    """The modules whose parameters FSDP2's users gather and free as a group: blocks, and layers outside of them."""
    return {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, (BasicBlock, nn.Linear, nn.LSTM, nn.Embedding))
    }


def ready(setting: Setting, channels_last: bool = False, bfloat16: bool = False) -> Callable[[], TorchDriver]:
    """PyTorch's eager mode."""
    return lambda: TorchDriver(setting.row, channels_last, setting.device, bfloat16)


class TorchDriver:
    """A row in PyTorch's eager mode, in the default layout or in channels_last, in float32 or by `torch.autocast`."""

    def __init__(
        self, row: Row, channels_last: bool = False, device: str = "cpu", bfloat16: bool = False
    ) -> None:
        self._training = row.training
        self._device = device
        self._autocast = torch.autocast(device, torch.bfloat16, enabled=bfloat16)
        data, label = make_batch(row)
        self.data = torch.from_numpy(data).to(device)
        if row.tokens:
            self.data = self.data.long()
        self._label = torch.from_numpy(label).long().flatten().to(device)
        self.model = model_of(row).train(row.training)
        with torch.no_grad():
            for name, tensor in named_values(self.model):
                tensor.copy_(torch.from_numpy(initial_value(name, tuple(tensor.shape))))
        self.model = self.model.to(device)
        if channels_last:
            # PyTorch's stubs have no form of `to` with a memory format alone.
            self.model = self.model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
            self.data = self.data.contiguous(memory_format=torch.channels_last)
        self.optimizer = self._make_optimizer()
        self._scores: Tensor | None = None

    def _make_optimizer(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.model.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM)

    def run(self, steps: int) -> None:
        step = self._train if self._training else self._infer
        for _ in range(steps):
            step()
        if self._device == "cuda":
            torch.cuda.synchronize()

    def wrap(self, make: Callable[[nn.Module], nn.Module]) -> None:
        """Drive another module around the model, such as a `DistributedDataParallel`."""
        self.model = make(self.model)
        self.optimizer = self._make_optimizer()  # it may have other parameters

    def _train(self) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        with self._autocast:
            self._scores = self.model(self.data)
            loss = F.cross_entropy(self._scores, self._label)
        loss.backward()
        self.optimizer.step()

    def _infer(self) -> None:
        with torch.inference_mode(), self._autocast:
            self._scores = self.model(self.data)

    def results(self) -> dict[str, np.ndarray]:
        """Output (probabilities, as SoftmaxOutput gives), parameters and statistics under MXNet's names."""
        assert self._scores is not None, "run() comes first"
        values = {name: tensor.detach().cpu().numpy().copy() for name, tensor in named_values(self.model)}
        return {**values, "output": self._scores.detach().float().softmax(1).cpu().numpy()}


_BATCH_NORM_NAMES = {
    "weight": "gamma",
    "bias": "beta",
    "running_mean": "moving_mean",
    "running_var": "moving_var",
}


def named_values(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Parameters and statistics of `model` under the names that `networks` gives them."""
    for path, module in model.named_modules():
        prefix = path.replace(".", "_")
        if isinstance(module, nn.BatchNorm2d):
            for own, theirs in _BATCH_NORM_NAMES.items():
                yield f"{prefix}_{theirs}", getattr(module, own)
        elif isinstance(module, nn.LSTM):
            for layer in range(module.num_layers):
                for own, theirs in (("ih", "i2h"), ("hh", "h2h")):
                    for kind in ("weight", "bias"):
                        yield f"{prefix}_l{layer}_{theirs}_{kind}", getattr(module, f"{kind}_{own}_l{layer}")
        else:
            for name, parameter in module.named_parameters(recurse=False):
                yield f"{prefix}_{name}", parameter
