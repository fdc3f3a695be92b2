"""Kinds of storage: what is dense passes, what must be sparse says so."""

from __future__ import annotations

import pytest

import rebind as mx
from rebind.errors import MXNetError


@pytest.mark.parametrize("cast", [mx.nd.cast_storage, mx.nd.sparse.cast_storage])
def test_dense_stays_dense(cast):
    x = mx.nd.array([1.0, 0.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        out = cast(x, "default")
    out.backward()
    assert out.asnumpy().tolist() == [1, 0, 2] and x.grad.asnumpy().tolist() == [1, 1, 1]
    symbol = mx.sym.cast_storage(mx.sym.var("x"), stype="default")
    assert symbol.infer_shape(x=(2, 3))[1] == [(2, 3)]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda x: mx.nd.cast_storage(x, "csr"),
            "cast_storage: a csr array must have two axes; got shape \\(2,\\)",
        ),
        (
            lambda x: mx.nd.cast_storage(x, "coo"),
            "stype must be one of 'csr', 'default', 'row_sparse'; got 'coo'",
        ),
        (
            lambda x: mx.nd.sparse.retain(x, x),
            "sparse.retain: data must be a row_sparse array; got a dense one",
        ),
        (lambda x: mx.nd.contrib.getnnz(x), "contrib.getnnz: data must be a csr array; got a dense one"),
        (
            lambda x: mx.nd.contrib.edge_id(x, x, x),
            "contrib.edge_id: data must be a csr array; got a dense one",
        ),
    ],
)
def test_arrays_that_must_be_sparse(call, says):
    with pytest.raises(MXNetError, match=says):
        call(mx.nd.ones((2,)))
