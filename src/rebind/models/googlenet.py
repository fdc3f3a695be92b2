"""GoogLeNet, the first Inception network."""

from __future__ import annotations

from .. import symbol as sym
from ..symbol import Symbol
from .layers import classifier, convolution, global_pool, max_pool, relu

__all__ = ["googlenet"]

#: Filters of a block: 1x1; before 3x3, 3x3; before 5x5, 5x5; after pooling.
_BLOCKS = {
    "in3a": (64, 96, 128, 16, 32, 32),
    "in3b": (128, 128, 192, 32, 96, 64),
    "in4a": (192, 96, 208, 16, 48, 64),
    "in4b": (160, 112, 224, 24, 64, 64),
    "in4c": (128, 128, 256, 24, 64, 64),
    "in4d": (112, 144, 288, 32, 64, 64),
    "in4e": (256, 160, 320, 32, 128, 128),
    "in5a": (256, 160, 320, 32, 128, 128),
    "in5b": (384, 192, 384, 48, 128, 128),
}


def googlenet(num_classes: int = 1000) -> Symbol:
    """GoogLeNet (Szegedy, 2014) without its two auxiliary classifiers; for 224x224."""
    data = max_pool(_conv(sym.var("data"), "conv1", 64, 7, 2, 3), "pool1", full=True)
    data = _conv(_conv(data, "conv2", 64), "conv3", 192, 3, 1, 1)
    data = max_pool(data, "pool3", full=True)
    for name, filters in _BLOCKS.items():
        data = _block(data, name, *filters)
        if name in ("in3b", "in4e"):
            data = max_pool(data, f"pool_{name}", full=True)
    return classifier(global_pool(data, "global_pool"), num_classes)


def _conv(data: Symbol, name: str, filters: int, kernel: int = 1, stride: int = 1, pad: int = 0) -> Symbol:
    return relu(convolution(data, f"conv_{name}", filters, kernel, stride, pad, bias=True), f"relu_{name}")


def _block(data: Symbol, name: str, one: int, reduce3: int, three: int, reduce5: int, five: int,
           project: int) -> Symbol:  # fmt: skip
    pooled = max_pool(data, f"max_pool_{name}_pool", 3, 1, 1)
    return sym.Concat(
        _conv(data, f"{name}_1x1", one),
        _conv(_conv(data, f"{name}_3x3_reduce", reduce3), f"{name}_3x3", three, 3, 1, 1),
        _conv(_conv(data, f"{name}_5x5_reduce", reduce5), f"{name}_5x5", five, 5, 1, 2),
        _conv(pooled, f"{name}_proj", project),
        name=f"ch_concat_{name}_chconcat",
    )
