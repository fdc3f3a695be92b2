"""Inception-BN: Inception with batch normalization and two 3x3 convolutions instead of one of 5x5."""

from __future__ import annotations

from .. import symbol as sym
from ..symbol import Symbol
from .layers import average_pool, batch_norm, classifier, convolution, global_pool, max_pool, relu

__all__ = ["inception_bn"]

#: Filters of a block: 1x1; before 3x3, 3x3; before the double 3x3, double 3x3; after pooling. Without the first and the
#: last, a block halves height and width.
_BLOCKS = {
    "3a": (64, 64, 64, 64, 96, 32),
    "3b": (64, 64, 96, 64, 96, 64),
    "3c": (None, 128, 160, 64, 96, None),
    "4a": (224, 64, 96, 96, 128, 128),
    "4b": (192, 96, 128, 96, 128, 128),
    "4c": (160, 128, 160, 128, 160, 128),
    "4d": (96, 128, 192, 160, 192, 128),
    "4e": (None, 128, 192, 192, 256, None),
    "5a": (352, 192, 320, 160, 224, 128),
    "5b": (352, 192, 320, 192, 224, 128),
}


def inception_bn(num_classes: int = 1000) -> Symbol:
    """Inception-BN (Ioffe, 2015), with the names of ``Inception-BN-0126.params``; for 224x224."""
    data = max_pool(_conv(sym.var("data"), "1", 64, 7, 2, 3), "pool_1", full=True)
    data = _conv(_conv(data, "2_red", 64), "2", 192, 3, 1, 1)
    data = max_pool(data, "pool_2", full=True)
    for name, (one, reduce3, three, reduce33, double, project) in _BLOCKS.items():
        stride = 2 if one is None else 1
        narrow = _conv(data, f"{name}_double_3x3_reduce", reduce33)
        branches = [
            _conv(_conv(data, f"{name}_3x3_reduce", reduce3), f"{name}_3x3", three, 3, stride, 1),
            _conv(_conv(narrow, f"{name}_double_3x3_0", double, 3, 1, 1), f"{name}_double_3x3_1", double, 3,
                  stride, 1),
        ]  # fmt: skip
        if one is None or project is None:
            branches.append(max_pool(data, f"max_pool_{name}_pool", full=True))
        else:
            branches.insert(0, _conv(data, f"{name}_1x1", one))
            branches.append(_conv(_pool(data, name), f"{name}_proj", project))
        data = sym.Concat(*branches, name=f"ch_concat_{name}_chconcat")
    return classifier(global_pool(data, "global_pool"), num_classes)


def _pool(data: Symbol, name: str) -> Symbol:
    if name == "5b":
        return max_pool(data, "max_pool_5b_pool", 3, 1, 1)
    return average_pool(data, f"avg_pool_{name}_pool", 3, 1, 1)


def _conv(data: Symbol, name: str, filters: int, kernel: int = 1, stride: int = 1, pad: int = 0) -> Symbol:
    data = convolution(data, f"conv_{name}", filters, kernel, stride, pad, bias=True)
    return relu(batch_norm(data, f"bn_{name}", eps=1e-5 + 1e-10), f"relu_{name}")
