"""Gradients of other storage types than dense ones: those of kernels, also for arguments that are dense."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from tests.kvstore.rotated import Rotated

import rebind as mx
from rebind.graph import Facts, infer_gradient_storage
from rebind.ndarray.storage import DenseStorage, Storage
from rebind.ops import storage_types
from rebind.ops.storage_types import storage_kernel

WEIGHT = np.arange(6, dtype="float32").reshape(3, 2) + 1
DATA = np.array([[1, 2, 0], [3, 4, 1]], dtype="float32")


@pytest.fixture(autouse=True)
def dot_with_a_stored_gradient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A product of dense arrays whose gradient of the second one is not dense."""
    monkeypatch.setitem(storage_types._KERNELS, "dot", [*storage_types._KERNELS["dot"]])
    monkeypatch.setenv("MXNET_STORAGE_FALLBACK_LOG_VERBOSE", "0")

    def gradient(
        p: Any, inputs: Sequence[Storage], outputs: Sequence[Storage], heads: Sequence[Storage]
    ) -> Any:
        data, weight = (each.to_dense() for each in inputs)
        head = heads[0].to_dense()
        return [DenseStorage(head @ weight.T), Rotated.from_dense(data.T @ head)]

    @storage_kernel(
        "dot", ["default", "default"], ("default",), gradient=gradient, gradients=("default", "rotated")
    )
    def dot(one: Storage, two: Storage, **_: object) -> Storage:
        return DenseStorage(one.to_dense() @ two.to_dense())

    yield
    storage_types.WITH_DENSE_INPUTS.discard("dot")


def network(uses: int = 1) -> Any:
    x, w = mx.sym.var("x"), mx.sym.var("w")
    products = [mx.sym.dot(x, w) for _ in range(uses)]
    return mx.sym.MakeLoss(mx.sym.add_n(*products) if uses > 1 else products[0])


def run(net: Any, grad_req: str = "write", times: int = 1) -> Any:
    exe = net.simple_bind(mx.cpu(), grad_req=grad_req, x=DATA.shape, w=WEIGHT.shape)
    exe.arg_dict["x"][:], exe.arg_dict["w"][:] = mx.nd.array(DATA), mx.nd.array(WEIGHT)
    Rotated.turned_dense = 0
    for _ in range(times):
        exe.forward(is_train=True)
        exe.backward()
    assert Rotated.turned_dense == 0
    return exe


EXPECTED = np.repeat(DATA.sum(0)[:, None], 2, axis=1)


@pytest.mark.parametrize("uses", [1, 2, 3])
@pytest.mark.parametrize(("grad_req", "factor"), [("write", 1), ("add", 3)])
def test_a_gradient_may_be_of_another_storage_type(grad_req: str, factor: int, uses: int) -> None:
    exe = run(network(uses), grad_req, times=3)
    assert exe.arg_dict["w"].stype == exe.grad_dict["x"].stype == "default"
    assert exe.grad_dict["w"].stype == "rotated"
    np.testing.assert_array_equal(exe.grad_dict["w"].asnumpy(), EXPECTED * factor * uses)


@pytest.mark.parametrize("uses", [1, 2])
@pytest.mark.parametrize(("grad_req", "factor"), [("write", 1), ("add", 3)])
def test_a_gradient_goes_into_a_dense_array_that_was_bound(grad_req: str, factor: int, uses: int) -> None:
    args = {"x": mx.nd.array(DATA), "w": mx.nd.array(WEIGHT)}
    grads = {"w": mx.nd.zeros(WEIGHT.shape)}
    exe = network(uses).bind(mx.cpu(), args, grads, grad_req)
    for _ in range(3):
        exe.forward(is_train=True)
        exe.backward()
    assert exe.grad_dict["w"] is grads["w"]
    assert grads["w"].stype == "default"
    np.testing.assert_array_equal(grads["w"].asnumpy(), EXPECTED * factor * uses)


def test_a_gradient_that_comes_in_two_storage_types_is_dense() -> None:
    x, w = mx.sym.var("x"), mx.sym.var("w")
    net = mx.sym.Group([mx.sym.MakeLoss(mx.sym.dot(x, w)), mx.sym.MakeLoss(mx.sym.square(w))])
    assert infer_gradient_storage(net.graph, Facts().storage) == {}
    exe = net.simple_bind(mx.cpu(), x=DATA.shape, w=WEIGHT.shape)
    exe.arg_dict["x"][:], exe.arg_dict["w"][:] = mx.nd.array(DATA), mx.nd.array(WEIGHT)
    exe.forward(is_train=True)
    exe.backward()
    assert exe.grad_dict["w"].stype == "default"
    np.testing.assert_array_equal(exe.grad_dict["w"].asnumpy(), EXPECTED + 2 * WEIGHT)


def test_it_goes_on_through_what_is_dense() -> None:
    x, w = mx.sym.var("x"), mx.sym.var("w")
    exe = mx.sym.MakeLoss(mx.sym.dot(x, w * 3)).simple_bind(mx.cpu(), x=DATA.shape, w=WEIGHT.shape)
    exe.arg_dict["x"][:], exe.arg_dict["w"][:] = mx.nd.array(DATA), mx.nd.array(WEIGHT)
    exe.forward(is_train=True)
    exe.backward()
    assert exe.grad_dict["w"].stype == "default"
    np.testing.assert_array_equal(exe.grad_dict["w"].asnumpy(), EXPECTED * 3)


@pytest.mark.parametrize("kvstore", [None, "local"])
@pytest.mark.parametrize("optimizer", ["sgd", "adam", "lars", "rmsprop", "sgld"])
def test_dense_weights_are_updated_by_it(optimizer: str, kvstore: str | None) -> None:
    found = []
    for op in ("dot", "FullyConnected"):
        x, w = mx.sym.var("data"), mx.sym.var("w", shape=(3, 2) if op == "dot" else (2, 3))
        output = mx.sym.dot(x, w) if op == "dot" else mx.sym.FullyConnected(x, w, no_bias=True, num_hidden=2)
        module = mx.mod.Module(mx.sym.SoftmaxOutput(output, name="softmax"))
        mx.random.seed(1)
        value = WEIGHT if op == "dot" else WEIGHT.T
        module.fit(
            mx.io.NDArrayIter(DATA, np.array([0, 1]), 2, label_name="softmax_label"),
            optimizer=optimizer,
            optimizer_params={"learning_rate": 0.1, "wd": 0.01},
            kvstore=kvstore,
            arg_params={"w": mx.nd.array(value)},
            num_epoch=3,
        )
        weight = module.get_params()[0]["w"].asnumpy()
        found.append(weight if op == "dot" else weight.T)
    if optimizer != "sgld":  # which draws
        np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-6)
    assert not np.allclose(found[0], WEIGHT)


@pytest.mark.parametrize("given", ["csr", "default"])
def test_what_is_not_dense_is_not_compiled(given: str) -> None:
    if given == "csr":
        net, shapes = mx.sym.square(mx.sym.var("w", stype="csr")), {"w": (4, 3)}
    else:
        net = mx.sym.Embedding(mx.sym.var("x"), mx.sym.var("w"), input_dim=4, output_dim=3, sparse_grad=True)
        shapes = {"x": (2,), "w": (4, 3)}
    with pytest.warns(UserWarning, match="is not compiled, .*: compilers"):
        executor = net.simple_bind(mx.cpu(), {"x": "null", "w": "write"}, backend="inductor", **shapes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        executor.forward(is_train=True)
        executor.backward([mx.nd.ones(output.shape) for output in executor.outputs])
    assert executor.grad_dict["w"].stype == ("csr" if given == "csr" else "row_sparse")
