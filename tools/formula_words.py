"""The names that formulas may use besides those of an operator: NumPy's, SciPy's, Python's, and a few of their own."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy import special
from tools.formula_elements import assigns_elements

__all__ = ["NAMES", "meanings"]


def bound(x, limit):  # type: ignore[no-untyped-def]
    """`x`, cut to what is between `-limit` and `limit`; `x` itself where `limit` is negative."""
    return np.clip(x, -limit, limit) if limit >= 0 else x


def t(matrices, flag=True):  # type: ignore[no-untyped-def]
    """The matrices in the last two axes, transposed where the flag is set."""
    return np.swapaxes(matrices, -1, -2) if flag else matrices


def along(data, axis, exclude=False):  # type: ignore[no-untyped-def]
    """The axes `axis`, all where it is none; with `exclude` all others."""
    if axis is None or axis == ():
        return tuple(range(data.ndim))
    chosen = {i % data.ndim for i in (axis if isinstance(axis, tuple) else (axis,))}
    return tuple(i for i in range(data.ndim) if (i in chosen) != exclude)


def spread(x, data, axes):  # type: ignore[no-untyped-def]
    """`x`, which `axes` of `data` are missing in, repeated along them to the shape of `data`."""
    kept = [1 if i in axes else size for i, size in enumerate(data.shape)]
    return np.broadcast_to(np.reshape(x, kept), data.shape)


def over(x, sample):  # type: ignore[no-untyped-def]
    """`x` with further axes at its end, as many as `sample` has."""
    return x.reshape(x.shape + (1,) * (sample.ndim - x.ndim))


def places(x):  # type: ignore[no-untyped-def]
    """An array of the shape of `x` that numbers its elements, row by row."""
    return np.arange(x.size).reshape(x.shape)


def added(x, at, data):  # type: ignore[no-untyped-def]
    """An array of the shape of `data`: the sums of the elements of `x` that have the number of its element in `at`."""
    return np.bincount(np.ravel(at), np.ravel(x), data.size).reshape(data.shape)


def nearest(x, levels):  # type: ignore[no-untyped-def]
    """The nearest whole numbers, halves to even, held within int8, or with 255 levels within uint8."""
    return np.clip(np.round(x), *((-128, 127) if levels < 128 else (0, 255)))


def corners(boxes):  # type: ignore[no-untyped-def]
    """Boxes (x, y, width, height) around their centers as (left, top, right, bottom)."""
    half = boxes[..., 2:] / 2
    return np.concatenate([boxes[..., :2] - half, boxes[..., :2] + half], -1)


def centers(boxes):  # type: ignore[no-untyped-def]
    """Boxes (left, top, right, bottom) as (x, y, width, height) around their centers."""
    low, high = boxes[..., :2], boxes[..., 2:]
    return np.concatenate([(low + high) / 2, high - low], -1)


def iou(a, b):  # type: ignore[no-untyped-def]
    """The area that each of the boxes `a` shares with each of `b`, over that of both together; 0 without any."""
    low, high = (choose(a[:, None], b) for choose in (np.maximum, np.minimum))
    shared = np.maximum(high[..., 2:] - low[..., :2], 0).prod(-1)
    areas = [(boxes[:, 2:] - boxes[:, :2]).prod(-1) for boxes in (a, b)]
    return np.where(shared > 0, shared / (areas[0][:, None] + areas[1] - shared), 0)


_OWN = {
    each.__name__: each
    for each in (bound, t, along, spread, over, places, added, nearest, corners, centers, iou)
}
NAMES: dict[str, Any] = {
    name: getattr(np, name)
    for name in (
        "abs", "all", "any", "arange", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "argmax",
        "argmin", "argsort", "array", "broadcast_to", "cbrt", "ceil", "clip", "concatenate", "cos", "cosh", "cumsum",
        "exp", "expand_dims", "eye", "flip", "floor", "full", "full_like", "histogram", "inf", "isfinite", "isnan",
        "kron", "linspace", "log", "log10", "log2", "maximum", "meshgrid", "minimum", "moveaxis", "nan_to_num",
        "ones", "ones_like", "pad", "pi", "repeat", "round", "sign", "sin", "sinh", "split", "sqrt", "squeeze",
        "stack", "swapaxes", "take", "take_along_axis", "tan", "tanh", "tile", "transpose", "tril", "triu", "trunc",
        "where", "zeros", "zeros_like",
    )
}  # fmt: skip
NAMES |= {name: getattr(np.linalg, name) for name in ("cholesky", "det", "inv")}
NAMES |= {name: getattr(np.fft, name) for name in ("fft", "ifft")}
NAMES |= {name: getattr(special, name) for name in ("digamma", "erf", "erfinv", "expit", "gamma")}
NAMES |= {
    name: getattr(builtins, name)
    for name in (
        "dict",
        "divmod",
        "enumerate",
        "int",
        "len",
        "list",
        "max",
        "min",
        "range",
        "slice",
        "sum",
        "tuple",
        "zip",
    )
}
NAMES |= {"reduce": functools.reduce, **_OWN}

_LEVELS = "`data_levels` is 127.5 where `data` is int8 and 255.5 where it is uint8; likewise for others."
_INDICES = (
    "Letters that are no names are indices. What is outside of an array counts as 0 in a sum, "
    "and not at all in a mean or a maximum."
)
_ADDED = "`+=` adds for all values of the indices."


def meanings(lines: Sequence[str], given: Iterable[str] = ()) -> list[str]:
    """Return sentences on the words and forms of lines that are not NumPy's; `given` are an operator's names.

    >>> meanings(["g = bound(grad, clip_gradient)"])
    ['`bound(x, limit)`: `x`, cut to what is between `-limit` and `limit`; `x` itself where `limit` is negative.']
    """
    text = "\n".join(lines)
    found = []
    for name in (name for name in _OWN if re.search(rf"\b{name}\(", text)):
        meaning = inspect.getdoc(_OWN[name]) or ""
        found.append(f"`{name}{inspect.signature(_OWN[name])}`: {meaning[0].lower()}{meaning[1:]}")
    nodes = list(ast.walk(ast.parse(text)))
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    known = {*NAMES, *given, *stored}
    forms = [node for node in nodes if isinstance(node, ast.stmt) and assigns_elements(node, known)]
    found += [_LEVELS] if re.search(r"_levels\b", text) else []
    found += [_INDICES] if forms else []
    return found + ([_ADDED] if any(isinstance(form, ast.AugAssign) for form in forms) else [])
