"""Which storage types operators take and give, with what they compute: the rows that are recorded from MXNet.

A row is an operator, its parameters, and the storage type of each input. `INPUTS` has what comes in: few numbers, many
zeros, an empty row and an empty column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .golden import DATA

STORAGE = DATA / "storage.json"

SPARSE = [[0, 0.5, 0, 0], [0, 0, 0, 0], [-0.25, 0, 0, 0.75], [0.125, 0, 0, -0.375], [0, 0, 0, 1.5]]
OTHER = [[0, 1.5, 0, 0.25], [0, 0, 0, 0], [0, 0, 0, 0], [0.5, 0, 0, 0.75], [0, -1, 0, 0]]
FULL = [[1, -2, 3, -4], [2, 1, -1, 0.5], [3, -1, 0.25, 2], [-1, 4, 2, 1], [0.5, 2, -3, 1]]
INPUTS: dict[str, Any] = {
    "some": SPARSE,
    "other": OTHER,
    "full": FULL,
    "weight": np.array(FULL).T.tolist(),
    "row": [[2, -1, 4, 0.5]],
    "column": [[2], [-1], [4], [0.5], [1]],
    "vector": [1, -2, 0.5, 3],
    "long": [1, -2, 0.5, 3, 4],
    "rows": [3, 0],
    "ids": [[3, 0], [4, 3]],
    "u": [0, 2, 1],
    "v": [1, 0, 2],
    "condition": [[0, 1, 0, 0], [0, 0, 0, 0], [1, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 1]],
    "choice": [1, 0, 0, 1, 1],
}


@dataclass(frozen=True)
class Row:
    """An operator on inputs of some storage types."""

    operator: str
    inputs: Mapping[str, tuple[str, str]]  # by name: storage type, name in `INPUTS`
    parameters: Mapping[str, Any] = field(default_factory=dict)
    constants: tuple[str, ...] = ()  # inputs that have no gradient

    @property
    def name(self) -> str:
        """The row in one line: ``clip(csr, a_min=-1, a_max=1)``."""
        shapes = ("row", "column", "vector", "long")
        texts = [f"{stype} {which}" if which in shapes else stype for stype, which in self.inputs.values()]
        texts += [f"{key}={value}" for key, value in self.parameters.items()]
        return f"{self.operator}({', '.join(texts)})"

    def values(self) -> dict[str, np.ndarray]:
        """Return the numbers of each input."""
        return {name: np.array(INPUTS[which], "float32") for name, (_, which) in self.inputs.items()}


CSR, ROWS, DENSE = "csr", "row_sparse", "default"
BOTH = (CSR, ROWS)


UNARY = """
    abs arccos arccosh arcsin arcsinh arctan arctanh BlockGrad cbrt ceil cos cosh degrees erf exp expm1 fix floor
    gamma identity log log1p logical_not negative radians reciprocal relu rint round rsqrt sigmoid sign sin sinh
    softsign sqrt square tan tanh trunc zeros_like ones_like make_loss MakeLoss softmax flatten transpose
"""


def _unary() -> list[Row]:
    return [Row(name, {"data": (stype, "some")}) for name in UNARY.split() for stype in BOTH]


def _with_parameters() -> list[Row]:
    found = []
    for operator, choices in {
        "clip": [{"a_min": -0.5, "a_max": 0.6}, {"a_min": 0.0, "a_max": 1.0}],
        "sum": [
            {},
            {"axis": 0},
            {"axis": 1},
            {"axis": 1, "keepdims": True},
            {"axis": -1},
            {"axis": 1, "exclude": True},
        ],
        "mean": [{}, {"axis": 0}, {"axis": 1}, {"axis": 0, "keepdims": True}],
        "norm": [{}, {"axis": 1}, {"ord": 1}],
        "max": [{"axis": 1}],
        "smooth_l1": [{"scalar": 1.0}],
        "slice": [
            {"begin": (1,), "end": (4,)},
            {"begin": (1, 0), "end": (4, 3)},
            {"begin": (1, 1), "end": (5, 4)},
            {"begin": (-2,), "end": (None,)},
        ],
        "slice_axis": [{"axis": 0, "begin": 1, "end": 3}],
        "reshape": [{"shape": (4, 5)}],
        "cast": [{"dtype": "float32"}],
        "amp_cast": [{"dtype": "float32"}],
        "expand_dims": [{"axis": 0}],
        "LeakyReLU": [{"act_type": "leaky"}],
        "Activation": [{"act_type": "relu"}],
    }.items():
        found += [Row(operator, {"data": (stype, "some")}, p) for stype in BOTH for p in choices]
    found += [
        Row("_square_sum", {"data": (ROWS, "some")}, p)
        for p in ({"axis": 1}, {"axis": 1, "keepdims": True}, {"axis": 0}, {"axis": 0, "keepdims": True})
    ]
    found += [
        Row("cast_storage", {"data": (one, "some")}, {"stype": other})
        for one in (DENSE, CSR, ROWS)
        for other in (DENSE, CSR, ROWS)
    ]
    found += [Row("contrib.getnnz", {"data": (CSR, "some")}, p) for p in ({}, {"axis": 1})]
    return found


def _others() -> list[Row]:
    found = [
        Row("sparse.retain", {"data": (ROWS, "some"), "indices": (DENSE, "rows")}),
        Row("contrib.edge_id", {"data": (CSR, "some"), "u": (DENSE, "u"), "v": (DENSE, "v")}),
        Row("add_n", {"a": (CSR, "some"), "b": (CSR, "other")}),
        Row("add_n", {"a": (ROWS, "some"), "b": (DENSE, "full"), "c": (CSR, "other")}),
        Row("stack", {"a": (CSR, "some"), "b": (CSR, "other")}),
        Row(
            "Embedding",
            {"data": (DENSE, "ids"), "weight": (ROWS, "some")},
            {"input_dim": 5, "output_dim": 4, "sparse_grad": True},
            ("data",),
        ),
        Row(
            "Embedding",
            {"data": (DENSE, "ids"), "weight": (DENSE, "some")},
            {"input_dim": 5, "output_dim": 4, "sparse_grad": True},
            ("data",),
        ),
        Row(
            "contrib.SparseEmbedding",
            {"data": (DENSE, "ids"), "weight": (ROWS, "some")},
            {"input_dim": 5, "output_dim": 4},
            ("data",),
        ),
        Row("add_n", {"a": (ROWS, "some"), "b": (ROWS, "other")}),
        Row("take", {"a": (ROWS, "some"), "indices": (DENSE, "rows")}),
        Row("take", {"a": (CSR, "some"), "indices": (DENSE, "rows")}),
        Row("take", {"a": (CSR, "some"), "indices": (DENSE, "rows")}, {"mode": "wrap"}),
        Row("take", {"a": (CSR, "some"), "indices": (DENSE, "rows")}, {"axis": 1}),
        Row("where", {"condition": (DENSE, "condition"), "x": (CSR, "some"), "y": (DENSE, "full")}),
        Row("where", {"condition": (CSR, "condition"), "x": (DENSE, "some"), "y": (DENSE, "full")}),
        Row("where", {"condition": (CSR, "condition"), "x": (CSR, "some"), "y": (CSR, "full")}),
        Row("where", {"condition": (ROWS, "condition"), "x": (DENSE, "some"), "y": (DENSE, "full")}),
        Row(
            "FullyConnected",
            {"data": (CSR, "some"), "weight": (DENSE, "full")},
            {"num_hidden": 5, "no_bias": True},
        ),
        Row(
            "FullyConnected",
            {"data": (DENSE, "some"), "weight": (ROWS, "full")},
            {"num_hidden": 5, "no_bias": True},
        ),
    ]
    for axis in (0, 1):
        found += [
            Row("concat", {"a": (stype, "some"), "b": (stype, "other")}, {"dim": axis}) for stype in BOTH
        ]
    found.append(Row("concat", {"a": (CSR, "some"), "b": (DENSE, "other")}, {"dim": 0}))
    for pair in ((ROWS, ROWS), (ROWS, DENSE), (CSR, CSR)):
        names = (
            "full" if stype == DENSE else which for stype, which in zip(pair, ("some", "other"), strict=True)
        )
        found.append(
            Row(
                "_scatter_elemwise_div", dict(zip(("lhs", "rhs"), zip(pair, names, strict=True), strict=True))
            )
        )
    for operator in ("_scatter_plus_scalar", "_scatter_minus_scalar"):
        found += [Row(operator, {"data": (stype, "some")}, {"scalar": 2}) for stype in BOTH]
    for operator in ("LinearRegressionOutput", "MAERegressionOutput", "LogisticRegressionOutput"):
        found.append(Row(operator, {"data": (DENSE, "full"), "label": (CSR, "other")}))
        found.append(Row(operator, {"data": (CSR, "some"), "label": (CSR, "other")}))
        found.append(Row(operator, {"data": (DENSE, "full"), "label": (ROWS, "other")}))
    return found


def _arithmetic() -> list[Row]:
    found = []
    pairs = [(CSR, CSR), (ROWS, ROWS), (CSR, DENSE), (DENSE, CSR), (ROWS, DENSE), (DENSE, ROWS), (CSR, ROWS)]
    for operator in (
        "elemwise_add", "elemwise_sub", "elemwise_mul", "elemwise_div", "_maximum", "_minimum",
        "_equal", "broadcast_add", "broadcast_mul",
    ):  # fmt: skip
        for one, other in pairs:
            second = "full" if other == DENSE else "other"
            first = "full" if one == DENSE else "some"
            found.append(Row(operator, {"lhs": (one, first), "rhs": (other, second)}))
    for operator in ("broadcast_add", "broadcast_sub", "broadcast_mul", "broadcast_div", "broadcast_maximum"):
        for which in ("row", "column"):
            found += [Row(operator, {"lhs": (stype, "some"), "rhs": (DENSE, which)}) for stype in BOTH]
    for operator in (
        "_plus_scalar", "_minus_scalar", "_rminus_scalar", "_mul_scalar", "_div_scalar", "_rdiv_scalar", "_mod_scalar",
        "_power_scalar", "_maximum_scalar", "_equal_scalar", "_greater_scalar", "_lesser_scalar", "_not_equal_scalar",
    ):  # fmt: skip
        found += [
            Row(operator, {"data": (stype, "some")}, {"scalar": scalar})
            for stype in BOTH
            for scalar in (0, 2)
        ]
    return found


def _products() -> list[Row]:
    found = []
    for a, b in ((False, False), (True, False), (False, True), (True, True)):
        for one, other in ((CSR, DENSE), (CSR, ROWS), (DENSE, CSR), (CSR, CSR), (ROWS, DENSE)):
            first = "some" if one != DENSE else "full"
            if a == b:
                second = {DENSE: "weight", ROWS: "weight", CSR: "weight"}[other]
            else:
                second = "full" if other != CSR else "other"
            flags = {"transpose_a": a, "transpose_b": b}
            found.append(Row("dot", {"lhs": (one, first), "rhs": (other, second)}, flags))
    found.append(Row("dot", {"lhs": (CSR, "some"), "rhs": (DENSE, "vector")}))
    found.append(Row("dot", {"lhs": (CSR, "some"), "rhs": (DENSE, "long")}, {"transpose_a": True}))
    found.append(
        Row(
            "dot",
            {"lhs": (CSR, "some"), "rhs": (DENSE, "full")},
            {"transpose_a": True, "forward_stype": DENSE},
        )
    )
    return found


#: By the families of operators.
GROUPS: dict[str, Sequence[Row]] = {
    "unary": _unary(),
    "with parameters": _with_parameters(),
    "others": _others(),
    "arithmetic": _arithmetic(),
    "products": _products(),
}
ROWS_BY_NAME = {row.name: row for rows in GROUPS.values() for row in rows}


def head_gradient(shape: Sequence[int]) -> np.ndarray:
    """Return the gradient that comes to an output."""
    size = int(np.prod(shape))
    return ((np.arange(size) * 7 % 11 - 5) / 4).astype("float32").reshape(shape)


def describe(array: Any) -> dict[str, Any]:
    """Write an array of either package down: its storage type, its values, and which of them are stored."""
    found: dict[str, Any] = {"stype": array.stype, "values": _numbers(array.asnumpy())}
    if array.stype == CSR:
        indptr = array.indptr.asnumpy()
        # MXNet's arrays have old memory behind what is stored.
        found["indptr"] = indptr.tolist()
        found["indices"] = array.indices.asnumpy()[: indptr[-1]].tolist()
    elif array.stype == ROWS:
        found["indices"] = array.indices.asnumpy().tolist()
    return found


def _numbers(values: np.ndarray) -> Any:
    # As text where JSON has no number.
    if values.ndim:
        return [_numbers(each) for each in values]
    number = float(values)
    return float(f"{number:.7g}") if np.isfinite(number) else str(number)
