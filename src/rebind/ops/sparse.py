"""Names of operators under ``nd.sparse`` and ``sym.sparse``: the same operators, as in MXNet.

With dense arrays they are the operators themselves. Storage of other kinds will come with the operators that know it.
"""

from __future__ import annotations

from . import contrib, elementwise, joining, loss, matmul, nn, reduce, slicing, unary
from .declaration import OPERATORS, find

__all__ = ["SPARSE_NAMES"]

# Imported here so that their operators are registered before the names below are looked up.
_FAMILIES = (contrib, elementwise, joining, loss, matmul, nn, reduce, slicing, unary)

_NAMES = """
    ElementWiseSum Embedding FullyConnected LinearRegressionOutput LogisticRegressionOutput MAERegressionOutput
    _contrib_round_ste _contrib_sign_ste abs add_n arccos arccosh arcsin arcsinh arctan arctanh broadcast_add
    broadcast_div broadcast_minus broadcast_mul broadcast_plus broadcast_sub cbrt ceil clip concat cos cosh
    degrees dot elemwise_add elemwise_div elemwise_mul elemwise_sub exp expm1 fix floor gamma gammaln log log10
    log1p log2 make_loss mean negative norm radians relu rint round rsqrt sigmoid sign sin sinh slice sqrt square
    stop_gradient sum tan tanh trunc where zeros_like
"""
SPARSE_NAMES = tuple(_NAMES.split())

for _name in SPARSE_NAMES:
    OPERATORS[f"_sparse_{_name}"] = find(_name)
