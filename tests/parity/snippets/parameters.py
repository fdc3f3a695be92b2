"""Keywords that operators take without declaring them, and the attributes that nodes make of them."""

from __future__ import annotations

from typing import Any


def _attributes(make: Any) -> Any:
    return lambda mx: make(mx.sym, mx.sym.var("x")).attr_dict()


def _factor_gradient(mx: Any, **given: bool) -> Any:
    matrix = mx.nd.array([[4.0, 2.0], [2.0, 30.0]])
    matrix.attach_grad()
    with mx.autograd.record():
        out = (mx.nd.linalg.potrf(matrix, **given) * mx.nd.array([[1, 2], [3, 4]])).sum()
    out.backward()
    return matrix.grad


def _inverse_gradient(mx: Any) -> Any:
    matrix = mx.nd.array([[4.0, 2.0], [7.0, 3.0]])
    matrix.attach_grad()
    with mx.autograd.record():
        inverse = mx.nd.linalg.potri(matrix, lower=False)
        out = (inverse * mx.nd.array([[1, 2], [3, 4]])).sum()
    out.backward()
    return inverse, matrix.grad


SNIPPETS = {
    "log_axis": _attributes(lambda S, x: S.log(x, axis=1, name="l")),
    "tuple": _attributes(lambda S, x: S.elemwise_add(x, x, foo=(1, 2), name="a")),
    "regression": _attributes(lambda S, x: S.LinearRegressionOutput(x, S.var("label"), foo=3, name="n")),
    "json": lambda mx: mx.sym.exp(mx.sym.var("x"), foo=3, name="n").tojson(),
    "json_read": lambda mx: mx.sym.load_json(
        mx.sym.exp(mx.sym.var("x"), foo=3, name="n").tojson()
    ).attr_dict(),
    "zeros_like_ctx": lambda mx: mx.nd.zeros_like(mx.nd.ones((2,)), ctx=mx.cpu()),
    "ones_like_dtype": lambda mx: mx.nd.ones_like(mx.nd.ones((2,)), dtype="int32"),
    "exp": lambda mx: mx.nd.exp(mx.nd.ones((1,)), foo=1),
    "refused_with_parameters": lambda mx: mx.nd.clip(mx.nd.ones((1,)), a_min=0, a_max=1, foo=1),
    "refused_by_a_count": lambda mx: mx.nd.add_n(mx.nd.ones((1,)), foo=1),
    "upper_factor": lambda mx: mx.nd.linalg.potrf(mx.nd.array([[4, 9], [2, 30]]), lower=False),
    "lower_factor": lambda mx: mx.nd.linalg.potrf(mx.nd.array([[4, 9], [2, 30]]), lower=True),
    "upper_factor_gradient": lambda mx: _factor_gradient(mx, lower=False),
    "lower_factor_gradient": _factor_gradient,
    "inverse_of_an_upper_factor": _inverse_gradient,
    "sparse_embedding": lambda mx: mx.nd.contrib.SparseEmbedding(
        mx.nd.array([0, 1]), mx.nd.ones((2, 3)), input_dim=2, output_dim=3, deterministic=True
    ),
}
