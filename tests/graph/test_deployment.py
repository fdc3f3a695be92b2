"""What of a network is used after training: chosen outputs, what losses give, and what is left out, said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind.graph import deployed
from rebind.symbol import Symbol


def scores(name: str = "fc") -> Any:
    return mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=6, name=name)


def maps() -> Any:
    return mx.sym.Convolution(mx.sym.var("data"), kernel=(1, 1), num_filter=3, name="conv")


LABEL = mx.sym.var("label")
VECTORS, PICTURES = {"data": (2, 5)}, {"data": (2, 4, 3, 2)}

HEADS: dict[str, tuple[Callable[[], Any], dict[str, tuple[int, ...]]]] = {
    "softmax": (lambda: mx.sym.SoftmaxOutput(scores(), name="out"), VECTORS),
    "softmax of channels": (lambda: mx.sym.SoftmaxOutput(maps(), multi_output=True, name="out"), PICTURES),
    "softmax of the last axis": (
        lambda: mx.sym.SoftmaxOutput(maps(), preserve_shape=True, name="out"),
        PICTURES,
    ),
    "softmax of all axes": (lambda: mx.sym.SoftmaxOutput(maps(), name="out"), PICTURES),
    "both flags": (
        lambda: mx.sym.SoftmaxOutput(maps(), multi_output=True, preserve_shape=True, name="out"),
        PICTURES,
    ),
    "linear": (lambda: mx.sym.LinearRegressionOutput(scores(), name="out"), VECTORS),
    "logistic": (lambda: mx.sym.LogisticRegressionOutput(scores(), name="out"), VECTORS),
    "absolute": (lambda: mx.sym.MAERegressionOutput(scores(), name="out"), VECTORS),
    "hinge": (lambda: mx.sym.SVMOutput(scores(), name="out"), VECTORS),
    "loss without a label": (lambda: mx.sym.MakeLoss(scores(), name="out"), VECTORS),
    "sparse": (lambda: mx.sym.IdentityAttachKLSparseReg(mx.sym.sigmoid(scores()), name="out"), VECTORS),
    "characters": (lambda: mx.sym.WarpCTC(scores(), label_length=1, input_length=2, name="out"), VECTORS),
}


def run(symbol: Any, shapes: dict[str, tuple[int, ...]]) -> list[np.ndarray]:
    exe = symbol.simple_bind(mx.cpu(), grad_req="null", **shapes)
    random = np.random.RandomState(0)
    for name, array in exe.arg_dict.items():
        if not name.endswith("label"):
            array[:] = random.standard_normal(array.shape)
    return [output.asnumpy() for output in exe.forward()]


@pytest.mark.parametrize("known", [True, False], ids=["shapes", "no shapes"])
@pytest.mark.parametrize("name", HEADS)
def test_heads_give_what_they_give_in_inference(name: str, known: bool) -> None:
    make, shapes = HEADS[name]
    symbol = make()
    labels = {"out_label": (1,)} if name == "characters" else {}
    result = deployed(symbol.graph, shapes if known else None).graph
    assert result.output_names == symbol.graph.output_names
    assert not any(variable.name.endswith("label") for variable in result.variables)
    for wanted, found in zip(run(symbol, shapes | labels), run(Symbol(result), shapes), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_data_of_two_axes_has_a_plain_softmax() -> None:
    net = mx.sym.SoftmaxOutput(scores(), name="out")
    assert repr(deployed(net.graph, {"data": (0, 5)}).graph.nodes[-1]) == "<softmax 'out'>"


def detector() -> Any:
    """Return the outputs of an SSD while it is trained."""
    features = mx.sym.Convolution(
        mx.sym.var("data"), kernel=(3, 3), pad=(1, 1), num_filter=4, name="features"
    )
    anchors = mx.sym.contrib.MultiBoxPrior(features, sizes=(0.5,), name="anchors")
    classes = mx.sym.Convolution(features, kernel=(1, 1), num_filter=3, name="class_pred")
    classes = mx.sym.Reshape(classes, shape=(0, 3, -1), name="classes")
    boxes = mx.sym.Flatten(
        mx.sym.Convolution(features, kernel=(1, 1), num_filter=4, name="box_pred"), name="boxes"
    )
    target = mx.sym.contrib.MultiBoxTarget(anchors, LABEL, classes, name="target")
    cls_prob = mx.sym.SoftmaxOutput(classes, target[2], multi_output=True, use_ignore=True, name="cls_prob")
    loss = mx.sym.smooth_l1(target[1] * (boxes - target[0]), scalar=1.0, name="smooth")
    loc_loss = mx.sym.MakeLoss(loss, grad_scale=1.0, normalization="valid", name="loc_loss")
    cls_label = mx.sym.MakeLoss(target[2], grad_scale=0, name="cls_label")
    det = mx.sym.contrib.MultiBoxDetection(cls_prob, boxes, anchors, name="detection")
    return mx.sym.Group([cls_prob, loc_loss, cls_label, mx.sym.MakeLoss(det, grad_scale=0, name="det_out")])


def test_a_detector_gives_its_detections() -> None:
    result = deployed(detector().graph)
    assert result.graph.output_names == ("det_out_output",)
    assert result.left_out == (
        "SoftmaxOutput 'cls_prob' gives its softmax, without the gradient of its loss.",
        "Output 'cls_prob_output' is left out: it is the output of a loss layer, and another output uses it.",
        "Output 'loc_loss_output' is left out: it depends on labels.",
        "Output 'cls_label_output' is left out: it depends on labels.",
        "Input 'label' is left out: nothing uses it.",
    )
    assert "MultiBoxTarget" not in {node.operator.name for node in result.graph.nodes if node.operator}


def autoencoder() -> Any:
    data = mx.sym.var("data")
    code = mx.sym.FullyConnected(data, num_hidden=2, name="code")
    decoded = mx.sym.FullyConnected(code, num_hidden=5, name="decoded")
    return mx.sym.LinearRegressionOutput(decoded, data, name="out")


def face_recognition() -> Any:
    """Return ArcFace's outputs: the angle to the right class has a margin, so that scores depend on the label."""
    face = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="fc1")
    label = mx.sym.var("softmax_label")
    right = mx.sym.one_hot(label, depth=6)
    logits = mx.sym.FullyConnected(face, num_hidden=6, name="fc7") - 0.5 * right
    softmax = mx.sym.SoftmaxOutput(logits, label, name="softmax")
    return mx.sym.Group([mx.sym.BlockGrad(face, name="embedding"), softmax])


def with_loss_of_data() -> Any:
    hidden = scores()
    return mx.sym.Group(
        [
            mx.sym.softmax(hidden, name="out"),
            mx.sym.MakeLoss(mx.sym.sum(mx.sym.square(hidden)), name="penalty"),
        ]
    )


@pytest.mark.parametrize(
    ("make", "outputs", "inputs"),
    [
        (lambda: mx.sym.MakeLoss(mx.sym.smooth_l1(scores() - LABEL), name="l"), ["fc_output"], ["data"]),
        (lambda: mx.sym.softmax_cross_entropy(scores(), LABEL, name="l"), ["fc_output"], ["data"]),
        (
            lambda: mx.sym.MakeLoss(0 - mx.sym.pick(mx.sym.log_softmax(scores(), name="log"), LABEL)),
            ["log_output"],
            ["data"],
        ),
        (
            lambda: mx.sym.ctc_loss(mx.sym.transpose(maps(), name="steps"), mx.sym.var("words"), name="l"),
            ["steps_output"],
            ["data"],
        ),
        (autoencoder, ["out_output"], ["data"]),
        (face_recognition, ["embedding_output"], ["data"]),
        (with_loss_of_data, ["out_output"], ["data"]),
        (lambda: mx.sym.make_loss(scores(), name="l"), ["l_loss"], ["data"]),
        (lambda: mx.sym.Group([scores("a"), scores("b")]), ["a_output", "b_output"], ["data", "data"]),
        (
            lambda: mx.sym.SoftmaxOutput(
                scores(), mx.sym.reshape(mx.sym.var("words"), shape=(-1,)), name="out"
            ),
            ["out_output"],
            ["data"],
        ),
    ],
)
def test_outputs_that_are_predictions(make: Callable[[], Any], outputs: list[str], inputs: list[str]) -> None:
    result = deployed(make().graph).graph
    assert list(result.output_names) == outputs
    layers = {f"{node.name}_{kind}" for node in result.nodes for kind in ("weight", "bias")}
    assert [node.name for node in result.variables if node.name not in layers] == inputs


def test_chosen_outputs() -> None:
    graph = detector().graph
    result = deployed(graph, outputs=["cls_prob", "loc_loss_output"])
    assert result.graph.output_names == ("cls_prob_output", "loc_loss_output")
    assert "label" in {node.name for node in result.graph.variables}  # the loss needs it
    with pytest.raises(ValueError, match=r"^outputs: 'cls_prop' must be .*; did you mean 'cls_prob'"):
        deployed(graph, outputs=["cls_prop"])
    with pytest.raises(
        mx.MXNetError, match="deployed: outputs must be a list or None; got the text 'cls_prob'"
    ):
        deployed(graph, outputs="cls_prob")


def test_a_network_without_losses_is_as_it_was() -> None:
    graph = mx.sym.Group([mx.sym.relu(scores(), name="a"), mx.sym.var("b")]).graph
    result = deployed(graph)
    assert result.graph.outputs == graph.outputs and not result.left_out


def test_features_on_the_way_to_another_output_stay() -> None:
    features = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="features")
    scores = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(features, num_hidden=2, name="fc"), name="softmax")
    result = deployed(mx.sym.Group([features, scores]).graph)
    assert result.graph.output_names == ("features_output", "softmax_output")
