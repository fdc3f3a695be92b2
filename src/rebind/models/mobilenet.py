"""MobileNet v1 and v2."""

from __future__ import annotations

from .. import symbol as sym
from ..checks import NUMBER, check_kind
from ..symbol import Symbol
from .layers import add, batch_norm, classifier, clip_relu, convolution, global_pool, relu

__all__ = ["mobilenet", "mobilenet_v2"]

#: Of each block of v1: filters and stride.
_BLOCKS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1))
#: Of each stage of v2: how many times wider its blocks are inside, filters, blocks, stride of the first.
_STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def mobilenet(num_classes: int = 1000, multiplier: float = 1.0) -> Symbol:
    """MobileNet (Howard, 2017), with MXNet's names; for 224x224.

    Parameters
    ----------
    num_classes
        Number of scores.
    multiplier
        Share of the channels: 1, 0.75, 0.5, 0.25.
    """
    check_kind("mobilenet", NUMBER, multiplier=multiplier)
    channels = int(32 * multiplier)
    data = _conv(sym.var("data"), "conv_1", channels, 3, 2, 1)
    for number, (filters, stride) in enumerate(_BLOCKS, start=2):
        data = _conv(data, f"conv_{number}_dw", channels, 3, stride, 1, groups=channels)
        channels = int(filters * multiplier)
        data = _conv(data, f"conv_{number}", channels)
    return classifier(global_pool(data, "global_pool"), num_classes, "fc")


def _conv(data: Symbol, name: str, filters: int, kernel: int = 1, stride: int = 1, pad: int = 0,
          groups: int = 1) -> Symbol:  # fmt: skip
    data = convolution(data, f"{name}_conv2d", filters, kernel, stride, pad, groups=groups)
    return relu(batch_norm(data, f"{name}_batchnorm", eps=1e-3, fix_gamma=True), f"{name}_relu")


def mobilenet_v2(num_classes: int = 1000, multiplier: float = 1.0) -> Symbol:
    """MobileNet v2 (Sandler, 2018), with MXNet's names; for 224x224.

    Parameters
    ----------
    num_classes
        Number of scores.
    multiplier
        Share of the channels; the last convolution has at least 1280.
    """
    check_kind("mobilenet_v2", NUMBER, multiplier=multiplier)
    channels = round(32 * multiplier)
    data = clip_relu(_linear(sym.var("data"), "first-3x3-conv", channels, 3, 2), "first-3x3-conv-relu6")
    for stage, (wider, filters, count, stride) in enumerate(_STAGES):
        for block in range(count):
            out = round(filters * multiplier)
            data = _inverted(
                data, f"seq-{stage}-block{block}", channels, wider, out, stride if block == 0 else 1
            )
            channels = out
    data = _linear(data, "last-1x1-conv", max(1280, int(1280 * multiplier)))
    data = global_pool(clip_relu(data, "last-1x1-conv-relu6"), "global_pool")
    return classifier(data, num_classes, "fc")


def _linear(
    data: Symbol, name: str, filters: int, kernel: int = 1, stride: int = 1, groups: int = 1
) -> Symbol:
    data = convolution(data, f"{name}-conv2d", filters, kernel, stride, kernel // 2, groups=groups)
    return batch_norm(data, f"{name}-batchnorm", eps=1e-3)


def _inverted(data: Symbol, name: str, channels: int, wider: int, filters: int, stride: int) -> Symbol:
    """Wide, depthwise, narrow; with a shortcut where the shape does not change."""
    inside = channels * wider
    body = clip_relu(_linear(data, f"{name}-exp", inside), f"{name}-exp-relu6") if wider != 1 else data
    body = _linear(body, f"{name}-depthwise", inside, 3, stride, groups=inside)
    body = _linear(clip_relu(body, f"{name}-depthwise-relu6"), f"{name}-linear", filters)
    return add(body, data, f"{name}-plus") if stride == 1 and channels == filters else body
