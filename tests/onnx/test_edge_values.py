"""Functions at the values where runtimes differ: zeros with signs, halves, ties, infinities, no numbers, integers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx_ir as ir
import onnxruntime as ort
import pytest

import rebind as mx
from rebind.onnx import to_onnx

S = mx.sym
X, Y = S.var("x"), S.var("y")

_FLOATS = [
    0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 0.49999997, -0.49999997, 8388609.0, -8388609.0, 1, -1, 2, -2, 3, -3,
    100, -100, 1e-8, -1e-8, 1e-30, 88, -88, np.inf, -np.inf, np.nan, 0.3, -0.3, 6.7, -2.3, -3.7,
]  # fmt: skip
_INTEGERS = [0, 1, -1, 2, -2, 3, -3, 8, 10, 100, -100, 5, 7, 64]
_TYPES = ("float32", "float64", "float16", "int8", "uint8", "int32", "int64")
_RTOL = {"float16": 4e-3, "float32": 2e-5, "float64": 1e-9}

_UNARY = [
    "sigmoid", "softsign", "reciprocal", "sqrt", "exp", "log", "erf", "sin", "cos", "tan", "arcsin", "arccos", "arctan",
    "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "negative", "abs", "relu", "sign", "square", "logical_not",
    "rsqrt", "cbrt", "rcbrt", "expm1", "log1p", "log2", "log10", "degrees", "radians", "erfinv", "gammaln", "gamma",
    "floor", "ceil", "trunc", "fix", "round", "rint", "hard_sigmoid", "zeros_like", "ones_like",
]  # fmt: skip
_SIGNED_ZEROS = {"floor", "ceil", "trunc", "fix", "round", "rint", "cbrt", "log1p", "erfinv", "sinh", "tanh"}
#: Functions of float64 that onnxruntime has for float32 only, and so those of integers that are computed in it.
_NO_KERNEL = {(name, "float64") for name in ("arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh")}
_NO_KERNEL |= {
    (name, dtype) for name in ("erf", "erfinv") for dtype in _TYPES if dtype not in ("float32", "float16")
}

_TESTS = [
    "equal", "not_equal", "greater", "greater_equal", "lesser", "lesser_equal", "logical_and", "logical_or",
    "logical_xor",
]  # fmt: skip
_BINARY = ["add", "sub", "mul", "div", "mod", "power", "maximum", "minimum", *_TESTS]
_SCALAR = [
    "plus", "minus", "rminus", "mul", "div", "rdiv", "mod", "rmod", "power", "rpower", "maximum", "minimum", "hypot",
    *_TESTS,
]  # fmt: skip


def values(dtype: str) -> np.ndarray:
    """Return values that are in a type."""
    if dtype.startswith("float"):
        with np.errstate(over="ignore"):
            return np.array(_FLOATS).astype(dtype)
    return np.array([abs(n) if dtype == "uint8" else n for n in _INTEGERS], dtype)


def run(symbol: Any, inputs: Mapping[str, np.ndarray], opset: int = 17) -> list[np.ndarray]:
    """Export a network, and run it."""
    shapes = {name: value.shape for name, value in inputs.items()}
    types = {name: value.dtype for name, value in inputs.items()}
    proto = ir.to_proto(to_onnx(symbol, {}, shapes, types, opset=opset))
    session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {each.name: inputs[each.name] for each in session.get_inputs()})


def compare(
    symbol: Any,
    inputs: Mapping[str, np.ndarray],
    *,
    signs: bool = False,
    opset: int = 17,
    atol: float = 0.0,
) -> None:
    """Compare the outputs in onnxruntime with those in rebind."""
    expected = symbol.eval(**{name: mx.nd.array(value, dtype=value.dtype) for name, value in inputs.items()})
    for one, other in zip(run(symbol, inputs, opset), (each.asnumpy() for each in expected), strict=True):
        assert one.dtype == other.dtype
        rtol = _RTOL.get(str(one.dtype), 0)
        np.testing.assert_allclose(one, other, rtol=rtol, atol=max(atol, rtol * 1e-3))
        if signs:
            number = ~np.isnan(one)
            np.testing.assert_array_equal(np.signbit(one[number]), np.signbit(other[number]))


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", _TYPES)
@pytest.mark.parametrize("name", _UNARY)
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
def test_functions_of_one_array(name: str, dtype: str) -> None:
    symbol, inputs = getattr(S, name)(X), {"x": values(dtype)}
    if (name, dtype) in _NO_KERNEL:
        with pytest.raises(Exception, match="NOT_IMPLEMENTED"):
            run(symbol, inputs)
    else:
        compare(symbol, inputs, signs=name in _SIGNED_ZEROS and dtype.startswith("float"))


@pytest.mark.parametrize("dtype", _TYPES)
@pytest.mark.parametrize("name", _BINARY)
def test_functions_of_two_arrays(name: str, dtype: str) -> None:
    first = second = values(dtype)
    if not dtype.startswith("float"):
        if name == "div":  # by 0 it ends the process, in MXNet too
            second = second[second != 0]
        if name == "power":  # within the type
            first, second = first[abs(first) <= 10], second[(second >= 0) & (second < 3)]
    inputs = {"x": first[:, None], "y": second[None]}
    compare(getattr(S, f"broadcast_{name}")(X, Y), inputs)


@pytest.mark.sampled
@pytest.mark.parametrize("number, is_int", [(2.0, True), (-3.0, True), (2.5, False), (70000.0, True)])
@pytest.mark.parametrize("dtype", _TYPES)
@pytest.mark.parametrize("name", _SCALAR)
def test_functions_of_an_array_and_a_number(name: str, dtype: str, number: float, is_int: bool) -> None:
    data = values(dtype)
    if not dtype.startswith("float"):
        if name in ("div", "rdiv"):
            if np.array(int(number)).astype(dtype) == 0 and is_int:
                pytest.skip("a division by 0")
            data = data[data != 0]
        if "power" in name:
            data = data[(data > 0) & (data < 4)]
            if number not in (2.0, 2.5):
                pytest.skip("beyond the type")
    elif name == "hypot":
        data = data[~np.isnan(data)]  # in C, infinite beside an infinity
    compare(getattr(S._internal, f"_{name}_scalar")(X, scalar=number, is_int=is_int), {"x": data})


_NAN = np.array([[np.nan, 1, 2, 2], [3, np.nan, 3, -1], [0, -0.0, 0, -5]], "float32")
_TIES = np.array([[1, 2, 3, 2], [2, 2, 2, 0], [0, 1, 1, 2]])

_CHOICES: dict[str, Callable[[Any], Any]] = {
    "max": lambda x: S.max(x, axis=1),
    "min": lambda x: S.min(x, axis=1),
    "nansum": lambda x: S.nansum(x, axis=1),
    "nanprod": lambda x: S.nanprod(x, axis=1),
    "argmax": lambda x: S.argmax(x, axis=1),
    "argmin": lambda x: S.argmin(x, axis=1),
    "topk": lambda x: S.topk(x, k=3, ret_typ="both"),
    "topk ascending": lambda x: S.topk(x, k=3, is_ascend=True),
    "topk mask": lambda x: S.topk(x, k=2, ret_typ="mask", axis=0),
    "sort": lambda x: S.sort(x, is_ascend=False),
    "argsort": S.argsort,
    "clip": lambda x: S.clip(x, 0, 1),
    "all_finite": S.all_finite,
    "histogram": lambda x: S._internal._histogram(x, bin_cnt=3, range=(0, 3)),
    "SequenceMask": lambda x: S.SequenceMask(x, S.ones((4,)), use_sequence_length=True),
    "dot": lambda x: S.dot(x, x, transpose_b=True),
    "_slice_assign_scalar": lambda x: S._internal._slice_assign_scalar(x, scalar=3, begin=(0,), end=(2,)),
    "smooth_l1": lambda x: S.smooth_l1(x, scalar=2.0),
    "mean": lambda x: S.mean(x, axis=(0, 1)),
    "sum": lambda x: S.sum(x, axis=0, exclude=True),
    "cumsum": lambda x: S.cumsum(x, axis=0),
    "moments": lambda x: S.moments(x, axes=(1,)),
}


@pytest.mark.parametrize("dtype", _TYPES)
@pytest.mark.parametrize("name", _CHOICES)
def test_ties(name: str, dtype: str) -> None:
    compare(_CHOICES[name](X), {"x": _TIES.astype(dtype)})


#: MXNet's own order of what is not a number depends on where it is.
_SORTS = {"topk", "topk ascending", "topk mask", "sort", "argsort"}


@pytest.mark.parametrize("name", sorted(_CHOICES.keys() - _SORTS))
def test_what_is_not_a_number(name: str) -> None:
    compare(_CHOICES[name](X), {"x": _NAN})


@pytest.mark.parametrize("opset", [17, 20])
@pytest.mark.parametrize("name", ["fft", "ifft"])
def test_fourier_transforms(name: str, opset: int) -> None:
    data = np.random.default_rng(0).random((3, 2, 8)).astype("float32")
    compare(getattr(S.contrib, name)(X), {"x": data}, opset=opset, atol=1e-6)


def test_fourier_transforms_before_onnx_had_them() -> None:
    with pytest.raises(mx.MXNetError, match="opset 16: DFT needs opset 17"):
        run(S.contrib.fft(X), {"x": np.ones((2, 4), "float32")}, opset=16)


def test_a_zero_among_pivots() -> None:
    matrix = np.array([[0, 2, 1], [1, 0, 3], [4, 5, 0]], "float32")
    compare(S.linalg.inverse(X), {"x": matrix})
    compare(S.linalg.slogdet(X), {"x": np.stack([matrix, np.ones((3, 3), "float32")])})
    compare(S.linalg.det(X), {"x": matrix.astype("float64")})


@pytest.mark.parametrize("is_ascend", [False, True])
@pytest.mark.parametrize("topk", [-1, 2])
def test_pairs_that_cannot_be_matched(topk: int, is_ascend: bool) -> None:
    scores = np.array(
        [[0.5, np.nan, 0.6], [np.nan, np.nan, np.nan], [0.5, 0.5, 0.7], [np.inf, 0.6, -np.inf]], "float32"
    )
    matched = S.contrib.bipartite_matching(X, threshold=0.55, topk=topk, is_ascend=is_ascend)
    compare(matched, {"x": np.stack([scores, np.zeros_like(scores)])})


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_alignments(dtype: str) -> None:
    scores = np.random.default_rng(5).standard_normal((4, 6, 5)).astype(dtype)
    scores[:, 4, 1] = -np.inf
    # Repeated, too many, none, no class, what has no probability, all there is room for.
    labels = np.array([[2, 2, 0], [1, 1, 1], [0, 0, 0], [7, 0, 0], [1, 0, 0], [3, 1, 2]], "float32")
    compare(S.CTCLoss(X, Y), {"x": scores, "y": labels})
    lengths = {"data_lengths": S.var("steps"), "use_data_lengths": True}
    given = {"x": scores, "y": labels, "steps": np.array([4, 3, 2, 1, 4, 2], "int32")}
    compare(S.CTCLoss(X, Y, **lengths), given)


_AT_13 = {
    "add": lambda x: S.broadcast_add(x, x),
    "sub": lambda x: S.broadcast_sub(x, x + 1),
    "mul": lambda x: S._internal._mul_scalar(x, scalar=100),
    "div": lambda x: S._internal._div_scalar(x, scalar=2),
    "add_n": lambda x: S.add_n(x, x, x),
    "square": S.square,
    "negative": S.negative,
    "relu": S.relu,
    "cumsum": lambda x: S.cumsum(x, axis=1),
    "moments": lambda x: S.moments(x, axes=(1,)),
}


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float16"])
@pytest.mark.parametrize("name", _AT_13)
def test_short_types_before_onnx_had_arithmetic_of_them(name: str, dtype: str) -> None:
    compare(_AT_13[name](X), {"x": _TIES.astype(dtype)}, opset=13)
