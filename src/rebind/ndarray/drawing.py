"""How `nd.random` draws: what differs between arrays and symbols, and the functions that only arrays have so."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from ..device import Device, as_device
from ..dtypes import DTypeLike
from ..mode import mode
from ..ops import find
from ..ops.random_frontend import Drawn, Front, zipfian
from .ndarray import NDArray, array, call

__all__ = ["FRONT", "multinomial", "rand_zipfian"]


def _draw(kind: str, drawn: Drawn[NDArray], called_as: str) -> NDArray:
    """Draw with numbers as parameters (``_random_X``) or with arrays of them (``_sample_X``)."""
    inputs, parameters, given = drawn
    # The operator has no shape without axes: files write () for one number in an array of shape (1,).
    is_single = not inputs and given.get("out") is None and given.get("shape") == ()
    op = find(f"_sample_{kind}" if inputs else f"_random_{kind}")
    result: NDArray = call(op, inputs, _keywords(parameters, called_as, **given), called_as)
    return result.reshape(()) if is_single and mode.numpy_shapes else result


def _keywords(
    parameters: dict[str, float],
    called_as: str,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    ctx: Device | None = None,
    out: NDArray | None = None,
) -> dict[str, Any]:
    """Return the keywords of the operator; `parameters` are empty where arrays of them are given."""
    if not parameters:
        # Then `shape` is that of the numbers drawn for each of their elements.
        keywords: dict[str, Any] = {"shape": () if shape is None else shape}
    else:
        # With `out` its shape and device are those of the draw.
        if shape is None:
            shape = (1,) if out is None else out.shape
        keywords = {**parameters, "shape": shape}
        if out is not None:
            keywords["ctx"] = out.device
        elif ctx is not None:
            keywords["ctx"] = as_device(ctx, f"nd.{called_as}: ctx")
    if dtype is not None:
        keywords["dtype"] = dtype
    if out is not None:
        keywords["out"] = out
    return keywords


def _argument(name: str, annotation: object) -> inspect.Parameter:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(name, kind, default=None, annotation=annotation)


FRONT = Front(
    package="ndarray",
    module="nd.random",
    inputs=NDArray,
    inputs_word="arrays",
    extra=(_argument("ctx", Device | None), _argument("out", NDArray | None)),
    extra_like=("out",),
    apply=lambda op, hint, inputs, keywords, called_as: call(op, inputs, keywords, called_as),
    draw=_draw,
)


def multinomial(
    data: NDArray,
    shape: int | Sequence[int] | None = None,
    get_prob: bool = False,
    out: NDArray | None = None,
    dtype: DTypeLike = "int32",
    **kwargs: Any,
) -> NDArray | list[NDArray]:
    """Draw indices with the probabilities in the last axis of `data`.

    >>> multinomial(array([0, 0, 1]), shape=4).asnumpy().tolist()
    [2, 2, 2, 2]
    """
    given = {"shape": () if shape is None else shape, "get_prob": get_prob, "dtype": dtype, "out": out}
    return call(find("_sample_multinomial"), (data,), {**given, **kwargs}, "random.multinomial")


def rand_zipfian(
    true_classes: NDArray, num_sampled: int, range_max: int, ctx: Device | None = None
) -> tuple[NDArray, NDArray, NDArray]:
    """Draw classes from a Zipfian distribution, ``P(k) = (log(k + 2) - log(k + 1)) / log(range_max + 1)``.

    Parameters
    ----------
    true_classes
        The target classes, (n,).
    num_sampled
        How many to draw, with replacement.
    range_max
        The number of classes; the frequent ones come first.
    ctx
        The device; the current one by default.

    Returns
    -------
    samples : (num_sampled,), int64
    expected_count_true : (n,), float64
        How often each true class is expected among the samples.
    expected_count_sampled : (num_sampled,), float64

    Examples
    --------
    >>> samples, expected_true, expected_sampled = rand_zipfian(array([0, 3]), num_sampled=4, range_max=9)
    >>> samples.shape, expected_true.asnumpy().round(2).tolist()
    ((4,), [1.2, 0.39])
    """
    base = array([range_max + 1], ctx, "float64")

    def apply(name: str, *inputs: NDArray, **given: Any) -> Any:
        return call(find(name), inputs, given)

    classes = true_classes.as_in_context(base.device)
    return zipfian(apply, base, classes, num_sampled, range_max, ctx=base.device)
