"""RetinaFace: faces and their five points from three layers of a network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .. import symbol as sym
from ..errors import ArgumentError
from ..symbol import Symbol
from .layers import add, batch_norm, convolution, relu
from .resnet import imagenet_stages, pre_activation_body

__all__ = ["retinaface"]

#: Of each pair of layers of MobileNet 0.25: filters and stride.
_MOBILENET = ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *[(128, 1)] * 5, (256, 2), (256, 1))


@dataclass(frozen=True)
class _Kind:
    """A published network: its three layers, from fine to coarse; its channels; how its layers are called."""

    features: Callable[[Symbol], list[Symbol]]
    channels: int
    pyramid: str
    detector: str
    upsampling: str


def retinaface(network: str = "mnet.25") -> Symbol:
    """RetinaFace (Deng, 2019), with the names of insightface's ``mnet.25`` and ``R50``; heights and widths are free.

    Outputs are scores, box offsets and point offsets, for strides of 32, 16 and 8, with two anchors at each position.

    Parameters
    ----------
    network
        ``'mnet.25'`` or ``'R50'``.

    Examples
    --------
    >>> retinaface().list_outputs()[0]
    'face_rpn_cls_prob_reshape_stride32_output'
    """
    if network not in _KINDS:
        raise ArgumentError(f"retinaface: network must be 'mnet.25' or 'R50'; got {network!r}")
    kind = _KINDS[network]
    outputs = []
    for stride, level, data in _pyramid(kind.features(sym.var("data")), kind):
        data = _context(data, kind.detector.format(level), kind.channels)
        outputs += _predictions(data, stride)
    return sym.Group(outputs)


def _conv(data: Symbol, name: str, filters: int, kernel: int = 1, act: bool = True) -> Symbol:
    data = batch_norm(convolution(data, name, filters, kernel, pad=kernel // 2, bias=True), f"{name}_bn")
    return relu(data, f"{name}_relu") if act else data


def _pyramid(features: list[Symbol], kind: _Kind) -> list[tuple[int, int, Symbol]]:
    """Stride, level and data of each layer, to which what is above it is added in twice the size."""
    fine, middle, coarse = features
    top = _conv(coarse, f"{kind.pyramid}_c3_lateral", kind.channels)
    middle = _conv(middle, f"{kind.pyramid}_c2_lateral", kind.channels)
    middle = _merge(top, middle, f"{kind.pyramid}_c3_{kind.upsampling}", 0)
    middle = _conv(middle, f"{kind.pyramid}_c2_aggr", kind.channels, 3)
    fine = _conv(fine, f"{kind.pyramid}_c1_red_conv", kind.channels)
    fine = _merge(middle, fine, f"{kind.pyramid}_c2_{kind.upsampling}", 1)
    return [(32, 3, top), (16, 2, middle), (8, 1, _conv(fine, f"{kind.pyramid}_c1_aggr", kind.channels, 3))]


def _merge(above: Symbol, data: Symbol, name: str, number: int) -> Symbol:
    above = sym.UpSampling(above, scale=2, sample_type="nearest", num_args=1, name=name)
    return add(data, sym.Crop(above, data, num_args=2, name=f"crop{number}"), f"plus{number}")


def _context(data: Symbol, name: str, channels: int) -> Symbol:
    """Windows of 3x3, 5x5 and 7x7 beside each other, the wide ones as several of 3x3."""
    half, quarter = channels // 2, channels // 4
    first = _conv(data, f"{name}_context_conv1", quarter, 3)
    widest = _conv(first, f"{name}_context_conv3_1", quarter, 3)
    joined = sym.Concat(
        _conv(data, f"{name}_conv1", half, 3, act=False),
        _conv(first, f"{name}_context_conv2", quarter, 3, act=False),
        _conv(widest, f"{name}_context_conv3_2", quarter, 3, act=False),
        dim=1,
        name=f"{name}_concat",
    )
    return relu(joined, f"{name}_concat_relu")


def _predictions(data: Symbol, stride: int) -> list[Symbol]:
    """Scores (batch, 4, height, width), offsets of boxes (8 channels) and of points (20)."""
    scores = convolution(data, f"face_rpn_cls_score_stride{stride}", 4, bias=True)
    scores = sym.Reshape(scores, shape=(0, 2, -1, 0), name=f"face_rpn_cls_score_reshape_stride{stride}")
    scores = sym.SoftmaxActivation(scores, mode="channel", name=f"face_rpn_cls_prob_stride{stride}")
    return [
        sym.Reshape(scores, shape=(0, 4, -1, 0), name=f"face_rpn_cls_prob_reshape_stride{stride}"),
        convolution(data, f"face_rpn_bbox_pred_stride{stride}", 8, bias=True),
        convolution(data, f"face_rpn_landmark_pred_stride{stride}", 20, bias=True),
    ]


def _mobilenet_features(data: Symbol) -> list[Symbol]:
    """Layers 10, 22 and 26 of MobileNet 0.25, with the names of Gluon's."""
    data, filters, layers = _mobile(data, 0, 8, 2, 1), 8, []
    for index, (out, stride) in enumerate(_MOBILENET):
        data = _mobile(data, 2 * index + 1, filters, stride, filters)
        data, filters = _mobile(data, 2 * index + 2, out, 1, 1, kernel=1), out
        layers.append(data)
    return [layers[4], layers[10], layers[12]]


def _mobile(data: Symbol, number: int, filters: int, stride: int, groups: int, kernel: int = 3) -> Symbol:
    data = convolution(data, f"mobilenet0_conv{number}", filters, kernel, stride, kernel // 2, groups=groups)
    return relu(batch_norm(data, f"mobilenet0_batchnorm{number}", eps=1e-5), f"mobilenet0_relu{number}_fwd")


def _resnet_features(data: Symbol) -> list[Symbol]:
    """The first activations of the third and fourth stages, and the last one."""
    internals = pre_activation_body(data, imagenet_stages(50)).get_internals()
    return [internals[f"{name}_output"] for name in ("stage3_unit1_relu1", "stage4_unit1_relu1", "relu1")]


_KINDS = {
    "mnet.25": _Kind(_mobilenet_features, 64, "rf", "rf_c{}_det", "upsampling"),
    "R50": _Kind(_resnet_features, 256, "ssh", "ssh_m{}_det", "up"),
}
