"""MobileFaceNet: faces to vectors, on phones."""

from __future__ import annotations

from .. import symbol as sym
from ..symbol import Symbol
from .arcface import normalized_pixels
from .layers import add, batch_norm, convolution, prelu

__all__ = ["mobilefacenet"]

#: Of each stage: the number of the block that halves height and width, its channels inside, filters, and the number,
#: count and channels inside of the residual blocks that follow.
_STAGES = (("23", 128, 64, "3", 4, 128), ("34", 256, 128, "4", 6, 256), ("45", 512, 128, "5", 2, 256))


def mobilefacenet(embedding_size: int = 128) -> Symbol:
    """MobileFaceNet (Chen, 2018), with insightface's names: 112x112 faces to vectors, ``fc1_output``."""
    data = _conv(normalized_pixels(sym.var("data")), "conv_1", 64, 3, 2)
    data = _conv(data, "conv_2_dw", 64, 3, groups=64)
    for halving, wide, filters, number, count, inside in _STAGES:
        data = _block(data, f"dconv_{halving}", wide, filters, 2)
        for index in range(count):
            name = f"res_{number}_block{index}"
            data = add(_block(data, name, inside, filters), data, f"{name}_plus")
    data = _conv(data, "conv_6sep", 512)
    data = _linear(data, "conv_6dw7_7", 512, 7, groups=512)
    data = sym.FullyConnected(data, num_hidden=embedding_size, name="pre_fc1")
    return batch_norm(data, "fc1", fix_gamma=True)


def _linear(
    data: Symbol, name: str, filters: int, kernel: int = 1, stride: int = 1, groups: int = 1
) -> Symbol:
    pad = 1 if kernel == 3 else 0
    data = convolution(data, f"{name}_conv2d", filters, kernel, stride, pad, groups=groups)
    return batch_norm(data, f"{name}_batchnorm", eps=1e-3)


def _conv(data: Symbol, name: str, filters: int, kernel: int = 1, stride: int = 1, groups: int = 1) -> Symbol:
    return prelu(_linear(data, name, filters, kernel, stride, groups), f"{name}_relu")


def _block(data: Symbol, name: str, inside: int, filters: int, stride: int = 1) -> Symbol:
    """Wide, depthwise, narrow."""
    data = _conv(data, f"{name}_conv_sep", inside)
    data = _conv(data, f"{name}_conv_dw", inside, 3, stride, groups=inside)
    return _linear(data, f"{name}_conv_proj", filters)
