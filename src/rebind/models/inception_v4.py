"""Inception v4."""

from __future__ import annotations

from .. import symbol as sym
from ..symbol import Symbol
from .layers import Size, average_pool, batch_norm, convolution, global_pool, max_pool, relu

__all__ = ["conv", "inception_v4", "reduction_a"]


def inception_v4(num_classes: int = 1000) -> Symbol:
    """Inception v4 (Szegedy, 2016); for 299x299."""
    data = _stem(sym.var("data"))
    for index in range(1, 5):
        data = _block_a(data, f"in4a_{index}")
    data = reduction_a(data, "re4a", (192, 224, 256))
    for index in range(1, 8):
        data = _block_b(data, f"in4b_{index}")
    data = _reduction_b(data, "re4b")
    for index in range(1, 4):
        data = _block_c(data, f"in4c_{index}")
    data = sym.Flatten(global_pool(data, "global_pool"), name="flatten")
    data = sym.FullyConnected(sym.Dropout(data, p=0.2, name="dropout"), num_hidden=num_classes, name="fc1")
    return sym.SoftmaxOutput(data, name="softmax")


def conv(data: Symbol, name: str, filters: int, kernel: Size = 1, stride: int = 1, pad: Size = 0) -> Symbol:
    """Convolution, BatchNorm, rectified linear units."""
    data = convolution(data, f"{name}_conv2d", filters, kernel, stride, pad)
    return relu(batch_norm(data, f"{name}_batchnorm", eps=1e-3), f"{name}_relu")


def _stem(data: Symbol) -> Symbol:
    """From 299x299 to 35x35 with 384 channels."""
    data = conv(conv(data, "conv1", 32, 3, 2), "conv2", 32, 3)
    data = conv(data, "conv3", 64, 3, pad=1)
    pooled, strided = max_pool(data, "stem1_pool"), conv(data, "stem1_conv", 96, 3, 2)
    data = sym.Concat(pooled, strided, name="stem1_concat")
    short = conv(conv(data, "stem2_short_1", 64), "stem2_short_2", 96, 3)
    long = _row(conv(data, "stem2_long_1", 64), "stem2_long_2", 64)
    long = conv(_column(long, "stem2_long_3", 64), "stem2_long_4", 96, 3)
    data = sym.Concat(short, long, name="stem2_concat")
    strided, pooled = conv(data, "stem3_conv", 192, 3, 2), max_pool(data, "stem3_pool")
    return sym.Concat(strided, pooled, name="stem3_concat")


def _row(data: Symbol, name: str, filters: int) -> Symbol:
    return conv(data, name, filters, (1, 7), pad=(0, 3))


def _column(data: Symbol, name: str, filters: int) -> Symbol:
    return conv(data, name, filters, (7, 1), pad=(3, 0))


def _project_pooled(data: Symbol, name: str, filters: int) -> Symbol:
    data = average_pool(data, f"{name}_pool", 3, 1, 1, count_include_pad=False)
    return conv(data, f"{name}_proj", filters)


def _block_a(data: Symbol, name: str) -> Symbol:
    double = conv(conv(data, f"{name}_double_1", 64), f"{name}_double_2", 96, 3, pad=1)
    return sym.Concat(
        conv(data, f"{name}_1x1", 96),
        conv(conv(data, f"{name}_3x3_1", 64), f"{name}_3x3_2", 96, 3, pad=1),
        conv(double, f"{name}_double_3", 96, 3, pad=1),
        _project_pooled(data, name, 96),
        name=f"{name}_concat",
    )


def reduction_a(data: Symbol, name: str, filters: tuple[int, int, int]) -> Symbol:
    """Halve height and width; `filters` are those of the branch with three convolutions."""
    first, second, third = filters
    double = conv(conv(data, f"{name}_double_1", first), f"{name}_double_2", second, 3, pad=1)
    return sym.Concat(
        conv(data, f"{name}_3x3", 384, 3, 2),
        conv(double, f"{name}_double_3", third, 3, 2),
        max_pool(data, f"{name}_pool"),
        name=f"{name}_concat",
    )


def _block_b(data: Symbol, name: str) -> Symbol:
    single = _row(conv(data, f"{name}_7x7_1", 192), f"{name}_7x7_2", 224)
    double = _column(conv(data, f"{name}_double_1", 192), f"{name}_double_2", 192)
    double = _column(_row(double, f"{name}_double_3", 224), f"{name}_double_4", 224)
    return sym.Concat(
        conv(data, f"{name}_1x1", 384),
        _column(single, f"{name}_7x7_3", 256),
        _row(double, f"{name}_double_5", 256),
        _project_pooled(data, name, 128),
        name=f"{name}_concat",
    )


def _reduction_b(data: Symbol, name: str) -> Symbol:
    lines = _row(conv(data, f"{name}_7x7_1", 256), f"{name}_7x7_2", 256)
    lines = _column(lines, f"{name}_7x7_3", 320)
    return sym.Concat(
        conv(conv(data, f"{name}_3x3_1", 192), f"{name}_3x3_2", 192, 3, 2),
        conv(lines, f"{name}_7x7_4", 320, 3, 2),
        max_pool(data, f"{name}_pool"),
        name=f"{name}_concat",
    )


def _block_c(data: Symbol, name: str) -> Symbol:
    single = conv(data, f"{name}_3x3_1", 384)
    double = conv(conv(data, f"{name}_double_1", 384), f"{name}_double_2", 448, (3, 1), pad=(1, 0))
    double = conv(double, f"{name}_double_3", 512, (1, 3), pad=(0, 1))
    return sym.Concat(
        conv(data, f"{name}_1x1", 256),
        conv(single, f"{name}_3x3_row", 256, (1, 3), pad=(0, 1)),
        conv(single, f"{name}_3x3_column", 256, (3, 1), pad=(1, 0)),
        conv(double, f"{name}_double_row", 256, (1, 3), pad=(0, 1)),
        conv(double, f"{name}_double_column", 256, (3, 1), pad=(1, 0)),
        _project_pooled(data, name, 256),
        name=f"{name}_concat",
    )
