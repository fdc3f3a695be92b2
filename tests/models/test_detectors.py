"""The detectors of `mx.models`: anchors, outputs and names as published."""

from __future__ import annotations

import numpy as np
import pytest

import rebind as mx


def test_ssd_has_the_anchors_of_the_paper() -> None:
    anchors = mx.models.ssd().get_internals()["multibox_anchors_output"]
    assert anchors.infer_shape(data=(1, 3, 300, 300))[1] == [(1, 8732, 4)]


@pytest.mark.parametrize("network", ["vgg16_reduced", "resnet50"])
def test_ssd_has_the_outputs_and_labels_of_training(network: str) -> None:
    symbol = mx.models.ssd(network=network, training=True)
    assert symbol.list_outputs() == [
        "cls_prob_output",
        "loc_loss_output",
        "cls_label_output",
        "det_out_output",
    ]
    shapes = symbol.infer_shape(data=(2, 3, 300, 300), label=(2, 3, 5))[1]
    assert shapes[0][:2] == (2, 21) and shapes[3] == (2, shapes[0][2], 6)


def test_ssd_has_the_names_of_published_checkpoints() -> None:
    names = set(mx.models.ssd().list_arguments())
    assert {
        "relu4_3_scale", "relu4_3_loc_pred_conv_weight", "relu7_cls_pred_conv_bias", "fc7_weight",
        "multi_feat_2_conv_1x1_conv_weight", "multi_feat_5_conv_3x3_relu_loc_pred_conv_weight",
    } <= names  # fmt: skip
    names = set(mx.models.ssd(network="resnet50").list_arguments())
    assert {"_plus12_loc_pred_conv_weight", "_plus15_cls_pred_conv_weight", "bn_data_beta"} <= names


def test_training_and_use_of_ssd_have_equal_parameters() -> None:
    training = mx.models.ssd(training=True).list_arguments()
    assert [name for name in training if name != "label"] == mx.models.ssd().list_arguments()


def test_retinaface_has_scores_boxes_and_points_at_three_strides() -> None:
    symbol = mx.models.retinaface()
    assert {"mobilenet0_conv26_weight", "rf_c2_aggr_bn_gamma", "rf_c1_det_context_conv3_2_weight"} <= set(
        symbol.list_arguments()
    )
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", data=(1, 3, 96, 64))
    for array in executor.arg_arrays:
        array[:] = 0.01
    outputs = executor.forward()
    assert [output.shape for output in outputs] == [
        (1, channels, 96 // stride, 64 // stride) for stride in (32, 16, 8) for channels in (4, 8, 20)
    ]
    assert np.isfinite(outputs[-1].asnumpy()).all()


def test_retinaface_r50_has_insightface_s_names() -> None:
    names = mx.models.retinaface("R50").list_arguments()
    assert {"ssh_m3_det_conv1_weight", "ssh_c3_lateral_weight", "stage4_unit1_conv1_weight"} <= set(names)


@pytest.mark.parametrize("network", ["vgg16", "resnet50"])
def test_faster_rcnn_proposes_and_classifies(network: str) -> None:
    symbol = mx.models.faster_rcnn(num_classes=2, num_rois=5, network=network)
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", data=(1, 3, 64, 80), im_info=(1, 3))
    for array in executor.arg_arrays:
        array[:] = 0.01
    executor.arg_dict["im_info"][:] = [[64, 80, 1]]
    assert [output.shape for output in executor.forward()] == [(5, 5), (1, 5, 3), (1, 5, 12)]


def test_faster_rcnn_with_resnet_has_the_names_of_mxnet_s_example() -> None:
    symbol = mx.models.faster_rcnn(network="resnet101")
    assert {
        "bn_data_gamma", "conv0_weight", "stage3_unit23_conv3_weight", "stage4_unit1_sc_weight", "bn1_beta",
        "rpn_conv_3x3_weight", "cls_score_bias", "bbox_pred_weight",
    } <= set(symbol.list_arguments())  # fmt: skip
    shapes = symbol.get_internals().infer_shape(data=(1, 3, 64, 80), im_info=(1, 3))[1]
    sizes = dict(zip(symbol.get_internals().list_outputs(), shapes))
    assert sizes["_plus29_output"] == (1, 1024, 4, 5) and sizes["roi_pool5_output"] == (300, 1024, 14, 14)
    assert sizes["_plus32_output"] == (300, 2048, 7, 7)
    used = {node.operator.name: node.params for node in symbol.graph.nodes if not node.is_variable}
    assert used["BatchNorm"].use_global_stats


@pytest.mark.parametrize("network", ["vgg16", "resnet101"])
def test_the_halves_of_faster_rcnn_have_its_parameters(network: str) -> None:
    inputs = {"data", "im_info", "label", "rois", "bbox_target", "bbox_weight"}
    halves = (mx.models.region_proposal_network(network), mx.models.fast_rcnn(network=network))
    names = {name for half in halves for name in half.list_arguments()} - inputs
    assert names == set(mx.models.faster_rcnn(network=network).list_arguments()) - inputs
    sizes = {"label": (1, 9 * 4 * 5), "bbox_target": (1, 36, 4, 5), "bbox_weight": (1, 36, 4, 5)}
    assert halves[0].infer_shape(data=(1, 3, 64, 80), **sizes)[1] == [(1, 2, 36, 5), (1, 36, 4, 5)]
    sizes = {"rois": (7, 5), "label": (7,), "bbox_target": (7, 84), "bbox_weight": (7, 84)}
    assert halves[1].infer_shape(data=(1, 3, 64, 80), **sizes)[1] == [(1, 7, 21), (1, 7, 84)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mx.models.ssd(data_size=400), "ssd: data_size must be 300 or 512; got 400"),
        (
            lambda: mx.models.ssd(network="vgg"),
            "ssd: network must be 'vgg16_reduced', 'resnet50' or 'resnet101'",
        ),
        (
            lambda: mx.models.fast_rcnn(network="vgg"),
            "fast_rcnn: network must be 'vgg16', 'resnet50' or 'resnet",
        ),
        (lambda: mx.models.retinaface("R100"), "retinaface: network must be 'mnet.25' or 'R50'; got 'R100'"),
    ],
)
def test_mistakes_meet_a_sentence(call, message: str) -> None:
    with pytest.raises(mx.MXNetError, match=message):
        call()
