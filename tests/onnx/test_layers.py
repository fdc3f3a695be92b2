"""Layers and losses in ONNX give what rebind gives, in all opsets, with and without free sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
import pytest
from tests.onnx.running import exported, in_onnxruntime, in_reference

import rebind as mx
from rebind.onnx import to_onnx

data = mx.sym.var("data")
IMAGE = (2, 4, 7, 9)


def conv(**parameters: Any) -> mx.sym.Symbol:
    return mx.sym.Convolution(data, name="conv", **parameters)


def deconv(**parameters: Any) -> mx.sym.Symbol:
    return mx.sym.Deconvolution(data, name="deconv", **parameters)


def pool(**parameters: Any) -> mx.sym.Symbol:
    return mx.sym.Pooling(data, name="pool", **parameters)


#: Each symbol with the shape of its data.
CASES = {
    "dense without bias": (mx.sym.FullyConnected(data, num_hidden=3, no_bias=True), (2, 4, 5)),
    "dense of the last axis": (mx.sym.FullyConnected(data, num_hidden=3, flatten=False), (2, 4, 5)),
    "conv 1d": (conv(kernel=(3,), num_filter=6, stride=(2,), pad=(1,)), (2, 4, 9)),
    "conv groups": (conv(kernel=(3, 2), num_filter=6, num_group=2, dilate=(2, 1)), IMAGE),
    "conv 3d": (conv(kernel=(2, 2, 2), num_filter=3, no_bias=True), (2, 4, 5, 4, 3)),
    "conv nhwc": (conv(kernel=(3, 3), num_filter=3, layout="NHWC", stride=(1, 2)), (2, 7, 9, 4)),
    "conv v1": (mx.sym.Convolution_v1(data, kernel=(3, 3), num_filter=3), IMAGE),
    "deconv 1d": (deconv(kernel=(4,), num_filter=3, stride=(2,), pad=(1,), adj=(1,)), (2, 4, 5)),
    "deconv groups": (
        deconv(kernel=(3, 3), num_filter=6, num_group=2, stride=(2, 2), dilate=(1, 2), no_bias=False),
        IMAGE,
    ),
    "deconv 3d": (deconv(kernel=(2, 2, 2), num_filter=3, stride=(2, 2, 2)), (2, 4, 3, 2, 3)),
    "deconv target": (
        deconv(kernel=(4, 4), num_filter=3, stride=(2, 2), target_shape=(13, 16)),
        IMAGE,
    ),
    "deconv nhwc": (deconv(kernel=(3, 3), num_filter=3, layout="NHWC", stride=(2, 2)), (2, 7, 9, 4)),
    **{
        f"pool {kind} {convention} {size}": (
            pool(
                kernel=(size, size),
                pool_type=kind,
                pooling_convention=convention,
                stride=(2, 3),
                pad=(0, 0) if convention == "same" else (pad, pad),
                **({"p_value": 3} if kind == "lp" else {}),
            ),
            IMAGE,
        )
        for kind in ("max", "avg", "sum", "lp")
        for convention in ("valid", "full", "same")
        for size, pad in ((2, 1), (3, 1), (2, 2))
    },
    **{
        f"pool mean of data {convention}": (
            pool(
                kernel=(3, 3),
                pool_type="avg",
                pooling_convention=convention,
                stride=(2, 2),
                pad=(pad, pad),
                count_include_pad=False,
            ),
            IMAGE,
        )
        for convention, pad in (("valid", 1), ("full", 1), ("full", 2), ("valid", 3), ("same", 0))
    },
    "pool 1d": (pool(kernel=(3,), stride=(2,), pad=(1,), pool_type="avg"), (2, 4, 9)),
    "pool 3d": (pool(kernel=(2, 2, 3), stride=(2, 2, 2), pooling_convention="full"), (2, 4, 5, 4, 6)),
    "pool nhwc": (pool(kernel=(3, 3), layout="NHWC", pooling_convention="full"), (2, 7, 9, 4)),
    **{
        f"pool global {kind}": (
            pool(global_pool=True, pool_type=kind, **({"p_value": 2} if kind == "lp" else {})),
            IMAGE,
        )
        for kind in ("max", "avg", "sum", "lp")
    },
    **{
        f"pool v1 {kind} {convention}": (
            mx.sym.Pooling_v1(
                data, kernel=(3, 2), stride=(2, 3), pad=(1, 1), pool_type=kind, pooling_convention=convention
            ),
            IMAGE,
        )
        for kind in ("max", "avg", "sum")
        for convention in ("valid", "full")
    },
    "batch norm": (mx.sym.BatchNorm(data, fix_gamma=False, eps=1e-5), IMAGE),
    "batch norm of a fixed gamma": (mx.sym.BatchNorm(data), IMAGE),
    "batch norm of the last axis": (mx.sym.BatchNorm(data, axis=-1, fix_gamma=False), IMAGE),
    "batch norm of the first axis": (mx.sym.BatchNorm(data, axis=0, fix_gamma=False), (2, 3, 4)),
    "batch norm of rows": (mx.sym.BatchNorm(data, use_global_stats=True), (2, 5)),
    "batch norm with statistics": (mx.sym.BatchNorm(data, output_mean_var=True), IMAGE),
    "batch norm v1": (mx.sym.BatchNorm_v1(data, output_mean_var=True, fix_gamma=False), IMAGE),
    "sync batch norm": (mx.sym.contrib.SyncBatchNorm(data, key="k", output_mean_var=True), IMAGE),
    "batch norm with relu": (mx.sym.contrib.BatchNormWithReLU(data, fix_gamma=False), IMAGE),
    "layer norm": (mx.sym.LayerNorm(data), (2, 3, 5)),
    "layer norm of an inner axis": (mx.sym.LayerNorm(data, axis=1), (2, 3, 5)),
    "layer norm with statistics": (mx.sym.LayerNorm(data, output_mean_var=True), (2, 3, 5)),
    "group norm": (mx.sym.GroupNorm(data, num_groups=2), IMAGE),
    "group norm with statistics": (mx.sym.GroupNorm(data, num_groups=2, output_mean_var=True), IMAGE),
    "instance norm": (mx.sym.InstanceNorm(data), IMAGE),
    **{
        f"l2 {mode}": (mx.sym.L2Normalization(data, mode=mode), IMAGE)
        for mode in ("instance", "channel", "spatial")
    },
    "l2 of numbers": (mx.sym.L2Normalization(data), (3,)),
    "lrn": (mx.sym.LRN(data, nsize=3, alpha=0.1), IMAGE),
    "lrn of 3 axes": (mx.sym.LRN(data, nsize=5, beta=0.5), (2, 6, 3)),
    "dropout": (mx.sym.Dropout(data, p=0.9), (2, 3)),
    **{
        f"leaky {kind}": (mx.sym.LeakyReLU(data, act_type=kind), IMAGE)
        for kind in ("leaky", "elu", "selu", "gelu", "prelu", "rrelu")
    },
    "prelu of rows": (mx.sym.LeakyReLU(data, act_type="prelu"), (2, 3)),
    "prelu of one slope": (mx.sym.LeakyReLU(data, mx.sym.var("slope", shape=(1,)), act_type="prelu"), IMAGE),
    "softmax of temperature": (mx.sym.softmax(data, axis=1, temperature=2.5), (2, 3, 4)),
    "softmin": (mx.sym.softmin(data, axis=1, temperature=0.5), (2, 3, 4)),
    "log softmax": (mx.sym.log_softmax(data, axis=0), (2, 3, 4)),
    "softmax activation": (mx.sym.SoftmaxActivation(data), (2, 3, 4)),
    "softmax activation of channels": (mx.sym.SoftmaxActivation(data, mode="channel"), IMAGE),
    "softmax output": (mx.sym.SoftmaxOutput(data, name="softmax"), (2, 3)),
    "warp ctc": (mx.sym.WarpCTC(data, label_length=2, input_length=3, name="warp"), (6, 4)),
    "softmax output of instances": (mx.sym.SoftmaxOutput(data, name="softmax"), (2, 3, 4)),
    "softmax output of positions": (mx.sym.SoftmaxOutput(data, multi_output=True), IMAGE),
    "softmax output of the last axis": (mx.sym.SoftmaxOutput(data, preserve_shape=True), (2, 3, 4)),
    "svm output": (mx.sym.SVMOutput(data), (2, 3)),
    "logistic": (mx.sym.LogisticRegressionOutput(data), (2, 3)),
    "embedding": (mx.sym.Embedding(data, input_dim=2, output_dim=3, name="embed"), (4, 3)),
}


def bound(symbol: mx.sym.Symbol, shape: tuple[int, ...]):
    """Return parameters, inputs, and what rebind computes."""
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", data=shape)
    random = np.random.RandomState(0)
    arrays = executor.arg_dict | executor.aux_dict
    for name, array in arrays.items():
        values = random.standard_normal(array.shape)
        array[:] = np.abs(values) + 0.1 if name.endswith("var") else values
    params = {name: array for name, array in arrays.items() if name != "data" and not name.endswith("label")}
    outputs = [output.asnumpy() for output in executor.forward()]
    return params, {"data": arrays["data"].asnumpy()}, outputs


def assert_near(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


@pytest.mark.filterwarnings("ignore:Embedding. data must hold indices")
@pytest.mark.parametrize("opset", [13, 17, 21, 26])
@pytest.mark.parametrize("name", CASES)
def test_in_onnxruntime(name: str, opset: int) -> None:
    params, inputs, expected = bound(*CASES[name])
    model = exported(CASES[name][0], params, inputs, free=False, opset=opset)
    for found, wanted in zip(in_onnxruntime(model, inputs), expected, strict=True):
        assert_near(found, wanted)


@pytest.mark.filterwarnings("ignore:Embedding. data must hold indices")
@pytest.mark.parametrize(
    "name", [name for name in CASES if "first axis" not in name]
)  # which the parameters have
def test_a_free_batch(name: str) -> None:
    symbol, shape = CASES[name]
    params, inputs, expected = bound(symbol, shape)
    model = exported(symbol, params, inputs)
    twice = {"data": np.concatenate([inputs["data"]] * 2)}
    for found, wanted in zip(in_onnxruntime(model, inputs), expected, strict=True):
        assert_near(found, wanted)
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", data=twice["data"].shape)
    executor.copy_params_from(
        {k: v for k, v in params.items() if k in executor.arg_dict},
        {k: v for k, v in params.items() if k in executor.aux_dict},
    )
    for found, wanted in zip(in_onnxruntime(model, twice), executor.forward(**twice), strict=True):
        assert_near(found, wanted.asnumpy())


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name][1] == IMAGE])
def test_free_height_and_width(name: str) -> None:
    symbol, _ = CASES[name]
    params, inputs, expected = bound(symbol, IMAGE)
    model = ir.to_proto(to_onnx(symbol, params, {"data": ("batch", 4, "height", "width")}))
    for found, wanted in zip(in_onnxruntime(model, inputs), expected, strict=True):
        assert_near(found, wanted)


#: What the reference itself computes otherwise than ONNX's documents say, or not at all.
FAULTS_OF_REFERENCE = {
    "deconv groups": "its ConvTranspose fails for groups with dilations",
    "deconv target": "its ConvTranspose fails for output_shape",
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Embedding. data must hold indices")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.xfail(reason=FAULTS_OF_REFERENCE[name], strict=True))
        if name in FAULTS_OF_REFERENCE
        else name
        for name in CASES
    ],
)
def test_in_reference(name: str) -> None:
    params, inputs, expected = bound(*CASES[name])
    model = exported(CASES[name][0], params, inputs, free=False)
    for found, wanted in zip(in_reference(model, inputs), expected, strict=True):
        assert_near(found, wanted)


@pytest.mark.parametrize("axes", [(), (2, 3)])
def test_dropout_that_always_drops(axes: tuple[int, ...]) -> None:
    symbol = mx.sym.Dropout(data, p=0.75, mode="always", axes=axes)
    inputs = {"data": np.ones((200, 50, 2, 2), "float32")}
    (found,) = in_onnxruntime(exported(symbol, {}, inputs), inputs)
    assert set(np.unique(found)) == {0, 4}
    assert found.mean() == pytest.approx(1, abs=0.1)
    if axes:
        assert (found.min(axes) == found.max(axes)).all()
