"""Loops and branches on arrays (``nd.contrib``): plain Python, recorded step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ..checks import FUNCTION, check_kind
from ..errors import ArgumentError, ShapeError
from ..nested import Nesting, flatten, pair, read_limit, restore
from ..ops import find
from .creation import zeros
from .ndarray import NDArray, call

__all__ = ["cond", "foreach", "while_loop"]


#: An array, or (nested) lists of arrays.
Nested: TypeAlias = "NDArray | Sequence[Nested]"


def foreach(body: Callable[..., tuple[Nested, Nested]], data: Nested, init_states: Nested) -> tuple[Any, Any]:
    """Run `body` on each slice of arrays along axis 0; states pass from one step to the next.

    Parameters
    ----------
    body
        ``body(slices, states) -> (outputs, new states)``. Slices and states are nested as `data` and `init_states`
        are; outputs are an array or (nested) lists of arrays.
    data
        An array, or (nested) lists of arrays with equally many slices.
    init_states
        The first states, an array or (nested) lists.

    Returns
    -------
    outputs, states
        The outputs of all steps, stacked along axis 0, and the last states.

    Examples
    --------
    >>> import rebind as mx
    >>> step = lambda x, total: (x * 10, total + x)
    >>> outputs, total = mx.nd.contrib.foreach(step, mx.nd.array([1, 2, 3]), mx.nd.zeros((1,)))
    >>> outputs.asnumpy().ravel(), total.asnumpy()
    (array([10., 20., 30.], dtype=float32), array([6.], dtype=float32))
    """
    arrays, data_nesting = flatten(data, NDArray, "contrib.foreach: data")
    states, state_nesting = flatten(init_states, NDArray, "contrib.foreach: init_states")
    counts = {len(array) for array in arrays}
    if len(counts) != 1 or 0 in counts:
        raise ShapeError(
            f"contrib.foreach: data must hold arrays with equally many slices, at least 1, along axis 0; got shapes "
            f"{[array.shape for array in arrays]}"
        )
    steps: list[list[NDArray]] = []
    nesting: Nesting = None
    for i in range(counts.pop()):
        outputs, new = pair(
            body(restore([array[i] for array in arrays], data_nesting), restore(states, state_nesting)),
            "contrib.foreach: body",
        )
        found, nesting = flatten(outputs, NDArray, "contrib.foreach: the body's output")
        states, new_nesting = flatten(new, NDArray, "contrib.foreach: the body's new states")
        if new_nesting != state_nesting:
            raise ArgumentError("contrib.foreach: the body must return states nested as init_states are")
        steps.append(found)
    return restore(_stacked(steps), nesting), restore(states, state_nesting)


def while_loop(
    cond: Callable[..., NDArray],
    func: Callable[..., tuple[Nested | None, Nested]],
    loop_vars: Nested,
    max_iterations: int | None = None,
) -> tuple[Any, Any]:
    """Run `func` as long as `cond` holds, at most `max_iterations` times.

    Parameters
    ----------
    cond
        ``cond(*loop_vars)``: an array of one number; the loop ends when it is 0.
    func
        ``func(*loop_vars) -> (outputs, new loop_vars)``.
    loop_vars
        The first values, an array or (nested) lists.
    max_iterations
        The largest number of steps.

    Returns
    -------
    outputs, loop_vars
        The outputs of all steps, stacked along axis 0 and filled up with zeros to `max_iterations` (MXNet leaves what
        was in memory there); an empty list without any step. And the last values.

    Examples
    --------
    >>> import rebind as mx
    >>> i, total = mx.nd.array([0]), mx.nd.array([0])
    >>> outputs, (i, total) = mx.nd.contrib.while_loop(
    ...     lambda i, total: i < 3,
    ...     lambda i, total: ([i * i], [i + 1, total + i]),
    ...     [i, total],
    ...     max_iterations=4,
    ... )
    >>> outputs[0].asnumpy().ravel(), total.asnumpy()
    (array([0., 1., 4., 0.], dtype=float32), array([3.], dtype=float32))
    """
    check_kind("contrib.while_loop", FUNCTION, cond=cond, func=func)
    limit = read_limit(max_iterations)
    values, nesting = flatten(loop_vars, NDArray, "contrib.while_loop: loop_vars")
    # One loop variable goes to the functions as it is, not in a list.
    single = nesting is None
    steps: list[list[NDArray]] = []
    output_nesting: Nesting = []

    def arguments() -> Sequence[Any]:
        return [values[0]] if single else restore(values, nesting)

    while len(steps) < limit and _truth(cond(*arguments()), "contrib.while_loop: cond"):
        outputs, new = pair(func(*arguments()), "contrib.while_loop: func")
        found, output_nesting = flatten(
            [] if outputs is None else outputs, NDArray, "contrib.while_loop: an output of func"
        )
        values, new_nesting = flatten(
            [new] if nesting == [None] and isinstance(new, NDArray) else new,
            NDArray,
            "contrib.while_loop: a new loop variable",
        )
        if new_nesting != nesting:
            raise ArgumentError("contrib.while_loop: func must return loop variables nested as loop_vars are")
        steps.append(found)
    stacked = _stacked(steps)
    if steps and len(steps) < limit:
        # Filled up, so that the shape does not depend on the number of steps: a symbol's could not.
        rest = [zeros((limit - len(steps), *array.shape[1:]), array.device, array.dtype) for array in stacked]
        stacked = [call(find("Concat"), pair, {"dim": 0}) for pair in zip(stacked, rest, strict=True)]
    return restore(stacked, output_nesting) if steps else [], restore(values, nesting)


def cond(pred: NDArray, then_func: Callable[[], Nested], else_func: Callable[[], Nested]) -> Any:
    """Compute `then_func` when `pred`, an array of one number, is not 0, else `else_func`.

    >>> import rebind as mx
    >>> a = mx.nd.array([2.0])
    >>> mx.nd.contrib.cond(a < 3, lambda: a + 10, lambda: a - 10).item()
    12.0
    """
    chosen = then_func() if _truth(pred, "contrib.cond: pred") else else_func()
    return restore(*flatten(chosen, NDArray, "contrib.cond: an output"))


def _truth(value: NDArray, who: str) -> bool:
    if not isinstance(value, NDArray) or value.size != 1:
        raise ShapeError(f"{who} must be an array of one number; got {getattr(value, 'shape', value)!r}")
    return bool(value.asscalar())


def _stacked(steps: Sequence[Sequence[NDArray]]) -> list[NDArray]:
    if len({len(found) for found in steps}) > 1:
        raise ArgumentError("a loop's body must return as many outputs at each step")
    return [call(find("stack"), list(values), {"axis": 0}) for values in zip(*steps, strict=True)]
