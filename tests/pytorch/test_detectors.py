"""Suppression of boxes: in plain PyTorch, exported with a free batch, and traced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import rebind as mx


def detections(images: int, count: int, classes: int = 3) -> np.ndarray:
    """Return rows (class, score, left, top, right, bottom) that overlap a lot."""
    random = np.random.RandomState(count)
    low = random.uniform(0, 0.8, (images, count, 2))
    size = random.uniform(0.05, 0.3, (images, count, 2))
    kind = random.randint(0, classes, (images, count, 1))
    scores = random.uniform(size=(images, count, 1))
    return np.concatenate([kind, scores, low, low + size], 2).astype(np.float32)


def suppressed(**settings: Any) -> Any:
    return mx.sym.contrib.box_nms(mx.sym.var("data"), overlap_thresh=0.4, id_index=0, **settings)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit.trace", "ignore::torch.jit.TracerWarning")
def test_box_nms_exported_and_traced() -> None:
    module = mx.to_torch(suppressed(topk=40), {}).eval()
    exported = torch.export.export(
        module, (torch.from_numpy(detections(2, 100)),), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},)
    ).module()
    traced = torch.jit.trace(module, (torch.from_numpy(detections(2, 100)[::-1].copy()),), check_trace=False)
    for images in (2, 5):
        data = detections(images, 100)
        expected = mx.nd.contrib.box_nms(mx.nd.array(data), overlap_thresh=0.4, id_index=0, topk=40).asnumpy()
        for network in (module, exported, traced):
            np.testing.assert_array_equal(network(torch.from_numpy(data)).numpy(), expected)


def test_gradient_is_that_of_the_boxes_that_stay() -> None:
    data = detections(2, 30)
    settings = {"overlap_thresh": 0.4, "id_index": 0, "out_format": "center"}
    array = mx.nd.array(data)
    array.attach_grad()
    with mx.autograd.record():
        out = mx.nd.contrib.box_nms(array, **settings)
    weights = np.random.RandomState(0).normal(size=out.shape).astype(np.float32)
    out.backward(mx.nd.array(weights))
    tensor = torch.from_numpy(data).requires_grad_()
    module = mx.to_torch(mx.sym.contrib.box_nms(mx.sym.var("data"), **settings), {})
    module(tensor).backward(torch.from_numpy(weights))
    assert tensor.grad is not None
    np.testing.assert_allclose(tensor.grad.numpy(), array.grad.asnumpy(), rtol=1e-6)


def test_many_boxes() -> None:
    data = detections(1, 8732, classes=20)
    module = mx.to_torch(suppressed(topk=400), {})
    expected = mx.nd.contrib.box_nms(mx.nd.array(data), overlap_thresh=0.4, id_index=0, topk=400).asnumpy()
    np.testing.assert_array_equal(module(torch.from_numpy(data)).numpy(), expected)


def small_detector() -> Any:
    """SSD in small: two maps, whose anchors are joined, three classes."""
    data, scores, offsets, anchors = mx.sym.var("data"), [], [], []
    for number in range(2):
        data = mx.sym.Convolution(
            data, kernel=(3, 3), stride=(2, 2), pad=(1, 1), num_filter=8, name=f"c{number}"
        )
        for found, name, channels in ((scores, "cls", 3 * 3), (offsets, "loc", 3 * 4)):
            head = mx.sym.Convolution(
                data, kernel=(3, 3), pad=(1, 1), num_filter=channels, name=f"{name}{number}"
            )
            found.append(mx.sym.Flatten(mx.sym.transpose(head, axes=(0, 2, 3, 1))))
        prior = mx.sym.contrib.MultiBoxPrior(data, sizes=(0.2 + 0.3 * number, 0.4), ratios=(1, 2))
        anchors.append(mx.sym.Flatten(prior))
    joined = mx.sym.Reshape(mx.sym.Concat(*scores, dim=1), shape=(0, -1, 3))
    return mx.sym.contrib.MultiBoxDetection(
        mx.sym.softmax(mx.sym.transpose(joined, axes=(0, 2, 1)), axis=1),
        mx.sym.Concat(*offsets, dim=1),
        mx.sym.Reshape(mx.sym.Concat(*anchors, dim=1), shape=(0, -1, 4)),
        threshold=0.3,
        nms_topk=50,
    )


def regions() -> Any:
    """The proposals of a region proposal network in small, and what is pooled from them."""
    data = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), stride=(4, 4), num_filter=4, name="c0")
    scores = mx.sym.Convolution(data, kernel=(1, 1), num_filter=2 * 4, name="cls")
    scores = mx.sym.softmax(mx.sym.Reshape(scores, shape=(0, 2, -1, 0)), axis=1)
    rois = mx.sym.contrib.MultiProposal(
        mx.sym.Reshape(scores, shape=(0, 8, -1, 0)),
        mx.sym.Convolution(data, kernel=(1, 1), num_filter=4 * 4, name="loc"),
        mx.sym.BlockGrad(mx.sym.var("im_info")),
        feature_stride=4, scales=(1.0, 2.0), ratios=(0.5, 1.0), rpn_post_nms_top_n=12, rpn_min_size=4,
    )  # fmt: skip
    return mx.sym.Group([rois, mx.sym.ROIPooling(data, rois, pooled_size=(2, 2), spatial_scale=0.25)])


@pytest.mark.slow
@pytest.mark.parametrize("build", [suppressed, small_detector])
def test_detections_come_back(build: Any) -> None:
    """A loop of PyTorch becomes one of MXNet, for any batch."""
    with mx.name.NameManager():
        net = build()
    random = np.random.RandomState(0)
    batches = [
        detections(size, 40, classes=3) if build is suppressed else random.uniform(size=(size, 3, 32, 32))
        for size in (2, 3)
    ]
    shapes, _, _ = net.infer_shape(data=batches[0].shape)
    params = {
        name: mx.nd.array(random.uniform(-0.3, 0.3, shape))
        for name, shape in zip(net.list_arguments(), shapes, strict=True)
        if name != "data"
    }
    module = mx.to_torch(net, params, shapes={"data": (0, *shapes[0][1:])}).eval()
    symbol, arg_params, _ = mx.from_torch(module, torch.from_numpy(batches[0]).float())
    for batch in batches:
        data = mx.nd.array(batch)
        (found,), (expected,) = symbol.eval(data=data, **arg_params), net.eval(data=data, **params)
        assert (expected.asnumpy()[..., 0] >= 0).any() and (expected.asnumpy()[..., 0] < 0).any()
        np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("build", [small_detector, regions])
def test_networks_with_a_free_batch(build: Any) -> None:
    with mx.name.NameManager():
        net = build()
    shapes = {"data": (3, 3, 32, 32)}
    shapes |= {"im_info": (3, 3)} if "im_info" in net.list_arguments() else {}
    exe = net.simple_bind(mx.cpu(), **shapes)
    random = np.random.RandomState(0)
    for array in exe.arg_dict.values():
        array[:] = mx.nd.array(random.uniform(-0.3, 0.3, array.shape))
    exe.arg_dict["data"][:] = mx.nd.array(random.uniform(size=shapes["data"]))
    if "im_info" in shapes:
        exe.arg_dict["im_info"][:] = mx.nd.array([[32, 32, 1]] * 3)
    params = {name: value for name, value in exe.arg_dict.items() if name not in shapes}
    module = mx.to_torch(net, params, shapes={name: (0, *shape[1:]) for name, shape in shapes.items()}).eval()
    inputs = {name: torch.from_numpy(exe.arg_dict[name].asnumpy()) for name in module.mxnet_inputs.values()}
    expected = [output.asnumpy() for output in exe.forward()]
    two = {name: value[:2] for name, value in inputs.items()}
    free = {name: {0: torch.export.Dim.DYNAMIC} for name in inputs}
    exported = torch.export.export(module, (), two, dynamic_shapes=free).module()
    for network in (module, exported):
        outputs = network(**inputs)
        outputs = (outputs,) if isinstance(outputs, torch.Tensor) else outputs
        for output, value in zip(outputs, expected, strict=True):
            np.testing.assert_allclose(output.detach().numpy(), value, rtol=1e-5, atol=1e-5)
