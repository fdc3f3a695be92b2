"""What a program declares to be sparse trains densely, with one warning that says what differs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import rebind as mx
from rebind.ops import storage_types

S = mx.sym


@pytest.fixture(autouse=True)
def nothing_warned(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(storage_types, "_warned_of_dense", set())
    yield


def dense(**weight: Any) -> Any:
    return S.FullyConnected(S.var("x"), S.var("w", **weight), num_hidden=2, no_bias=True)


def embedded() -> Any:
    return mx.gluon.nn.Embedding(4, 2, sparse_grad=True)(S.var("x"))


DECLARED: dict[str, tuple[Callable[[], Any], dict[str, Any], str]] = {
    "row_sparse": (lambda: dense(stype="row_sparse"), {}, "variables of storage type 'row_sparse'"),
    "csr": (
        lambda: S.sparse.dot(S.var("x", stype="csr"), S.var("w", shape=(3, 2))), {},
        "variables of storage type 'csr'",
    ),
    "sparse_grad": (
        lambda: S.Embedding(S.var("x"), input_dim=4, output_dim=2, sparse_grad=True), {},
        r"gradients of Embedding\(sparse_grad=True\)",
    ),
    "SparseEmbedding": (
        lambda: S.contrib.SparseEmbedding(S.var("x"), input_dim=4, output_dim=2), {},
        "gradients of contrib.SparseEmbedding",
    ),
    "gluon": (embedded, {}, "there is no sparse storage yet"),
    "stype_dict": (dense, {"stype_dict": {"w": "row_sparse"}}, r"arrays of Symbol.simple_bind\(stype_dict="),
}  # fmt: skip


@pytest.mark.parametrize(("make", "how", "says"), DECLARED.values(), ids=DECLARED)
def test_one_warning(make: Callable[[], Any], how: dict[str, Any], says: str) -> None:
    with pytest.warns(UserWarning, match=says) as caught:
        exe = make().simple_bind(mx.cpu(), x=(2, 3), **how)
    assert "weight decay and momentum act here on the rows that are absent too" in str(caught[0].message)
    assert {array.stype for array in exe.arg_dict.values()} == {"default"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make().simple_bind(mx.cpu(), x=(2, 3), **how)


def test_inference_does_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dense(stype="row_sparse").simple_bind(mx.cpu(), grad_req="null", x=(2, 3))
