"""Functions of `sym.random` that draw from a distribution, made from one declaration for arrays and symbols.

Their signatures are in ``drawing.pyi``, which ``make stubs`` writes.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from ..ops import find
from ..ops.random_frontend import Front, make_drawing, make_drawing_like
from .composition import compose
from .symbol import Symbol

__all__ = [
    "exponential", "exponential_like", "gamma", "gamma_like", "generalized_negative_binomial",
    "generalized_negative_binomial_like", "negative_binomial", "negative_binomial_like", "normal",
    "normal_like", "poisson", "poisson_like", "randint", "uniform", "uniform_like",
]  # fmt: skip


def _draw(kind: str, inputs: Sequence[Symbol], parameters: dict[str, float], given: dict[str, Any]) -> Symbol:
    """Draw with numbers as parameters (``_random_X``) or with symbols (``_sample_X``)."""
    name = f"_sample_{kind}" if inputs else f"_random_{kind}"
    return compose(find(name), name, inputs, {**parameters, **_given(given)})


def _given(keywords: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value for name, value in keywords.items() if value is not None or name not in ("shape", "dtype")
    }


_FRONT = Front(
    package="symbol",
    module="sym.random",
    inputs=Symbol,
    inputs_word="symbols",
    extra=(inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD, annotation=Any),),
    extra_like=("name", "attr"),
    apply=compose,
    draw=_draw,
)
(
    uniform_like, normal_like, exponential_like, gamma_like, poisson_like, negative_binomial_like,
    generalized_negative_binomial_like,
) = make_drawing_like(_FRONT)  # fmt: skip
(
    uniform, normal, poisson, exponential, gamma, negative_binomial, generalized_negative_binomial, randint,
) = make_drawing(_FRONT)  # fmt: skip
