"""The networks of `benchmarks.kinds`, each as a symbol and as PyTorch's module, with parameters in the same order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import rebind as mx

__all__ = ["KINDS", "Kind"]

S = mx.sym
Act = Literal["relu", "tanh", "leaky"] | None


def _own(model: nn.Module) -> list[Tensor]:
    return list(model.parameters())


@dataclass(frozen=True)
class Kind:
    """A network.

    Attributes
    ----------
    name, what
        Its name in the table, and what is behind it.
    shape
        Of the data, batch first.
    build
        Makes both.
    classes
        How many scores each sample gets.
    words
        Where data are whole numbers: how many there are.
    parameters
        Those of the module in the order of the symbol's arguments.
    """

    name: str
    what: str
    shape: tuple[int, ...]
    build: Callable[[], tuple[Any, nn.Module]]
    classes: int = 10
    words: int | None = None
    parameters: Callable[[nn.Module], list[Tensor]] = _own


class Layers:
    """A network whose layers follow each other, written once for both."""

    def __init__(self, channels: int, axes: int = 2) -> None:
        self.symbol = S.var("data")
        self.channels, self.axes = channels, axes
        self._modules: list[nn.Module] = []

    def act(self, act: Act) -> Layers:
        if act == "leaky":
            self.symbol = S.LeakyReLU(self.symbol, slope=0.2)
            self._modules.append(nn.LeakyReLU(0.2))
        elif act is not None:
            self.symbol = S.Activation(self.symbol, act_type=act)
            self._modules.append(nn.ReLU(inplace=True) if act == "relu" else nn.Tanh())
        return self

    def conv(
        self, filters: int, kernel: int = 3, stride: int = 1, *, pad: int | None = None, groups: int = 1,
        dilate: int = 1, norm: Literal["batch", "instance"] | None = "batch", act: Act = "relu",
    ) -> Layers:  # fmt: skip
        pad = dilate * (kernel // 2) if pad is None else pad
        given = {"kernel": kernel, "stride": stride, "pad": pad, "dilate": dilate}
        self.symbol = S.Convolution(
            self.symbol, num_filter=filters, num_group=groups, no_bias=norm is not None,
            **{key: (value,) * self.axes for key, value in given.items()},
        )  # fmt: skip
        layer = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[self.axes - 1]
        self._modules.append(layer(self.channels, filters, kernel, stride, pad, dilate, groups, norm is None))
        self.channels = filters
        if norm == "instance":
            self.symbol = S.InstanceNorm(self.symbol, eps=1e-5)
            self._modules.append(nn.InstanceNorm2d(filters, affine=True))
        elif norm is not None:
            self.symbol = S.BatchNorm(self.symbol, fix_gamma=False, eps=1e-5)
            self._modules.append((nn.BatchNorm1d if self.axes == 1 else nn.BatchNorm2d)(filters))
        return self.act(act)

    def transposed(self, filters: int, kernel: int, stride: int, pad: int, act: Act) -> Layers:
        given = {"kernel": (kernel,) * 2, "stride": (stride,) * 2, "pad": (pad,) * 2}
        self.symbol = S.Deconvolution(self.symbol, num_filter=filters, no_bias=False, **given)
        self._modules.append(nn.ConvTranspose2d(self.channels, filters, kernel, stride, pad))
        self.channels = filters
        return self.act(act)

    def pool(self, kernel: int = 2, stride: int = 2) -> Layers:
        given = {"kernel": (kernel,) * self.axes, "stride": (stride,) * self.axes}
        self.symbol = S.Pooling(self.symbol, pool_type="max", **given)
        self._modules.append((nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d)[self.axes - 1](kernel, stride))
        return self

    def enlarge(self) -> Layers:
        self.symbol = S.UpSampling(self.symbol, scale=2, sample_type="nearest")
        self._modules.append(nn.Upsample(scale_factor=2))
        return self

    def mean(self) -> Layers:
        self.symbol = S.Flatten(S.Pooling(self.symbol, pool_type="avg", global_pool=True, kernel=(1, 1)))
        self._modules += [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
        return self

    def flat(self, channels: int) -> Layers:
        self.symbol, self.channels = S.Flatten(self.symbol), channels
        self._modules.append(nn.Flatten())
        return self

    def dense(self, units: int, act: Act = None, *, norm: bool = False) -> Layers:
        self.symbol = S.FullyConnected(self.symbol, num_hidden=units)
        self._modules.append(nn.Linear(self.channels, units))
        self.channels = units
        if norm:
            self.symbol = S.BatchNorm(self.symbol, fix_gamma=False, eps=1e-5)
            self._modules.append(nn.BatchNorm1d(units))
        return self.act(act)

    def both(self, classes: int = 10) -> tuple[Any, nn.Module]:
        self.dense(classes)
        return self.symbol, nn.Sequential(*self._modules)


def _mlp(*units: int, norm: bool = False) -> Callable[[], tuple[Any, nn.Module]]:
    def build() -> tuple[Any, nn.Module]:
        layers = Layers(units[0])
        for each in units[1:]:
            layers.dense(each, "relu", norm=norm)
        return layers.both()

    return build


def _lenet() -> tuple[Any, nn.Module]:
    layers = Layers(1).conv(16, norm=None).pool().conv(32, norm=None).pool()
    return layers.flat(128).dense(64, "relu").both()


def _cnn() -> tuple[Any, nn.Module]:
    layers = Layers(3)
    for filters in 32, 64, 128:
        layers.conv(filters).pool()
    return layers.flat(2048).both()


def _vgg() -> tuple[Any, nn.Module]:
    layers = Layers(3)
    for filters, count in (32, 1), (64, 2), (128, 2):
        for _ in range(count):
            layers.conv(filters, norm=None)
        layers.pool()
    return layers.flat(8192).dense(256, "relu").both()


def _alexnet() -> tuple[Any, nn.Module]:
    layers = Layers(3).conv(64, 11, 4, pad=2, norm=None).pool(3).conv(192, 5, norm=None).pool(3)
    for filters in 384, 256, 256:
        layers.conv(filters, norm=None)
    return layers.pool(3).flat(9216).dense(4096, "relu").dense(4096, "relu").both(1000)


def _mobilenet() -> tuple[Any, nn.Module]:
    layers = Layers(3).conv(16, stride=2)
    for filters, stride in (32, 1), (64, 2), (64, 1), (128, 2), (128, 1):
        layers.conv(layers.channels, stride=stride, groups=layers.channels).conv(filters, 1)
    return layers.mean().both()


def _dilated() -> tuple[Any, nn.Module]:
    layers = Layers(3).conv(32)
    for dilate in 1, 2, 4:
        layers.conv(32, dilate=dilate)
    return layers.mean().both()


def _autoencoder() -> tuple[Any, nn.Module]:
    layers = Layers(3).conv(32, 4, 2, pad=1, norm=None).conv(64, 4, 2, pad=1, norm=None)
    return layers.transposed(32, 4, 2, 1, "relu").transposed(16, 4, 2, 1, "tanh").mean().both()


def _discriminator() -> tuple[Any, nn.Module]:
    layers = Layers(3)
    for filters in 32, 64, 128:
        layers.conv(filters, 4, 2, pad=1, act="leaky")
    return layers.mean().both()


def _enlarging() -> tuple[Any, nn.Module]:
    return Layers(3).conv(32).enlarge().conv(16).mean().both()


def _style() -> tuple[Any, nn.Module]:
    return Layers(3).conv(32, norm="instance").conv(32, norm="instance").mean().both()


def _waves() -> tuple[Any, nn.Module]:
    layers = Layers(8, axes=1)
    for filters in 32, 64, 64:
        layers.conv(filters, 5).pool()
    return layers.flat(2048).both()


def _volumes() -> tuple[Any, nn.Module]:
    layers = Layers(1, axes=3)
    for filters in 16, 32:
        layers.conv(filters, norm=None).pool()
    return layers.flat(8192).both()


class _Residual(nn.Module):
    def __init__(self, inside: nn.Module, aside: nn.Module) -> None:
        super().__init__()
        self.inside, self.aside = inside, aside

    def forward(self, data: Tensor) -> Tensor:
        return F.relu(self.inside(data) + self.aside(data))


def _resnet() -> tuple[Any, nn.Module]:
    layers = Layers(3).conv(16)
    for filters, first in (16, 1), (32, 2), (64, 2):
        for stride in first, 1, 1:
            start, channels, before = layers.symbol, layers.channels, layers._modules
            layers._modules = []
            layers.conv(filters, stride=stride).conv(filters, act=None)
            inside, result, layers._modules = nn.Sequential(*layers._modules), layers.symbol, []
            layers.symbol, layers.channels = start, channels
            if stride > 1:
                layers.conv(filters, 1, stride, act=None)
            aside = nn.Sequential(*layers._modules)
            layers.symbol = S.Activation(result + layers.symbol, act_type="relu")
            layers.channels, layers._modules = filters, [*before, _Residual(inside, aside)]
    return layers.mean().both()


class _Grown(nn.Module):
    def __init__(self, inside: nn.Module) -> None:
        super().__init__()
        self.inside = inside

    def forward(self, data: Tensor) -> Tensor:
        return torch.cat([data, self.inside(data)], 1)


def _densenet() -> tuple[Any, nn.Module]:
    layers = Layers(3).conv(24)
    for _ in range(4):
        start, channels, before = layers.symbol, layers.channels, layers._modules
        layers._modules = []
        layers.conv(12)
        layers.symbol = S.Concat(start, layers.symbol, dim=1)
        layers.channels, layers._modules = channels + 12, [*before, _Grown(nn.Sequential(*layers._modules))]
    return layers.conv(36, 1).mean().both()


class _TextCNN(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(5000, 100)
        self.layers = nn.ModuleList([nn.Conv2d(1, 64, (height, 100)) for height in (3, 4, 5)])
        self.scores = nn.Linear(192, 10)

    def forward(self, words: Tensor) -> Tensor:
        data = self.table(words.long()).unsqueeze(1)
        return self.scores(torch.cat([F.relu(layer(data)).amax((2, 3)) for layer in self.layers], 1))


def _text() -> tuple[Any, nn.Module]:
    data = S.Reshape(S.Embedding(S.var("data"), input_dim=5000, output_dim=100), shape=(0, 1, 40, 100))
    found = [
        S.Pooling(
            S.Activation(S.Convolution(data, kernel=(height, 100), num_filter=64), act_type="relu"),
            kernel=(41 - height, 1), pool_type="max",
        )
        for height in (3, 4, 5)
    ]  # fmt: skip
    return S.FullyConnected(S.Flatten(S.Concat(*found, dim=1)), num_hidden=10), _TextCNN()


class _Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(5000, 64)
        self.rest = nn.Sequential(nn.Linear(512, 128), nn.ReLU(), nn.Linear(128, 10))

    def forward(self, words: Tensor) -> Tensor:
        return self.rest(self.table(words.long()).flatten(1))


def _words() -> tuple[Any, nn.Module]:
    data = S.Flatten(S.Embedding(S.var("data"), input_dim=5000, output_dim=64))
    data = S.Activation(S.FullyConnected(data, num_hidden=128), act_type="relu")
    return S.FullyConnected(data, num_hidden=10), _Words()


class _Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.three, self.joined, self.norm = nn.Linear(64, 192), nn.Linear(64, 64), nn.LayerNorm(64)
        self.wide, self.narrow, self.last = nn.Linear(64, 256), nn.Linear(256, 64), nn.LayerNorm(64)
        self.scores = nn.Linear(64, 10)

    def forward(self, data: Tensor) -> Tensor:
        heads = (each.reshape(16, 32, 4, 16).transpose(1, 2) for each in self.three(data).chunk(3, 2))
        query, key, value = heads
        mixed = torch.softmax(query @ key.transpose(2, 3) / 4, -1) @ value
        data = self.norm(data + self.joined(mixed.transpose(1, 2).reshape(16, 32, 64)))
        return self.scores(self.last(data + self.narrow(F.relu(self.wide(data)))).mean(1))


def _attention() -> tuple[Any, nn.Module]:
    def dense(data: Any, units: int) -> Any:
        return S.FullyConnected(data, num_hidden=units, flatten=False)

    def heads(data: Any) -> Any:
        data = S.transpose(S.Reshape(data, shape=(0, 0, 4, 16)), axes=(0, 2, 1, 3))
        return S.Reshape(data, shape=(-3, 0, 0))

    data = S.var("data")
    query, key, value = map(heads, S.split(dense(data, 192), num_outputs=3, axis=2))
    mixed = S.batch_dot(S.softmax(S.batch_dot(query, key, transpose_b=True) / 4, axis=-1), value)
    mixed = S.transpose(S.Reshape(mixed, shape=(-4, 16, 4, 0, 0)), axes=(0, 2, 1, 3))
    data = S.LayerNorm(data + dense(S.Reshape(mixed, shape=(0, 0, -3)), 64))
    data = S.LayerNorm(data + dense(S.Activation(dense(data, 256), act_type="relu"), 64))
    return S.FullyConnected(S.mean(data, axis=1), num_hidden=10), _Attention()


class _Recurrent(nn.Module):
    def __init__(self, mode: str, layers: int, both: bool) -> None:
        super().__init__()
        self.layers: nn.RNNBase = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn_tanh": nn.RNN}[mode](
            64, 128, layers, bidirectional=both
        )
        self.scores = nn.Linear(256 if both else 128, 10)

    def forward(self, data: Tensor) -> Tensor:
        return self.scores(self.layers(data)[0][-1])


def _recurrent(mode: str, layers: int, both: bool = False) -> Callable[[], tuple[Any, nn.Module]]:
    def build() -> tuple[Any, nn.Module]:
        cell = mx.rnn.FusedRNNCell(128, num_layers=layers, mode=mode, bidirectional=both, prefix="rnn_")
        steps, _ = cell.unroll(16, S.var("data"), layout="TNC", merge_outputs=True)
        last = S.Reshape(S.slice_axis(steps, axis=0, begin=-1, end=None), shape=(-1, 256 if both else 128))
        return S.FullyConnected(last, num_hidden=10), _Recurrent(mode, layers, both)

    return build


def _in_one_vector(model: nn.Module) -> list[Tensor]:
    """MXNet's fused layers have all weights, then all biases, in one vector."""
    assert isinstance(model, _Recurrent)
    named = dict(model.layers.named_parameters())
    whole = [value for kind in ("weight", "bias") for name, value in named.items() if name.startswith(kind)]
    return [torch.cat([value.flatten() for value in whole]), *model.scores.parameters()]


_STEPS = (16, 16, 64)

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("mlp-256", "784, 256, 128, 10 units, batch 128", (128, 784), _mlp(784, 256, 128)),
        Kind("mlp-1024", "784, 1024, 1024, 10, batch 128", (128, 784), _mlp(784, 1024, 1024)),
        Kind("mlp-2048-batch-8", "784, 2048, 2048, 10", (8, 784), _mlp(784, 2048, 2048)),
        Kind(
            "mlp-norm",
            "100, 256, 256, 10 with batch norms, batch 128",
            (128, 100),
            _mlp(100, 256, 256, norm=True),
        ),
        Kind("digits", "LeNet for 8 x 8, batch 32", (32, 1, 8, 8), _lenet),
        Kind("cnn", "three convolutions, 32 x 32, batch 32", (32, 3, 32, 32), _cnn),
        Kind("vgg", "five convolutions, 64 x 64, batch 16", (16, 3, 64, 64), _vgg),
        Kind("alexnet", "224 x 224, batch 16", (16, 3, 224, 224), _alexnet, classes=1000),
        Kind("resnet20", "32 x 32, batch 32", (32, 3, 32, 32), _resnet),
        Kind("densenet", "a block of four, 32 x 32, batch 8", (8, 3, 32, 32), _densenet),
        Kind("mobilenet", "five separable convolutions, 64 x 64, batch 16", (16, 3, 64, 64), _mobilenet),
        Kind("dilated", "64 x 64, batch 8", (8, 3, 64, 64), _dilated),
        Kind("autoencoder", "with transposed convolutions, 32 x 32, batch 16", (16, 3, 32, 32), _autoencoder),
        Kind("discriminator", "strides of 2, leaky, 64 x 64, batch 16", (16, 3, 64, 64), _discriminator),
        Kind("enlarging", "`UpSampling` between convolutions, batch 8", (8, 3, 32, 32), _enlarging),
        Kind("instance-norm", "48 x 48, batch 8", (8, 3, 48, 48), _style),
        Kind("waves", "one axis, 256 long, batch 32", (32, 8, 256), _waves),
        Kind("volumes", "three axes, 16 x 32 x 32, batch 4", (4, 1, 16, 32, 32), _volumes),
        Kind("text", "filters over 3, 4, 5 of 40 words, batch 50", (50, 40), _text, words=5000),
        Kind("words", "a table and dense layers, batch 128", (128, 8), _words, words=5000),
        Kind("attention", "a layer of a transformer, 32 steps, batch 16", (16, 32, 64), _attention),
        Kind(
            "rnn",
            "16 steps of 128 units, batch 16",
            _STEPS,
            _recurrent("rnn_tanh", 1),
            parameters=_in_one_vector,
        ),
        Kind("gru", "the same, two layers", _STEPS, _recurrent("gru", 2), parameters=_in_one_vector),
        Kind(
            "lstm-both-ways",
            "the same, two layers",
            _STEPS,
            _recurrent("lstm", 2, True),
            parameters=_in_one_vector,
        ),
    )
}
