"""Unary, binary, scalar and reducing operators against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
import torch

from rebind.ops import OPERATORS, reduce
from rebind.ops._tables import BINARY, SCALAR, UNARY

from .samples import CERTAIN

UNARY_REFERENCES = {
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": scipy.special.expit,
    "softsign": lambda x: x / (1 + np.abs(x)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "rcbrt": lambda x: 1 / np.cbrt(x),
    "erf": scipy.special.erf,
    "erfinv": scipy.special.erfinv,
    "gamma": scipy.special.gamma,
    "gammaln": scipy.special.gammaln,
    "round": lambda x: np.trunc(x) + np.where(np.abs(x - np.trunc(x)) >= 0.5, np.sign(x), 0),
    "rint": lambda x: np.ceil(x - 0.5),
    "fix": np.trunc,
    "_copy": lambda x: x,
    "_copyto": lambda x: x,
    "BlockGrad": lambda x: x,
}
BINARY_REFERENCES = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "mod": np.mod,
    "lesser": np.less,
    "lesser_equal": np.less_equal,
    "plus": np.add,
    "minus": np.subtract,
}


def binary_reference(name):
    stem = name.removesuffix("_scalar")
    for prefix in ("_scatter_elemwise_", "elemwise_", "broadcast_", "_grad_", "_scatter_", "_"):
        stem = stem.removeprefix(prefix)
    reverse = stem in ("rminus", "rdiv", "rmod", "rpower")
    stem = stem.removeprefix("r") if reverse else stem
    function = BINARY_REFERENCES.get(stem) or getattr(np, stem)
    return (lambda x, y: function(y, x)) if reverse else function


def cases(rows):
    names = {row.op.name for row in rows}
    return [
        sample
        for sample in CERTAIN
        if sample.name in names and all(np.asarray(x).dtype == "float32" for x in sample.inputs())
    ]


def call(sample):
    op = OPERATORS[sample.name]
    return op(
        *map(torch.tensor, sample.inputs()), **op.signature.keywords(op.parse(sample.parameters))
    ).numpy()


@pytest.mark.parametrize("sample", cases(UNARY), ids=str)
def test_unary(sample):
    reference = UNARY_REFERENCES.get(sample.name) or getattr(np, sample.name)
    with np.errstate(all="ignore"):
        expected = reference(*sample.inputs()).astype("float32")
    assert np.allclose(call(sample), expected, rtol=1e-5, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("sample", cases(BINARY), ids=str)
def test_binary(sample):
    with np.errstate(all="ignore"):
        expected = binary_reference(sample.name)(*sample.inputs()).astype("float32")
    found = call(sample)
    assert np.allclose(np.where(np.isnan(expected), 0, found), np.nan_to_num(expected), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("sample", cases(SCALAR), ids=str)
def test_scalar(sample):
    if sample.name == "_mod_scalar" and not sample.parameters["scalar"]:
        assert not call(sample).any()
        return
    number = np.float32(sample.parameters["scalar"])
    expected = binary_reference(sample.name)(sample.inputs()[0], number).astype("float32")
    assert np.allclose(call(sample), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "row", [row for row in reduce.REDUCTIONS if row.numpy_name], ids=lambda row: row.op.name
)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("exclude", [False, True])
@pytest.mark.parametrize("axis", [None, (), (0,), (-1,), (0, 2), (2, 0), (1, 0, -1)])
def test_reductions(row, axis, exclude, keepdims):
    x = np.random.default_rng(3).uniform(-2, 2, (2, 3, 4)).astype("float32")
    named = {a % 3 for a in axis or ()}
    along = tuple(a for a in range(3) if (a in named) != exclude) if axis else (0, 1, 2)
    expected = np.atleast_1d(getattr(np, row.numpy_name)(x, axis=along, keepdims=keepdims))
    found = row.op(torch.tensor(x), axis=axis, keepdims=keepdims, exclude=exclude).numpy()
    assert found.shape == expected.shape and np.allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "inputs", "parameters", "expected", "dtype"),
    [
        ("_plus_scalar", [[-7, 3]], {"scalar": 2.5}, [-5, 5], torch.int32),
        ("_plus_scalar", [[-7, 3]], {"scalar": 2.5, "is_int": False}, [-4.5, 5.5], torch.float64),
        ("elemwise_div", [[-7, 3], [2, 2]], {}, [-3, 1], torch.int32),
        ("mean", [[-7, 3]], {}, [-2], torch.int32),
        ("_plus_scalar", [[True]], {"scalar": 1}, [2], torch.int64),
    ],
)
def test_types_of_integers(name, inputs, parameters, expected, dtype):
    tensors = [torch.tensor(x, dtype=torch.bool if x == [True] else torch.int32) for x in inputs]
    found = OPERATORS[name](*tensors, **parameters)
    assert found.tolist() == expected and found.dtype is dtype


@pytest.mark.parametrize(
    ("name", "inputs", "parameters", "expected"),
    [
        ("max", [[1.0, 3.0, 3.0]], {}, [[0.0, 1.0, 1.0]]),
        ("_maximum", [[1.0, 2.0], [1.0, 3.0]], {}, [[1.0, 0.0], [0.0, 1.0]]),
        ("clip", [[-1.0, 0.0, 1.0, 2.0]], {"a_min": 0.0, "a_max": 1.0}, [[0.0, 1.0, 1.0, 0.0]]),
        ("hard_sigmoid", [[-2.5, 0.0, 2.5]], {}, [[0.0, 0.2, 0.0]]),
        ("make_loss", [[5.0, 7.0]], {}, [[1.0, 1.0]]),
        ("_mod_scalar", [[5.0]], {"scalar": 0.0}, [[1.0]]),
        ("norm", [[0.0, 0.0]], {}, [[0.0, 0.0]]),
        ("abs", [[0.0]], {}, [[0.0]]),
    ],
)
def test_gradients_at_ties_and_borders(name, inputs, parameters, expected):
    tensors = [torch.tensor(x, requires_grad=True) for x in inputs]
    OPERATORS[name](*tensors, **parameters).sum().backward()
    for tensor, gradient in zip(tensors, expected, strict=True):
        torch.testing.assert_close(tensor.grad, torch.tensor(gradient))


def test_block_grad_blocks():
    x = torch.tensor([3.0], requires_grad=True)
    (OPERATORS["BlockGrad"](x) * x).backward()
    assert x.grad.tolist() == [3.0]
