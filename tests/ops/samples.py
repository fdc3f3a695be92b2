"""One table of calls for all tensor operators: what the suites in this folder run.

A sample is an operator, its arrays and its parameters. The arrays are made from a seed that is the sample's own
name and position, so that they are the same in each run.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rebind.ops import reduce
from rebind.ops._tables import BINARY, SCALAR, UNARY

from .sample import Array, Sample


def f(*shape: int, low: float = -2.0, high: float = 2.0) -> Array:
    return Array(shape, low, high)


def i(*shape: int, low: int = 0, high: int = 3, dtype: str = "int32") -> Array:
    return Array(shape, low, high, dtype)


def spread(*shape: int) -> Array:
    """Matrices with a large diagonal: far from singular, and triangles that can be solved with."""
    return Array(shape, diagonal=4.0)


def whole(*values: Any, dtype: str = "float32") -> np.ndarray:
    return np.array(values, dtype=dtype)


def _families() -> list[Sample]:
    found = []
    for row in UNARY:
        found += [Sample(row.op.name, (f(3, 4, low=row.domain[0], high=row.domain[1]),))]
        low, high = (1, 5) if row.domain[0] > 0 else (-1, 1) if row.domain[1] <= 1 else (-5, 5)
        if row.op.name not in ("arcsin", "arccos", "arctanh", "erfinv", "arccosh", "gamma", "gammaln"):
            found += [Sample(row.op.name, (i(3, 4, low=low, high=high),))]
    for row in BINARY:
        low, high = row.domain
        found += [Sample(row.op.name, (f(3, 4, low=low, high=high), f(3, 4, low=low, high=high)))]
        found += [Sample(row.op.name, (i(3, 4, low=1, high=4), i(3, 4, low=1, high=3)))]
        if row.op.name.startswith("broadcast"):
            for left, right in (((3, 1), (1, 4)), ((2, 3, 4), (3, 1)), ((1,), (2, 2))):
                found += [Sample(row.op.name, (f(*left, low=low, high=high), f(*right, low=low, high=high)))]
    for row in SCALAR:
        low, high = row.domain
        for number in (2.0, 0.5, 1.0):
            found += [Sample(row.op.name, (f(3, 4, low=low, high=high),), {"scalar": number})]
        found += [Sample(row.op.name, (i(3, 4, low=1, high=5),), {"scalar": number}) for number in (2.0, 3.7)]
        found += [Sample(row.op.name, (i(3, 4, low=1, high=5),), {"scalar": 2.5, "is_int": False})]
    for reduction in reduce.REDUCTIONS:
        name = reduction.op.name
        if name == "_square_sum":  # of sparse arrays in MXNet
            found += [Sample(name, (f(2, 3, 4),), {"axis": 1})]
            continue
        for p in (
            {},
            {"axis": 1},
            {"axis": (0, -1)},
            {"axis": (2, 0), "keepdims": True},
            {"axis": 1, "exclude": True},
            {"axis": 1, "exclude": True, "keepdims": True},
            {"axis": (0, 1, 2)},
            {"axis": (), "keepdims": True},
        ):
            found += [Sample(name, (f(2, 3, 4),), p)]
        found += [
            Sample(name, (i(2, 3, low=-3, high=3),), {"axis": 1}),
            Sample(name, (i(2, 3, low=-3, high=3),)),
        ]
    return found


_ONE_EACH = [
    Sample("add_n", (f(2, 3), f(2, 3), f(2, 3))),
    Sample("add_n", (f(2, 3),)),
    Sample("amp_multicast", (f(2, 3), f(4)), {"num_outputs": 2}),
    Sample("amp_multicast", (f(2, 3), whole(1, 2, dtype="float16")), {"num_outputs": 2, "cast_narrow": True}),
    Sample("amp_multicast", (i(3), f(2)), {"num_outputs": 2}),
    Sample("fill_element_0index", (f(3, 2), f(3), whole(0, 1, 5))),
    Sample("_onehot_encode", (whole(0, 2, 5), f(3, 4))),
    Sample("where", (whole(1, 0, 2), f(3, 2), f(3, 2))),
    Sample("where", (i(3, 2, high=1), f(3, 2), f(3, 2))),
    Sample("_identity_with_attr_like_rhs", (f(3, 2), f(3, 2))),
    Sample("make_loss", (f(3, 2),)),
    Sample("hard_sigmoid", (f(3, 4, low=-4, high=4),)),
    Sample("hard_sigmoid", (f(3, 4),), {"alpha": 0.5, "beta": 0.25}),
    Sample("clip", (f(3, 4),), {"a_min": -1.0, "a_max": 1.0}),
    Sample("clip", (whole(-1, -0.5, 0, 1, 2),), {"a_min": -0.5, "a_max": 1.0}),
    Sample("clip", (i(3, 4, low=-5, high=5),), {"a_min": -2.5, "a_max": 3.5}),
    Sample("smooth_l1", (f(3, 4),), {"scalar": 1.0}),
    Sample("smooth_l1", (f(3, 4),), {"scalar": 2.0}),
    Sample("smooth_l1", (f(3, 4),), {"scalar": 0.0}),
    *(
        Sample("Cast", (f(3, 4, low=-5, high=5),), {"dtype": t})
        for t in ("float64", "float16", "float32", "int32", "int64", "int8", "bool")
    ),
    Sample("Cast", (i(3, 4),), {"dtype": "float32"}),
    Sample("amp_cast", (f(3, 4),), {"dtype": "float16"}),
    Sample("amp_cast", (i(3, 4),), {"dtype": "float16"}),
    Sample("shape_array", (f(3, 4),)),
    Sample("size_array", (f(3, 4),)),
    # reductions outside of the table
    *(
        Sample("norm", (f(2, 3, 4),), p)
        for p in (
            {},
            {"ord": 1},
            {"axis": 1},
            {"axis": (0, 2)},
            {"axis": -1, "keepdims": True},
            {"ord": 1, "axis": (0, 1)},
        )
    ),
    Sample("norm", (i(2, 3),)),
    *(
        Sample(n, (f(2, 3, 4),), p)
        for n in ("argmax", "argmin")
        for p in ({}, {"axis": 1}, {"axis": -1, "keepdims": True}, {"keepdims": True})
    ),
    Sample("argmax", (i(2, 3),), {"axis": 1}),
    Sample("argmax_channel", (f(2, 3),)),
    Sample("argmax_channel", (f(2, 3, 4),)),
    Sample("moments", (f(2, 3, 4),), {"axes": (0, 2)}),
    Sample("moments", (f(2, 3, 4),), {"axes": (1,), "keepdims": True}),
    Sample("_np_cumsum", (f(2, 3),)),
    Sample("_np_cumsum", (f(2, 3),), {"axis": 1, "dtype": "float64"}),
    Sample("_np_cumsum", (i(2, 3),), {"axis": -2}),
    Sample("all_finite", (f(2, 3),)),
    Sample("multi_all_finite", (f(2, 3), whole(1, np.inf))),
    Sample("multi_sum_sq", (f(2, 3), f(4))),
    # shapes
    *(
        Sample("Reshape", (f(2, 3, 4),), p)
        for p in (
            {"shape": (4, -1)},
            {"shape": (0, -1)},
            {"shape": (-3, 0)},
            {"shape": (0, -2)},
            {"shape": (-4, -1, 2, 0, 0)},
            {"shape": (0, -4, 3, -1, 0)},
            {"shape": (-4, 2, 1, -3)},
            {"shape": (1, 0, -1)},
            {"shape": (-1, 0), "reverse": True},
            {"shape": (0, -3), "reverse": True},
            {"target_shape": (4, 0)},
            {"target_shape": (7, 4, 0), "keep_highest": True},
        )
    ),
    Sample("Flatten", (f(2, 3, 4),)),
    Sample("Flatten", (f(2, 3),)),
    Sample("reshape_like", (f(2, 6), f(3, 4))),
    Sample(
        "reshape_like", (f(30, 7), f(15, 2, 4)), {"lhs_begin": 0, "lhs_end": 1, "rhs_begin": 0, "rhs_end": 2}
    ),
    Sample(
        "reshape_like",
        (f(30, 7), f(15, 2, 4)),
        {"lhs_begin": -2, "lhs_end": -1, "rhs_begin": 0, "rhs_end": -1},
    ),
    *(Sample("expand_dims", (f(2, 3),), {"axis": a}) for a in (0, 1, 2, -1, -3)),
    *(Sample("squeeze", (f(1, 2, 1, 3),), p) for p in ({}, {"axis": 0}, {"axis": (0, -2)})),
    Sample("squeeze", (f(1, 1),)),
    Sample("transpose", (f(2, 3, 4),)),
    Sample("transpose", (f(2, 3, 4),), {"axes": (1, 2, 0)}),
    Sample("SwapAxis", (f(2, 3, 4),), {"dim1": 0, "dim2": 2}),
    Sample("SwapAxis", (f(2, 3, 4),), {"dim1": 1, "dim2": -1}),
    Sample("reverse", (f(2, 3),), {"axis": 0}),
    Sample("reverse", (f(2, 3),), {"axis": (0, 1)}),
    Sample("depth_to_space", (f(2, 8, 2, 3),), {"block_size": 2}),
    Sample("space_to_depth", (f(2, 2, 4, 6),), {"block_size": 2}),
    Sample("diag", (f(3),), {"k": 1}),
    Sample("diag", (f(3, 4),), {"k": 1}),
    Sample("diag", (f(3, 4),), {"k": -2}),
    Sample("diag", (f(2, 3, 4),), {"k": 1, "axis1": -1, "axis2": 0}),
    Sample("broadcast_to", (f(2, 1),), {"shape": (2, 3)}),
    Sample("broadcast_to", (f(2, 1),), {"shape": (0, 3)}),
    Sample("broadcast_axis", (f(1, 2, 1),), {"axis": (0, 2), "size": (3, 4)}),
    Sample("broadcast_like", (f(1, 2), f(5, 2))),
    Sample("broadcast_like", (f(1, 2, 1), f(5, 6, 7)), {"lhs_axes": (0, -1), "rhs_axes": (1, 2)}),
    *(Sample("tile", (f(2, 3),), {"reps": r}) for r in ((2, 2), (2,), (2, 1, 2))),
    *(
        Sample("repeat", (f(2, 3),), p)
        for p in ({"repeats": 2}, {"repeats": 2, "axis": -1}, {"repeats": 3, "axis": 0})
    ),
    *(
        Sample(
            "Pad",
            (f(1, 2, 3, 4),),
            {
                "mode": m,
                "pad_width": (0, 0, 0, 0, 1, 2, 2, 0),
                **({"constant_value": 5.0} if m == "constant" else {}),
            },
        )
        for m in ("constant", "edge", "reflect")
    ),
    Sample("Pad", (f(1, 2, 2, 3, 3),), {"mode": "reflect", "pad_width": (0, 0, 0, 0, 1, 1, 1, 0, 2, 2)}),
    Sample("Concat", (f(2, 3), f(2, 1))),
    Sample("Concat", (f(2, 3), f(1, 3)), {"dim": -2}),
    Sample("_rnn_param_concat", (f(3), f(2)), {"dim": 0}),
    Sample("stack", (f(2, 3), f(2, 3)), {"axis": 1}),
    Sample("stack", (f(2, 3), f(2, 3)), {"axis": -1}),
    Sample("SliceChannel", (f(2, 6),), {"num_outputs": 3}),
    Sample("SliceChannel", (f(2, 3, 4),), {"num_outputs": 3, "axis": -2, "squeeze_axis": True}),
    Sample("SliceChannel", (f(2, 3),), {"num_outputs": 1}),
    Sample("_split_v2", (f(2, 6),), {"indices": (0, 1, 4)}),
    Sample("_split_v2", (f(2, 6),), {"indices": (), "sections": 2, "axis": 1}),
    Sample("_split_v2", (f(2, 3),), {"indices": (0, 1, 2), "axis": 1, "squeeze_axis": True}),
    # parts
    *(
        Sample("slice", (f(4, 5),), p)
        for p in (
            {"begin": (1, 2), "end": (3, 5)},
            {"begin": (None, -1), "end": (None, None), "step": (None, -2)},
            {"begin": (-1,), "end": (4,)},
            {"begin": (0, None), "end": (None, 2)},
            {"begin": (0, 0), "end": (4, 5), "step": (2, 3)},
            {"begin": (3, None), "end": (0, None), "step": (-2, 1)},
            {"begin": (1,), "end": (9,)},
        )
    ),
    *(
        Sample("slice_axis", (f(4, 5),), p)
        for p in (
            {"axis": 1, "begin": 1, "end": 3},
            {"axis": -1, "begin": -3, "end": None},
            {"axis": 0, "begin": 0, "end": -1},
        )
    ),
    Sample("slice_like", (f(4, 5), f(2, 3))),
    Sample("slice_like", (f(4, 5), f(2, 3)), {"axes": (0,)}),
    Sample("slice_like", (f(4, 5), f(2, 3, 7)), {"axes": (-2,)}),
    Sample("_slice_assign", (f(4, 5), f(2, 5)), {"begin": (1,), "end": (3,)}),
    Sample(
        "_slice_assign", (f(4, 5), f(4, 3)), {"begin": (None, None), "end": (None, None), "step": (1, -2)}
    ),
    Sample("_slice_assign_scalar", (f(4, 5),), {"scalar": 9.0, "begin": (1, 0), "end": (3, 2)}),
    Sample("_slice_assign_scalar", (i(4, 5),), {"scalar": 9.7, "begin": (1,), "end": (3,)}),
    # indices
    *(
        Sample("take", (f(3, 4), whole([0, 2], [5, -1])), {"axis": a, "mode": m})
        for a in (0, 1, -1)
        for m in ("clip", "wrap")
    ),
    Sample("take", (f(3, 4), whole(0, 2, dtype="int64")), {"mode": "raise"}),
    Sample("take", (i(3, 4), whole(0.9, 1.5, -0.5))),
    *(Sample("pick", (f(2, 3), whole(0, 5)), p) for p in ({}, {"keepdims": True}, {"mode": "wrap"})),
    Sample("pick", (f(2, 3), whole(0, 1, 1)), {"axis": 0}),
    Sample("pick", (f(2, 3), whole([0], [1]))),
    Sample("pick", (f(2, 3, 4), i(2, 4, high=2)), {"axis": 1}),
    Sample("one_hot", (whole(0, 2, -1, 3, 1.5),), {"depth": 3}),
    Sample("one_hot", (i(2, 3),), {"depth": 3, "on_value": 5.0, "off_value": -1.0, "dtype": "int32"}),
    Sample("batch_take", (f(3, 4), whole(0, 5, 1, dtype="int32"))),
    Sample("gather_nd", (f(2, 3, 4), whole([0, 1, 1], [2, 0, 0]))),
    Sample("gather_nd", (f(2, 3), whole([0, 1], [2, 0], dtype="int64"))),
    Sample("scatter_nd", (f(2), whole([0, 1], [1, 0])), {"shape": (2, 3)}),
    Sample("scatter_nd", (f(2, 3), whole([0, 2])), {"shape": (4, 3)}),
    Sample("_scatter_set_nd", (f(2, 3), f(2), whole([0, 1], [1, 0])), {"shape": (2, 3)}),
    Sample("_ravel_multi_index", (whole([0, 1], [1, 2]),), {"shape": (2, 3)}),
    Sample("_unravel_index", (whole(1, 5, dtype="int64"),), {"shape": (-1, 3)}),
    Sample("_unravel_index", (whole(1, 5),), {"shape": (2, 3)}),
    # products
    *(
        Sample("dot", (f(*left), f(*right)), p)
        for left, right, p in (
            ((2, 3), (3, 4), {}),
            ((3, 2), (3, 4), {"transpose_a": True}),
            ((2, 3), (4, 3), {"transpose_b": True}),
            ((3, 2), (4, 3), {"transpose_a": True, "transpose_b": True}),
            ((3,), (3,), {}),
            ((2, 3), (3,), {}),
            ((3,), (3, 2), {}),
            ((3, 2), (3,), {"transpose_a": True}),
            ((3,), (2, 3), {"transpose_b": True}),
            ((2, 3, 4), (4, 5), {}),
            ((2, 3, 4), (4, 5, 6), {}),
            ((2, 3, 4), (2, 5), {"transpose_a": True}),
            ((2, 3, 4), (5, 6, 4), {"transpose_b": True}),
            ((2, 3, 4), (3, 4, 2), {"transpose_a": True, "transpose_b": True}),
            ((2, 2, 2), (2, 2, 2), {"transpose_b": True}),
        )
    ),
    Sample("batch_dot", (f(2, 3, 4), f(2, 4, 5))),
    Sample("batch_dot", (f(2, 4, 3), f(2, 5, 4)), {"transpose_a": True, "transpose_b": True}),
    Sample("batch_dot", (f(2, 2, 3, 4), f(2, 2, 4, 5))),
    Sample("khatri_rao", (f(2, 2), f(3, 2), f(2, 2))),
    # order
    *(
        Sample("topk", (f(3, 5),), {"k": 2, "ret_typ": r, **p})
        for r in ("indices", "value", "mask", "both")
        for p in ({}, {"axis": 0}, {"axis": None}, {"is_ascend": True})
    ),
    Sample("topk", (f(3, 5),), {"k": 0, "ret_typ": "value"}),
    Sample("topk", (i(3, 5, high=2),), {"k": 3, "ret_typ": "both", "dtype": "int32"}),
    *(Sample("sort", (f(3, 5),), p) for p in ({}, {"axis": 0, "is_ascend": False}, {"axis": None})),
    Sample("sort", (i(3, 5),)),
    *(
        Sample("argsort", (f(3, 5),), p)
        for p in ({}, {"axis": 0, "is_ascend": False}, {"axis": None, "dtype": "int32"})
    ),
    Sample("argsort", (i(3, 5, high=1),), {"is_ascend": False}),
    # creation
    Sample("_zeros", (), {"shape": (2, 3)}),
    Sample("_zeros_without_dtype", (), {"shape": (2, 3)}),
    Sample("_ones", (), {"shape": (2,), "dtype": "int8"}),
    Sample("_full", (), {"shape": (2,), "value": 3.5}),
    Sample("_full", (), {"shape": (2,), "value": 3.5, "dtype": "int32"}),
    *(
        Sample("_arange", (), p)
        for p in (
            {"start": 5},
            {"start": 0, "stop": 5, "step": 2, "repeat": 2},
            {"start": 5, "stop": 0, "step": -2},
            {"start": 0, "stop": 1, "step": 0.3, "dtype": "float64"},
            {"start": 2.5, "stop": 5, "dtype": "int32"},
        )
    ),
    Sample("_linspace", (), {"start": 0, "stop": 1, "num": 5}),
    Sample("_linspace", (), {"start": 0, "stop": 1, "num": 5, "endpoint": False}),
    Sample("_eye", (), {"N": 3}),
    *(Sample("_eye", (), {"N": 2, "M": 3, "k": k, "dtype": "int32"}) for k in (1, -1, 9)),
]

_RANDOM = [
    *(
        Sample(f"_random_{name}{like}", (f(2, 3),) if like else (), p if like else {**p, "shape": (2, 3)})
        for like in ("", "_like")
        for name, p in (
            ("uniform", {"low": -1.0}),
            ("normal", {"loc": 3.0, "scale": 0.5}),
            ("exponential", {"lam": 2.0}),
            ("gamma", {"alpha": 2.0, "beta": 3.0}),
            ("poisson", {"lam": 4.0}),
            ("negative_binomial", {"k": 3, "p": 0.4}),
            ("generalized_negative_binomial", {"mu": 2.0, "alpha": 0.3}),
        )
    ),
    Sample("_random_uniform", (), {"shape": (2,), "dtype": "float16"}),
    Sample("_random_randint", (), {"low": 1, "high": 5, "shape": (2,)}),
    Sample("_random_randint", (), {"low": 1, "high": 5, "shape": (2,), "dtype": "int64"}),
    *(
        Sample(f"_sample_{name}", tuple(f(2, low=0.2, high=0.8) for _ in range(count)), p)
        for name, count in (
            ("uniform", 2),
            ("normal", 2),
            ("gamma", 2),
            ("exponential", 1),
            ("poisson", 1),
            ("negative_binomial", 2),
            ("generalized_negative_binomial", 2),
        )
        for p in ({}, {"shape": (3, 2)}, {"shape": (3,), "dtype": "float64"})
    ),
    Sample("_sample_multinomial", (f(2, 3, low=0.1, high=1.0),), {"shape": (4,)}),
    Sample("_sample_multinomial", (f(3, low=0.1, high=1.0),), {"get_prob": True, "dtype": "float32"}),
    Sample("_shuffle", (f(4, 2),)),
    Sample("_sample_unique_zipfian", (), {"range_max": 9, "shape": (2, 4)}),
]

_TIES = whole([1, 3, 3], [2, 2, 0], [-1, 0, 0], [0.5, 0.5, 0.5])
_BORDERS = [  # where a derivative has a choice
    *(
        Sample(name, (_TIES,), p)
        for name in ("max", "min")
        for p in ({}, {"axis": 1}, {"axis": 0, "keepdims": True})
    ),
    *(
        Sample(name, (_TIES, _TIES[:, ::-1].copy()))
        for name in ("_maximum", "_minimum", "broadcast_maximum", "broadcast_minimum")
    ),
    *(
        Sample(name, (_TIES,), {"scalar": 0.5})
        for name in ("_maximum_scalar", "_minimum_scalar", "_equal_scalar")
    ),
    *(
        Sample(name, (_TIES,))
        for name in ("relu", "abs", "sign", "square", "softsign", "floor", "rint", "round")
    ),
    Sample("hard_sigmoid", (_TIES,), {"alpha": 1.0, "beta": 0.0}),
    Sample("smooth_l1", (_TIES,), {"scalar": 1.0}),
    Sample("sort", (_TIES,)),
    Sample("topk", (_TIES,), {"k": 2, "ret_typ": "both"}),
    Sample("argmax", (_TIES,), {"axis": 1}),
    Sample("argmin", (_TIES,), {"axis": 1}),
    Sample("rint", (whole(-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 8388609.0),)),
    Sample("round", (whole(-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, 8388609.0),)),
    Sample("gamma", (whole(-2.5, -1.5, -0.5, 0.5, 5.0),)),
    Sample("gammaln", (whole(-2.5, -1.5, -0.5, 0.5, 5.0),)),
    Sample("cbrt", (whole(-8, -0.5, 27),)),
    Sample("_mod", (whole(5, -5, 3.5, -3.5, 5), whole(3, 3, -2, 2, 0))),
    Sample("_mod_scalar", (whole(5, -5, 3.5),), {"scalar": -3.0}),
    Sample("_mod_scalar", (whole(5, -5, 3.5),), {"scalar": 0.0}),
    Sample("_rmod_scalar", (whole(5, -5, 3.5),), {"scalar": -3.0}),
    Sample("_power_scalar", (whole(-2, -1, 3),), {"scalar": 3.0}),
    Sample("_plus_scalar", (whole(200, 3, 0, dtype="uint8"),), {"scalar": 100.0}),
    Sample("_minus_scalar", (whole(200, 3, 0, dtype="uint8"),), {"scalar": -1.0}),
    Sample("elemwise_div", (whole(-7, -3, 0, 3, 7, dtype="int32"), whole(2, 2, 2, -2, -2, dtype="int32"))),
    Sample("_mod", (whole(-7, -3, 0, 3, 7, dtype="int32"), whole(2, 2, 0, -2, -2, dtype="int32"))),
    Sample("_power", (whole(-7, -3, 0, 3, 7, dtype="int32"), whole(2, 2, 2, -2, -2, dtype="int32"))),
    Sample("nansum", (whole([1, np.nan], [2, 3]),), {"axis": 1}),
    Sample("nanprod", (whole([1, np.nan], [2, 3]),), {"axis": 1}),
    Sample("max", (whole([1, np.nan], [2, 3]),), {"axis": 1}),
    Sample("_maximum", (whole(1, np.nan, 2), whole(np.nan, 1, 3))),
    Sample("mean", (whole([-4, -3, -3], [1, 2, 2], dtype="int32"),), {"axis": 1}),
]

CERTAIN = [*_families(), *_ONE_EACH, *_BORDERS]  # the answer is determined
RANDOM = _RANDOM
SAMPLES = [*CERTAIN, *RANDOM]


_STATISTICS = (f(3), f(3), f(3), f(3, low=0.5, high=1.5))  # gamma, beta, moving mean, moving variance
_LENGTHS = whole(2, 3)

_WINDOWS = {"kernel": (2,), "stride": (2,), "dilate": (1,), "pads": (0, 1)}

# Operators of ONNX that MXNet has none for.
ONNX = [
    Sample("_onnx_modulo", (f(2, 3, low=0.1, high=0.9), f(3, low=1.0, high=2.0))),
    Sample("_onnx_modulo", (whole(5.5, -5.5, 3.5), whole(3, 3, -2)), {"sign_of_dividend": True}),
    Sample("_onnx_round", (whole(0.6, -1.4, 2.3),)),
    Sample("_onnx_integer_division", (whole(-7, 7, dtype="int32"), whole(2, -2, dtype="int32"))),
    Sample("_onnx_bit_cast", (f(2, 3),), {"dtype": "int32"}),
    Sample("_onnx_bitwise", (whole(6, 5, dtype="int32"), whole(3, 1, dtype="int32")), {"kind": "xor"}),
    Sample("_onnx_cast_through", (whole(65536, -1, dtype="int32"),), {"kind": "uint16"}),
    Sample("_onnx_cast_through", (f(2, 3),), {"kind": "float8e4m3fn"}),
    Sample("_onnx_log_sum_exp", (f(2, 3),), {"axis": (1,)}),
    Sample("_onnx_cumulative", (f(2, 3),), {"axis": 1, "exclusive": True, "reverse": True}),
    Sample("_onnx_cumulative", (f(2, 3),), {"axis": 0, "kind": "prod"}),
    Sample("_onnx_matmul", (f(2, 1, 3, 4), f(5, 4, 2))),
    Sample("_onnx_einsum", (f(2, 3), f(3, 4)), {"equation": "ij,jk->ik"}),
    Sample("_onnx_triangle", (f(3, 4),), {"k": 1}),
    Sample("_onnx_gather_elements", (f(3, 2), whole([0, -1], [2, 1])), {"axis": 0}),
    Sample("_onnx_scatter_elements", (f(3, 2), whole([0, -1]), f(1, 2))),
    Sample("_onnx_scatter_elements", (f(3, 2), whole([0, -1]), f(1, 2)), {"reduction": "add"}),
    Sample("_onnx_gather_nd", (f(3, 2), whole([0, 1], [-1, 0]))),
    Sample("_onnx_scatter_nd", (f(3, 2), whole([0], [-1]), f(2, 2))),
    Sample("_onnx_tensor_scatter", (f(2, 3, 2), f(2, 1, 2), whole(0, 2))),
    Sample("_onnx_pool", (f(1, 2, 5),), {**_WINDOWS, "kind": "avg", "ceil_mode": True}),
    Sample("_onnx_pool", (f(1, 2, 5),), {**_WINDOWS, "kind": "max"}),
    Sample("_onnx_pool", (f(1, 2, 5),), {**_WINDOWS, "kind": "lp", "p": 3.0}),
    Sample("_onnx_max_pool", (f(1, 2, 5),), _WINDOWS),
    Sample("_onnx_max_unpool", (f(1, 1, 2), whole([[0, 3]])), {"image": (4,), "output": (5,)}),
    Sample("_onnx_col2im", (f(1, 4, 3),), {"image": (4,), "block": (2,)}),
    Sample("_onnx_dft", (f(1, 4, 1),), {"axis": 1, "onesided": True}),
    Sample("_onnx_stft", (f(1, 8, 1), f(4)), {"step": 2, "length": 4}),
    Sample("_onnx_resize", (f(1, 1, 3, 2),), {"axes": (2, 3), "scales": (2.0, 1.5), "mode": "cubic"}),
    Sample("_onnx_resize", (f(1, 1, 3, 2),), {"axes": (2,), "sizes": (2,), "mode": "linear"}),
    Sample("_onnx_grid_sample", (f(1, 2, 3, 3), f(1, 2, 2, 2, low=-0.8, high=0.8))),
]

LAYERS = [
    *ONNX,
    Sample("FullyConnected", (f(3, 2, 2), f(5, 4), f(5)), {"num_hidden": 5}),
    Sample("FullyConnected", (f(3, 2, 4), f(5, 4)), {"num_hidden": 5, "flatten": False, "no_bias": True}),
    Sample("_contiguous", (f(2, 3),)),
    Sample("_channels_last", (f(2, 3, 4, 5),)),
    Sample("_channels_last", (f(2, 1, 4, 5),)),
    Sample("_joint_fully_connected", (f(3, 4), f(2, 4), f(5, 4), f(5)), {"num_hidden": 5}),
    Sample("_stack_rows", (f(3, 2, 2), f(3, 4))),
    *(
        Sample(
            "_joint_cells",
            (f(4, 3, 2), f(rows, 2), f(rows), f(3, 5), f(rows, 5), f(rows), *memory),
            {"mode": mode, "state_size": 5},
        )
        for mode, rows, memory in (
            ("rnn_tanh", 5, ()),
            ("rnn_relu", 5, ()),
            ("gru", 15, ()),
            ("lstm", 20, (f(3, 5),)),
        )
    ),
    Sample(
        "_joint_cells",
        (f(4, 3, 2), f(15, 2), f(15), f(3, 5), f(15, 5)),
        {"mode": "gru", "state_size": 5, "gates": (2, 0, 1), "no_h2h_bias": True},
    ),
    Sample("Embedding", (i(2, 3, high=4), f(5, 4)), {"input_dim": 5, "output_dim": 4}),
    *(
        Sample(
            name, (f(2, 4, 5), f(2, 2, 3), f(2)), {"kernel": 3, "num_filter": 2, "num_group": 2, "stride": 2}
        )
        for name in ("Convolution", "Convolution_v1")
    ),
    Sample(
        "Convolution",
        (f(1, 4, 4, 2), f(3, 2, 2, 2), f(3)),
        {"kernel": (2, 2), "num_filter": 3, "layout": "NHWC"},
    ),
    Sample(
        "Convolution",
        (f(1, 2, 3, 4, 3), f(2, 2, 2, 2, 2)),
        {"kernel": (2, 2, 2), "num_filter": 2, "pad": (1, 0, 1), "no_bias": True},
    ),
    Sample("Deconvolution", (f(1, 2, 3), f(2, 2, 3)), {"kernel": 3, "num_filter": 2, "stride": 2, "adj": 1}),
    Sample(
        "Deconvolution",
        (f(1, 2, 3, 3), f(2, 2, 3, 3), f(2)),
        {"kernel": (3, 3), "num_filter": 2, "stride": (2, 2), "target_shape": (6, 6), "no_bias": False},
    ),
    *(
        Sample(
            "Pooling",
            (f(1, 2, 5, 4),),
            {"kernel": (3, 2), "stride": (2, 3), "pool_type": pool, "pooling_convention": "full"},
        )
        for pool in ("max", "avg", "sum")
    ),
    Sample("Pooling", (f(1, 1, 6),), {"kernel": 3, "pad": 2, "pool_type": "avg", "count_include_pad": False}),
    Sample("Pooling", (f(1, 1, 6, low=0.5),), {"kernel": 2, "pool_type": "lp", "p_value": 2}),
    Sample("Pooling", (f(1, 1, 6, low=0.5),), {"kernel": 2, "pool_type": "lp", "p_value": 3}),
    Sample("Pooling", (f(2, 2, 3, 3),), {"global_pool": True, "pool_type": "max"}),
    Sample("Pooling", (f(2, 2, 3, 3),), {"global_pool": True, "pool_type": "avg"}),
    *(
        Sample("Pooling_v1", (f(1, 2, 5, 5),), {"kernel": (3, 3), "stride": (2, 2), "pool_type": pool})
        for pool in ("max", "avg", "sum")
    ),
    *(
        Sample(name, (f(4, 3, 2), *_STATISTICS), {"fix_gamma": fix_gamma}, training)
        for name in ("BatchNorm", "BatchNorm_v1")
        for fix_gamma in (True, False)
        for training in (True, False)
    ),
    Sample("BatchNorm", (f(4, 2, 3), *_STATISTICS), {"fix_gamma": False, "axis": -1}, True),
    Sample("BatchNorm", (f(4, 3), *_STATISTICS), {"fix_gamma": False, "use_global_stats": True}, True),
    Sample("LayerNorm", (f(3, 4), f(4), f(4))),
    Sample("LayerNorm", (f(2, 4, 3), f(4), f(4)), {"axis": 1}),
    Sample("GroupNorm", (f(2, 4, 3), f(2), f(2)), {"num_groups": 2}),
    Sample("InstanceNorm", (f(2, 3, 4), f(3), f(3))),
    *(
        Sample("L2Normalization", (f(2, 3, 4),), {"mode": mode})
        for mode in ("instance", "channel", "spatial")
    ),
    Sample("LRN", (f(1, 5, 2, 2),), {"nsize": 3, "alpha": 0.3}),
    *(
        Sample("Activation", (f(3, 4),), {"act_type": act_type})
        for act_type in ("relu", "sigmoid", "tanh", "softrelu", "softsign")
    ),
    *(Sample("LeakyReLU", (f(3, 4),), {"act_type": a}) for a in ("leaky", "elu", "selu", "gelu", "rrelu")),
    Sample("LeakyReLU", (f(3, 4),), {"act_type": "rrelu"}, True),
    Sample("LeakyReLU", (f(3, 4), f(4)), {"act_type": "prelu"}),
    *(Sample("SoftmaxActivation", (f(2, 3, 4),), {"mode": mode}) for mode in ("instance", "channel")),
    *(
        Sample(name, (f(2, 3),), p)
        for name in ("softmax", "softmin", "log_softmax")
        for p in ({}, {"axis": 0, "temperature": 2.0})
    ),
    Sample("softmax", (f(2, 3), i(2, low=1)), {"use_length": True}),
    Sample("Dropout", (f(3, 4),), {"p": 0.5}, True),
    Sample("Dropout", (f(3, 4),), {"p": 0.5}),
    *(Sample(name, (f(3, 2, 2),)) for name in ("SequenceMask", "SequenceLast", "SequenceReverse")),
    *(
        Sample(name, (f(3, 2, 2), _LENGTHS), {"use_sequence_length": True})
        for name in ("SequenceMask", "SequenceLast", "SequenceReverse")
    ),
    # 4 gates: 2 rows of 2 inputs, 2 of 2 states, and the two biases
    Sample("RNN", (f(3, 2, 2), f(12), f(1, 2, 2)), {"mode": "rnn_tanh", "state_size": 2, "num_layers": 1}),
    Sample("RNN", (f(3, 2, 2), f(12), f(1, 2, 2)), {"mode": "rnn_relu", "state_size": 2, "num_layers": 1}),
    Sample(
        "RNN",
        (f(3, 2, 2), f(96), f(2, 2, 2), f(2, 2, 2)),
        {"mode": "lstm", "state_size": 2, "num_layers": 1, "bidirectional": True, "state_outputs": True},
    ),
    Sample("RNN", (f(2, 2, 2), f(72), f(2, 2, 2)), {"mode": "gru", "state_size": 2, "num_layers": 2}),
    Sample("softmax_cross_entropy", (f(3, 4), whole(0, 3, 1))),
    Sample("_sample_multinomial", (f(2, 3, low=0.1, high=1.0),), {"get_prob": True, "shape": (4,)}),
    # contrib
    Sample("_contrib_quadratic", (f(3, 4),), {"a": 2.0, "b": 3.0, "c": 1.0}),
    Sample("_contrib_div_sqrt_dim", (f(3, 4),)),
    Sample("_contrib_index_copy", (f(4, 2), whole(2, 0), f(2, 2))),
    Sample("_contrib_boolean_mask", (f(3, 2), whole(1, 0, 1))),
    Sample("_contrib_interleaved_matmul_selfatt_qk", (f(3, 2, 12),), {"heads": 2}),
    Sample("_contrib_interleaved_matmul_selfatt_valatt", (f(3, 2, 12), f(4, 3, 3)), {"heads": 2}),
    Sample("_contrib_interleaved_matmul_encdec_qk", (f(2, 2, 4), f(3, 2, 8)), {"heads": 2}),
    Sample("_contrib_interleaved_matmul_encdec_valatt", (f(3, 2, 8), f(4, 2, 3)), {"heads": 2}),
    Sample("_contrib_fft", (f(2, 4),)),
    Sample("_contrib_ifft", (f(2, 4),)),
    # pictures at other sizes and places
    Sample("UpSampling", (f(1, 2, 2, 3), f(1, 1, 4, 2)), {"scale": 2, "sample_type": "nearest"}),
    Sample(
        "UpSampling",
        (f(1, 2, 2, 3), f(1, 2, 1, 3)),
        {"scale": 2, "sample_type": "nearest", "multi_input_mode": "sum"},
    ),
    Sample(
        "UpSampling", (f(1, 2, 2, 3), f(2, 1, 5, 5)), {"scale": 3, "sample_type": "bilinear", "num_filter": 2}
    ),
    Sample("BilinearSampler", (f(2, 2, 3, 4), f(2, 2, 2, 3, low=-1.4, high=1.4))),
    Sample("GridGenerator", (f(2, 6),), {"transform_type": "affine", "target_shape": (2, 3)}),
    Sample("GridGenerator", (f(2, 2, 2, 3),), {"transform_type": "warp"}),
    Sample(
        "SpatialTransformer",
        (f(2, 2, 3, 4), f(2, 6, low=-1.0, high=1.0)),
        {"transform_type": "affine", "sampler_type": "bilinear", "target_shape": (3, 2)},
    ),
    *(
        Sample("im2col", (f(1, 2, *n),), {"kernel": k, "stride": s, "dilate": s, "pad": (1,) * len(k)})
        for n, k, s in (((5,), (2,), (2,)), ((4, 3), (2, 2), (2, 1)), ((3, 3, 2), (2, 1, 2), (1, 2, 1)))
    ),
    *(
        Sample("col2im", (f(1, 2 * columns, windows),), {"kernel": k, "output_size": n, "pad": (1,) * len(k)})
        for columns, windows, k, n in (
            (2, 6, (2,), (5,)),
            (4, 12, (2, 2), (3, 2)),
            (4, 24, (2, 1, 2), (2, 2, 1)),
        )
    ),
    Sample("_contrib_AdaptiveAvgPooling2D", (f(1, 2, 3, 5),), {"output_size": (2, 3)}),
    Sample("_contrib_BilinearResize2D", (f(1, 2, 3, 4),), {"height": 5, "width": 3}),
    Sample("_contrib_BilinearResize2D", (f(1, 2, 3, 4),), {"height": 1, "width": 6, "align_corners": False}),
    Sample("_contrib_BilinearResize2D", (f(1, 2, 3, 4), i(1, 2, 2, 2)), {"mode": "like"}),
    *(
        Sample(name, (f(4, 3, 2), *_STATISTICS), {**key, "fix_gamma": False}, training)
        for name, key in (("_contrib_SyncBatchNorm", {"key": "layer"}), ("_contrib_BatchNormWithReLU", {}))
        for training in (True, False)
    ),
    Sample("CTCLoss", (f(4, 2, 3), whole([1, 2], [2, 0]))),
    Sample(
        "CTCLoss",
        (f(5, 2, 3), whole([1, 0], [1, 1]), whole(3, 5), whole(1, 2)),
        {"use_data_lengths": True, "use_label_lengths": True, "blank_label": "last"},
    ),
    Sample("WarpCTC", (f(8, 3), whole(1, 2, 2, 0)), {"label_length": 2, "input_length": 4}),
    # linear algebra
    Sample("_linalg_gemm", (f(2, 2, 3), f(2, 3, 4), f(2, 2, 4)), {"alpha": 2.0, "beta": 0.5}),
    Sample("_linalg_gemm2", (f(2, 2, 3), f(2, 3, 4))),
    Sample("_linalg_gemm2", (f(2, 3, 2), f(2, 4, 3)), {"transpose_a": True, "transpose_b": True}),
    Sample("_linalg_potrf", (spread(2, 3, 3),)),
    Sample("_linalg_potri", (spread(2, 3, 3),)),
    Sample("_linalg_trmm", (f(2, 3, 3), f(2, 3, 2))),
    Sample("_linalg_trsm", (spread(2, 3, 3), f(2, 3, 2))),
    Sample(
        "_linalg_trsm", (spread(2, 3, 3), f(2, 2, 3)), {"rightside": True, "transpose": True, "alpha": 2.0}
    ),
    Sample("_linalg_syrk", (f(2, 3, 2),)),
    Sample("_linalg_gelqf", (spread(2, 3, 3),)),
    Sample("_linalg_gelqf", (f(2, 3, 4),)),
    Sample("_linalg_syevd", (f(2, 3, 3),)),
    Sample("_linalg_sumlogdiag", (spread(2, 3, 3),)),
    Sample("_linalg_extractdiag", (f(2, 3, 3),), {"offset": 1}),
    Sample("_linalg_makediag", (f(2, 3),), {"offset": -1}),
    Sample("_linalg_extracttrian", (f(2, 3, 3),)),
    Sample("_linalg_maketrian", (f(2, 6),), {"lower": False}),
    Sample("_linalg_inverse", (spread(2, 3, 3),)),
    Sample("_linalg_det", (spread(2, 3, 3),)),
    Sample("_linalg_slogdet", (spread(2, 3, 3),)),
    # images and regions of them
    Sample(
        "_contrib_DeformableConvolution",
        (f(1, 2, 4, 4), f(1, 8, 3, 3, low=0.1, high=0.9), f(2, 2, 2, 2), f(2)),
        {"kernel": (2, 2), "num_filter": 2},
    ),
    Sample(
        "_contrib_ModulatedDeformableConvolution",
        (f(1, 2, 4, 4), f(1, 8, 3, 3, low=0.1, high=0.9), f(1, 4, 3, 3), f(2, 2, 2, 2), f(2)),
        {"kernel": (2, 2), "num_filter": 2},
    ),
    Sample("_image_normalize", (f(3, 4, 4),), {"mean": (0.1, 0.2, 0.3), "std": (0.5, 1.0, 2.0)}),
    Sample("_image_crop", (f(4, 5, 3),), {"x": 1, "y": 0, "width": 2, "height": 3}),
    Sample("_image_resize", (f(4, 5, 3),), {"size": (3, 2)}),
    Sample("_image_flip_left_right", (f(4, 5, 3),)),
    Sample("_image_flip_top_bottom", (f(4, 5, 3),)),
    Sample("_image_random_flip_left_right", (f(4, 5, 3),)),
    Sample("_image_random_flip_top_bottom", (f(4, 5, 3),)),
    *(
        Sample(
            f"_image_random_{kind}", (f(2, 3, 3, low=0.1, high=0.9),), {"min_factor": 0.5, "max_factor": 1.5}
        )
        for kind in ("brightness", "contrast", "saturation", "hue")
    ),
    Sample(
        "_image_random_color_jitter",
        (f(2, 3, 3, low=0.1, high=0.9),),
        {"brightness": 0.2, "contrast": 0.2, "saturation": 0.2, "hue": 0.1},
    ),
    Sample("_image_adjust_lighting", (f(2, 3, 3),), {"alpha": (0.1, 0.2, 0.3)}),
    Sample("_image_random_lighting", (f(2, 3, 3),)),
    Sample("_cvimresize", (f(4, 5, 3),), {"w": 2, "h": 3, "interp": 1}),
    Sample("_cvcopyMakeBorder", (f(4, 5, 3),), {"top": 1, "bot": 2, "left": 0, "right": 1}),
    Sample(
        "ROIPooling", (f(1, 2, 6, 6), whole([0, 0, 0, 4, 4])), {"pooled_size": (2, 2), "spatial_scale": 1.0}
    ),
    Sample(
        "_contrib_ROIAlign",
        (f(1, 2, 6, 6), whole([0, 0.3, 0.4, 4.1, 4.2])),
        {"pooled_size": (2, 2), "spatial_scale": 1.0},
    ),
    Sample(
        "_contrib_RROIAlign",
        (f(1, 2, 6, 6), whole([0, 2.6, 2.7, 3.1, 2.2, 30])),
        {"pooled_size": (2, 2), "spatial_scale": 1.0},
    ),
    Sample(
        "_contrib_PSROIPooling",
        (f(1, 8, 6, 6), whole([0, 0, 0, 4, 4])),
        {"pooled_size": 2, "output_dim": 2, "spatial_scale": 1.0},
    ),
    Sample(
        "_contrib_DeformablePSROIPooling",
        (f(1, 8, 6, 6), whole([0, 0, 0, 4, 4]), f(1, 2, 2, 2, low=0.1, high=0.4)),
        {
            "pooled_size": 2,
            "group_size": 2,
            "output_dim": 2,
            "spatial_scale": 1.0,
            "trans_std": 0.3,
            "sample_per_part": 2,
        },
    ),
    Sample("Correlation", (f(1, 2, 4, 4), f(1, 2, 4, 4)), {"max_displacement": 1, "pad_size": 1}),
    Sample("Crop", (f(1, 2, 4, 5), f(1, 2, 2, 3)), {"num_args": 2, "offset": (1, 1)}),
    # other
    Sample("_contrib_SparseEmbedding", (i(2, 3, high=4), f(5, 4)), {"input_dim": 5, "output_dim": 4}),
    Sample("_contrib_count_sketch", (f(2, 4), whole([0, 2, 1, 2]), whole([1, -1, 1, -1])), {"out_dim": 3}),
    Sample(
        "_contrib_hawkesll",
        (
            f(2, 2, low=0.5),
            f(2, low=0.2, high=0.8),
            f(2, low=0.5),
            whole([0.1, 0.2], [0.3, 0.4]),
            whole([0.5, 1.0, 0.5], [0.3, 0.2, 0.7]),
            whole([0, 1, 0], [1, 1, 0], dtype="int32"),
            whole(3, 2),
            whole(3, 2),
        ),
    ),
    Sample("cast_storage", (f(2, 3),), {"stype": "default"}),
    *(
        Sample(
            f"_random_pdf_{kind}",
            (f(2, 3, low=0.3, high=0.9), *(f(2, low=low, high=high) for low, high in ranges)),
        )
        for kind, ranges in (
            ("uniform", ((-1.0, 0.0), (1.0, 2.0))),
            ("normal", ((-1.0, 1.0), (0.5, 2.0))),
            ("gamma", ((0.5, 2.0), (0.5, 2.0))),
            ("exponential", ((0.5, 2.0),)),
        )
    ),
    Sample("_random_pdf_poisson", (whole([0, 1, 3], [2, 2, 0]), f(2, low=0.5))),
    Sample(
        "_random_pdf_negative_binomial", (whole([0, 1, 3], [2, 2, 0]), whole(2, 3), f(2, low=0.2, high=0.8))
    ),
    Sample(
        "_random_pdf_generalized_negative_binomial",
        (whole([0, 1, 3], [2, 2, 0]), f(2, low=0.5), f(2, low=0.5)),
    ),
    Sample("_random_pdf_dirichlet", (whole([[0.2, 0.3, 0.5]], [[0.6, 0.3, 0.1]]), f(2, 3, low=0.5))),
]
