"""MobileNet v3, large and small."""

from __future__ import annotations

from .. import symbol as sym
from ..symbol import Symbol
from .layers import add, batch_norm, convolution, global_pool, relu

__all__ = ["mobilenet_v3"]

#: Of each block: kernel, channels inside, filters, whether channels are weighed, whether its units are
#: hard-swish (otherwise ReLU), stride.
_LARGE = (
    (3, 16, 16, False, False, 1), (3, 64, 24, False, False, 2), (3, 72, 24, False, False, 1),
    (5, 72, 40, True, False, 2), (5, 120, 40, True, False, 1), (5, 120, 40, True, False, 1),
    (3, 240, 80, False, True, 2), (3, 200, 80, False, True, 1), (3, 184, 80, False, True, 1),
    (3, 184, 80, False, True, 1), (3, 480, 112, True, True, 1), (3, 672, 112, True, True, 1),
    (5, 672, 160, True, True, 2), (5, 960, 160, True, True, 1), (5, 960, 160, True, True, 1),
)  # fmt: skip
_SMALL = (
    (3, 16, 16, True, False, 2), (3, 72, 24, False, False, 2), (3, 88, 24, False, False, 1),
    (5, 96, 40, True, True, 2), (5, 240, 40, True, True, 1), (5, 240, 40, True, True, 1),
    (5, 120, 48, True, True, 1), (5, 144, 48, True, True, 1), (5, 288, 96, True, True, 2),
    (5, 576, 96, True, True, 1), (5, 576, 96, True, True, 1),
)  # fmt: skip


def mobilenet_v3(num_classes: int = 1000, small: bool = False) -> Symbol:
    """MobileNet v3 (Howard, 2019); for 224x224.

    Parameters
    ----------
    num_classes
        Number of scores.
    small
        Whether it is the small one of the two.
    """
    data, channels = _conv(sym.var("data"), "first", 16, 3, 2, swish=True), 16
    for number, (kernel, inside, filters, weighed, swish, stride) in enumerate(
        _SMALL if small else _LARGE, start=1
    ):
        body, name = data, f"block{number}"
        if inside != channels:
            body = _conv(body, f"{name}_expand", inside, swish=swish)
        body = _conv(body, f"{name}_depthwise", inside, kernel, stride, inside, swish=swish)
        if weighed:
            body = _weigh(body, f"{name}_se", inside)
        body = batch_norm(convolution(body, f"{name}_project", filters), f"{name}_project_bn", eps=1e-3)
        data = add(body, data, f"{name}_plus") if stride == 1 and channels == filters else body
        channels = filters
    data = _conv(data, "last", 6 * channels, swish=True)
    data = sym.Flatten(global_pool(data, "global_pool"), name="flatten")
    data = sym.FullyConnected(data, num_hidden=1024 if small else 1280, name="fc1")
    data = sym.Dropout(_hard_swish(data, "fc1_swish"), p=0.2, name="dropout")
    return sym.SoftmaxOutput(sym.FullyConnected(data, num_hidden=num_classes, name="fc2"), name="softmax")


def _hard_swish(data: Symbol, name: str) -> Symbol:
    gate = sym.hard_sigmoid(data, alpha=1 / 6, beta=0.5, name=f"{name}_gate")
    return sym.elemwise_mul(data, gate, name=name)


def _conv(data: Symbol, name: str, filters: int, kernel: int = 1, stride: int = 1, groups: int = 1, *,
          swish: bool) -> Symbol:  # fmt: skip
    data = convolution(data, name, filters, kernel, stride, kernel // 2, groups=groups)
    data = batch_norm(data, f"{name}_bn", eps=1e-3)
    return _hard_swish(data, f"{name}_swish") if swish else relu(data, f"{name}_relu")


def _weigh(data: Symbol, name: str, channels: int) -> Symbol:
    """Squeeze and excitation: each channel times a number from 0 to 1, which depends on the means of all."""
    squeezed = _multiple_of_8(channels / 4)
    gate = convolution(global_pool(data, f"{name}_pool"), f"{name}_conv1", squeezed, bias=True)
    gate = convolution(relu(gate, f"{name}_relu"), f"{name}_conv2", channels, bias=True)
    gate = sym.hard_sigmoid(gate, alpha=1 / 6, beta=0.5, name=f"{name}_gate")
    return sym.broadcast_mul(data, gate, name=f"{name}_weighed")


def _multiple_of_8(channels: float) -> int:
    """Return the nearest multiple of 8, which is not more than a tenth smaller."""
    nearest = max(8, int(channels + 4) // 8 * 8)
    return nearest + 8 if nearest < 0.9 * channels else nearest
