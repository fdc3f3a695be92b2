"""SSD: boxes and classes from several layers of a network in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import symbol as sym
from ..errors import ArgumentError
from ..symbol import Symbol
from .layers import convolution, max_pool, relu
from .resnet import imagenet_stages, pre_activation_body
from .vgg import convolutions

__all__ = ["ssd"]

_VARIANCES = (0.1, 0.1, 0.2, 0.2)
_FEW, _MANY = (1, 2, 0.5), (1, 2, 0.5, 3, 1 / 3)


@dataclass(frozen=True)
class _Layers:
    """The layers that boxes come from: two of the network, then `extra` ones above it: filters, stride, padding."""

    extra: Sequence[tuple[int, int, int]]
    sizes: Sequence[tuple[float, float]]
    ratios: Sequence[Sequence[float]]


_SIZES_300 = ((0.1, 0.141), (0.2, 0.272), (0.37, 0.447), (0.54, 0.619), (0.71, 0.79), (0.88, 0.961))
_SIZES_512 = (
    (0.07, 0.1025), (0.15, 0.2121), (0.3, 0.3674), (0.45, 0.5196), (0.6, 0.6708), (0.75, 0.8216), (0.9, 0.9721),
)  # fmt: skip
_VGG_300 = _Layers(
    ((512, 2, 1), (256, 2, 1), (256, 1, 0), (256, 1, 0)), _SIZES_300, (_FEW, *[_MANY] * 3, _FEW, _FEW)
)
_VGG_512 = _Layers(
    ((512, 2, 1), (256, 2, 1), (256, 2, 1), (256, 2, 1), (256, 1, 1)),
    _SIZES_512,
    (_FEW, *[_MANY] * 4, _FEW, _FEW),
)
_RESNET = _Layers(
    ((512, 2, 1), (256, 2, 1), (256, 2, 1), (128, 2, 1)), _SIZES_300, (_FEW, *[_MANY] * 3, _FEW, _FEW)
)


def ssd(
    num_classes: int = 20,
    network: str = "vgg16_reduced",
    data_size: int = 300,
    training: bool = False,
    nms_threshold: float = 0.5,
    force_suppress: bool = False,
    nms_topk: int = 400,
) -> Symbol:
    """SSD (Liu, 2015), with the names of MXNet's published detectors, which SageMaker's have, too.

    Parameters
    ----------
    num_classes
        Number of classes, without the background.
    network
        ``'vgg16_reduced'``, ``'resnet50'`` or ``'resnet101'``.
    data_size
        Height and width of the images: 300 or 512.
    training
        Whether to return ``cls_prob``, ``loc_loss``, ``cls_label`` and ``det_out``, for which the label is
        ``label`` (batch, objects, 5 or more); otherwise ``detection`` alone.
    nms_threshold, force_suppress, nms_topk
        Of `MultiBoxDetection`.

    Examples
    --------
    >>> ssd(training=True).list_outputs()
    ['cls_prob_output', 'loc_loss_output', 'cls_label_output', 'det_out_output']
    """
    if data_size not in (300, 512):
        raise ArgumentError(f"ssd: data_size must be 300 or 512; got {data_size!r}")
    if network == "vgg16_reduced":
        layers = _VGG_300 if data_size == 300 else _VGG_512
        features = _vgg_features(sym.var("data"))
    elif network in ("resnet50", "resnet101"):
        layers, features = _RESNET, _resnet_features(sym.var("data"), int(network.removeprefix("resnet")))
    else:
        raise ArgumentError(
            f"ssd: network must be 'vgg16_reduced', 'resnet50' or 'resnet101'; got {network!r}"
        )
    for number, (filters, stride, pad) in enumerate(layers.extra, start=2):
        features.append(_extra(features[-1], f"multi_feat_{number}", filters, stride, pad))
    scores, offsets, anchors = _predictions(features, layers, num_classes + 1, network == "vgg16_reduced")
    suppression: dict[str, Any] = {
        "nms_threshold": nms_threshold,
        "force_suppress": force_suppress,
        "nms_topk": nms_topk,
    }
    if training:
        return _losses(scores, offsets, anchors, suppression)
    scores = sym.softmax(scores, axis=1, name="cls_prob")
    return sym.contrib.MultiBoxDetection(
        scores, offsets, anchors, variances=_VARIANCES, name="detection", **suppression
    )


def _vgg_features(data: Symbol) -> list[Symbol]:
    """``relu4_3`` and ``relu7`` of VGG-16, whose fully connected layers are convolutions."""
    for stage, count in ((1, 2), (2, 2), (3, 3)):
        data = max_pool(convolutions(data, stage, count), f"pool{stage}", 2, 2, full=stage == 3)
    early = convolutions(data, 4, 3)
    data = convolutions(max_pool(early, "pool4", 2, 2), 5, 3)
    data = max_pool(data, "pool5", 3, 1, 1)
    data = relu(convolution(data, "fc6", 1024, 3, pad=6, dilate=6, bias=True), "relu6")
    return [early, relu(convolution(data, "fc7", 1024, bias=True), "relu7")]


def _resnet_features(data: Symbol, num_layers: int) -> list[Symbol]:
    """The sums at the ends of the third and fourth stages."""
    stages = imagenet_stages(num_layers)
    internals = pre_activation_body(data, stages).get_internals()
    last = sum(stages.units) - 1
    return [internals[f"_plus{last - stages.units[3]}_output"], internals[f"_plus{last}_output"]]


def _extra(data: Symbol, name: str, filters: int, stride: int, pad: int) -> Symbol:
    """A layer above the network: 1x1 with half of the filters, then 3x3."""
    half = max(128, filters // 2)
    data = relu(convolution(data, f"{name}_conv_1x1_conv", half, bias=True), f"{name}_conv_1x1_relu")
    data = convolution(data, f"{name}_conv_3x3_conv", filters, 3, stride, pad, bias=True)
    return relu(data, f"{name}_conv_3x3_relu")


def _predictions(
    features: Sequence[Symbol], layers: _Layers, num_classes: int, normalized: bool
) -> tuple[Symbol, Symbol, Symbol]:
    """Scores (batch, classes, anchors), offsets (batch, 4 * anchors) and anchors (1, anchors, 4)."""
    scores, offsets, anchors = [], [], []
    for number, data in enumerate(features):
        name = str(data.name)
        sizes, ratios = layers.sizes[number], layers.ratios[number]
        if number == 0 and normalized:
            data = _normalize(data, name)
        boxes = len(sizes) + len(ratios) - 1
        offsets.append(_predict(data, f"{name}_loc_pred_conv", 4 * boxes))
        scores.append(_predict(data, f"{name}_cls_pred_conv", num_classes * boxes))
        prior = sym.contrib.MultiBoxPrior(data, sizes=sizes, ratios=ratios, name=f"{name}_anchors")
        anchors.append(sym.Flatten(prior, name=f"{name}_anchors_flat"))
    joined = sym.Reshape(
        sym.Concat(*scores, dim=1, name="cls_preds"), shape=(0, -1, num_classes), name="by_anchor"
    )
    boxes_of_all = sym.Concat(*anchors, dim=1, name="anchors")
    return (
        sym.transpose(joined, axes=(0, 2, 1), name="multibox_cls_pred"),
        sym.Concat(*offsets, dim=1, name="multibox_loc_pred"),
        sym.Reshape(boxes_of_all, shape=(0, -1, 4), name="multibox_anchors"),
    )


def _normalize(data: Symbol, name: str) -> Symbol:
    """Each position to length 1, times a trained number for each channel, 20 at first."""
    scale = sym.var(f"{name}_scale", shape=(1, 512, 1, 1), init='["constant", {"value": 20.0}]', wd_mult=0.1)
    data = sym.L2Normalization(data, mode="channel", name=f"{name}_norm")
    return sym.broadcast_mul(scale, data, name=f"{name}_scaled")


def _predict(data: Symbol, name: str, filters: int) -> Symbol:
    """A convolution of 3x3, whose numbers lie box after box."""
    data = convolution(data, name, filters, 3, pad=1, bias=True)
    return sym.Flatten(sym.transpose(data, axes=(0, 2, 3, 1), name=f"{name}_last"), name=f"{name}_flat")


def _losses(scores: Symbol, offsets: Symbol, anchors: Symbol, suppression: dict[str, Any]) -> Symbol:
    target = sym.contrib.MultiBoxTarget(
        anchors, sym.var("label"), scores, overlap_threshold=0.5, ignore_label=-1, negative_mining_ratio=3,
        minimum_negative_samples=0, negative_mining_thresh=0.5, variances=_VARIANCES, name="multibox_target",
    )  # fmt: skip
    classes = sym.SoftmaxOutput(
        scores,
        target[2],
        ignore_label=-1,
        use_ignore=True,
        multi_output=True,
        normalization="valid",
        name="cls_prob",
    )
    error = sym.smooth_l1(target[1] * (offsets - target[0]), scalar=1.0, name="loc_loss_")
    boxes = sym.contrib.MultiBoxDetection(
        classes, offsets, anchors, variances=_VARIANCES, name="detection", **suppression
    )
    return sym.Group([
        classes,
        sym.MakeLoss(error, normalization="valid", name="loc_loss"),
        sym.MakeLoss(target[2], grad_scale=0, name="cls_label"),
        sym.MakeLoss(boxes, grad_scale=0, name="det_out"),
    ])  # fmt: skip
