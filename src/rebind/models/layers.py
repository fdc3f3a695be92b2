"""Layers with square windows and given names, of which the networks are composed."""

from __future__ import annotations

from typing import Any, TypeAlias

from .. import symbol as sym
from ..symbol import Symbol

__all__ = [
    "Size",
    "add",
    "average_pool",
    "batch_norm",
    "classifier",
    "clip_relu",
    "convolution",
    "global_pool",
    "max_pool",
    "pair",
    "prelu",
    "relu",
]

#: Height and width, or one number for both.
Size: TypeAlias = "int | tuple[int, int]"


def pair(size: Size) -> tuple[int, int]:
    """Return height and width.

    >>> pair(3), pair((1, 7))
    ((3, 3), (1, 7))
    """
    return (size, size) if isinstance(size, int) else size


def convolution(
    data: Symbol, name: str, filters: int, kernel: Size = 1, stride: Size = 1, pad: Size = 0, *,
    groups: int = 1, dilate: int = 1, bias: bool = False, **parameters: Any,
) -> Symbol:  # fmt: skip
    """Convolution without a bias, unless asked for: most are followed by a BatchNorm."""
    return sym.Convolution(
        data, kernel=pair(kernel), stride=pair(stride), pad=pair(pad), dilate=pair(dilate), num_filter=filters,
        num_group=groups, no_bias=not bias, name=name, **parameters,
    )  # fmt: skip


def batch_norm(
    data: Symbol, name: str, *, eps: float = 2e-5, fix_gamma: bool = False, **kwargs: Any
) -> Symbol:
    """BatchNorm whose gamma is trained, where MXNet's default is a gamma of 1."""
    return sym.BatchNorm(data, eps=eps, momentum=0.9, fix_gamma=fix_gamma, name=name, **kwargs)


def relu(data: Symbol, name: str) -> Symbol:
    """Rectified linear units."""
    return sym.Activation(data, act_type="relu", name=name)


def prelu(data: Symbol, name: str) -> Symbol:
    """Rectified linear units with a trained slope below zero for each channel."""
    return sym.LeakyReLU(data, act_type="prelu", name=name)


def clip_relu(data: Symbol, name: str) -> Symbol:
    """ReLU6: rectified linear units that end at 6."""
    return sym.clip(data, a_min=0.0, a_max=6.0, name=name)


def add(first: Symbol, second: Symbol, name: str) -> Symbol:
    """Sum of a block's output and its shortcut."""
    return sym.elemwise_add(first, second, name=name)


def max_pool(
    data: Symbol, name: str, kernel: int = 3, stride: int = 2, pad: int = 0, *, full: bool = False
) -> Symbol:
    """Maximum over windows; with `full` the last one may reach over the edge, as in Caffe."""
    return sym.Pooling(
        data, kernel=pair(kernel), stride=pair(stride), pad=pair(pad), pool_type="max",
        pooling_convention="full" if full else "valid", name=name,
    )  # fmt: skip


def average_pool(
    data: Symbol, name: str, kernel: int = 3, stride: int = 1, pad: int = 0, **parameters: Any
) -> Symbol:
    """Mean over windows."""
    return sym.Pooling(
        data,
        kernel=pair(kernel),
        stride=pair(stride),
        pad=pair(pad),
        pool_type="avg",
        name=name,
        **parameters,
    )


def global_pool(data: Symbol, name: str) -> Symbol:
    """Mean of each channel."""
    return sym.Pooling(data, kernel=(7, 7), pool_type="avg", global_pool=True, name=name)


def classifier(data: Symbol, num_classes: int, name: str = "fc1", flatten: str = "flatten") -> Symbol:
    """Fully connected layer and ``softmax``, whose label is ``softmax_label``."""
    data = sym.Flatten(data, name=flatten)
    data = sym.FullyConnected(data, num_hidden=num_classes, name=name)
    return sym.SoftmaxOutput(data, name="softmax")
