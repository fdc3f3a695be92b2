"""ResNeXt with 50, 101 and 152 layers."""

from __future__ import annotations

from .. import symbol as sym
from ..symbol import Symbol
from .layers import add, batch_norm, classifier, convolution, global_pool, max_pool, relu
from .resnet import imagenet_stages
from .sizes import sizes_of

__all__ = ["resnext"]


def resnext(
    num_classes: int = 1000, num_layers: int = 50, num_group: int = 32, group_width: int = 4
) -> Symbol:
    """ResNeXt (Xie, 2016), with the names of MXNet's ``resnext-50-0000.params``; for 224x224.

    Parameters
    ----------
    num_classes
        Number of scores.
    num_layers
        50, 101 or 152.
    num_group, group_width
        Groups of the 3x3 convolutions, and channels of each in the first stage: 32 and 4, or 64 and 4.
    """
    stages = sizes_of("resnext", {depth: imagenet_stages(depth) for depth in (50, 101, 152)}, num_layers)
    data = batch_norm(sym.var("data"), "bn_data", fix_gamma=True)
    data = relu(batch_norm(convolution(data, "conv0", 64, 7, 2, 3), "bn0"), "relu0")
    data = max_pool(data, "pooling0", pad=1)
    number = 0
    for stage, count in enumerate(stages.units, start=1):
        filters, inside = stages.filters[stage], num_group * group_width * 2 ** (stage - 1)
        for index in range(1, count + 1):
            stride = 2 if stage > 1 and index == 1 else 1
            name = f"stage{stage}_unit{index}"
            body = _body(data, name, inside, filters, stride, num_group)
            if index == 1:
                data = batch_norm(convolution(data, f"{name}_sc", filters, 1, stride), f"{name}_sc_bn")
            data = relu(add(body, data, f"_plus{number}"), f"{name}_relu")
            number += 1
    return classifier(global_pool(data, "pool1"), num_classes, flatten="flatten0")


def _body(data: Symbol, name: str, inside: int, filters: int, stride: int, groups: int) -> Symbol:
    data = relu(batch_norm(convolution(data, f"{name}_conv1", inside), f"{name}_bn1"), f"{name}_relu1")
    data = convolution(data, f"{name}_conv2", inside, 3, stride, 1, groups=groups)
    data = relu(batch_norm(data, f"{name}_bn2"), f"{name}_relu2")
    return batch_norm(convolution(data, f"{name}_conv3", filters), f"{name}_bn3")
