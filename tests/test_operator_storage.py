"""Custom operators on sparse arrays: with the storage types that their classes declare, else on dense copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rebind as mx

VALUES = np.array([[0, 0.5, 0], [0, 0, 0], [-0.25, 0, 0.75]], "float32")
seen: list[list[str]] = []


class Square(mx.operator.CustomOp):
    def forward(self, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        seen.append([in_data[0].stype, out_data[0].stype])
        self.assign(out_data[0], req[0], mx.nd.square(in_data[0]))

    def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        seen.append([array[0].stype for array in (out_grad, in_data, out_data, in_grad)])
        # The output, so that backward sees what forward has written.
        slope = 2 * mx.nd.sign(in_data[0]) * mx.nd.sqrt(out_data[0])
        self.assign(in_grad[0], req[0], slope * out_grad[0].tostype("default"))


@mx.operator.register("test_storage_dense")
class OnDense(mx.operator.CustomOpProp):
    def create_operator(self, ctx: Any, shapes: Any, dtypes: Any) -> Square:
        return Square()


@mx.operator.register("test_storage_declared")
class Declared(OnDense):
    def infer_storage_type(self, in_stype: list[str]) -> Any:
        return in_stype, in_stype, []

    def infer_storage_type_backward(
        self, ograd: list[str], inputs: list[str], outputs: list[str], igrad: list[str], aux: list[str]
    ) -> Any:
        return ograd, inputs, outputs, inputs, aux


@pytest.fixture(autouse=True)
def nothing_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    seen.clear()
    monkeypatch.setenv("MXNET_STORAGE_FALLBACK_LOG_VERBOSE", "0")


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
@pytest.mark.parametrize("op_type", ["test_storage_dense", "test_storage_declared"])
@pytest.mark.parametrize("grad_req", ["write", "add"])
def test_executors(op_type: str, stype: str, grad_req: str) -> None:
    inside = stype if op_type == "test_storage_declared" else "default"
    net = mx.sym.Custom(mx.sym.var("x", stype=stype), op_type=op_type)
    executor = net.simple_bind(mx.cpu(), grad_req=grad_req, x=VALUES.shape)
    executor.arg_dict["x"][:] = mx.nd.array(VALUES)
    for _ in range(2):
        [output] = executor.forward(is_train=True)
        executor.backward(mx.nd.ones(VALUES.shape))
    assert output.stype == executor.grad_dict["x"].stype == inside
    np.testing.assert_array_equal(output.asnumpy(), VALUES**2)
    factor = 2 if grad_req == "add" else 1
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), 2 * factor * VALUES)
    assert seen == [[inside] * 2, [inside] * 4] * 2


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
@pytest.mark.parametrize("op_type", ["test_storage_dense", "test_storage_declared"])
def test_calls(op_type: str, stype: str) -> None:
    inside = stype if op_type == "test_storage_declared" else "default"
    x = mx.nd.array(VALUES).tostype(stype)
    assert mx.nd.Custom(x, op_type=op_type).stype == inside
    x.attach_grad()
    with mx.autograd.record():
        output = mx.nd.Custom(x, op_type=op_type)
    output.backward()
    assert output.stype == inside and x.grad.stype == stype
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * VALUES)
    assert seen == [[inside] * 2] * 2 + [[inside] * 4]


def test_a_class_that_returns_too_few_storage_types() -> None:
    @mx.operator.register("test_storage_too_few")
    class TooFew(OnDense):
        def infer_storage_type(self, in_stype: list[str]) -> Any:
            return in_stype, [], []

    with pytest.raises(mx.MXNetError, match="infer_storage_type must return 1 values for its inputs, 1 for"):
        mx.nd.Custom(mx.nd.array(VALUES).tostype("csr"), op_type="test_storage_too_few")
