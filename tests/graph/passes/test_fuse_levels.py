"""The pass for layers between levels: what becomes of networks, and that their numbers stay."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.graph import Facts, Target, infer_shapes, infer_types
from rebind.graph.passes import optimize
from rebind.graph.passes.fuse_levels import fuse_levels
from rebind.ops.quantization.inference_layers import can_compute_levels

X = mx.sym.var("x")
Q = mx.sym.contrib
IMAGE = (2, 4, 7, 6)
#: How many elements may be another level: those that lie between two.
SHARE = 0.02
ORDER = "_contiguous"

fused = pytest.mark.skipif(not can_compute_levels(), reason="oneDNN or the processor has no layers of levels")


def levels(x: Any, low: float | None = -2.0, high: float | None = 2.0, **given: Any) -> Any:
    return Q.quantize_v2(x, min_calib_range=low, max_calib_range=high, **given)


def real(x: Any) -> Any:
    return Q.dequantize(x[0], x[1], x[2])


def near(x: Any, low: float = -2.0, high: float = 2.0, **given: Any) -> Any:
    """Real numbers on levels."""
    return real(levels(x, low, high, **given))


def stored(name: str, shape: tuple[int, ...]) -> list[Any]:
    """Levels of parameters, and the two ends of their range."""
    ends = [mx.sym.var(f"{name}_{end}", shape=(1,)) for end in ("min", "max")]
    return [mx.sym.var(name, shape=shape, dtype="int8"), *ends]


def conv(x: Any, name: str, filters: int = 4, channels: int = 4, kernel: int = 3, **given: Any) -> Any:
    shape = (filters, channels // given.get("num_group", 1), kernel, kernel)
    given = {
        "kernel": (kernel, kernel),
        "pad": (kernel // 2,) * 2,
        "num_filter": filters,
        "no_bias": True,
        **given,
    }
    return mx.sym.Convolution(x, Q.dequantize(*stored(f"{name}_weight", shape)), name=name, **given)


def dense(x: Any, name: str, columns: int, **given: Any) -> Any:
    weight = Q.dequantize(*stored(f"{name}_weight", (5, columns)))
    return mx.sym.FullyConnected(x, weight, num_hidden=5, name=name, **given)


def sums(x: Any, name: str, bias: bool = True, op: str = "conv", columns: int = 0, **given: Any) -> Any:
    """A layer of sums of levels."""
    shape = (5, columns) if op == "dense" else (4, 4, 3, 3)
    weight, *ends = stored(f"{name}_weight", shape)
    others = stored(f"{name}_bias", shape[:1]) if bias else [None]
    inputs = [x[0], weight, *others[:1], x[1], x[2], *ends, *others[1:]]
    if op == "dense":
        return Q.quantized_fully_connected(*inputs, num_hidden=5, no_bias=not bias, name=name)
    return Q.quantized_conv(
        *inputs, kernel=(3, 3), pad=(1, 1), num_filter=4, no_bias=not bias, name=name, **given
    )


def requantized(x: Any, low: float | None = -9.0, high: float | None = 9.0, **given: Any) -> Any:
    return Q.requantize(x[0], x[1], x[2], min_calib_range=low, max_calib_range=high, **given)


def rectified(x: Any) -> Any:
    return Q.quantized_act(x[0], x[1], x[2], act_type="relu")


class Network(NamedTuple):
    symbol: Any
    operators: str  # what is left of it, beside what is kept
    shape: tuple[int, ...] = IMAGE


Y = near(X)
U = near(mx.sym.abs(X), 0.0, 2.0, out_type="uint8")
IN, OUT, CALL, DENSE = "_contrib_quantize_v2", "_contrib_dequantize", "_int8_convolution", "_int8_dense"
CONV, FINISH = f"{IN} {CALL}", f"{OUT} {ORDER}"

NETWORKS = {
    "conv": Network(conv(Y, "a"), f"{CONV} {ORDER}"),
    "uint8": Network(conv(U, "a"), f"abs {CONV} {ORDER}"),
    "bias": Network(conv(Y, "a", no_bias=False), f"{CONV} {ORDER}"),
    "strided": Network(conv(Y, "a", stride=(2, 1)), f"{CONV} {ORDER}"),
    "dilated": Network(conv(Y, "a", dilate=(2, 1), pad=(2, 2)), f"{CONV} {ORDER}"),
    "grouped": Network(conv(U, "a", num_group=2), f"abs {CONV} {ORDER}"),
    "depthwise": Network(conv(Y, "a", num_group=4), f"{CONV} {ORDER}"),
    "one-window": Network(  # which oneDNN computes wrongly
        conv(Y, "a", channels=1, kernel=8, stride=(1, 8), pad=(0, 0)),
        f"{IN} {OUT} {OUT} Convolution",
        (2, 1, 9, 8),
    ),
    "to-levels": Network(near(conv(Y, "a"), -9, 9), f"{CONV} {FINISH}"),
    "to-uint8": Network(near(mx.sym.relu(conv(Y, "a")), 0, 9, out_type="auto"), f"{CONV} {FINISH}"),
    "clip": Network(near(mx.sym.clip(conv(Y, "a"), 0, 3), 0, 4, out_type="uint8"), f"{CONV} {FINISH}"),
    "clip-in-real-numbers": Network(mx.sym.clip(conv(Y, "a"), -1, 3), f"{CONV} {ORDER}"),
    "tanh": Network(near(mx.sym.tanh(conv(Y, "a"))), f"{CONV} tanh {IN} {OUT} {ORDER}"),
    "own-range": Network(real(levels(conv(Y, "a"), None, None)), f"{CONV} {IN} {OUT} {ORDER}"),
    "in-a-row": Network(near(conv(near(conv(Y, "a"), -9, 9), "b"), -9, 9), f"{CONV} {CALL} {FINISH}"),
    "both-used": Network(
        mx.sym.Group([levels(conv(Y, "a"), -9, 9)[i] for i in range(3)]), f"{CONV} _full _full {ORDER}"
    ),
    "used-twice": Network(
        (lambda y: mx.sym.Group([near(y, -9, 9), mx.sym.exp(y)]))(conv(Y, "a")),
        f"{CONV} {IN} {OUT} {ORDER} {ORDER} exp",
    ),
    "sum": Network(near(conv(Y, "a") + Y, -9, 9), f"{CONV} {FINISH}"),
    "sum-relu": Network(near(mx.sym.relu(near(X, -1, 1) + conv(Y, "a")), -9, 9), f"{IN} {CONV} {FINISH}"),
    "sum-of-int8-in-uint8": Network(
        near(mx.sym.relu(conv(Y, "a") + Y), 0, 9, out_type="uint8"), f"{CONV} {FINISH}"
    ),
    "sum-of-uint8-in-int8": Network(near(conv(U, "a") + U, -9, 9), f"abs {CONV} {FINISH}"),
    "sum-of-two": Network(
        near(mx.sym.relu(conv(Y, "a") + near(conv(Y, "b"), -9, 9)), 0, 9, out_type="uint8"),
        f"{CONV} {CALL} {FINISH}",
    ),
    "sum-over-a-block": Network(
        (lambda y: near(conv(near(mx.sym.relu(conv(y, "b")), 0, 9, out_type="uint8"), "c") + y, -9, 9))(
            near(conv(Y, "a"), -9, 9)
        ),
        f"{CONV} {CALL} {CALL} {FINISH}",
    ),
    "sum-in-real-numbers": Network(conv(Y, "a") + Y, f"{CONV} {OUT} elemwise_add {ORDER}"),
    "sum-with-real-numbers": Network(
        near(conv(Y, "a") + X, -9, 9), f"{CONV} elemwise_add {IN} {OUT} {ORDER}"
    ),
    "sum-leaky": Network(
        near(mx.sym.LeakyReLU(conv(Y, "a") + Y), -9, 9),
        f"{CONV} {OUT} elemwise_add LeakyReLU {IN} {OUT} {ORDER}",
    ),
    "pooled": Network(
        (lambda q: conv(real(Q.quantized_pooling(q[0], q[1], q[2], kernel=(2, 2), pool_type="max")), "a"))(
            levels(X)
        ),
        f"{IN} _contrib_quantized_pooling {CALL} {ORDER}",
    ),
    "joined": Network(
        (
            lambda p, q: conv(
                real(Q.quantized_concat(p[0], q[0], p[1], p[2], q[1], q[2], num_args=2)), "a", channels=8
            )
        )(levels(X), levels(X, -1.0, 1.0)),
        f"{IN} {IN} _contrib_quantized_concat {CALL} {ORDER}",
    ),
    "dense": Network(dense(Y, "a", 6), f"{IN} {DENSE}", (3, 6)),
    "dense-of-images": Network(dense(Y, "a", 168), f"{IN} {DENSE}"),
    "dense-along-the-last-axis": Network(
        dense(Y, "a", 6, flatten=False, no_bias=False), f"{IN} {DENSE}", (3, 4, 6)
    ),
    "dense-sum": Network(
        near(dense(Y, "a", 5) + Y, -99, 99), f"{IN} {DENSE} {OUT} elemwise_add {IN} {OUT}", (3, 5)
    ),
    "dense-relu": Network(
        near(mx.sym.relu(dense(U, "a", 6)), 0, 9, out_type="uint8"), f"abs {IN} {DENSE} {OUT}", (3, 6)
    ),
    "dense-after-conv": Network(
        near(dense(near(conv(Y, "b"), -9, 9), "a", 168), -99, 99),
        f"{CONV} {ORDER} {DENSE} {OUT}",
    ),
    # Layers of sums.
    "sums": Network(real(requantized(sums(levels(X), "a"))), f"{CONV} {FINISH}"),
    "sums-without-bias": Network(real(requantized(sums(levels(X), "a", bias=False))), f"{CONV} {FINISH}"),
    "sums-to-uint8": Network(
        real(requantized(sums(levels(X), "a"), 0.0, 9.0, out_type="auto")), f"{CONV} {FINISH}"
    ),
    "sums-relu": Network(real(rectified(requantized(sums(levels(X), "a")))), f"{CONV} {FINISH}"),
    "sums-in-a-row": Network(
        real(requantized(sums(rectified(requantized(sums(levels(X), "a"))), "b"), -99.0, 99.0)),
        f"{CONV} {CALL} {FINISH}",
    ),
    "sums-dense": Network(
        real(requantized(sums(levels(X), "a", op="dense", columns=6))),
        f"{IN} {DENSE} {OUT}",
        (3, 6),
    ),
    # Left as they are.
    "own-range-of-data": Network(conv(real(levels(X, None, None)), "a"), f"{IN} {OUT} {OUT} Convolution"),
    "sums-own-range": Network(
        real(requantized(sums(levels(X), "a"), None, None)),
        f"{IN} _contrib_quantized_conv _contrib_requantize {OUT}",
    ),
    "sums-used": Network(
        (lambda y: mx.sym.Group([real(requantized(y)), y[0]]))(sums(levels(X), "a")),
        f"{IN} _contrib_quantized_conv _contrib_requantize {OUT}",
    ),
    "sums-range-used": Network(
        (lambda y: mx.sym.Group([real(requantized(y)), y[1]]))(sums(levels(X), "a")),
        f"{IN} _contrib_quantized_conv _contrib_requantize {OUT}",
    ),
}


def facts_of(network: Network) -> Facts:
    graph = network.symbol.graph
    return Facts.of(
        infer_shapes(graph, {"x": network.shape}), infer_types(graph, {"x": "float32"}, default=torch.float32)
    )


def arrays(network: Network) -> dict[str, Any]:
    draws = np.random.RandomState(5)
    shapes, _, _ = network.symbol.infer_shape(x=network.shape)
    found = {}
    for name, shape in zip(network.symbol.list_arguments(), shapes, strict=True):
        if name.endswith(("_min", "_max")):
            found[name] = mx.nd.array([-0.3 if name.endswith("min") else 0.5])
        elif name.endswith(("weight", "bias")) and (
            name != "a_bias" or "a_bias_min" in network.symbol.list_arguments()
        ):
            found[name] = mx.nd.array(draws.randint(-128, 128, shape), dtype="int8")
        else:
            found[name] = mx.nd.array(draws.uniform(-2, 2, shape))
    return found


def alike(found: np.ndarray, expected: np.ndarray, unit: float) -> None:
    assert found.dtype == expected.dtype and found.shape == expected.shape
    apart = np.abs(found.astype(np.float64) - expected)
    assert apart.max() <= unit * 1.001, apart.max() / unit
    assert (apart > 1e-5 * np.abs(expected).max()).mean() <= SHARE


@fused
@pytest.mark.parametrize("name", NETWORKS)
def test_what_is_left_of_a_network(name: str) -> None:
    network = NETWORKS[name]
    left, _ = optimize(network.symbol.graph, facts_of(network), Target(recorded=False))
    others = [node for node in left.nodes if node.operator is not None and not node.operator.kernels.prepared]
    assert Counter(node.operator.name for node in others) == Counter(network.operators.split())


@pytest.mark.parametrize("name", NETWORKS)
def test_numbers_stay(name: str) -> None:
    network = NETWORKS[name]
    given = arrays(network)
    exe = network.symbol.bind(mx.cpu(), given, grad_req="null")
    expected = [each.asnumpy() for each in exe.forward(is_train=True)]
    for _ in range(2):
        for found, value in zip(exe.forward(is_train=False), expected, strict=True):
            assert found.tensor.is_contiguous()
            # Levels differ by one, real numbers by what a level of the result is worth.
            alike(found.asnumpy(), value, 1.0 if value.dtype != np.float32 else 2 * np.abs(value).max() / 100)
    assert np.unique(expected[0]).size > 5


@pytest.mark.parametrize(
    "target",
    [
        Target(device=torch.device("meta")),
        Target(groups=(("a", torch.device("meta")),)),
        Target(backend="inductor", traced=True),
    ],
    ids=["device", "groups", "compiled"],
)
def test_layers_of_other_targets_stay(target: Target) -> None:
    network = NETWORKS["conv"]
    assert fuse_levels(network.symbol.graph, facts_of(network), target)[0] is network.symbol.graph


def test_onednn_can_be_switched_off() -> None:
    network, before = NETWORKS["conv"], torch.backends.mkldnn.enabled
    torch._C._set_mkldnn_enabled(False)
    try:
        assert not can_compute_levels()
        assert fuse_levels(network.symbol.graph, facts_of(network), Target())[0] is network.symbol.graph
    finally:
        torch._C._set_mkldnn_enabled(before)


@fused
def test_written_weights_are_packed_anew() -> None:
    network = NETWORKS["sum-over-a-block"]
    given = arrays(network)
    exe = network.symbol.bind(mx.cpu(), given, grad_req="null")
    before = exe.forward(is_train=False)[0].asnumpy()
    exe.arg_dict["a_weight"][:] = 3
    exe.arg_dict["b_weight_max"][:] = 0.1
    found, expected = (exe.forward(is_train=training)[0].asnumpy() for training in (False, True))
    assert np.abs(found - before).max() > 0.1
    alike(found, expected, 2 * 9 / 127.5)
