"""Inception-ResNet v2."""

from __future__ import annotations

from .. import symbol as sym
from ..symbol import Symbol
from .inception_v4 import conv, reduction_a
from .layers import add, average_pool, convolution, global_pool, max_pool, relu

__all__ = ["inception_resnet_v2"]


def inception_resnet_v2(num_classes: int = 1000) -> Symbol:
    """Inception-ResNet v2 (Szegedy, 2016) without its auxiliary classifier; for 299x299."""
    data = _stem(sym.var("data"))
    for index in range(1, 11):
        data = _block35(data, f"block35_{index}")
    data = reduction_a(data, "reduction_a", (256, 256, 384))
    for index in range(1, 21):
        data = _block17(data, f"block17_{index}")
    data = _reduction_b(data, "reduction_b")
    for index in range(1, 10):
        data = _block8(data, f"block8_{index}", scale=0.2)
    data = _block8(data, "block8_10", scale=1.0, last=True)
    data = sym.Flatten(global_pool(conv(data, "conv_last", 1536), "global_pool"), name="flatten")
    data = sym.FullyConnected(sym.Dropout(data, p=0.2, name="dropout"), num_hidden=num_classes, name="fc1")
    return sym.SoftmaxOutput(data, name="softmax")


def _stem(data: Symbol) -> Symbol:
    """From 299x299 to 35x35 with 320 channels."""
    data = conv(conv(data, "conv1a", 32, 3, 2), "conv2a", 32, 3)
    data = max_pool(conv(data, "conv2b", 64, 3, pad=1), "pool3a")
    data = max_pool(conv(conv(data, "conv3b", 80), "conv4a", 192, 3), "pool5a")
    double = conv(conv(data, "mixed_double_1", 64), "mixed_double_2", 96, 3, pad=1)
    pooled = average_pool(data, "mixed_pool", 3, 1, 1, count_include_pad=False)
    return sym.Concat(
        conv(data, "mixed_1x1", 96),
        conv(conv(data, "mixed_5x5_1", 48), "mixed_5x5_2", 64, 5, pad=2),
        conv(double, "mixed_double_3", 96, 3, pad=1),
        conv(pooled, "mixed_proj", 64),
        name="mixed_concat",
    )


def _residual(data: Symbol, name: str, branches: list[Symbol], channels: int, scale: float,
              last: bool = False) -> Symbol:  # fmt: skip
    """`data` and a share `scale` of what `branches` make of it."""
    joined = sym.Concat(*branches, name=f"{name}_concat")
    up = convolution(joined, f"{name}_up", channels, bias=True)
    total = add(data, sym._mul_scalar(up, scalar=scale, name=f"{name}_scale"), f"{name}_plus")
    return total if last else relu(total, f"{name}_relu")


def _block35(data: Symbol, name: str) -> Symbol:
    double = conv(conv(data, f"{name}_double_1", 32), f"{name}_double_2", 48, 3, pad=1)
    branches = [
        conv(data, f"{name}_1x1", 32),
        conv(conv(data, f"{name}_3x3_1", 32), f"{name}_3x3_2", 32, 3, pad=1),
        conv(double, f"{name}_double_3", 64, 3, pad=1),
    ]
    return _residual(data, name, branches, 320, scale=0.17)


def _block17(data: Symbol, name: str) -> Symbol:
    lines = conv(conv(data, f"{name}_7x7_1", 128), f"{name}_7x7_2", 160, (1, 7), pad=(0, 3))
    lines = conv(lines, f"{name}_7x7_3", 192, (7, 1), pad=(3, 0))
    return _residual(data, name, [conv(data, f"{name}_1x1", 192), lines], 1088, scale=0.1)


def _block8(data: Symbol, name: str, scale: float, last: bool = False) -> Symbol:
    lines = conv(conv(data, f"{name}_3x3_1", 192), f"{name}_3x3_2", 224, (1, 3), pad=(0, 1))
    lines = conv(lines, f"{name}_3x3_3", 256, (3, 1), pad=(1, 0))
    return _residual(data, name, [conv(data, f"{name}_1x1", 192), lines], 2080, scale, last)


def _reduction_b(data: Symbol, name: str) -> Symbol:
    double = conv(conv(data, f"{name}_double_1", 256), f"{name}_double_2", 288, 3, pad=1)
    return sym.Concat(
        conv(conv(data, f"{name}_first_1", 256), f"{name}_first_2", 384, 3, 2),
        conv(conv(data, f"{name}_second_1", 256), f"{name}_second_2", 288, 3, 2),
        conv(double, f"{name}_double_3", 320, 3, 2),
        max_pool(data, f"{name}_pool"),
        name=f"{name}_concat",
    )
