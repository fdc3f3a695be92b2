"""Dense layers of executors that only infer: which become one call with packed weights, and that their numbers stay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from tests.executor.compiled.networks import QUICK, needs_inductor

import rebind as mx
from rebind import tuning
from rebind._torch import onednn
from rebind.graph import Facts, Target, infer_shapes, infer_types
from rebind.graph.passes import optimize
from rebind.graph.passes.fuse_dense import fuse_dense
from rebind.ops.nn import inference_dense

X, W = mx.sym.var("x"), mx.sym.var("w")
PACK, FUSED, DENSE = "_pack_weight", "_fused_dense", "FullyConnected"
ONE = f"{PACK} {FUSED}"
ROWS = (5, 4)

pytestmark = pytest.mark.skipif(
    not inference_dense.can_pack(torch.float32), reason="this PyTorch packs no weights: it has no oneDNN"
)


@pytest.fixture(autouse=True)
def large() -> Iterator[None]:
    """The layers are small, and stand for large ones."""
    with tuning.changed(packed_dense_units=1, packed_weight_elements=1):
        yield


def dense(x: Any = X, name: str = "a", units: int = 6, **given: Any) -> Any:
    return mx.sym.FullyConnected(x, num_hidden=units, name=name, **given)


def activation(kind: str, x: Any) -> Any:
    return mx.sym.Activation(x, act_type=kind)


def norm(x: Any) -> Any:
    return mx.sym.BatchNorm(x, fix_gamma=False, name="n")


def conv(x: Any) -> Any:
    return mx.sym.Convolution(x, kernel=(3, 3), num_filter=4, name="c")


class Network(NamedTuple):
    symbol: Any
    operators: str
    shape: tuple[int, ...] = ROWS
    dtype: str = "float32"


NETWORKS = {
    "dense": Network(dense(), ONE),
    "without-bias": Network(dense(no_bias=True), ONE),
    "relu": Network(activation("relu", dense()), ONE),
    "relu-without-bias": Network(mx.sym.relu(dense(no_bias=True)), ONE),
    "sigmoid": Network(activation("sigmoid", dense()), ONE),
    "tanh": Network(mx.sym.tanh(dense()), ONE),
    "leaky": Network(mx.sym.LeakyReLU(dense(), slope=0.3), ONE),
    "clip": Network(mx.sym.clip(dense(), -0.1, 0.2), ONE),
    "softsign": Network(activation("softsign", dense()), f"{ONE} Activation"),
    "elu": Network(mx.sym.LeakyReLU(dense(), act_type="elu"), f"{ONE} LeakyReLU"),
    "used-twice": Network((lambda y: mx.sym.Group([y, mx.sym.relu(y)]))(dense()), f"{ONE} relu"),
    "seen": Network((lambda y: mx.sym.Group([mx.sym.relu(y), mx.sym.exp(y)]))(dense()), f"{ONE} relu exp"),
    "two": Network(dense(activation("relu", dense()), "b", 3), f"{ONE} {ONE}"),
    "norm-after": Network(mx.sym.relu(norm(dense())), f"_fold_batch_norm {ONE}"),
    "norm-before": Network(mx.sym.relu(dense(norm(X))), f"_fold_norm_before {ONE}"),
    # The shapes of the data.
    "one-row": Network(mx.sym.relu(dense()), ONE, (1, 4)),
    "vector": Network(mx.sym.relu(dense()), ONE, (4,)),
    "images": Network(mx.sym.relu(dense()), ONE, (5, 2, 3, 2)),
    "along-the-last-axis": Network(mx.sym.relu(dense(flatten=False)), ONE, (2, 3, 4)),
    "rows-turned": Network(dense(mx.sym.transpose(X)), f"transpose {ONE}", (4, 5)),
    "rows-repeated": Network(dense(mx.sym.broadcast_to(X, shape=ROWS)), f"broadcast_to {ONE}", (1, 4)),
    "after-a-convolution": Network(
        mx.sym.relu(dense(conv(X))), f"_pack_filters _fused_convolution _contiguous {ONE}", (2, 3, 40, 40)
    ),
    # One weight.
    "shared": Network(dense(dense(weight=W, units=4), "b", 4, weight=W), f"{PACK} {FUSED} {FUSED}"),
    "shared-with-another": Network(
        mx.sym.dot(mx.sym.relu(dense(weight=W, units=4)), W), f"{DENSE} relu dot", (5, 4)
    ),
    "seen-weight": Network(mx.sym.Group([dense(weight=W), W]), DENSE),
    "computed-weight": Network(mx.sym.relu(dense(weight=W * 2)), f"_mul_scalar {DENSE} relu"),
    # Other types.
    "float64": Network(mx.sym.relu(dense()), f"{DENSE} relu", dtype="float64"),
    "float16": Network(mx.sym.relu(dense()), f"{DENSE} relu", dtype="float16"),
    "mixed": Network(
        mx.contrib.amp.convert_symbol(mx.sym.relu(dense()), "bfloat16", data_names=["x"]),
        f"amp_cast _cast_parameter _cast_parameter {ONE} amp_cast",
    ),
}  # fmt: skip


def bound(network: Network, grad_req: str = "null", backend: str | None = None) -> Any:
    given = {} if backend is None else {"backend": backend}
    exe = network.symbol.simple_bind(
        mx.cpu(), grad_req=grad_req, x=network.shape, type_dict={"x": network.dtype}, **given
    )
    draws = np.random.default_rng(0)
    for name, array in {**exe.arg_dict, **exe.aux_dict}.items():
        low = 0.5 if name.endswith(("var", "gamma")) else -1.0
        array[:] = draws.uniform(low, 1.5, array.shape)
    return exe


def left(network: Network, target: Target) -> list[str]:
    graph = network.symbol.graph
    types = infer_types(graph, {"x": network.dtype}, default=torch.float32)
    facts = Facts.of(infer_shapes(graph, {"x": network.shape}), types)
    found, _ = optimize(graph, facts, target)
    return sorted(node.operator.name for node in found.nodes if node.operator is not None)


ONLY_INFERS: dict[str, Any] = {"recorded": False, "only_infers": True}


@pytest.mark.parametrize("name", NETWORKS)
def test_what_is_left_of_a_network(name: str) -> None:
    assert left(NETWORKS[name], Target(**ONLY_INFERS)) == sorted(NETWORKS[name].operators.split())


@pytest.mark.parametrize("backend", [None, QUICK])
@pytest.mark.parametrize("name", NETWORKS)
def test_numbers_stay(name: str, backend: str | None) -> None:
    numbers_stay(NETWORKS[name], backend)


@pytest.mark.slow
@needs_inductor
@pytest.mark.parametrize("name", ["relu", "along-the-last-axis", "two", "shared", "mixed"])
def test_numbers_stay_with_inductor(name: str) -> None:
    numbers_stay(NETWORKS[name], "inductor")


def numbers_stay(network: Network, backend: str | None) -> None:
    exe, who_may_train = bound(network, backend=backend), bound(network, "write")
    tolerance = {"float64": 1e-12, "float16": 1e-3}.get(network.dtype, 1e-5)
    if "_cast_parameter" in network.operators:
        tolerance = 2**-6
    for _ in range(2):
        expected = who_may_train.forward(is_train=False)
        found = exe.forward(is_train=False)
        assert exe.is_compiled == (backend is not None)
        for one, other in zip(found, expected, strict=True):
            assert one.dtype == other.dtype and one.tensor.is_contiguous()
            np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=tolerance, atol=tolerance)
        for each in (exe, who_may_train):
            each.arg_dict["x"][:] *= 0.5
            weight = next(array for key, array in each.arg_dict.items() if key in ("w", "a_weight"))
            weight[:] += 0.25


@pytest.mark.parametrize(
    "given",
    [
        {"recorded": False},
        {},
        {"training": True},
        {**ONLY_INFERS, "device": torch.device("meta")},
        {**ONLY_INFERS, "groups": (("g", torch.device("meta")),)},
    ],
    ids=["who-may-train", "recorded", "training", "device", "groups"],
)
def test_layers_of_other_targets_stay(given: dict[str, Any]) -> None:
    graph = NETWORKS["relu"].symbol.graph
    facts = Facts.of(infer_shapes(graph, {"x": ROWS}), infer_types(graph, {"x": "float32"}))
    assert fuse_dense(graph, facts, Target(**given))[0] is graph


def packings(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shapes of the weights that are packed from now on."""
    found: list[tuple[int, ...]] = []
    pack = onednn.pack_linear
    monkeypatch.setattr(
        onednn, "pack_linear", lambda weight: found.append(tuple(weight.shape)) or pack(weight)
    )
    return found


def test_who_may_train_packs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = packings(monkeypatch)
    bound(NETWORKS["two"], "write").forward()
    assert not found
    bound(NETWORKS["two"]).forward()
    assert sorted(found) == [(3, 6), (6, 4)]


def test_a_weight_is_packed_once_until_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    found = packings(monkeypatch)
    exe = bound(NETWORKS["shared"])
    first = exe.forward()[0].asnumpy()
    exe.forward()
    assert found == [(4, 4)]
    exe.arg_dict["w"][:] *= 2
    assert np.abs(exe.forward()[0].asnumpy() - first).max() > 0.1
    assert found == [(4, 4)] * 2


@pytest.mark.parametrize(("units", "is_packed"), [(5, False), (6, True), (7, True), (8, False)])
def test_which_weights_are_packed(units: int, is_packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    found = packings(monkeypatch)
    with tuning.changed(packed_weight_elements=6 * 4, unpacked_weight_elements=8 * 4):
        numbers_stay(Network(mx.sym.relu(dense(units=units)), ONE), None)
    assert bool(found) == is_packed


@pytest.mark.parametrize("name", ["relu", "leaky"])
def test_a_batch_of_another_size(name: str) -> None:
    exe = bound(NETWORKS[name], backend=QUICK)
    first = exe.forward()[0].asnumpy()
    for rows in (3, 7, 9):
        other = exe.reshape(partial_shaping=True, allow_up_sizing=True, x=(rows, 4))
        other.arg_dict["x"][:] = np.resize(exe.arg_dict["x"].asnumpy(), (rows, 4))
        np.testing.assert_allclose(
            other.forward()[0].asnumpy(), np.resize(first, (rows, 6)), rtol=1e-5, atol=1e-6
        )


def test_without_onednn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rebind.graph.passes.fuse_dense.can_pack", lambda dtype: False)
    network = NETWORKS["relu"]
    assert left(network._replace(symbol=mx.sym.relu(dense())), Target(**ONLY_INFERS)) == [DENSE, "relu"]


def test_what_is_not_a_number() -> None:
    exe = bound(NETWORKS["relu"])
    exe.arg_dict["x"][0, 0] = np.nan
    assert not exe.forward()[0].asnumpy()[0].any()


def test_arguments_that_come_later_may_get_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    found = packings(monkeypatch)
    args = {name: mx.nd.ones(shape) for name, shape in (("a_weight", (6, 4)), ("a_bias", (6,)))}
    exe = mx.executor.Executor(dense(), mx.cpu(), args, None, "write", {})
    exe.forward(x=mx.nd.ones(ROWS))
    assert not found and exe.grad_dict["a_weight"] is not None
