"""The tensor families."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from .case import Case, Input, between, case, distinct, fixed, integers, normal, values, variadic

#: Unary functions with the values that they are tried on.
UNARY: dict[str, Input] = {
    **dict.fromkeys(
        [
            "relu",
            "sigmoid",
            "tanh",
            "softsign",
            "exp",
            "expm1",
            "square",
            "abs",
            "negative",
            "sin",
            "cos",
            "sinh",
            "cosh",
            "arctan",
            "arcsinh",
            "erf",
            "cbrt",
            "identity",
            "degrees",
            "radians",
            "sign",
            "zeros_like",
            "ones_like",
            "hard_sigmoid",
        ],
        normal(3, 7),
    ),
    **dict.fromkeys(
        ["log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal", "rcbrt", "gamma", "gammaln"],
        between(0.3, 3, 3, 7),
    ),
    **dict.fromkeys(["tan", "arcsin", "arccos", "arctanh", "erfinv"], between(-0.9, 0.9, 3, 7)),
    "arccosh": between(1.2, 3, 3, 7),
    **dict.fromkeys(["floor", "ceil", "round", "rint", "fix", "trunc"], distinct(3, 7)),
}

ROUNDING = values(-2.5, -1.5, -1.2, -0.5, -0.3, -0.0, 0.3, 0.5, 1.2, 1.5, 2.5, 3.0)


def unary() -> Iterable[Case]:
    """Functions of one array, element by element."""
    for operator, spec in UNARY.items():
        yield case(operator, {"data": spec})
    for operator in ("floor", "ceil", "round", "rint", "fix", "trunc", "sign", "abs", "relu"):
        yield case(operator, {"data": ROUNDING})
    yield case("logical_not", {"data": values(-1, 0, 0.5, 2)})
    yield case("reciprocal", {"data": between(-3, -0.5, 4)})
    yield case("cbrt", {"data": values(-8, -1, 0, 27)})
    yield case("gamma", {"data": values(-1.5, -0.5, 0.5, 5)})
    yield case("hard_sigmoid", {"data": normal(3, 7)}, alpha=0.4, beta=0.3)
    yield case("clip", {"data": normal(3, 7)}, a_min=-0.5, a_max=0.7)
    for dtype in ("float16", "float64"):
        for operator in ("relu", "exp", "square"):
            yield case(operator, {"data": normal(3, 4, dtype=dtype)})
    for source in ("float32", "float64", "float16", "int32", "int64", "uint8", "int8"):
        yield case("abs", {"data": integers(0, 5, 4, dtype=source)})
        for target in ("float32", "float16", "int32", "uint8"):
            yield case("Cast", {"data": integers(0, 9, 4, dtype=source)}, dtype=target)
    yield case("Cast", {"data": values(-1.7, -0.5, 0.5, 1.7)}, dtype="int32")
    yield case("Cast", {"data": normal(3, 4)}, dtype="float64")


ARITHMETIC = ("add", "sub", "mul", "div", "power", "maximum", "minimum", "mod", "hypot")
COMPARISONS = ("equal", "not_equal", "greater", "greater_equal", "lesser", "lesser_equal")
LOGICALS = ("logical_and", "logical_or", "logical_xor")


def binary() -> Iterable[Case]:
    """Functions of two arrays and of an array and a number."""
    for name in ("add", "sub", "mul", "div"):
        yield case(f"elemwise_{name}", {"lhs": normal(3, 4), "rhs": between(0.5, 2, 3, 4)})
    yield case(
        "elemwise_add", {"lhs": integers(0, 9, 4, dtype="int32"), "rhs": integers(0, 9, 4, dtype="int32")}
    )
    for name in ("_power", "_maximum", "_minimum", "_hypot", "_mod"):
        yield case(name, {"lhs": between(0.5, 3, 3, 4), "rhs": between(0.5, 2, 3, 4)})
    shapes = [((3, 4), (3, 4)), ((3, 1, 4), (1, 2, 4)), ((2, 3, 4), (1, 1, 1)), ((1, 4), (3, 4))]
    for name in ARITHMETIC:
        for left, right in shapes:
            yield case(f"broadcast_{name}", {"lhs": between(0.5, 3, *left), "rhs": between(0.6, 2, *right)})
    yield case("broadcast_add", {"lhs": normal(3, 4, dtype="float64"), "rhs": normal(1, 4, dtype="float64")})
    signs = {"lhs": values(-5, 5, -5, 5, 0, 3.5), "rhs": values(3, -3, -3, 3, 2, 1.25)}
    yield case("broadcast_mod", signs)
    yield case(
        "broadcast_mod", {k: replace(v, dtype="int32", values=(7, -7, 7, -7, 1, 5)) for k, v in signs.items()}
    )
    whole = {"lhs": integers(0, 3, 3, 4), "rhs": integers(0, 3, 1, 4)}
    for name in COMPARISONS + LOGICALS:
        yield case(f"broadcast_{name}", whole)
        yield case(f"broadcast_{name}", {k: replace(v, dtype="int32") for k, v in whole.items()})
    for name in COMPARISONS:
        yield case(f"_{name}", {"lhs": integers(0, 3, 3, 4), "rhs": integers(0, 3, 3, 4)})
        yield case(f"_{name}_scalar", {"data": integers(0, 3, 3, 4)}, scalar=1)
    for name in LOGICALS:
        yield case(f"_{name}_scalar", {"data": integers(0, 3, 3, 4)}, scalar=1)
        yield case(f"_{name}_scalar", {"data": integers(0, 3, 3, 4)}, scalar=0)
    positive = {"data": between(0.5, 3, 3, 4)}
    for name in [
        "plus",
        "minus",
        "rminus",
        "mul",
        "div",
        "rdiv",
        "mod",
        "rmod",
        "power",
        "rpower",
        "maximum",
        "minimum",
        "hypot",
    ]:
        for scalar in (2, 1.3):
            yield case(f"_{name}_scalar", positive, scalar=scalar)
    for name in ("mod", "rmod"):
        yield case(f"_{name}_scalar", {"data": values(-5, -2.5, 2.5, 5)}, scalar=-3)
    for name in ("plus", "minus", "rminus", "mul", "div", "maximum", "power"):
        yield case(f"_{name}_scalar", {"data": integers(1, 9, 5, dtype="int32")}, scalar=2)
    yield case("_plus_scalar", {"data": integers(1, 9, 5, dtype="int32")}, scalar=1.7)
    yield case("_mul_scalar", {"data": normal(5, dtype="float16")}, scalar=1.7)
    yield variadic("add_n", [normal(3, 4), normal(3, 4), normal(3, 4)])
    yield variadic("add_n", [normal(3, 4)])


def reductions() -> Iterable[Case]:
    """Sums and their kin: one axis, several, none, all but some."""
    data = {"data": distinct(2, 3, 4)}
    for name in ("sum", "mean", "prod", "nansum", "nanprod", "max", "min"):
        spec = {"data": between(0.5, 1.5, 2, 3, 4)} if "prod" in name else data
        yield case(name, spec)
        yield case(name, spec, axis=1)
        yield case(name, spec, axis=-1, keepdims=True)
        yield case(name, spec, axis=(0, 2))
        yield case(name, spec, axis=1, exclude=True)
        yield case(name, spec, axis=(0, 2), exclude=True, keepdims=True)
        yield case(name, spec, axis=())
    holes = values(1.5, np.nan, -2.0, np.nan, np.nan, 3.0, shape=(2, 3))
    yield case("nansum", {"data": holes}, axis=1)
    yield case("nanprod", {"data": holes}, axis=0)
    yield case("sum", {"data": integers(0, 9, 3, 4, dtype="int32")}, axis=1)
    yield case("mean", {"data": integers(0, 9, 3, 4, dtype="int32")}, axis=1)
    yield case("sum", {"data": normal(3, 4, dtype="float16")}, axis=1)
    for order in (1, 2):
        yield case("norm", {"data": normal(2, 3, 4)}, ord=order)
        yield case("norm", {"data": normal(2, 3, 4)}, ord=order, axis=1)
        yield case("norm", {"data": normal(2, 3, 4)}, ord=order, axis=(0, 2), keepdims=True)
    still = {"data": fixed(distinct(2, 3, 4))}
    for name in ("argmax", "argmin"):
        yield case(name, still)
        yield case(name, still, axis=1)
        yield case(name, still, axis=-1, keepdims=True)
        yield case(name, {"data": values(1, 3, 3, 0, 0, 2)}, axis=0)
    yield case("argmax_channel", {"data": fixed(distinct(3, 4))})
    for name in ("softmax", "log_softmax", "softmin"):
        yield case(name, {"data": normal(2, 3, 4)})
        yield case(name, {"data": normal(2, 3, 4)}, axis=1)
        yield case(name, {"data": normal(2, 3, 4)}, axis=0, temperature=2.5)
    yield case("softmax", {"data": normal(2, 3)}, dtype="float64")


def products() -> Iterable[Case]:
    """Matrix products."""
    yield case("dot", {"lhs": normal(3, 4), "rhs": normal(4, 5)})
    yield case("dot", {"lhs": normal(4, 3), "rhs": normal(4, 5)}, transpose_a=True)
    yield case("dot", {"lhs": normal(3, 4), "rhs": normal(5, 4)}, transpose_b=True)
    yield case("dot", {"lhs": normal(4, 3), "rhs": normal(5, 4)}, transpose_a=True, transpose_b=True)
    yield case("dot", {"lhs": normal(4), "rhs": normal(4)})
    yield case("dot", {"lhs": normal(3, 4), "rhs": normal(4)})
    yield case("dot", {"lhs": normal(2, 3, 4), "rhs": normal(4, 5)})
    yield case("dot", {"lhs": normal(2, 3, 4), "rhs": normal(4, 2, 3)})
    yield case("dot", {"lhs": normal(4, 2, 3), "rhs": normal(4, 5)}, transpose_a=True)
    yield case("dot", {"lhs": normal(2, 4), "rhs": normal(3, 5, 4)}, transpose_b=True)
    for first, second in ((False, False), (True, False), (False, True), (True, True)):
        left, right = (2, 4, 3) if first else (2, 3, 4), (2, 5, 4) if second else (2, 4, 5)
        yield case(
            "batch_dot", {"lhs": normal(*left), "rhs": normal(*right)}, transpose_a=first, transpose_b=second
        )


def shaping() -> Iterable[Case]:
    """Operators that move elements and compute nothing."""
    data = {"data": normal(2, 3, 4)}
    yield case("Flatten", data)
    yield case("Flatten", {"data": normal(5)})
    for shape in (
        (4, 6), (-1,), (0, -1), (-1, 0), (-2,), (0, -2), (-3, 0), (0, -3), (-3, -2), (-4, 1, 2, -2),
        (-4, -1, 2, 0, 0), (0, -4, 3, -1, 0), (0, 0, -4, 2, 2), (2, -1, 1),
    ):  # fmt: skip
        yield case("Reshape", data, shape=shape)
    for shape in ((-1, 0), (6, -1), (-3, 0), (0, -1, 2)):
        yield case("Reshape", data, shape=shape, reverse=True)
    yield case("reshape_like", {"lhs": normal(2, 6), "rhs": normal(3, 4)})
    yield case("transpose", data)
    yield case("transpose", data, axes=(1, 2, 0))
    yield case("SwapAxis", data, dim1=0, dim2=2)
    yield case("swapaxes", data, dim1=1, dim2=2)
    for axis in (0, 2, 3, -1, -4):
        yield case("expand_dims", data, axis=axis)
    single = {"data": normal(1, 3, 1, 2)}
    yield case("squeeze", single)
    yield case("squeeze", single, axis=2)
    yield case("squeeze", single, axis=(0, 2))
    yield case("squeeze", single, axis=-2)
    for dim in (0, 1, -1):
        yield variadic("Concat", [normal(2, 3), normal(2, 3), normal(2, 3)], dim=dim)
    yield variadic("Concat", [normal(2, 1), normal(2, 3)])
    for axis in (0, 1, -1):
        yield variadic("stack", [normal(2, 3), normal(2, 3)], axis=axis)
    yield case("SliceChannel", {"data": normal(2, 6, 3)}, num_outputs=3)
    yield case("SliceChannel", {"data": normal(2, 6, 3)}, num_outputs=3, axis=2)
    yield case("SliceChannel", {"data": normal(2, 6, 3)}, num_outputs=3, axis=-1, squeeze_axis=True)
    yield case("SliceChannel", {"data": normal(2, 6, 3)}, num_outputs=1)
    yield case("tile", data, reps=(2,))
    yield case("tile", data, reps=(2, 1, 3, 1))
    yield case("repeat", data, repeats=2)
    yield case("repeat", data, repeats=3, axis=1)
    yield case("flip", data, axis=1)
    yield case("reverse", data, axis=(0, 2))
    for mode in ("edge", "constant", "reflect"):
        for spec, width in (
            (normal(1, 2, 3, 4), (0, 0, 0, 0, 1, 2, 2, 1)),
            (normal(1, 1, 3, 3, 3), (0, 0, 0, 0) + (1, 2) * 3),
        ):
            yield case("Pad", {"data": spec}, mode=mode, pad_width=width, constant_value=1.5)
    yield case("broadcast_to", {"data": normal(1, 3, 1)}, shape=(2, 3, 4))
    yield case("broadcast_to", {"data": normal(1, 3, 1)}, shape=(2, 0, 4))
    yield case("broadcast_axis", {"data": normal(1, 3, 1)}, axis=2, size=4)
    yield case("broadcast_axis", {"data": normal(1, 3, 1)}, axis=(0, 2), size=(2, 4))
    yield case("broadcast_like", {"lhs": normal(1, 3), "rhs": normal(4, 3)})
    yield case("broadcast_like", {"lhs": normal(1, 3), "rhs": normal(2, 4)}, lhs_axes=(0,), rhs_axes=(1,))


def indexing() -> Iterable[Case]:
    """Taking parts of arrays, by position and by index arrays."""
    data = {"data": normal(4, 5, 3)}
    yield case("slice", data, begin=(1,), end=(3,))
    yield case("slice", data, begin=(1, None, -2), end=(None, 4, None))
    yield case("slice", data, begin=(None, 4), end=(None, 0), step=(2, -2))
    yield case("slice", data, begin=(None, None), end=(None, None), step=(-1, 1))
    yield case("slice_axis", data, axis=1, begin=1, end=4)
    yield case("slice_axis", data, axis=-2, begin=-3, end=None)
    yield case("slice_axis", data, axis=0, begin=0, end=-1)
    yield case("slice_like", {"data": normal(4, 5), "shape_like": normal(2, 3)})
    yield case("slice_like", {"data": normal(4, 5, 3), "shape_like": normal(2, 3)}, axes=(1,))
    yield case("slice_like", {"data": normal(4, 5, 3), "shape_like": normal(2, 3, 1)}, axes=(0, -1))
    yield case("where", {"condition": integers(0, 2, 3, 4), "x": normal(3, 4), "y": normal(3, 4)})
    yield case("where", {"condition": integers(0, 2, 3), "x": normal(3, 4), "y": normal(3, 4)})
    yield case(
        "where", {"condition": integers(-1, 2, 3, 4, dtype="int32"), "x": normal(3, 4), "y": normal(3, 4)}
    )
    yield case("one_hot", {"indices": values(0, 2, 4, -1, 1.7)}, depth=4)
    yield case("one_hot", {"indices": integers(0, 4, 2, 3)}, depth=4, on_value=5, off_value=-1, dtype="int32")
    for mode in ("clip", "wrap"):
        yield case("pick", {"data": normal(3, 4), "index": values(0, 5, -1)}, mode=mode)
        yield case("take", {"a": normal(4, 3), "indices": values(0, 5, -1, 3)}, mode=mode)
        yield case("take", {"a": normal(2, 4, 3), "indices": integers(-2, 6, 2, 2)}, axis=1, mode=mode)
    yield case("pick", {"data": normal(3, 4), "index": integers(0, 3, 4)}, axis=0)
    yield case("pick", {"data": normal(3, 4, 2), "index": integers(0, 4, 3, 2)}, axis=1, keepdims=True)
    yield case("pick", {"data": normal(3, 4), "index": integers(0, 4, 3, 1)}, axis=1, keepdims=True)
    yield case("take", {"a": normal(4, 3), "indices": integers(0, 3, 2, dtype="int32")}, axis=-1)


def ordering() -> Iterable[Case]:
    """Sorting; the order is never in doubt, since the values are distinct."""
    data = {"data": distinct(3, 5)}
    still = {"data": fixed(distinct(3, 5))}
    yield case("sort", still)  # without an axis, 1.9.1 fails at the gradient
    yield case("sort", data, axis=-1)
    yield case("sort", data, axis=0, is_ascend=False)
    yield case("sort", data, axis=None)
    yield case("argsort", still)
    yield case("argsort", still, axis=0, is_ascend=False)
    yield case("argsort", still, axis=None, dtype="int32")
    yield case("topk", data, k=2, ret_typ="value")
    yield case("topk", data, k=2, ret_typ="value", axis=0, is_ascend=True)
    yield case("topk", still, k=2)
    yield case("topk", still, k=3, axis=None, dtype="int32")
    yield case("topk", still, k=2, ret_typ="mask")
    yield case("topk", data, k=2, ret_typ="both")
    yield case("topk", data, k=0, ret_typ="value")


def sources() -> Iterable[Case]:
    """Operators without inputs."""
    for name in ("_zeros", "_ones"):
        yield case(name, shape=(2, 3))
        yield case(name, shape=(2,), dtype="int32")
    yield case("_full", shape=(2, 3), value=1.5)
    yield case("_arange", start=5)
    yield case("_arange", start=1, stop=8, step=2.5)
    yield case("_arange", start=0, stop=3, repeat=2, dtype="int32")
    yield case("_arange", start=6, stop=0, step=-2)
    yield case("zeros", shape=(2, 3), dtype="float64")
    yield case("ones", shape=(2, 3))
    yield case("arange", start=2, stop=5)
    yield case("shape_array", {"data": values(1, 2, 3, 4, 5, 6, shape=(2, 3))})
    yield case("size_array", {"data": values(1, 2, 3, 4, 5, 6, shape=(2, 3))})


def linear_algebra() -> Iterable[Case]:
    """Products, factors and parts of matrices; only smooth places, and only the triangle that counts."""
    for name in ("linalg.gemm", "linalg.gemm2"):
        sum_with = {"C": normal(2, 2, 4)} if name == "linalg.gemm" else {}
        yield case(name, {"A": normal(2, 2, 3), "B": normal(2, 3, 4), **sum_with})
        yield case(
            name, {"A": normal(2, 3, 2), "B": normal(2, 3, 4), **sum_with}, transpose_a=True, alpha=0.5
        )
        yield case(name, {"A": normal(2, 2, 3), "B": normal(2, 4, 3), **sum_with}, transpose_b=True)
        swapped = {"C": normal(2, 3, 2, 5)} if sum_with else {}
        yield case(name, {"A": normal(2, 3, 2, 4), "B": normal(2, 4, 2, 5), **swapped}, axis=1)
        yield case(
            name, {"A": normal(2, 4, 2, 3), "B": normal(2, 4, 2, 5), **swapped}, axis=-3, transpose_a=True
        )
    yield case("linalg.gemm", {"A": normal(2, 3), "B": normal(3, 2), "C": normal(2, 2)}, alpha=2.0, beta=-0.5)
    yield case("linalg.gemm", {"A": normal(2, 3), "B": normal(3, 2)})
    yield case("linalg.gemm2", {"A": normal(2, 3, dtype="float64"), "B": normal(3, 2, dtype="float64")})

    full = normal(2, 3, 3)
    steady = values(2, 9, 9, 0.5, 1.5, 9, -1, 0.3, 2.5, 1, 9, 9, 2, -1.2, 9, 0.4, 0.7, 0.8, shape=(2, 3, 3))
    triangle = replace(steady, gradient=True)
    for name, matrix in (("linalg.trmm", full), ("linalg.trsm", triangle)):
        yield case(name, {"A": matrix, "B": normal(2, 3, 2)})
        yield case(name, {"A": matrix, "B": normal(2, 3, 2)}, transpose=True, alpha=-0.5)
        yield case(name, {"A": matrix, "B": normal(2, 2, 3)}, rightside=True)
        yield case(name, {"A": matrix, "B": normal(2, 2, 3)}, rightside=True, transpose=True)
        yield case(name, {"A": matrix, "B": normal(2, 3, 2)}, lower=False)
        yield case(name, {"A": matrix, "B": normal(2, 2, 3)}, lower=False, rightside=True, transpose=True)
    yield case("linalg.syrk", {"A": normal(2, 3, 2)})
    yield case("linalg.syrk", {"A": normal(2, 3, 2)}, transpose=True, alpha=0.7)

    numbers = (4, 1, 0.5, 1, 3, -0.7, 0.5, -0.7, 2, 2, 0.3, 0.1, 0.3, 5, 1.2, 0.1, 1.2, 3)
    symmetric = {"A": replace(values(*numbers, shape=(2, 3, 3)), gradient=True)}
    one = {"A": replace(values(*numbers[:9], shape=(3, 3), dtype="float64"), gradient=True)}
    for name in ("potrf", "syevd", "inverse", "det", "slogdet", "sumlogdiag"):
        yield case(f"linalg.{name}", symmetric)
        yield case(f"linalg.{name}", one)
    upper = {"A": replace(values(4, 9, 9, 1, 3, 9, 0.5, -0.7, 2, shape=(3, 3)), gradient=True)}
    for name in ("potrf", "potri", "syevd"):  # the triangle above the diagonal does not count
        yield case(f"linalg.{name}", upper)
    yield case("linalg.potri", {"A": triangle})
    for name in ("inverse", "det", "slogdet"):
        yield case(f"linalg.{name}", {"A": normal(2, 2, 3, 3)})
    yield case("linalg.gelqf", {"A": normal(2, 3, 4)})
    yield case("linalg.gelqf", {"A": normal(3, 3, dtype="float64")})
    for offset in (0, 1, -1):
        yield case("linalg.extractdiag", {"A": full}, offset=offset)
        yield case("linalg.makediag", {"A": normal(2, 3)}, offset=offset)
    for keywords in ({}, {"lower": False}, {"offset": 1}, {"offset": -1, "lower": False}):
        yield case("linalg.extracttrian", {"A": full}, **keywords)
        yield case("linalg.maketrian", {"A": normal(2, 6)}, **keywords)
    for name in ("linalg_gemm2", "linalg_potrf"):  # other names for the same
        yield case(name, {"A": normal(2, 3), "B": normal(3, 2)} if name == "linalg_gemm2" else one)


def contrib_tensors() -> Iterable[Case]:
    """Small tensor operators of ``contrib``; its Fourier transforms need a GPU, a mask has no known shape."""
    data = {"data": normal(3, 4)}
    whole = {"data": integers(-5, 6, 3, 4, dtype="int32")}
    yield case("contrib.quadratic", data)
    yield case("contrib.quadratic", data, a=0.5, b=-2.0, c=3.0)
    yield case("contrib.quadratic", whole, a=0.5, b=-2.0, c=3.0)
    yield case("contrib.gradientmultiplier", data)
    yield case("contrib.gradientmultiplier", data, scalar=-0.5)
    yield case("contrib.gradientmultiplier", data, scalar=2.0, is_int=False)
    yield case("contrib.div_sqrt_dim", data)
    yield case("contrib.div_sqrt_dim", whole)
    steps = {"data": values(-2.5, -1.5, -0.5, -0.2, 0, 0.4, 0.5, 1.5, 2.5)}
    for name in ("contrib.round_ste", "contrib.sign_ste"):
        yield case(name, data)
        yield case(name, steps)

    still = {"data": fixed(normal(3, 4))}
    yield case("contrib.arange_like", still)
    yield case("contrib.arange_like", still, start=1.5, step=-0.5, repeat=2)
    yield case("contrib.arange_like", still, axis=1)
    yield case("contrib.arange_like", still, axis=-2, repeat=2)
    yield case("contrib.arange_like", whole, start=1.5, step=2.5)
    yield case("contrib.index_array", still)
    yield case("contrib.index_array", {"data": fixed(normal(2, 3, 2))}, axes=(-1, 0))
    yield case(
        "contrib.index_copy",
        {"old_tensor": normal(4, 2), "index_vector": values(2, 0, dtype="int32"), "new_tensor": normal(2, 2)},
    )
    yield case(
        "contrib.index_copy",
        {"old_tensor": normal(4, 2, 3), "index_vector": values(3, 1, 0), "new_tensor": normal(3, 2, 3)},
    )
    heads = 2
    together, apart = normal(4, 2, heads * 3 * 5), normal(3, 2, heads * 2 * 5)
    prefix = "contrib.interleaved_matmul_"
    yield case(f"{prefix}selfatt_qk", {"queries_keys_values": together}, heads=heads)
    weights = normal(2 * heads, 4, 4)
    yield case(
        f"{prefix}selfatt_valatt", {"queries_keys_values": together, "attention": weights}, heads=heads
    )
    queries = normal(4, 2, heads * 5)
    yield case(f"{prefix}encdec_qk", {"queries": queries, "keys_values": apart}, heads=heads)
    weights = normal(2 * heads, 4, 3)
    yield case(f"{prefix}encdec_valatt", {"keys_values": apart, "attention": weights}, heads=heads)


def positions() -> Iterable[Case]:
    """Reading and writing by position, and positions as numbers."""
    data = distinct(3, 4, 2)
    rows = {"data": data, "indices": values(0, 2, 1, 3, shape=(2, 2))}
    yield case("gather_nd", rows)
    yield case(
        "gather_nd", {"data": data, "indices": values(0, 2, 2, 1, 3, 0, 1, 0, 1, shape=(3, 3), dtype="int32")}
    )
    yield case(
        "scatter_nd", {"data": normal(2, 2), "indices": values(0, 2, 1, 3, shape=(2, 2))}, shape=(3, 4, 2)
    )
    yield case("scatter_nd", {"data": normal(3), "indices": values(4, 1, 0, shape=(1, 3))}, shape=(5,))
    yield case("batch_take", {"a": fixed(normal(3, 4)), "indices": values(2, 0, 3, dtype="int32")})
    places = values(0, 2, 1, 1, 3, 0, shape=(2, 3), dtype="int32")
    yield case("_ravel_multi_index", {"data": places}, shape=(3, 4))
    yield case("_unravel_index", {"data": values(11, 0, 6, dtype="int32")}, shape=(3, 4))
    yield case("_unravel_index", {"data": values(11, 0, 6)}, shape=(-1, 4))
    change = {"lhs": fixed(normal(4, 3)), "rhs": fixed(normal(2, 3))}
    yield case("_slice_assign", change, begin=(1,), end=(3,))
    yield case(
        "_slice_assign",
        {"lhs": fixed(normal(4, 3)), "rhs": fixed(normal(2, 2))},
        begin=(3, 0),
        end=(0, 3),
        step=(-2, 2),
    )
    yield case("_slice_assign_scalar", {"data": fixed(normal(4, 3))}, begin=(1, 1), end=(3, 3), scalar=2.5)
    yield case("diag", {"data": normal(4)})
    yield case("diag", {"data": normal(4)}, k=-1)
    yield case("diag", {"data": normal(3, 4)}, k=1)
    yield case("diag", {"data": normal(2, 3, 3)}, axis1=1, axis2=2)
    yield case("diag", {"data": normal(2, 3, 4)}, k=1, axis1=-1, axis2=0)


def rearranging() -> Iterable[Case]:
    """Blocks and depth, sums that run on, products of columns, parts."""
    yield case("depth_to_space", {"data": normal(2, 8, 2, 3)}, block_size=2)
    yield case("space_to_depth", {"data": normal(2, 2, 4, 6)}, block_size=2)
    for keywords in ({}, {"axis": 0}, {"axis": 1, "dtype": "float64"}):
        yield case("cumsum", {"a": normal(3, 4)}, **keywords)
    yield case("cumsum", {"a": integers(-5, 6, 3, 4, dtype="int32")}, axis=1)
    yield variadic("khatri_rao", [fixed(normal(2, 3)), fixed(normal(4, 3))])
    yield variadic("khatri_rao", [fixed(normal(2, 3)), fixed(normal(4, 3)), fixed(normal(3, 3))])
    for keywords in ({"axes": (0,)}, {"axes": (1, 2)}, {"axes": (0, 2), "keepdims": True}):
        yield case("moments", {"data": normal(3, 4, 2)}, **keywords)
    yield case("_split_v2", {"data": normal(4, 6)}, indices=(0, 1, 4), axis=1)
    yield case("_split_v2", {"data": normal(4, 6)}, indices=(), sections=2, axis=0)
    yield case("_split_v2", {"data": normal(2, 3)}, indices=(), sections=2, axis=0, squeeze_axis=True)
    yield variadic("_rnn_param_concat", [normal(6), normal(4), normal(3)], dim=0)


def small_things() -> Iterable[Case]:
    """Copies, sums and tests that MXNet's own programs are made of."""
    two = {"lhs": normal(3, 4), "rhs": normal(3, 4)}
    yield case("_grad_add", {name: fixed(spec) for name, spec in two.items()})
    yield case("_identity_with_attr_like_rhs", {"lhs": normal(3, 4), "rhs": fixed(normal(3, 4))})
    yield case("_scatter_plus_scalar", {"data": normal(3, 4)}, scalar=1.5)
    yield case("_scatter_minus_scalar", {"data": normal(3, 4)}, scalar=1.5)
    yield case("_scatter_elemwise_div", {"lhs": fixed(normal(3, 4)), "rhs": fixed(between(1, 2, 3, 4))})
    whole = {"lhs": integers(0, 2, 3, 4), "rhs": integers(0, 2, 3, 4)}
    for name in LOGICALS:
        yield case(f"_{name}", whole)
    yield case("amp_cast", {"data": normal(3, 4)}, dtype="float16")
    yield case("amp_cast", {"data": integers(0, 9, 3, 4, dtype="int32")}, dtype="float16")
    yield case("all_finite", {"data": fixed(normal(3, 4))})
    yield case("all_finite", {"data": values(1, np.inf)}, init_output=True)
    yield variadic("multi_all_finite", [fixed(normal(3)), values(1, np.nan)], num_arrays=2)
    yield variadic(
        "multi_all_finite", [fixed(normal(3)), fixed(normal(2, 2))], num_arrays=2, init_output=True
    )
    yield variadic("multi_sum_sq", [fixed(normal(3)), fixed(normal(2, 2))], num_arrays=2)
    yield case("_eye", N=3, M=4, k=1)
    yield case("_eye", N=3, k=-1, dtype="int32")
    yield case("_linspace", start=1.0, stop=2.0, num=5)
    yield case("_linspace", start=1.0, stop=2.0, num=5, endpoint=False, dtype="float64")


FAMILIES = (
    unary,
    binary,
    reductions,
    products,
    shaping,
    indexing,
    ordering,
    sources,
    linear_algebra,
    contrib_tensors,
    positions,
    rearranging,
    small_things,
)
