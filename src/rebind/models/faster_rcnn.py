"""Faster R-CNN with VGG-16 or a ResNet: proposed boxes, and the classes of what is in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .. import symbol as sym
from ..errors import ArgumentError
from ..symbol import Symbol
from .alexnet import hidden_units
from .layers import convolution, max_pool, relu
from .resnet import detector_features
from .vgg import convolutions

__all__ = ["fast_rcnn", "faster_rcnn", "region_proposal_network"]

_SCALES, _RATIOS, _STRIDE = (8.0, 16.0, 32.0), (0.5, 1.0, 2.0), 16
_ANCHORS = len(_SCALES) * len(_RATIOS)


@dataclass(frozen=True)
class _Body:
    """The network under the heads: what it makes of an image, and of the parts of that which `pooled` cuts out."""

    of_image: Callable[[Symbol], Symbol]
    of_regions: Callable[[Symbol], Symbol]
    pooled: int


def faster_rcnn(num_classes: int = 20, num_rois: int = 300, network: str = "vgg16") -> Symbol:
    """Faster R-CNN (Ren, 2015) for use: rois, class scores and box offsets of each, with the names of MXNet's example.

    Inputs are ``data`` (1, 3, height, width) and ``im_info`` (1, 3): height, width, scale.

    Parameters
    ----------
    num_classes
        Number of classes, without the background.
    num_rois
        How many boxes are proposed.
    network
        ``'vgg16'``, ``'resnet50'`` or ``'resnet101'``.

    Examples
    --------
    >>> faster_rcnn().list_outputs()
    ['rois_output', 'cls_prob_reshape_output', 'bbox_pred_reshape_output']
    """
    body = _body("faster_rcnn", network)
    features = body.of_image(sym.var("data"))
    scores, offsets = _proposal_layers(features)
    scores = sym.SoftmaxActivation(scores, mode="channel", name="rpn_cls_prob")
    scores = sym.Reshape(scores, shape=(0, 2 * _ANCHORS, -1, 0), name="rpn_cls_prob_reshape")
    rois = sym.contrib.Proposal(
        scores, offsets, sym.var("im_info"), feature_stride=_STRIDE, scales=_SCALES, ratios=_RATIOS,
        rpn_pre_nms_top_n=6000, rpn_post_nms_top_n=num_rois, threshold=0.7, rpn_min_size=_STRIDE, name="rois",
    )  # fmt: skip
    scores, offsets = _region_layers(body, features, rois, num_classes + 1)
    scores = sym.softmax(scores, axis=-1, name="cls_prob")
    return sym.Group([rois, *_by_image(scores, offsets, num_classes + 1)])


def region_proposal_network(network: str = "vgg16") -> Symbol:
    """The half of Faster R-CNN that proposes boxes, for training.

    Inputs are ``data``, ``label`` (1, 9 * height * width), ``bbox_target`` and ``bbox_weight`` (1, 36, height, width),
    with height and width a sixteenth of the image's. `network` is as for `faster_rcnn`.

    Examples
    --------
    >>> region_proposal_network().list_outputs()
    ['rpn_cls_prob_output', 'rpn_bbox_loss_output']
    """
    body = _body("region_proposal_network", network)
    scores, offsets = _proposal_layers(body.of_image(sym.var("data")))
    scores = sym.SoftmaxOutput(
        scores, sym.var("label"), multi_output=True, normalization="valid", use_ignore=True, ignore_label=-1,
        name="rpn_cls_prob",
    )  # fmt: skip
    error = sym.smooth_l1(offsets - sym.var("bbox_target"), scalar=3.0, name="rpn_bbox_loss_")
    loss = sym.MakeLoss(sym.var("bbox_weight") * error, grad_scale=1 / 256, name="rpn_bbox_loss")
    return sym.Group([scores, loss])


def fast_rcnn(num_classes: int = 20, num_rois: int = 128, network: str = "vgg16") -> Symbol:
    """The half of Faster R-CNN that classifies boxes, for training.

    Inputs are ``data``, ``rois`` (num_rois, 5), ``label`` (num_rois,), ``bbox_target`` and ``bbox_weight``
    (num_rois, 4 * classes), with the background as class 0. `network` is as for `faster_rcnn`.

    Examples
    --------
    >>> fast_rcnn().list_outputs()
    ['cls_prob_reshape_output', 'bbox_loss_reshape_output']
    """
    body = _body("fast_rcnn", network)
    features = body.of_image(sym.var("data"))
    scores, offsets = _region_layers(body, features, sym.var("rois"), num_classes + 1)
    scores = sym.SoftmaxOutput(scores, sym.var("label"), normalization="batch", name="cls_prob")
    error = sym.smooth_l1(offsets - sym.var("bbox_target"), scalar=1.0, name="bbox_loss_")
    loss = sym.MakeLoss(sym.var("bbox_weight") * error, grad_scale=1 / num_rois, name="bbox_loss")
    return sym.Group(_by_image(scores, loss, num_classes + 1))


def _body(who: str, network: str) -> _Body:
    if network == "vgg16":
        return _Body(_vgg_features, _vgg_hidden, 7)
    if network in ("resnet50", "resnet101"):
        return _Body(*detector_features(int(network.removeprefix("resnet"))), 14)
    raise ArgumentError(f"{who}: network must be 'vgg16', 'resnet50' or 'resnet101'; got {network!r}")


def _vgg_features(data: Symbol) -> Symbol:
    """``relu5_3`` of VGG-16."""
    for stage, count in ((1, 2), (2, 2), (3, 3), (4, 3)):
        data = max_pool(convolutions(data, stage, count), f"pool{stage}", 2, 2)
    return convolutions(data, 5, 3)


def _proposal_layers(data: Symbol) -> tuple[Symbol, Symbol]:
    """Scores (batch, 2, anchors * height, width) and offsets (batch, 4 * anchors, height, width)."""
    data = relu(convolution(data, "rpn_conv_3x3", 512, 3, pad=1, bias=True), "rpn_relu")
    scores = convolution(data, "rpn_cls_score", 2 * _ANCHORS, bias=True)
    offsets = convolution(data, "rpn_bbox_pred", 4 * _ANCHORS, bias=True)
    return sym.Reshape(scores, shape=(0, 2, -1, 0), name="rpn_cls_score_reshape"), offsets


def _vgg_hidden(data: Symbol) -> Symbol:
    return hidden_units(sym.Flatten(data, name="flatten"))


def _region_layers(body: _Body, features: Symbol, rois: Symbol, num_classes: int) -> tuple[Symbol, Symbol]:
    """Scores (rois, classes) and offsets (rois, 4 * classes)."""
    size = (body.pooled, body.pooled)
    data = sym.ROIPooling(features, rois, pooled_size=size, spatial_scale=1 / _STRIDE, name="roi_pool5")
    data = body.of_regions(data)
    return (
        sym.FullyConnected(data, num_hidden=num_classes, name="cls_score"),
        sym.FullyConnected(data, num_hidden=4 * num_classes, name="bbox_pred"),
    )


def _by_image(scores: Symbol, boxes: Symbol, num_classes: int) -> list[Symbol]:
    """Both with an axis of one image before the boxes."""
    names = f"{scores.name}_reshape", f"{boxes.name}_reshape"
    return [
        sym.Reshape(scores, shape=(1, -1, num_classes), name=names[0]),
        sym.Reshape(boxes, shape=(1, -1, 4 * num_classes), name=names[1]),
    ]
