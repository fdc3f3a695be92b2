"""Expressions of sparse arrays, whose values and storage types MXNet 1.9.1 gave; imported by the tests and by MXNet."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

__all__ = ["EXPRESSIONS", "GRADIENTS", "MIXED", "gradients_of", "mixed_arrays", "names_for", "shown"]

#: The file with `mixed_arrays`.
MIXED = "sparse-mixed.params"

_MATRIX = np.array([[0, 1.5, 0], [2, 0, 3], [0, 0, 0]], "float32")
_OTHER = np.array([[0, 2, 1], [0.5, 0, 3], [0, 0, 0]], "float32")
_STYPES = {"c": "csr", "r": "row_sparse", "d": "default", "v": "default"}
_PAIRS = ["cc", "cd", "dc", "rr", "rd", "dr", "cr", "rc"]
_NUMBERS = ["0", "1", "2.5", "-1"]


def names_for(mx: Any) -> dict[str, Any]:
    """Return what expressions name: `c`, `r`, `d` and `c2`, `r2`, `d2` are two matrices in the three storage types."""
    names: dict[str, Any] = {"mx": mx, "nd": mx.nd, "sparse": mx.nd.sparse, "np": np, "D": _MATRIX}
    for letter, stype in zip("crd", _STYPES.values()):
        names[letter] = mx.nd.array(_MATRIX).tostype(stype)
        names[f"{letter}2"] = mx.nd.array(_OTHER).tostype(stype)
    names["v"] = mx.nd.array([1, 2, 4])
    names["column"] = mx.nd.array([[1], [2], [4]])
    names["p"] = mx.nd.sparse.csr_matrix(([1, 2, 3], [1, 0, 2], [0, 1, 1, 3]), shape=(3, 3))
    names["q"] = mx.nd.sparse.row_sparse_array(([[1, 2], [3, 4]], [1, 3]), shape=(5, 2))
    return names


def mixed_arrays(mx: Any) -> dict[str, Any]:
    """Return arrays of all storage types: of each type of numbers, without stored elements, of three axes."""
    names = names_for(mx)
    arrays = {"dense": names["d"], "csr": names["p"], "rows": names["q"]}
    for dtype in ("float16", "float64", "uint8", "int32", "int8", "int64"):
        arrays[f"csr_{dtype}"] = names["p"].astype(dtype)
        arrays[f"rows_{dtype}"] = names["q"].astype(dtype)
    arrays["no_elements"] = mx.nd.sparse.zeros("csr", (2, 3))
    arrays["no_rows"] = mx.nd.sparse.zeros("row_sparse", (2, 3))
    arrays["zeros"] = mx.nd.sparse.csr_matrix(([0, 1], [0, 1], [0, 1, 2]), shape=(2, 2))
    arrays["out_of_order"] = mx.nd.sparse.row_sparse_array(([[1, 2], [3, 4]], [3, 0]), shape=(5, 2))
    arrays["cube"] = mx.nd.sparse.row_sparse_array((np.ones((1, 2, 2), "float32"), [2]), shape=(4, 2, 2))
    return arrays


def shown(value: Any) -> Any:
    """Return a value as JSON has it: an array by class, shape, type and parts."""
    if isinstance(value, (list, tuple)):
        return [shown(item) for item in value]
    if not hasattr(value, "stype"):
        return value if isinstance(value, (int, float, str, bool, type(None))) else str(value)
    found = [type(value).__name__, list(value.shape), np.dtype(value.dtype).name]
    parts = {"default": [], "row_sparse": ["data", "indices"], "csr": ["data", "indices", "indptr"]}[
        value.stype
    ]
    arrays = [getattr(value, part).asnumpy() for part in parts] or [value.asnumpy()]
    if value.stype == "csr" and len(arrays[0]) > arrays[2][-1]:
        arrays = _in_order(*arrays)
    return [
        *found,
        *[str((array + array.dtype.type(0)).tolist()) for array in arrays],
    ]  # without signs of zeros


def _in_order(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray) -> list[np.ndarray]:
    """Return the parts of one of MXNet's sums in the order of its columns, without the old memory at the end."""
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    order = np.lexsort((indices[: indptr[-1]], rows))
    return [data[order], indices[order], indptr]


_CREATION = """
sparse.csr_matrix(D)
sparse.csr_matrix(D.tolist())
sparse.csr_matrix(D.astype('float64'))
sparse.csr_matrix(D.astype('int32'))
sparse.csr_matrix(D.astype('float16'))
sparse.csr_matrix(D, dtype='int64')
sparse.csr_matrix(D, shape=(3, 3))
sparse.csr_matrix(nd.array(D, dtype='float16'))
sparse.csr_matrix(p)
sparse.csr_matrix(p, dtype='float64')
sparse.csr_matrix((2, 3))
sparse.csr_matrix((np.int64(2), np.int32(3)), dtype='int32')
sparse.csr_matrix((2, 3), ctx=mx.cpu(1)).context
sparse.csr_matrix(([1, 2, 3], [1, 0, 2], [0, 1, 2, 2, 3]))
sparse.csr_matrix(([1, 2, 3], [1, 0, 2], [0, 1, 2, 2, 3]), shape=(4, 9))
sparse.csr_matrix((np.array([1, 2, 3]), np.array([1, 0, 2], 'int32'), np.array([0, 1, 1, 3], 'int32')))
sparse.csr_matrix((nd.array([1, 2, 3], dtype='float16'), nd.array([1, 0, 2]), nd.array([0, 1, 1, 3])), shape=(3, 3))
sparse.csr_matrix(([1, 2, 3], [2, 0, 1], [0, 2, 3]), shape=(2, 3))
sparse.csr_matrix(([], [], [0, 0, 0]), shape=(2, 3))
sparse.csr_matrix(([1, 2, 3], ([1, 0, 1], [2, 0, 1])))
sparse.csr_matrix(([1, 2, 3], ([1, 0, 1], [2, 0, 2])), shape=(3, 4))
sparse.csr_matrix((np.array([1, 2.5, 3], 'float32'), ([1, 0, 1], [2, 0, 2])), shape=(3, 4))
sparse.csr_matrix((nd.array([1, 2, 3], dtype='int32'), (nd.array([1, 0, 1]), nd.array([2, 0, 2]))), shape=(3, 4))
sparse.csr_matrix((np.array([1, 2, 3]), ([1, 0, 1], [2, 0, 2])), dtype='float16')
sparse.row_sparse_array(D)
sparse.row_sparse_array(D.tolist())
sparse.row_sparse_array(D.astype('int32'), dtype='float64')
sparse.row_sparse_array(np.array([1.0, 0, 2]))
sparse.row_sparse_array(q)
sparse.row_sparse_array(q, dtype='float64')
sparse.row_sparse_array((2, 3))
sparse.row_sparse_array((2, 3, 4), dtype='int32')
sparse.row_sparse_array(([[1, 2], [3, 4]], [1, 4]))
sparse.row_sparse_array((np.array([[1, 2], [3, 4]]), np.array([1, 4])), shape=(6, 2))
sparse.row_sparse_array((nd.array([[1, 2], [3, 4]]), nd.array([1, 4])), shape=(6, 2), dtype='float16')
sparse.row_sparse_array(([[1, 2], [3, 4]], [4, 1]), shape=(6, 2))
sparse.row_sparse_array(([[1, 2], [3, 4]], [1, 1]), shape=(6, 2))
sparse.row_sparse_array(([[1, 2], [3, 4]], [1.7, 2.2]), shape=(6, 2))
sparse.row_sparse_array(([1, 2], [1, 2]), shape=(6,))
sparse.row_sparse_array((np.zeros((0, 2)), []), shape=(6, 2))
sparse.array(p)
sparse.array(p, dtype='int32')
sparse.array(q)
nd.array(p)
nd.array(p, dtype='float64')
nd.array(q)
sparse.zeros('csr', (2, 3))
sparse.zeros('row_sparse', (2, 3), dtype='int32')
sparse.zeros('default', (2, 3))
sparse.empty('csr', (2, 3))
sparse.empty('row_sparse', (2, 3))
nd.zeros((2, 3), stype='csr')
nd.empty((2, 3), stype='row_sparse')
nd.zeros((2, 3), stype='foo')
sparse.csr_matrix((2, 3), shape=(2, 4))
sparse.csr_matrix(D, shape=(2, 4))
sparse.csr_matrix(p, shape=(2, 3))
sparse.row_sparse_array((2, 3), shape=(3, 3))
sparse.csr_matrix([2, 3])
sparse.csr_matrix((2, 3, 4))
sparse.csr_matrix((1, 2, 3, 4))
sparse.csr_matrix(np.zeros((2, 3, 4)))
sparse.csr_matrix(q)
sparse.row_sparse_array(p)
sparse.csr_matrix(([1, 2, 3], [2, 1], [0, 2, 3]), shape=(2, 3))
sparse.csr_matrix(([], [], [0, 0, 0]))
sparse.csr_matrix((np.array([1, 2]), ([1, 0], [2, 7])), shape=(3, 4))
sparse.row_sparse_array(([[1, 2], [3, 4]], [1, 2, 3]), shape=(6, 2))
sparse.row_sparse_array(([[1, 2], [3, 4]], [1, 2]), shape=(6, 3))
sparse.row_sparse_array((np.zeros((0, 2)), []))
sparse.array(nd.ones((2, 2)))
sparse.array(np.ones((2, 2)))
"""
_METHODS = """
repr({x})
len({x})
[{x}.stype, {x}.ndim, {x}.shape, {x}._num_aux, {x}.context, {x}.grad]
{x}.tostype('default')
{x}.tostype({x}.stype)
{x}.tostype({x}.stype) is {x}
{x}.astype('int32')
{x}.astype('float32', copy=False) is {x}
{x}.astype('float32') is {x}
{x}.copyto(nd.zeros({x}.shape))
{x}.copyto(sparse.zeros({x}.stype, {x}.shape))
{x}.copyto(nd.zeros((2, 2)))
{x}.copyto(mx.cpu(1))
{x}.copyto(mx.cpu(1)).context
{x}.copyto(3)
{x}.copy()
{x}.as_in_context(mx.cpu(0)) is {x}
{x}.asnumpy()
{x}[:] is {x}
{x}[0, 1]
{x}[0:2, 1:2]
{x}[[0, 1]]
{x}[None]
{x}[...]
{x}[::2]
{x}.reshape((-1,))
{x}._at(0)
{x}._slice(0, 1)
bool({x})
{x}.detach()
{x}.check_format()
{x}.check_format(False)
{x}.wait_to_read()
{x}._data()
{x}._aux_data(0)
{x}.__setitem__(slice(None), nd.ones({x}.shape)) or {x}
{x}.__setitem__(slice(None), np.ones({x}.shape)) or {x}
{x}.__setitem__(slice(None), sparse.zeros({x}.stype, {x}.shape)) or {x}
{x}.__setitem__(slice(None), 1) or {x}
{x}.__setitem__(slice(None), 0) or {x}
{x}.__setitem__(0, 1)
{x}.__setitem__(slice(0, 1), 1)
{x}.__setitem__((0, 0), 1)
{x}.attach_grad() or {x}.grad
{x}.attach_grad(stype='default') or {x}.grad
"""
_OTHERS = """
p[0]
p[-1]
p[1:3]
p[1:]
p[:-1]
p[1:1]
p[2:1]
p[0:99]
p[5:9]
p[::-1]
p.asscipy().toarray().tolist()
q[0]
q[1:3]
p.tostype('row_sparse')
sparse.retain(q, nd.array([3, 0]))
"""
_MALFORMED = """
sparse.csr_matrix(([1, 2, 3], [0, 2, 1], [0, 3, 2]), shape=(2, 3))
sparse.csr_matrix(([1, 2, 3], [0, -2, 1], [0, 2, 3]), shape=(2, 3))
sparse.csr_matrix(([1, 2, 3], [0, 7, 1], [0, 2, 3]), shape=(2, 3))
sparse.csr_matrix(([1, 2, 3], [2, 1, 1], [0, 2, 3]), shape=(2, 3))
sparse.csr_matrix(([1, 2, 3], [2, 2, 1], [0, 2, 3]), shape=(2, 3))
sparse.csr_matrix(([1, 2, 3], [0, 1, 0], [0, 2, 4]), shape=(2, 3))
sparse.csr_matrix(([1, 2, 3], [0, 1, 2], [1, 2, 3]), shape=(2, 3))
sparse.csr_matrix(([1, 2, 3], [1, 0, 2], [0, 1, 2, 2, 3]), shape=(5, 3))
sparse.csr_matrix(([1, 2, 3], [1, 0, 2], [0, 1, 2, 2, 3]), shape=(3, 3))
sparse.row_sparse_array(([[1, 2], [3, 4]], [1, 9]), shape=(6, 2))
sparse.row_sparse_array(([[1, 2], [3, 4]], [-1, 2]), shape=(6, 2))
sparse.row_sparse_array(([[1, 2], [3, 4]], [4, 2]), shape=(6, 2))
sparse.row_sparse_array(([[1, 2], [3, 4]], [2, 2]), shape=(6, 2))
"""


def _lines(text: str) -> list[str]:
    return text.strip().splitlines()


def _binary() -> list[str]:
    named = [
        "nd.elemwise_add", "nd.elemwise_sub", "nd.elemwise_mul", "nd.elemwise_div", "nd.broadcast_add",
        "nd.broadcast_sub", "nd.broadcast_mul", "nd._internal._maximum", "nd._internal._minimum",
        "nd._internal._hypot", "nd._internal._equal", "nd._internal._greater", "nd.add", "nd.subtract", "nd.multiply",
        "nd.maximum", "sparse.add", "sparse.subtract", "sparse.multiply", "sparse.divide", "nd.add_n",
    ]  # fmt: skip
    signs = ["+", "-", "*", "/", "%", "**", "==", "!=", ">", "<", ">=", "<="]
    found = [f"{name}({a}, {b}2)" for name in named for a, b in _PAIRS]
    # A csr matrix is not divided by a dense one in MXNet.
    found += [f"{a} {sign} {b}2" for sign in signs for a, b in _PAIRS if (a, sign, b) != ("c", "/", "d")]
    return [
        *found,
        *[f"nd.add_n({', '.join(letters)})" for letters in ("c", "r", "rrr", "rrd", "drr", "dcr")],
    ]


def _with_numbers() -> list[str]:
    signs = ["+", "-", "*", "/", "%", "**", "==", "!=", ">", "<", ">=", "<="]
    found = [f"{x} {sign} {n}" for sign in signs for x in "cr" for n in _NUMBERS]
    found += [
        f"{n} {sign} {x}" for sign in ("+", "-", "*", "/", ">", "<") for x in "cr" for n in _NUMBERS[1:]
    ]
    for name in ("_maximum_scalar", "_minimum_scalar", "_scatter_plus_scalar", "_scatter_minus_scalar"):
        found += [f"nd._internal.{name}({x}, scalar={n})" for x in "cr" for n in _NUMBERS]
    return found


def _with_vectors() -> list[str]:
    found = [f"{x} {sign} {v}" for sign in "+-*/" for x in "cr" for v in ("v", "column")]
    return [*found, *[f"v {sign} {x}" for sign in "+-*" for x in "cr"]]


def _in_place() -> list[str]:
    names = {"__iadd__": "+", "__isub__": "-", "__imul__": "*"}
    return [f"{a}.{name}({b}2)" for name in names for a, b in _PAIRS] + [
        f"{a}.{name}(2)" for name in (*names, "__itruediv__") for a in "cr"
    ]


#: An expression has a value, or is refused.
EXPRESSIONS = [
    *_lines(_CREATION),
    *[line.format(x=x) for x in "pq" for line in _lines(_METHODS)],
    *_lines(_OTHERS),
    *[f"{line}.check_format({full})" for line in _lines(_MALFORMED) for full in (False, True)],
    *_binary(),
    *_with_numbers(),
    *_with_vectors(),
    *_in_place(),
]

#: An operator with the letters of its arrays (`v` is a row that broadcasts), and its parameters.
GRADIENTS = [
    *[
        (name, pair, {})
        for name, pair in itertools.product(
            ["elemwise_add", "elemwise_sub", "elemwise_mul", "_maximum", "_minimum", "_hypot"],
            ["cc", "rr", "cd", "rd"],
        )
    ],
    *[(name, "cv", {}) for name in ("broadcast_mul", "broadcast_div")],
    *[
        (f"_{name}_scalar", stype, {"scalar": number})
        for name in ("plus", "minus", "mul", "div", "greater", "equal", "scatter_plus", "scatter_minus")
        for stype in "cr"
        for number in (0, 2)
        if (name, number) not in (("div", 0), ("equal", 0))
    ],
    *[("add_n", letters, {}) for letters in ("rr", "rrr", "rd")],
]


def gradients_of(mx: Any, name: str, stypes: str, params: dict[str, Any]) -> dict[str, list[Any]]:
    """Run an operator forward and backward, bound with arrays of storage types; return output and gradients."""
    values = {f"x{i}": mx.nd.array([_MATRIX, _OTHER + 1, _OTHER][i]) for i in range(len(stypes))}
    values = {key: value.tostype(_STYPES[letter]) for (key, value), letter in zip(values.items(), stypes)}
    if stypes == "cv":
        values["x1"] = mx.nd.array([[1, 2, 4]])
    inputs = [mx.sym.var(key, stype=value.stype) for key, value in values.items()]
    function = getattr(mx.sym, name, None) or getattr(mx.sym._internal, name)
    symbol = function(*inputs, **params)
    executor = symbol.simple_bind(
        mx.cpu(), grad_req="write", stype_dict={key: value.stype for key, value in values.items()},
        **{key: value.shape for key, value in values.items()},
    )  # fmt: skip
    for key, value in values.items():
        value.copyto(executor.arg_dict[key])
    (output,) = executor.forward(is_train=True)
    executor.backward([mx.nd.array(_OTHER + 2).tostype(output.stype)])
    found = {"output": output, **executor.grad_dict}
    return {key: [array.stype, str(np.round(array.asnumpy(), 5).tolist())] for key, array in found.items()}
