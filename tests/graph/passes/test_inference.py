"""The passes for inference: what becomes of networks, and that their numbers stay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

import rebind as mx
from rebind import tuning
from rebind.graph import Facts, Target, infer_shapes, infer_types
from rebind.graph.passes import optimize
from rebind.graph.passes.drop_identities import drop_identities
from rebind.graph.passes.fold_batch_norm import fold_batch_norm
from rebind.graph.passes.fold_norm_before import fold_norm_before
from rebind.graph.passes.fuse_convolutions import fuse_convolutions
from rebind.graph.passes.hoist_casts import hoist_casts
from rebind.graph.passes.keep_constants import keep_constants
from rebind.ops.nn.inference_layers import can_fuse
from rebind.precision import set_active_rules

X = mx.sym.var("x")
IMAGE, VOLUME = (2, 4, 9, 8), (2, 4, 5, 4, 3)
THREE: dict[str, Any] = {"kernel": (3, 3, 3), "pad": (1, 1, 1)}


@pytest.fixture(autouse=True)
def large() -> Iterator[None]:
    """The networks are small, and stand for large ones."""
    with tuning.changed(tiny_convolution_products=0):
        yield


def conv(x: Any, name: str, filters: int = 4, **given: Any) -> Any:
    given = {"kernel": (3, 3), "pad": (1, 1), **given}
    return mx.sym.Convolution(x, num_filter=filters, name=name, **given)


def norm(x: Any, name: str, **given: Any) -> Any:
    return mx.sym.BatchNorm(x, name=name, **{"fix_gamma": False, **given})


def deconv(x: Any = X, name: str = "a", **given: Any) -> Any:
    return mx.sym.Deconvolution(x, name=name, **{"kernel": (3, 3), "num_filter": 4, **given})


def normal_conv(x: Any, name: str, **given: Any) -> Any:
    return norm(conv(x, name, **given), f"{name}_bn")


def residual(shortcut: bool) -> Any:
    x = mx.sym.relu(normal_conv(X, "stem"))
    y = normal_conv(mx.sym.relu(normal_conv(x, "a")), "b", no_bias=True)
    return mx.sym.relu(y + (normal_conv(x, "c", kernel=(1, 1), pad=(0, 0)) if shortcut else x))


def twice(x: Any) -> Any:
    return mx.sym.Group([x, mx.sym.exp(x)])


def mixed(symbol: Any, stored: bool = False) -> Any:
    """The network in bfloat16; with `stored`, parameters are, too."""
    return mx.contrib.amp.convert_symbol(
        symbol, "bfloat16", data_names=["x"] if stored else None, cast_optional_params=stored
    )


def composed_mixed(build: Callable[[], Any]) -> Any:
    """What is built with mixed precision in force."""
    mx.contrib.amp.init("bfloat16")
    try:
        return build()
    finally:
        set_active_rules(None)


def seen_cast(weight: Any) -> Any:
    layer = mx.sym.FullyConnected(mx.sym.amp_cast(X, dtype="bfloat16"), weight, num_hidden=3, no_bias=True)
    return mx.sym.Group([layer, weight])


class Network(NamedTuple):
    symbol: Any
    operators: str  # what is left of it, beside what is kept
    kept: str = ""
    shape: tuple[int, ...] = IMAGE
    dtype: str = "float32"


FOLD, PACK, CONV, ORDER = "_fold_batch_norm", "_pack_filters", "_fused_convolution", "_contiguous"
CAST, KEPT = "amp_cast", "_cast_parameter"
BOTH = f"{FOLD} {PACK}"
PACK_TRANSPOSED, TRANSPOSED = "_pack_transposed_filters", "_fused_deconvolution"
BOTH_TRANSPOSED = f"{FOLD} {PACK_TRANSPOSED}"
BEFORE = "_fold_norm_before"
FIRST = f"{BEFORE} {PACK}"

NETWORKS = {
    "conv": Network(conv(X, "a"), f"{CONV} {ORDER}", PACK),
    "conv-norm": Network(normal_conv(X, "a"), f"{CONV} {ORDER}", BOTH),
    "without-bias": Network(normal_conv(X, "a", no_bias=True), f"{CONV} {ORDER}", BOTH),
    "fixed-gamma": Network(norm(conv(X, "a"), "n", fix_gamma=True), f"{CONV} {ORDER}", BOTH),
    "eps": Network(norm(conv(X, "a"), "n", eps=0.5), f"{CONV} {ORDER}", BOTH),
    "grouped": Network(normal_conv(X, "a", num_group=2), f"{CONV} {ORDER}", BOTH),
    "depthwise": Network(normal_conv(X, "a", num_group=4), f"{CONV} {ORDER}", BOTH),
    "strided": Network(normal_conv(X, "a", stride=(2, 1)), f"{CONV} {ORDER}", BOTH),
    "dilated": Network(normal_conv(X, "a", dilate=(2, 3), pad=(2, 3)), f"{CONV} {ORDER}", BOTH),
    "layout": Network(normal_conv(X, "a", layout="NCHW"), f"{CONV} {ORDER}", BOTH),
    "old": Network(
        norm(mx.sym.Convolution_v1(X, kernel=(3, 3), num_filter=4, name="a"), "n"), f"{CONV} {ORDER}", BOTH
    ),
    # What follows it.
    "residual": Network(residual(shortcut=False), f"{CONV} {CONV} {CONV} {ORDER}", f"{BOTH} " * 3),
    "shortcut": Network(residual(shortcut=True), f"{CONV} {CONV} {CONV} {CONV} {ORDER}", f"{BOTH} " * 4),
    "relu": Network(mx.sym.Activation(conv(X, "a"), act_type="relu"), f"{CONV} {ORDER}", PACK),
    "sigmoid": Network(mx.sym.Activation(conv(X, "a"), act_type="sigmoid"), f"{CONV} {ORDER}", PACK),
    "tanh": Network(mx.sym.tanh(conv(X, "a")), f"{CONV} {ORDER}", PACK),
    "leaky": Network(mx.sym.LeakyReLU(conv(X, "a"), slope=0.3), f"{CONV} {ORDER}", PACK),
    "clip": Network(mx.sym.clip(conv(X, "a"), -0.1, 0.2), f"{CONV} {ORDER}", PACK),
    "softsign": Network(mx.sym.Activation(conv(X, "a"), act_type="softsign"), f"{CONV} Activation {ORDER}", PACK),
    "prelu": Network(mx.sym.LeakyReLU(conv(X, "a"), act_type="prelu"), f"{CONV} LeakyReLU {ORDER}", PACK),
    "sum-with-input": Network(conv(X, "a") + X, f"{CONV} {ORDER}", PACK),
    "sum-first": Network(X + conv(X, "a"), f"{CONV} {ORDER}", PACK),
    "sum-relu": Network(mx.sym.Activation(conv(X, "a") + X, act_type="relu"), f"{CONV} {ORDER}", PACK),
    "sum-tanh": Network(mx.sym.tanh(conv(X, "a") + X), f"{CONV} tanh {ORDER}", PACK),
    "sum-leaky": Network(mx.sym.LeakyReLU(conv(X, "a") + X), f"{CONV} LeakyReLU {ORDER}", PACK),
    "sum-of-itself": Network((lambda y: y + y)(conv(X, "a")), f"{CONV} elemwise_add {ORDER}", PACK),
    "sum-that-broadcasts": Network(
        mx.sym.broadcast_add(conv(X, "a"), mx.sym.sum(X, axis=(2, 3), keepdims=True)),
        f"sum {CONV} broadcast_add {ORDER}", PACK,
    ),
    "activation-of-both": Network(
        mx.sym.relu(mx.sym.relu(conv(X, "a")) + X), f"{CONV} elemwise_add relu {ORDER}", PACK
    ),
    "used-twice": Network(twice(conv(X, "a")), f"{CONV} {ORDER} {ORDER} exp", PACK),
    "norm-used-twice": Network(twice(normal_conv(X, "a")), f"{CONV} {ORDER} {ORDER} exp", BOTH),
    "sum-used-twice": Network(twice(conv(X, "a") + X), f"{CONV} {ORDER} {ORDER} exp", PACK),
    "one-weight": Network(
        conv(conv(X, "a", weight=mx.sym.var("w"), no_bias=True), "b", weight=mx.sym.var("w"), no_bias=True),
        f"{CONV} {CONV} {ORDER}", f"{PACK} {PACK}",
    ),
    # Orders of memory.
    "pooled": Network(
        mx.sym.Pooling(conv(X, "a"), kernel=(2, 2), stride=(2, 2)), f"{CONV} Pooling {ORDER}", PACK
    ),
    "flattened": Network(mx.sym.Flatten(conv(X, "a")), f"{CONV} {ORDER} Flatten", PACK),
    "dense": Network(
        mx.sym.FullyConnected(conv(X, "a"), num_hidden=3, name="fc"), f"{CONV} {ORDER} FullyConnected", PACK
    ),
    "joined": Network(mx.sym.Concat(conv(X, "a"), X, dim=1), f"{CONV} Concat {ORDER}", PACK),
    "reshaped": Network(mx.sym.reshape(conv(X, "a"), (0, -1)), f"{CONV} {ORDER} Reshape", PACK),
    "gated": Network(
        mx.sym.broadcast_mul(conv(X, "a"), mx.sym.sigmoid(mx.sym.sum(X, axis=(2, 3), keepdims=True))),
        f"sum sigmoid {CONV} broadcast_mul {ORDER}", PACK,
    ),
    # Other layers, shapes and types.
    "dense-norm": Network(norm(mx.sym.FullyConnected(X, num_hidden=3, name="fc"), "n"), "FullyConnected", FOLD),
    "dense-rows": Network(
        norm(mx.sym.FullyConnected(X, num_hidden=3, flatten=False, name="fc"), "n", axis=-1),
        "FullyConnected", FOLD, (2, 5, 4),
    ),
    "sequence": Network(normal_conv(X, "a", kernel=(3,), pad=(1,)), "Convolution", FOLD, (2, 4, 7)),
    # Three axes.
    "volume": Network(normal_conv(X, "a", **THREE), f"{CONV} {ORDER}", BOTH, VOLUME),
    "volume-relu": Network(
        mx.sym.relu(conv(X, "a", **THREE, stride=(2, 1, 2), layout="NCDHW")), f"{CONV} {ORDER}", PACK, VOLUME
    ),
    "volume-groups": Network(normal_conv(X, "a", **THREE, num_group=2), f"{CONV} {ORDER}", BOTH, VOLUME),
    "volume-dilated": Network(conv(X, "a", **THREE, dilate=(1, 1, 2), no_bias=True), f"{CONV} {ORDER}", PACK, VOLUME),
    "volume-sum": Network(mx.sym.relu(conv(X, "a", **THREE) + X), f"{CONV} {ORDER}", PACK, VOLUME),
    "volume-one-channel": Network(conv(X, "a", **THREE), f"{CONV} {ORDER}", PACK, (2, 1, 5, 4, 3)),
    "volume-pooled": Network(
        mx.sym.Pooling(conv(X, "a", **THREE), kernel=(2, 2, 2), stride=(2, 2, 2), pool_type="avg"),
        f"{CONV} Pooling {ORDER}", PACK, VOLUME,
    ),
    "volume-last": Network(
        conv(X, "a", **THREE, layout="NDHWC"), "Convolution", shape=(2, 5, 4, 3, 4)
    ),
    "volume-transposed": Network(
        mx.sym.relu(norm(deconv(kernel=(3, 3, 3)), "n")), f"{TRANSPOSED} {ORDER}", BOTH_TRANSPOSED, VOLUME
    ),
    "volume-transposed-strided": Network(
        deconv(kernel=(3, 3, 3), stride=(2, 1, 2), adj=(1, 0, 1), num_group=2),
        f"{TRANSPOSED} {ORDER}", PACK_TRANSPOSED, VOLUME,
    ),
    "volume-mixed": Network(
        mixed(conv(X, "a", **THREE)), f"{CAST} {CONV} {CAST} {ORDER}", f"{PACK} {KEPT} {KEPT}", VOLUME
    ),
    "last-axis": Network(
        norm(conv(X, "a", layout="NHWC"), "n", axis=3), "Convolution", FOLD, (2, 9, 8, 4)
    ),
    "float64": Network(normal_conv(X, "a"), "Convolution", FOLD, dtype="float64"),
    # Norms before a layer.
    "before-conv": Network(conv(norm(X, "n"), "a", pad=(0, 0)), f"{CONV} {ORDER}", FIRST),
    "before-conv-without-bias": Network(conv(norm(X, "n"), "a", pad=(), no_bias=True), f"{CONV} {ORDER}", FIRST),
    "before-groups": Network(conv(norm(X, "n"), "a", 6, pad=(0, 0), num_group=2), f"{CONV} {ORDER}", FIRST),
    "before-depthwise": Network(
        conv(norm(X, "n", fix_gamma=True), "a", pad=(0, 0), num_group=4), f"{CONV} {ORDER}", FIRST
    ),
    "before-and-after": Network(normal_conv(norm(X, "n"), "a", pad=(0, 0)), f"{CONV} {ORDER}", f"{FOLD} {FIRST}"),
    "before-dense": Network(
        mx.sym.FullyConnected(norm(X, "n"), num_hidden=3, name="fc"), "FullyConnected", BEFORE, (2, 4)
    ),
    "before-dense-of-images": Network(
        mx.sym.FullyConnected(norm(X, "n"), num_hidden=3, name="fc"), "FullyConnected", BEFORE
    ),
    "before-dense-rows": Network(
        mx.sym.FullyConnected(norm(X, "n", axis=-1), num_hidden=3, flatten=False, name="fc"),
        "FullyConnected", BEFORE, (2, 5, 4),
    ),
    "before-dense-float64": Network(
        mx.sym.FullyConnected(norm(X, "n"), num_hidden=3, name="fc"), "FullyConnected", BEFORE, dtype="float64"
    ),
    "between-dense": Network(
        mx.sym.FullyConnected(
            norm(mx.sym.Dropout(norm(mx.sym.FullyConnected(X, num_hidden=5, name="f1"), "m")), "n"),
            num_hidden=3, name="f2",
        ),
        "FullyConnected FullyConnected", f"{FOLD} {BEFORE}",
    ),
    # What must not be touched.
    "float16": Network(normal_conv(X, "a"), "Convolution BatchNorm", dtype="float16"),
    "other-axis": Network(norm(conv(X, "a"), "n", axis=2), f"{CONV} BatchNorm {ORDER}", PACK),
    "norm-first": Network(conv(norm(X, "n"), "a"), f"BatchNorm {CONV} {ORDER}", PACK),
    "norm-first-seen": Network(twice(conv(norm(X, "n"), "a", pad=(0, 0))), f"{CONV} {ORDER} {ORDER} exp", FIRST),
    "norm-first-used-twice": Network(
        (lambda y: conv(y, "a", pad=(0, 0)) + mx.sym.slice(y, begin=(0, 0, 1, 1), end=(2, 4, 8, 7)))(norm(X, "n")),
        f"BatchNorm slice {CONV} {ORDER}", PACK,
    ),
    "norm-first-other-axis": Network(conv(norm(X, "n", axis=2), "a", pad=(0, 0)), f"BatchNorm {CONV} {ORDER}", PACK),
    "norm-as-weight": Network(
        mx.sym.FullyConnected(X, norm(mx.sym.var("w", shape=(3, 4)), "n"), num_hidden=3, no_bias=True, name="a"),
        "BatchNorm FullyConnected", "", (2, 4),
    ),
    "layer-used-twice": Network(
        (lambda y: norm(y, "n") + mx.sym.exp(y))(conv(X, "a")),
        f"{CONV} BatchNorm exp elemwise_add {ORDER}", PACK,
    ),
    "statistics-shown": Network(
        norm(conv(X, "a"), "n", output_mean_var=True), f"{CONV} BatchNorm {ORDER} {ORDER} {ORDER}", PACK
    ),
    # What oneDNN computes wrongly, or not at all.
    "one-window": Network(
        conv(X, "a", kernel=(3, 8), stride=(1, 8), pad=(0, 0)), "Convolution", shape=(2, 1, 9, 8)
    ),
    "groups-sum-float32": Network(mx.sym.relu(conv(X, "a", num_group=2) + X), f"{CONV} {ORDER}", PACK),
    "mixed-groups-sum": Network(
        mx.sym.relu(conv(X, "a", num_group=2) + X), f"{CONV} elemwise_add relu {ORDER}", PACK, dtype="bfloat16"
    ),
    "computed-weight": Network(conv(X, "a", weight=mx.sym.var("w") * 2), "_mul_scalar Convolution"),
    # Transposed ones, which have no sum.
    "transposed": Network(deconv(), f"{TRANSPOSED} {ORDER}", PACK_TRANSPOSED),
    "transposed-norm": Network(norm(deconv(), "n"), f"{TRANSPOSED} {ORDER}", BOTH_TRANSPOSED),
    "transposed-bias": Network(norm(deconv(no_bias=False), "n"), f"{TRANSPOSED} {ORDER}", BOTH_TRANSPOSED),
    "transposed-grouped": Network(norm(deconv(num_group=2), "n"), f"{TRANSPOSED} {ORDER}", BOTH_TRANSPOSED),
    "transposed-strided": Network(
        norm(deconv(stride=(2, 3), adj=(1, 2), pad=(1, 0)), "n"), f"{TRANSPOSED} {ORDER}", BOTH_TRANSPOSED
    ),
    "transposed-dilated": Network(deconv(dilate=(2, 1)), f"{TRANSPOSED} {ORDER}", PACK_TRANSPOSED),
    "transposed-target": Network(
        deconv(stride=(2, 2), target_shape=(17, 16)), f"{TRANSPOSED} {ORDER}", PACK_TRANSPOSED
    ),
    "transposed-relu": Network(mx.sym.relu(norm(deconv(), "n")), f"{TRANSPOSED} {ORDER}", BOTH_TRANSPOSED),
    "transposed-leaky": Network(
        mx.sym.LeakyReLU(deconv(), slope=0.2), f"{TRANSPOSED} {ORDER}", PACK_TRANSPOSED
    ),
    "transposed-sum": Network(
        mx.sym.relu(deconv(pad=(1, 1)) + X), f"{TRANSPOSED} elemwise_add relu {ORDER}", PACK_TRANSPOSED
    ),
    "transposed-mixed": Network(
        mixed(mx.sym.relu(deconv())), f"{CAST} {TRANSPOSED} {ORDER} {CAST}", f"{KEPT} {PACK_TRANSPOSED}"
    ),
    "transposed-wide": Network(norm(deconv(), "n"), "Deconvolution", FOLD, dtype="float64"),
    "transposed-twice": Network(
        mx.sym.relu(deconv(deconv(), "b")), f"{TRANSPOSED} {TRANSPOSED} {ORDER}", f"{PACK_TRANSPOSED} " * 2
    ),
    "transposed-line": Network(
        norm(deconv(kernel=(3,)), "n"), "Deconvolution", FOLD, shape=(2, 4, 9)
    ),
    # What depends on no array.
    "positions": Network(
        mx.sym.broadcast_mul(X, mx.sym.reshape(mx.sym.exp(mx.sym.arange(8)), (1, 1, 1, 8))),
        "broadcast_mul", "_arange exp Reshape",
    ),
    "constant-at-the-end": Network(
        (lambda c: mx.sym.Group([mx.sym.broadcast_mul(X, mx.sym.reshape(c, (1, 1, 1, 8))), c]))(mx.sym.arange(8)),
        "_arange broadcast_mul", "Reshape",
    ),
    "constants-alone": Network(mx.sym.Group([X * 2, mx.sym.exp(mx.sym.arange(8))]), "_mul_scalar exp", "_arange"),
    "size-of-an-array": Network(X * mx.sym.zeros_like(mx.sym.exp(X)), "exp zeros_like elemwise_mul"),
    # Identities.
    "dropout": Network(mx.sym.tanh(mx.sym.Dropout(mx.sym.exp(X))), "exp tanh"),
    "dropout-between": Network(norm(mx.sym.Dropout(conv(X, "a")), "n"), f"{CONV} {ORDER}", BOTH),
    "dropout-twice": Network(mx.sym.tanh(mx.sym.Dropout(mx.sym.Dropout(X))), "tanh"),
    "identity": Network(mx.sym.tanh(mx.sym.identity(mx.sym.BlockGrad(mx.sym.exp(X)))), "exp tanh"),
    "identity-at-the-end": Network(mx.sym.identity(X), "_copy"),
    # Mixed precision.
    "mixed": Network(mixed(normal_conv(X, "a")), f"{CAST} {CONV} {CAST} {ORDER}", f"{BOTH} {KEPT} {KEPT}"),
    "mixed-stored": Network(
        mixed(normal_conv(X, "a"), stored=True), f"{CAST} {CONV} {CAST} {ORDER}", f"{BOTH} {KEPT} {KEPT} {KEPT} {KEPT}",
    ),
    "mixed-without-norm": Network(mixed(conv(X, "a")), f"{CAST} {CONV} {CAST} {ORDER}", f"{PACK} {KEPT} {KEPT}"),
    "mixed-residual": Network(
        mixed(residual(shortcut=True)),
        f"{CAST} {CONV} {CONV} {CONV} {CONV} {CAST} {ORDER}", f"{BOTH} {KEPT} {KEPT} " * 4,
    ),
    "mixed-sum-with-input": Network(
        mixed(conv(X, "a") + X), f"{CAST} {CONV} {CAST} amp_multicast elemwise_add {ORDER}", f"{PACK} {KEPT} {KEPT}"
    ),
    "mixed-dense": Network(
        mixed(mx.sym.FullyConnected(X, num_hidden=3, name="fc")), f"{CAST} FullyConnected {CAST}", f"{KEPT} {KEPT}"
    ),
    "cast-at-the-end": Network(
        seen_cast(mx.sym.amp_cast(mx.sym.var("w"), dtype="bfloat16")), f"{CAST} {CAST} FullyConnected"
    ),
    "cast-of-unknown": Network(
        mx.sym.tanh(mx.sym.amp_cast(mx.sym.FullyConnected(X, num_hidden=3, name="fc"), dtype="bfloat16")),
        "FullyConnected amp_cast tanh",
    ),
    "mixed-as-composed": Network(
        composed_mixed(lambda: residual(shortcut=True)),
        f"{CAST} {CONV} {CONV} {CONV} {CONV} {ORDER}", f"{BOTH} {KEPT} {KEPT} " * 4,
    ),
    "multicast-of-one-type": Network(
        mx.sym.add_n(*mx.sym.amp_multicast(mx.sym.exp(X), mx.sym.tanh(X), num_outputs=2)), "exp tanh add_n"
    ),
    "multicast-at-the-end": Network(
        mx.sym.amp_multicast(mx.sym.exp(X), mx.sym.tanh(X), num_outputs=2), "exp tanh amp_multicast"
    ),
    "cast-to-the-same": Network(mx.sym.tanh(mx.sym.amp_cast(mx.sym.exp(X), dtype="float32")), "exp tanh"),
}  # fmt: skip

fused = pytest.mark.skipif(
    not can_fuse(torch.float32), reason="this PyTorch has no fused convolutions of oneDNN"
)


def bound(network: Network) -> Any:
    exe = network.symbol.simple_bind(
        mx.cpu(), grad_req="null", x=network.shape, type_dict={"x": network.dtype}
    )
    draws = np.random.default_rng(0)
    for name, array in {**exe.arg_dict, **exe.aux_dict}.items():
        low = 0.5 if name.endswith(("var", "gamma")) else -1.0
        array[:] = draws.uniform(low, 1.5, array.shape)
    return exe


def plain(exe: Any) -> list[np.ndarray]:
    """What the network gives node by node."""
    names = []
    exe.set_monitor_callback(lambda name, array: names.append(name))
    found = [each.asnumpy() for each in exe.forward()]
    exe.set_monitor_callback(None)
    assert names
    return found


@fused
@pytest.mark.parametrize("name", NETWORKS)
def test_what_is_left_of_a_network(name: str) -> None:
    network = NETWORKS[name]
    graph = network.symbol.graph
    shapes = infer_shapes(graph, {"x": network.shape})
    facts = Facts.of(shapes, infer_types(graph, {"x": network.dtype}, default=torch.float32))
    left, _ = optimize(graph, facts, Target(recorded=False))
    kept = [node for node in left.nodes if node.operator is not None and node.operator.kernels.prepared]
    others = [node for node in left.nodes if node.operator is not None and not node.operator.kernels.prepared]
    assert Counter(node.operator.name for node in kept) == Counter(network.kept.split())
    assert Counter(node.operator.name for node in others) == Counter(network.operators.split())


@pytest.mark.parametrize("name", NETWORKS)
def test_numbers_stay(name: str) -> None:
    exe = bound(NETWORKS[name])
    expected = plain(exe)
    tolerance = 1e-12 if NETWORKS[name].dtype == "float64" else 1e-5
    if name.startswith("mixed"):
        # Weights and results are rounded to eight bits, in other places.
        tolerance = 2**-6
    for _ in range(2):
        for found, value in zip(exe.forward(), expected, strict=True):
            assert found.tensor.is_contiguous()
            np.testing.assert_allclose(
                found.asnumpy(), value, rtol=tolerance, atol=tolerance * np.abs(value).max()
            )


@pytest.mark.parametrize("stored", [False, True])
def test_mixed_precision_is_nearer_with_folded_weights(stored: bool) -> None:
    symbol = mx.sym.relu(normal_conv(conv(X, "a", filters=32), "b", filters=32))
    exact = bound(Network(symbol, ""))
    rounded = bound(Network(mixed(symbol, stored), ""))
    expected = exact.forward()[0].asnumpy()
    (off,), (more_off,) = (
        [np.abs(found - expected).mean() for found in each]
        for each in ([rounded.forward()[0].asnumpy()], plain(rounded))
    )
    assert 0 < off < more_off


@pytest.mark.parametrize("name", NETWORKS)
def test_training_is_left_alone(name: str) -> None:
    network = NETWORKS[name]
    graph = network.symbol.graph
    facts = Facts.of(infer_shapes(graph, {"x": network.shape}), infer_types(graph, {"x": network.dtype}))
    for run in (
        drop_identities,
        hoist_casts,
        fold_batch_norm,
        fold_norm_before,
        keep_constants,
        fuse_convolutions,
    ):
        assert run(graph, facts, Target(training=True))[0] is graph


@pytest.mark.parametrize(
    "symbol",
    [
        X + mx.sym.random.uniform(0, 1, shape=IMAGE),
        X + mx.sym.zeros(shape=(0, 4, 9, 8)),
        mx.sym.arange(8),
    ],
    ids=["drawn", "open", "leaving"],
)
def test_what_is_no_constant(symbol: Any) -> None:
    assert keep_constants(symbol.graph, Facts(), Target(recorded=False))[0] is symbol.graph


@fused
@pytest.mark.parametrize(
    "given",
    [{"device": torch.device("meta")}, {"groups": (("a", torch.device("meta")),)}],
    ids=["device", "groups"],
)
def test_convolutions_of_other_targets_stay(given: dict[str, Any]) -> None:
    graph = conv(X, "a").graph
    facts = Facts.of(infer_shapes(graph, {"x": IMAGE}), infer_types(graph, {"x": "float32"}))
    assert fuse_convolutions(graph, facts, Target(**given))[0] is graph


def test_without_onednn(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = bound(NETWORKS["residual"]).forward()[0].asnumpy()
    monkeypatch.setattr("rebind.graph.passes.fuse_convolutions.can_fuse", lambda dtype: False)
    # Another symbol: plans are kept as long as a graph.
    exe = bound(NETWORKS["residual"]._replace(symbol=residual(shortcut=False)))
    found = exe.forward()[0].asnumpy()
    names = [node.name for node in exe.runner.plans.get(False, recorded=False).code.graph.nodes]
    assert "_convolution" in names and "_fused_convolution" not in names
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_onednn_can_be_switched_off() -> None:
    before = torch.backends.mkldnn.enabled
    torch._C._set_mkldnn_enabled(False)
    try:
        assert not can_fuse(torch.float32)
        assert not can_fuse(torch.bfloat16)
    finally:
        torch._C._set_mkldnn_enabled(before)


@fused
@pytest.mark.parametrize(
    ("name", "found"), [("tanh", np.nan), ("sigmoid", np.nan), ("leaky", np.nan), ("relu", 0)]
)
def test_what_is_not_a_number(name: str, found: float) -> None:
    exe = bound(NETWORKS[name])
    exe.arg_dict["x"][0, 0, 0, 0] = np.nan
    np.testing.assert_equal(exe.forward()[0].asnumpy()[0, :, 0, 0], [np.float32(found)] * 4)


# What is said of a convolution, its data, and whether it is tiny where the first one has the most multiply-adds.
TINY = {
    "plain": ({}, IMAGE, True),
    "strided": ({"stride": (2, 2), "no_bias": True}, IMAGE, True),
    "larger": ({}, (3, *IMAGE[1:]), False),
    "wider": ({"filters": 5}, IMAGE, False),
    "dilated": ({"dilate": (2, 2), "pad": (2, 2)}, IMAGE, False),
    "groups": ({"num_group": 2}, IMAGE, False),
}


@fused
@pytest.mark.parametrize("name", TINY)
def test_tiny_convolutions(name: str) -> None:
    given, shape, is_tiny = TINY[name]
    exe = bound(Network(mx.sym.tanh(conv(X, "a", **given) + 1), "", shape=shape))
    expected = plain(exe)[0]
    with tuning.changed(tiny_convolution_products=2 * 9 * 8 * 4 * 4 * 3 * 3):
        found = exe.forward()[0].asnumpy()
        names = [node.name for node in exe.runner.plans.get(False, recorded=False).code.graph.nodes]
    assert ("_tiny_convolution" in names, "_fused_convolution" in names) == (is_tiny, not is_tiny)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
