"""Functions of `nd.random` that draw from a distribution, made from one declaration for arrays and symbols.

Their signatures are in ``drawing.pyi``, which ``make stubs`` writes.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from ..device import Device, as_device
from ..ops import find
from ..ops.random_frontend import Front, make_drawing, make_drawing_like
from .ndarray import NDArray, call

__all__ = [
    "exponential", "exponential_like", "gamma", "gamma_like", "generalized_negative_binomial",
    "generalized_negative_binomial_like", "negative_binomial", "negative_binomial_like", "normal",
    "normal_like", "poisson", "poisson_like", "randint", "uniform", "uniform_like",
]  # fmt: skip


def _draw(
    kind: str, inputs: Sequence[NDArray], parameters: dict[str, float], given: dict[str, Any]
) -> NDArray:
    """Draw with numbers as parameters (``_random_X``) or with arrays of them (``_sample_X``)."""
    shape, dtype, ctx, out = (given.get(name) for name in ("shape", "dtype", "ctx", "out"))
    if inputs:
        # With arrays of parameters, `shape` is that of the numbers drawn for each of their elements.
        keywords: dict[str, Any] = {"shape": () if shape is None else shape}
    else:
        device = as_device(ctx, f"nd.random.{kind}: ctx") if out is None else out.device
        if shape is None:
            shape = (1,) if out is None else out.shape
        keywords = {**parameters, "shape": shape, "ctx": device}
    if dtype is not None:
        keywords["dtype"] = dtype
    return call(find(f"_sample_{kind}" if inputs else f"_random_{kind}"), inputs, {**keywords, "out": out})


def _argument(name: str, annotation: object) -> inspect.Parameter:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(name, kind, default=None, annotation=annotation)


_FRONT = Front(
    package="ndarray",
    module="nd.random",
    inputs=NDArray,
    inputs_word="arrays",
    extra=(_argument("ctx", Device | None), _argument("out", NDArray | None)),
    extra_like=("out",),
    apply=lambda op, hint, inputs, keywords: call(op, inputs, keywords),
    draw=_draw,
)
(
    uniform, normal, poisson, exponential, gamma, negative_binomial, generalized_negative_binomial, randint,
) = make_drawing(_FRONT)  # fmt: skip
(
    uniform_like, normal_like, exponential_like, gamma_like, poisson_like, negative_binomial_like,
    generalized_negative_binomial_like,
) = make_drawing_like(_FRONT)  # fmt: skip
