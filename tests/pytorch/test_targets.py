"""What detectors train on, matching, rotated regions and statistics of a BatchNorm, in plain PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import rebind as mx


def anchors_and_labels(images: int) -> list[np.ndarray]:
    """Return anchors, labels of up to five objects, and predictions of three classes."""
    random = np.random.RandomState(images)
    low = random.uniform(0, 0.7, (1, 60, 2))
    anchors = np.concatenate([low, low + random.uniform(0.1, 0.3, (1, 60, 2))], 2)
    low = random.uniform(0, 0.7, (images, 6, 2))
    boxes = np.concatenate([low, low + random.uniform(0.1, 0.3, (images, 6, 2))], 2)
    labels = np.concatenate([random.randint(0, 2, (images, 6, 1)), boxes], 2)
    for image in range(images):
        labels[image, random.randint(0, 6) :] = -1
    return [each.astype(np.float32) for each in (anchors, labels, random.normal(size=(images, 3, 60)))]


@pytest.mark.parametrize("mining", [{}, {"negative_mining_ratio": 3.0, "minimum_negative_samples": 4}])
def test_multi_box_target(mining: dict[str, Any]) -> None:
    names = ("anchor", "label", "cls_pred")
    net = mx.sym.contrib.MultiBoxTarget(*map(mx.sym.var, names), overlap_threshold=0.3, **mining)
    module = mx.to_torch(net, {})
    assert list(module.mxnet_inputs) == list(names)
    for images in (1, 4):
        arrays = anchors_and_labels(images)
        expected = mx.nd.contrib.MultiBoxTarget(*map(mx.nd.array, arrays), overlap_threshold=0.3, **mining)
        for found, value in zip(module(*map(torch.from_numpy, arrays)), expected, strict=True):
            np.testing.assert_allclose(found.numpy(), value.asnumpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit.trace", "ignore::torch.jit.TracerWarning")
def test_targets_and_matches_exported_and_traced() -> None:
    names = ("anchor", "label", "cls_pred")
    target = mx.sym.contrib.MultiBoxTarget(*map(mx.sym.var, names), negative_mining_ratio=3.0)
    match = mx.sym.contrib.bipartite_matching(mx.sym.var("data"), threshold=0.1)
    dynamic = torch.export.Dim.DYNAMIC
    rows: list[tuple[Any, Any, Any]] = [
        (target, anchors_and_labels, ({}, {0: dynamic}, {0: dynamic})),
        (
            match,
            lambda n: [np.random.RandomState(n).uniform(size=(n, 6, 4)).astype(np.float32)],
            ({0: dynamic},),
        ),
    ]
    for net, arrays, free in rows:
        module = mx.to_torch(net, {}).eval()
        two, five = ([torch.from_numpy(array) for array in arrays(n)] for n in (2, 5))
        exported = torch.export.export(module, tuple(two), dynamic_shapes=free).module()
        traced = torch.jit.trace(module, tuple(two), check_trace=False)
        for network in (exported, traced):
            for found, expected in zip(network(*five), module(*five), strict=True):
                torch.testing.assert_close(found, expected)


def rotated(sampling_ratio: int) -> tuple[Any, np.ndarray, np.ndarray]:
    random = np.random.RandomState(0)
    data = random.normal(size=(2, 3, 12, 10)).astype(np.float32)
    centers, sizes = random.uniform(0, 12, (7, 2)), random.uniform(1, 14, (7, 2))
    rois = np.column_stack([random.randint(0, 2, 7), centers, sizes, random.uniform(0, 360, 7)]).astype("f")
    settings = {"pooled_size": (3, 2), "spatial_scale": 0.8, "sampling_ratio": sampling_ratio}
    return settings, data, rois


@pytest.mark.parametrize("sampling_ratio", [-1, 2])
def test_rotated_regions_and_their_gradient(sampling_ratio: int) -> None:
    settings, data, rois = rotated(sampling_ratio)
    array = mx.nd.array(data)
    array.attach_grad()
    with mx.autograd.record():
        expected = mx.nd.contrib.RROIAlign(array, mx.nd.array(rois), **settings)
    expected.backward()
    module = mx.to_torch(mx.sym.contrib.RROIAlign(mx.sym.var("data"), mx.sym.var("rois"), **settings), {})
    tensor = torch.from_numpy(data).requires_grad_()
    found = module(tensor, torch.from_numpy(rois))
    found.sum().backward()
    assert tensor.grad is not None
    np.testing.assert_allclose(found.detach().numpy(), expected.asnumpy(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(tensor.grad.numpy(), array.grad.asnumpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit.trace")
def test_rotated_regions_exported_and_refused_by_a_trace() -> None:
    settings, data, rois = rotated(-1)
    net = mx.sym.contrib.RROIAlign(mx.sym.var("data"), mx.sym.var("rois"), **settings)
    module = mx.to_torch(net, {}).eval()
    tensors = torch.from_numpy(data), torch.from_numpy(rois)
    free = ({}, {0: torch.export.Dim.DYNAMIC})
    exported = torch.export.export(module, tensors, dynamic_shapes=free).module()
    torch.testing.assert_close(exported(tensors[0], tensors[1][:3]), module(tensors[0], tensors[1][:3]))
    with pytest.raises(RuntimeError, match="cannot record a loop without a maximum number of steps"):
        torch.jit.trace(module, tensors)


@pytest.mark.parametrize("operator", ["BatchNorm", "BatchNorm_v1"])
@pytest.mark.parametrize("settings", [{}, {"use_global_stats": True}, {"fix_gamma": False, "eps": 0.1}])
def test_statistics_of_a_batch_norm(operator: str, settings: dict[str, Any]) -> None:
    net = getattr(mx.sym, operator)(mx.sym.var("data"), output_mean_var=True, name="norm", **settings)
    random = np.random.RandomState(0)
    data = random.normal(1, 2, (4, 3, 5)).astype(np.float32)
    exe = net.simple_bind(mx.cpu(), data=data.shape)
    for array in [*exe.arg_dict.values(), *exe.aux_dict.values()]:
        array[:] = mx.nd.array(random.uniform(0.5, 1.5, array.shape))
    params = {name: value.copy() for name, value in exe.arg_dict.items() if name != "data"}
    module = mx.to_torch(net, params, {name: value.copy() for name, value in exe.aux_dict.items()})
    for training in (True, False):
        expected = exe.forward(is_train=training, data=mx.nd.array(data))
        if training:
            exe.backward([each.ones_like() for each in expected])  # which moves MXNet's statistics
        for found, value in zip(module.train(training)(torch.from_numpy(data)), expected, strict=True):
            np.testing.assert_allclose(found.detach().numpy(), value.asnumpy(), rtol=1e-4, atol=1e-5)
    for name, value in (("running_mean", "norm_moving_mean"), ("running_var", "norm_moving_var")):
        moved = getattr(module.norm, name).numpy()
        np.testing.assert_allclose(moved, exe.aux_dict[value].asnumpy(), rtol=1e-5)
