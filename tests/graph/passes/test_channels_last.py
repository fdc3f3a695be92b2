"""Images and volumes with their channels last in memory: the same numbers, in the order of the axes for who looks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.graph import Facts, Target, infer_shapes, infer_types
from rebind.graph.passes import CHANNELS_LAST, optimize

X = mx.sym.var("x")
IMAGE, VOLUME = (2, 4, 9, 8), (2, 4, 5, 9, 8)


def conv(x: Any, name: str, filters: int = 4, **given: Any) -> Any:
    return mx.sym.Convolution(x, num_filter=filters, name=name, **{"kernel": (3, 3), "pad": (1, 1), **given})


def conv3(x: Any, name: str, filters: int = 4, **given: Any) -> Any:
    return conv(x, name, filters, **{"kernel": (3, 3, 3), "pad": (1, 1, 1), **given})


def norm(x: Any, name: str, **given: Any) -> Any:
    return mx.sym.BatchNorm(x, name=name, **{"fix_gamma": False, **given})


def residual() -> Any:
    x = mx.sym.relu(norm(conv(X, "a"), "an"))
    return mx.sym.relu(norm(conv(x, "b"), "bn") + x)


#: What follows a convolution: for each operator that takes any order, and for some that do not.
NETWORKS = {
    "residual": residual(),
    "one channel": conv(mx.sym.slice_axis(X, axis=1, begin=0, end=1), "a"),
    "one filter": conv(conv(X, "a", 1), "b", 2),
    "points": conv(conv(X, "a", kernel=(1, 1), pad=(0, 0)), "b", kernel=(9, 8), pad=(0, 0)),
    "as wide as the data": conv(conv(X, "a"), "b", kernel=(3, 8), pad=(1, 0), stride=(2, 1)),
    "sentences": conv(mx.sym.slice_axis(X, axis=1, begin=0, end=1), "a", kernel=(4, 8), pad=(0, 0)),
    "as wide, in groups": conv(X, "a", num_group=2, kernel=(3, 8), pad=(1, 0)),
    "depthwise": conv(conv(X, "a", num_group=4), "b", kernel=(1, 1), pad=(0, 0)),
    "norm on another axis": norm(conv(X, "a"), "n", axis=2),
    "norm with its statistics": norm(conv(X, "a"), "n", output_mean_var=True)[0],
    "norm first": conv(norm(X, "n"), "a"),
    "dropout": mx.sym.Dropout(conv(X, "a"), p=0.5),
    "concat": mx.sym.Concat(conv(X, "a"), X, dim=1),
    "concat rows": mx.sym.Concat(conv(X, "a"), conv(X, "b"), dim=2),
    "gate": mx.sym.broadcast_mul(conv(X, "a"), mx.sym.sigmoid(mx.sym.mean(conv(X, "b"), axis=(2, 3), keepdims=True))),
    "flat": mx.sym.FullyConnected(conv(X, "a"), num_hidden=3, name="fc"),
    "transposed": mx.sym.transpose(conv(X, "a"), (0, 2, 3, 1)),
    "reshaped": mx.sym.reshape(conv(X, "a"), (0, -1, 4)),
    "deconvolution": mx.sym.Deconvolution(conv(X, "a"), kernel=(2, 2), stride=(2, 2), num_filter=3, name="d"),
    "upsampling": mx.sym.UpSampling(conv(X, "a"), scale=2, sample_type="nearest"),
    "softmax over channels": mx.sym.SoftmaxActivation(conv(X, "a"), mode="channel"),
    "numbers": (conv(X, "a") * 2 + 1) / 3 - 0.5,
    "prelu": mx.sym.LeakyReLU(conv(X, "a"), act_type="prelu", name="p"),
    "used twice": mx.sym.exp(conv(X, "a")) + mx.sym.tanh(conv(X, "b")),
    "group norm": conv(mx.sym.GroupNorm(conv(X, "a"), num_groups=2, name="g"), "b"),
    "group norm of many": mx.sym.GroupNorm(conv(X, "a", 16), num_groups=2, name="g"),
    "one deconvolution": mx.sym.Deconvolution(X, kernel=(4, 4), stride=(2, 2), pad=(1, 1), num_filter=3, name="d"),
    "upsampling thrice": conv(mx.sym.UpSampling(conv(X, "a"), scale=3, sample_type="nearest"), "b"),
    "upsampling of two": mx.sym.UpSampling(
        conv(X, "a"), mx.sym.Pooling(conv(X, "b"), global_pool=True, pool_type="max"),
        scale=2, sample_type="nearest", num_args=2,
    ),
    "bilinear": mx.sym.UpSampling(conv(X, "a"), scale=2, sample_type="bilinear", num_filter=4, num_args=2, name="u"),
    **{
        f"function {i}": act(conv(mx.sym.sigmoid(conv(X, "a")), "b"))
        for i, act in enumerate((
            lambda x: mx.sym.add_n(x, X, x), mx.sym.BlockGrad, mx.sym.identity, lambda x: -x, mx.sym.exp, mx.sym.square,
            mx.sym.abs, mx.sym.hard_sigmoid, mx.sym.softsign, lambda x: mx.sym.sqrt(mx.sym.abs(x) + 1),
            lambda x: mx.sym.log(mx.sym.abs(x) + 1), lambda x: mx.sym.maximum(x, X), lambda x: mx.sym.minimum(x, X),
            lambda x: mx.sym.maximum(x, 0.1), lambda x: mx.sym.minimum(x, 0.1), lambda x: 1 - x,
            lambda x: 1 / (x * x + 1), lambda x: x**2,
            lambda x: mx.sym.broadcast_maximum(x, mx.sym.var("one", shape=(1, 4, 1, 1))),
            lambda x: mx.sym.broadcast_minimum(x, mx.sym.var("one", shape=(1, 4, 1, 1))),
            lambda x: mx.sym.Cast(x, dtype="float32"),
        ))
    },
    "layer norm": mx.sym.LayerNorm(conv(X, "a"), name="l"),
    "instance norm": mx.sym.relu(mx.sym.InstanceNorm(conv(conv(X, "a"), "b"), name="i")),
    **{
        f"{kind} {act}": mx.sym.Activation(mx.sym.Pooling(conv(X, "a"), **given), act_type=act)
        for kind, given in {
            "max": {"kernel": (2, 2), "stride": (2, 2), "pool_type": "max"},
            "overlapping": {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1), "pool_type": "max"},
            "full": {"kernel": (2, 2), "stride": (3, 3), "pool_type": "avg", "pooling_convention": "full"},
            "lp": {"kernel": (2, 2), "pool_type": "lp", "p_value": 2},
            "global": {"kernel": (1, 1), "global_pool": True, "pool_type": "avg"},
        }.items()
        for act in ("relu", "softrelu")
    },
}  # fmt: skip


def pool3(x: Any, pool_type: str = "max", **given: Any) -> Any:
    return mx.sym.Pooling(x, pool_type=pool_type, **{"kernel": (2, 2, 2), "stride": (2, 2, 2), **given})


VOLUMES = {
    "conv": conv3(X, "a"),
    "two": conv3(mx.sym.relu(conv3(X, "a")), "b", 3, stride=(2, 1, 2)),
    "one channel": conv3(mx.sym.slice_axis(X, axis=1, begin=0, end=1), "a"),
    "one filter": conv3(conv3(X, "a", 1), "b", 2),
    "points": conv3(conv3(X, "a", kernel=(1, 1, 1), pad=(0, 0, 0)), "b"),
    "groups": conv3(X, "a", num_group=2, no_bias=True),
    "dilated": conv3(X, "a", dilate=(1, 2, 2), layout="NCDHW"),
    "norm": mx.sym.relu(norm(conv3(X, "a"), "n")),
    "residual": mx.sym.relu(norm(conv3(X, "a"), "n") + X),
    "concat": mx.sym.Concat(conv3(X, "a"), X, dim=1),
    "flat": mx.sym.FullyConnected(pool3(conv3(X, "a")), num_hidden=3, name="fc"),
    "deconvolution": mx.sym.Deconvolution(
        conv3(X, "a"), kernel=(2, 2, 2), stride=(2, 2, 2), num_filter=3, name="d"
    ),
    "instance norm": mx.sym.InstanceNorm(conv3(conv3(X, "a"), "b"), name="i"),
    "group norm": mx.sym.GroupNorm(conv3(X, "a", 16), num_groups=2, name="g"),
    "prelu": mx.sym.LeakyReLU(conv3(X, "a"), act_type="prelu", name="p"),
    **{
        f"{kind}, {name}": mx.sym.relu(pool3(conv3(conv3(X, "a"), "b"), kind, p_value=2, **given))
        for kind in ("max", "avg", "sum", "lp")
        for name, given in {
            "dealiased": {},
            "padded": {"pad": (1, 0, 1)},
            "overlapping": {"kernel": (3, 2, 3), "stride": (2, 1, 2), "pad": (1, 1, 1)},
            "full": {"stride": (3, 3, 3), "pooling_convention": "full"},
            "global": {"global_pool": True},
        }.items()
    },
}


def trained(
    symbol: Any, monkeypatch: pytest.MonkeyPatch, *, last: bool, shape: tuple[int, ...] = IMAGE
) -> dict[str, np.ndarray]:
    """Run a step of a network; return all that it gives."""
    if not last:
        monkeypatch.setattr("rebind.graph.passes.channels_last._fits", lambda *_: False)
    # A graph of its own: what passes made of another is not found again.
    exe = mx.sym.load_json(symbol.tojson()).simple_bind(mx.cpu(), x=shape)
    draws = np.random.default_rng(0)
    for name, array in {**exe.arg_dict, **exe.aux_dict}.items():
        array[:] = draws.uniform(0.5 if name.endswith(("var", "gamma")) else -1.0, 1.5, array.shape)
    mx.random.seed(3)
    outputs = exe.forward(is_train=True)
    exe.backward([mx.nd.array(draws.normal(size=each.shape)) for each in outputs])
    arrays = {**{f"output{i}": each for i, each in enumerate(outputs)}, **exe.grad_dict, **exe.aux_dict}
    assert all(each.tensor.is_contiguous() for each in arrays.values())
    calls = [
        node.name
        for node in exe.runner.plans.get(is_train=True).code.graph.nodes
        if node.op == "call_function"
    ]
    assert any("channels_last" in name for name in calls) == last
    return {name: each.asnumpy() for name, each in arrays.items()}


CASES = {
    **{name: (symbol, IMAGE) for name, symbol in NETWORKS.items()},
    **{f"volumes: {name}": (symbol, VOLUME) for name, symbol in VOLUMES.items()},
}


@pytest.mark.parametrize("name", CASES)
def test_numbers_stay(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    symbol, shape = CASES[name]
    found = trained(symbol, monkeypatch, last=True, shape=shape)
    expected = trained(symbol, monkeypatch, last=False, shape=shape)
    for key, value in expected.items():
        np.testing.assert_allclose(
            found[key], value, rtol=1e-4, atol=2e-5 * max(1.0, np.abs(value).max()), err_msg=key
        )


def lowered(symbol: Any, shape: tuple[int, ...], dtype: str, target: Target) -> list[str]:
    graph = symbol.graph
    facts = Facts.of(infer_shapes(graph, {"x": shape}), infer_types(graph, {"x": dtype}))
    return [
        node.operator.name for node in optimize(graph, facts, target)[0].nodes if node.operator is not None
    ]


LAST, ORDER = "_channels_last", "_contiguous"


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        (conv(conv(X, "a"), "b"), [LAST, LAST, "Convolution", LAST, LAST, "Convolution", ORDER]),
        (mx.sym.Flatten(conv(X, "a")), [LAST, LAST, "Convolution", ORDER, "Flatten"]),
        (
            mx.sym.Group([conv(X, "a"), conv(X, "b")]),
            [LAST, LAST, "Convolution", ORDER, LAST, "Convolution", ORDER],
        ),
        (mx.sym.exp(X), ["exp"]),
        (mx.sym.GroupNorm(conv(X, "a", 16), num_groups=2), [LAST, LAST, "Convolution", "GroupNorm", ORDER]),
    ],
    ids=["chain", "flat", "one-input", "none", "groups of many"],
)
@pytest.mark.parametrize(
    ("device", "dtype"), [("cpu", "float32"), ("cpu", "bfloat16"), ("cuda", "float16"), ("cuda", "bfloat16")]
)
def test_where_the_order_changes(symbol: Any, expected: list[str], device: str, dtype: str) -> None:
    assert lowered(symbol, IMAGE, dtype, Target(training=True, device=torch.device(device))) == expected


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        (mx.sym.InstanceNorm(conv(X, "a")), ["Convolution", "InstanceNorm"]),
        (mx.sym.GroupNorm(conv(X, "a"), num_groups=2), ["Convolution", "GroupNorm"]),
        (
            conv(mx.sym.relu(mx.sym.InstanceNorm(conv(X, "a"))), "b"),
            ["Convolution", "InstanceNorm", "relu", LAST, LAST, "Convolution", ORDER],
        ),
        (
            mx.sym.InstanceNorm(mx.sym.Deconvolution(X, kernel=(2, 2), num_filter=3)),
            [LAST, "Deconvolution", "InstanceNorm", ORDER],
        ),
    ],
    ids=["instances", "few in a group", "then another", "transposed"],
)
def test_norms_that_take_images_in_order_have_them_so(symbol: Any, expected: list[str]) -> None:
    assert lowered(symbol, IMAGE, "float32", Target(training=True)) == expected
    turned = lowered(symbol, IMAGE, "float16", Target(training=True, device=torch.device("cuda")))
    assert turned.count(LAST) >= 1


@pytest.mark.parametrize(("device", "dtype"), [("cpu", "float16"), ("cpu", "float64"), ("cuda", "float32")])
def test_where_it_does_not(device: str, dtype: str) -> None:
    target = Target(training=True, device=torch.device(device))
    assert lowered(conv(X, "a"), IMAGE, dtype, target) == ["Convolution"]


def test_mixed_precision_has_its_channels_last() -> None:
    symbol = mx.contrib.amp.convert_symbol(conv(X, "a", no_bias=True), "bfloat16", data_names=["x"])
    casts = ["amp_cast", "amp_cast"]
    expected = [*casts, LAST, LAST, "Convolution", "amp_cast", ORDER]
    assert sorted(lowered(symbol, IMAGE, "float32", Target(training=True))) == sorted(expected)


W = mx.sym.var("w", shape=(4, 4, 3, 3))


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        (conv(conv(X, "a"), "b"), {"a_weight", "b_weight"}),
        (conv(conv(X, "a", weight=W), "b", weight=W), {"w"}),
        (mx.sym.broadcast_mul(conv(X, "a", weight=W), mx.sym.sum(W, keepdims=True)), set()),
        (mx.sym.Group([conv(X, "a", weight=W), W]), set()),
        (conv(X, "a", weight=W * 2), set()),
        (conv(X, "a", layout="NHWC"), set()),
    ],
    ids=["alone", "shared", "used elsewhere", "an output", "computed", "layout"],
)
def test_which_variables_are_best_given_so(symbol: Any, expected: set[str]) -> None:
    graph = symbol.graph
    facts = Facts.of(infer_shapes(graph, {"x": IMAGE}), infer_types(graph, {"x": "float32"}))
    _, known = optimize(graph, facts, Target(training=True))
    assert set(known.layouts.values()) <= {CHANNELS_LAST}
    assert {entry.node.name for entry in known.layouts} == expected


@pytest.mark.parametrize(
    ("given", "shape", "dtype", "target"),
    [
        ({}, IMAGE, "float32", Target(training=True, device=torch.device("meta"))),
        ({}, IMAGE, "float32", Target(training=True, groups=(("a", torch.device("meta")),))),
        ({}, IMAGE, "float64", Target(training=True)),
        ({"layout": "NHWC"}, IMAGE, "float32", Target(training=True)),
        ({"kernel": (3,), "pad": (1,)}, (2, 4, 9), "float32", Target(training=True)),
    ],
    ids=["device", "groups", "float64", "layout", "one-axis"],
)
def test_what_is_left_as_it_is(given: Any, shape: Any, dtype: str, target: Target) -> None:
    assert lowered(conv(X, "a", **given), shape, dtype, target) == ["Convolution"]
