"""Residual networks, versions 1 and 2, at all published depths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from .. import symbol as sym
from ..errors import ArgumentError
from ..shapes import as_shape
from ..symbol import Symbol
from .layers import add, batch_norm, classifier, convolution, global_pool, max_pool, relu
from .sizes import sizes_of

__all__ = ["Stages", "detector_features", "imagenet_stages", "pre_activation_body", "resnet"]

#: Units of each stage for images of ImageNet.
_UNITS = {
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
    200: (3, 24, 36, 3),
    269: (3, 30, 48, 8),
}


@dataclass(frozen=True)
class Stages:
    """Depth and width of a residual network.

    Attributes
    ----------
    units
        Units of each stage.
    filters
        Channels before the first stage, and after each.
    bottleneck
        Whether a unit is 1x1, 3x3, 1x1 with a quarter of the channels; otherwise it is two convolutions of 3x3.
    """

    units: Sequence[int]
    filters: Sequence[int]
    bottleneck: bool


def resnet(
    num_classes: int = 1000,
    num_layers: int = 50,
    image_shape: Sequence[int] = (3, 224, 224),
    version: int = 2,
) -> Symbol:
    """ResNet (He, 2015 and 2016), with the names of MXNet's ``resnet-50-0000.params``.

    Parameters
    ----------
    num_classes
        Number of scores.
    num_layers
        18, 34, 50, 101, 152, 200 or 269; for images of 32x32 and smaller 6 n + 2 or, from 164 on, 9 n + 2.
    image_shape
        Channels, height, width. Small images meet a convolution of 3x3 and no pooling first, and three stages.
    version
        1: convolution, BatchNorm, ReLU. 2: BatchNorm, ReLU, convolution (MXNet's published ones).

    Examples
    --------
    >>> resnet(num_layers=18).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 1000)]
    """
    shape = as_shape(image_shape, "resnet: image_shape")
    if len(shape) != 3:
        raise ArgumentError(f"resnet: image_shape must be (channels, height, width); got {image_shape!r}")
    small = shape[1] <= 32
    stages = _small_stages(num_layers) if small else imagenet_stages(num_layers)
    if version == 2:
        return _version2(num_classes, stages, small)
    if version == 1:
        return _version1(num_classes, stages, small)
    raise ArgumentError(f"resnet: version must be 1 or 2; got {version!r}")


def imagenet_stages(num_layers: int) -> Stages:
    """Return the stages of a published depth."""
    units = sizes_of("resnet", _UNITS, num_layers)
    bottleneck = num_layers >= 50
    return Stages(units, (64, 256, 512, 1024, 2048) if bottleneck else (64, 64, 128, 256, 512), bottleneck)


def _small_stages(num_layers: int) -> Stages:
    """Return the three stages for images of CIFAR."""
    if num_layers >= 164 and (num_layers - 2) % 9 == 0:
        return Stages([(num_layers - 2) // 9] * 3, (16, 64, 128, 256), bottleneck=True)
    if num_layers < 164 and num_layers >= 8 and (num_layers - 2) % 6 == 0:
        return Stages([(num_layers - 2) // 6] * 3, (16, 16, 32, 64), bottleneck=False)
    raise ArgumentError(
        "resnet: num_layers must be 6 n + 2 below 164, or 9 n + 2 from there, for images of 32x32 and smaller; "
        f"got {num_layers!r}"
    )


def _version1(num_classes: int, stages: Stages, small: bool) -> Symbol:
    data = _stem(sym.var("data"), stages.filters[0], small)
    if small:
        data = relu(batch_norm(data, "bn0"), "relu0")
    data = _units(data, stages, _bottleneck1 if stages.bottleneck else _basic1)
    return classifier(global_pool(data, "pool1"), num_classes, flatten="flatten0")


def _version2(num_classes: int, stages: Stages, small: bool) -> Symbol:
    data = pre_activation_body(sym.var("data"), stages, small)
    return classifier(global_pool(data, "pool1"), num_classes, flatten="flatten0")


def pre_activation_body(data: Symbol, stages: Stages, small: bool = False) -> Symbol:
    """Version 2 without pooling and classifier: its last layer is ``relu1``."""
    data = _stem(batch_norm(data, "bn_data", fix_gamma=True), stages.filters[0], small)
    data = _units(data, stages, _bottleneck2 if stages.bottleneck else _basic2)
    return relu(batch_norm(data, "bn1"), "relu1")


def detector_features(num_layers: int) -> tuple[Callable[[Symbol], Symbol], Callable[[Symbol], Symbol]]:
    """Return the two halves of version 2 that a detector of regions has: three stages, and the fourth with pooling.

    The first is of the whole image, the second of its regions. BatchNorm uses the moving statistics in training, too.
    """
    stages = imagenet_stages(num_layers)
    norm = partial(batch_norm, use_global_stats=True)
    unit = partial(_bottleneck2 if stages.bottleneck else _basic2, use_global_stats=True)

    def of_image(data: Symbol) -> Symbol:
        data = norm(data, "bn_data", fix_gamma=True)
        data = _stem(data, stages.filters[0], False, use_global_stats=True)
        return _units(data, stages, unit, (1, 2, 3))

    def of_regions(data: Symbol) -> Symbol:
        data = norm(_units(data, stages, unit, (4,)), "bn1")
        return global_pool(relu(data, "relu1"), "pool1")

    return of_image, of_regions


def _stem(data: Symbol, filters: int, small: bool, **norm: Any) -> Symbol:
    if small:
        return convolution(data, "conv0", filters, 3, pad=1)
    data = relu(batch_norm(convolution(data, "conv0", filters, 7, 2, 3), "bn0", **norm), "relu0")
    return max_pool(data, "pooling0", pad=1)


def _units(
    data: Symbol,
    stages: Stages,
    unit: Callable[[Symbol, str, str, int, int, bool], Symbol],
    which: Sequence[int] = (1, 2, 3, 4),
) -> Symbol:
    """All units of stages; their sums have the names that MXNet gives to ``+``: ``_plus0``, ``_plus1``, ..."""
    number = 0
    for stage, (count, filters) in enumerate(zip(stages.units, stages.filters[1:]), start=1):
        for index in range(1, count + 1):
            if stage in which:
                stride = 2 if stage > 1 and index == 1 else 1
                data = unit(data, f"stage{stage}_unit{index}", f"_plus{number}", filters, stride, index == 1)
            number += 1
    return data


def _basic1(data: Symbol, name: str, total: str, filters: int, stride: int, project: bool) -> Symbol:
    body = batch_norm(convolution(data, f"{name}_conv1", filters, 3, stride, 1), f"{name}_bn1")
    body = convolution(relu(body, f"{name}_relu1"), f"{name}_conv2", filters, 3, pad=1)
    return _close1(data, batch_norm(body, f"{name}_bn2"), name, total, filters, stride, project)


def _bottleneck1(data: Symbol, name: str, total: str, filters: int, stride: int, project: bool) -> Symbol:
    body = batch_norm(convolution(data, f"{name}_conv1", filters // 4, 1, stride), f"{name}_bn1")
    body = convolution(relu(body, f"{name}_relu1"), f"{name}_conv2", filters // 4, 3, pad=1)
    body = relu(batch_norm(body, f"{name}_bn2"), f"{name}_relu2")
    body = batch_norm(convolution(body, f"{name}_conv3", filters), f"{name}_bn3")
    return _close1(data, body, name, total, filters, stride, project)


def _close1(data: Symbol, body: Symbol, name: str, total: str, filters: int, stride: int,
            project: bool) -> Symbol:  # fmt: skip
    if project:
        data = convolution(data, f"{name}_conv1sc", filters, 1, stride)
        data = batch_norm(data, f"{name}_sc")
    return relu(add(body, data, total), f"{name}_relu")


def _basic2(data: Symbol, name: str, total: str, filters: int, stride: int, project: bool,
            **norm: Any) -> Symbol:  # fmt: skip
    first = relu(batch_norm(data, f"{name}_bn1", **norm), f"{name}_relu1")
    body = convolution(first, f"{name}_conv1", filters, 3, stride, 1)
    body = relu(batch_norm(body, f"{name}_bn2", **norm), f"{name}_relu2")
    body = convolution(body, f"{name}_conv2", filters, 3, pad=1)
    return add(body, _shortcut2(data, first, name, filters, stride, project), total)


def _bottleneck2(data: Symbol, name: str, total: str, filters: int, stride: int, project: bool,
                 **norm: Any) -> Symbol:  # fmt: skip
    first = relu(batch_norm(data, f"{name}_bn1", **norm), f"{name}_relu1")
    body = convolution(first, f"{name}_conv1", filters // 4)
    body = relu(batch_norm(body, f"{name}_bn2", **norm), f"{name}_relu2")
    body = convolution(body, f"{name}_conv2", filters // 4, 3, stride, 1)
    body = relu(batch_norm(body, f"{name}_bn3", **norm), f"{name}_relu3")
    body = convolution(body, f"{name}_conv3", filters)
    return add(body, _shortcut2(data, first, name, filters, stride, project), total)


def _shortcut2(data: Symbol, first: Symbol, name: str, filters: int, stride: int, project: bool) -> Symbol:
    return convolution(first, f"{name}_sc", filters, 1, stride) if project else data
