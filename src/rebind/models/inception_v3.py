"""Inception v3."""

from __future__ import annotations

from .. import symbol as sym
from ..symbol import Symbol
from .layers import Size, average_pool, batch_norm, classifier, convolution, global_pool, max_pool, relu

__all__ = ["inception_v3"]


def inception_v3(num_classes: int = 1000) -> Symbol:
    """Inception v3 (Szegedy, 2015) without its auxiliary classifier, with MXNet's names; for 299x299."""
    data = _conv(sym.var("data"), "conv", 32, 3, 2)
    data = _conv(_conv(data, "conv_1", 32, 3), "conv_2", 64, 3, pad=1)
    data = max_pool(data, "pool")
    data = max_pool(_conv(_conv(data, "conv_3", 80), "conv_4", 192, 3), "pool1")
    for name, projected in (("mixed", 32), ("mixed_1", 64), ("mixed_2", 64)):
        data = _wide_block(data, name, projected)
    data = _halving_block(data, "mixed_3")
    for name, filters in (("mixed_4", 128), ("mixed_5", 160), ("mixed_6", 160), ("mixed_7", 192)):
        data = _block_of_lines(data, name, filters)
    data = _second_halving_block(data, "mixed_8")
    data = _branching_block(data, "mixed_9", "avg")
    data = _branching_block(data, "mixed_10", "max")
    return classifier(global_pool(data, "global_pool"), num_classes)


def _conv(data: Symbol, name: str, filters: int, kernel: Size = 1, stride: int = 1, pad: Size = 0) -> Symbol:
    data = convolution(data, f"{name}_conv2d", filters, kernel, stride, pad)
    return relu(batch_norm(data, f"{name}_batchnorm", eps=1e-3, fix_gamma=True), f"{name}_relu")


def _row(data: Symbol, name: str, filters: int) -> Symbol:
    return _conv(data, name, filters, (1, 7), pad=(0, 3))


def _column(data: Symbol, name: str, filters: int) -> Symbol:
    return _conv(data, name, filters, (7, 1), pad=(3, 0))


def _project_pooled(data: Symbol, name: str, filters: int, kind: str = "avg") -> Symbol:
    pool = average_pool if kind == "avg" else max_pool
    return _conv(pool(data, f"{kind}_pool_{name}_pool", 3, 1, 1), f"{name}_tower_2_conv", filters)


def _join(name: str, *branches: Symbol) -> Symbol:
    return sym.Concat(*branches, name=f"ch_concat_{name}_chconcat")


def _wide_block(data: Symbol, name: str, projected: int) -> Symbol:
    """1x1; 5x5; two 3x3; pooling."""
    tower = _conv(data, f"{name}_tower_conv", 48)
    double = _conv(_conv(data, f"{name}_tower_1_conv", 64), f"{name}_tower_1_conv_1", 96, 3, pad=1)
    return _join(
        name,
        _conv(data, f"{name}_conv", 64),
        _conv(tower, f"{name}_tower_conv_1", 64, 5, pad=2),
        _conv(double, f"{name}_tower_1_conv_2", 96, 3, pad=1),
        _project_pooled(data, name, projected),
    )


def _halving_block(data: Symbol, name: str) -> Symbol:
    """3x3; two 3x3; pooling: all with a stride of 2."""
    tower = _conv(_conv(data, f"{name}_tower_conv", 64), f"{name}_tower_conv_1", 96, 3, pad=1)
    return _join(
        name,
        _conv(data, f"{name}_conv", 384, 3, 2),
        _conv(tower, f"{name}_tower_conv_2", 96, 3, 2),
        max_pool(data, f"max_pool_{name}_pool"),
    )


def _block_of_lines(data: Symbol, name: str, filters: int) -> Symbol:
    """1x1; one 7x7 as a row and a column; two such; pooling."""
    tower = _row(_conv(data, f"{name}_tower_conv", filters), f"{name}_tower_conv_1", filters)
    double = _column(_conv(data, f"{name}_tower_1_conv", filters), f"{name}_tower_1_conv_1", filters)
    double = _column(_row(double, f"{name}_tower_1_conv_2", filters), f"{name}_tower_1_conv_3", filters)
    return _join(
        name,
        _conv(data, f"{name}_conv", 192),
        _column(tower, f"{name}_tower_conv_2", 192),
        _row(double, f"{name}_tower_1_conv_4", 192),
        _project_pooled(data, name, 192),
    )


def _second_halving_block(data: Symbol, name: str) -> Symbol:
    """3x3; 7x7 as a row and a column, then 3x3; pooling: all with a stride of 2."""
    lines = _row(_conv(data, f"{name}_tower_1_conv", 192), f"{name}_tower_1_conv_1", 192)
    lines = _column(lines, f"{name}_tower_1_conv_2", 192)
    return _join(
        name,
        _conv(_conv(data, f"{name}_tower_conv", 192), f"{name}_tower_conv_1", 320, 3, 2),
        _conv(lines, f"{name}_tower_1_conv_3", 192, 3, 2),
        max_pool(data, f"max_pool_{name}_pool"),
    )


def _branching_block(data: Symbol, name: str, pooling: str) -> Symbol:
    """1x1; a row and a column beside each other, after 1x1, and after 1x1 and 3x3; pooling."""
    tower = _conv(data, f"{name}_tower_conv", 384)
    deep = _conv(_conv(data, f"{name}_tower_1_conv", 448), f"{name}_tower_1_conv_1", 384, 3, pad=1)
    return _join(
        name,
        _conv(data, f"{name}_conv", 320),
        _conv(tower, f"{name}_tower_mixed_conv", 384, (1, 3), pad=(0, 1)),
        _conv(tower, f"{name}_tower_mixed_conv_1", 384, (3, 1), pad=(1, 0)),
        _conv(deep, f"{name}_tower_1_mixed_conv", 384, (1, 3), pad=(0, 1)),
        _conv(deep, f"{name}_tower_1_mixed_conv_1", 384, (3, 1), pad=(1, 0)),
        _project_pooled(data, name, 192, pooling),
    )
