"""Parameters of blocks that are row_sparse, or whose gradients are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import rebind as mx
from rebind.gluon import Parameter, nn

CPUS = [mx.cpu(0), mx.cpu(1)]


def parameter(**given: object) -> Parameter:
    made = Parameter("w", shape=(5, 2), **{"stype": "row_sparse", "init": "ones", **given})
    made.initialize(ctx=CPUS)
    return made


def test_rows() -> None:
    weight = parameter()
    found = weight.row_sparse_data(mx.nd.array([3, 1, 3], ctx=mx.cpu(1)))
    assert (found.stype, found.context, found.shape) == ("row_sparse", mx.cpu(1), (5, 2))
    assert found.indices.asnumpy().tolist() == [1, 3] and (found.data.asnumpy() == 1).all()
    each = weight.list_row_sparse_data(mx.nd.array([0]))
    assert [array.context for array in each] == CPUS
    assert [array.indices.asnumpy().tolist() for array in each] == [[0], [0]]
    found[:] = mx.nd.ones((5, 2)) * 7  # a copy
    assert (weight.row_sparse_data(mx.nd.arange(5)).asnumpy() == 1).all()


@pytest.mark.parametrize(
    ("stype", "call"),
    [
        ("row_sparse", lambda weight: weight.data()),
        ("row_sparse", lambda weight: weight.list_data()),
        ("default", lambda weight: weight.row_sparse_data(mx.nd.array([1]))),
        ("default", lambda weight: weight.list_row_sparse_data(mx.nd.array([1]))),
    ],
)
def test_each_storage_type_has_methods_of_its_own(stype: str, call: Callable[[Parameter], object]) -> None:
    with pytest.raises(RuntimeError, match=f"is for other storage types than '{stype}'; use "):
        call(parameter(stype=stype))


def test_ids_that_are_no_rows() -> None:
    with pytest.raises(ValueError, match=r"gluon.Parameter 'w': row_id must be from 0 to 4; got 5"):
        parameter().row_sparse_data(mx.nd.array([5]))


@pytest.mark.parametrize("name", ["stype", "grad_stype"])
def test_unknown_storage_types(name: str) -> None:
    with pytest.raises(mx.MXNetError, match=f"gluon.Parameter 'w': {name} must be 'default'"):
        Parameter("w", shape=(2,), **{name: "columns"})


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_gradients(stype: str) -> None:
    weight = parameter(stype=stype, grad_stype="row_sparse")
    assert {each.stype for each in weight.list_grad()} == {"row_sparse"}
    ids = mx.nd.array([3, 1, 3])
    with mx.autograd.record():
        taken = mx.nd.Embedding(ids, weight.array_on(), input_dim=5, output_dim=2, sparse_grad=True)
    taken.backward()
    grad = weight.grad()
    assert grad.indices.asnumpy().tolist() == [1, 3] and grad.data.asnumpy().tolist() == [[1, 1], [2, 2]]
    weight.zero_grad()
    assert weight.grad().stype == "row_sparse" and not weight.grad().asnumpy().any()


def test_values_in_and_devices() -> None:
    weight = parameter()
    weight.set_data(mx.nd.array(np.arange(10).reshape(5, 2)))
    weight.reset_ctx([mx.cpu(2), mx.cpu(3)])
    for each in weight.list_row_sparse_data(mx.nd.arange(5)):
        assert each.stype == "row_sparse" and (each.asnumpy() == np.arange(10).reshape(5, 2)).all()
    weight.cast("float64")
    assert weight.row_sparse_data(mx.nd.array([1], ctx=mx.cpu(2))).dtype == np.float64


def test_a_block_with_a_sparse_gradient() -> None:
    block = nn.Embedding(5, 2, sparse_grad=True)
    block.initialize()
    with mx.autograd.record():
        block(mx.nd.array([3, 1])).backward()
    assert block.weight.grad().indices.asnumpy().tolist() == [1, 3]
