"""Checking that a symbol gives the same on several devices and in several types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..dtypes import DTypeLike
from ..errors import NameLookupError, ParameterError, near_names
from ..executor import Executor, GradReqs
from ..ndarray import NDArray, array
from ..symbol import Symbol
from .binding import must_be_known, put_state
from .compare import assert_almost_equal
from .defaults import ArrayLike, as_numpy, dtype_name, element_type, get_rtol

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["check_consistency"]

#: A tolerance: a number, a number for each type, or None for those of the types.
Tolerance: TypeAlias = "float | Mapping[DTypeLike, float] | None"


def check_consistency(
    sym: Symbol | Sequence[Symbol],
    ctx_list: Sequence[Mapping[str, Any]],
    scale: float = 1.0,
    grad_req: GradReqs = "write",
    arg_params: Mapping[str, ArrayLike] | None = None,
    aux_params: Mapping[str, ArrayLike] | None = None,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    raise_on_err: bool = True,
    ground_truth: Mapping[str, NDArray] | None = None,
    equal_nan: bool = False,
    use_uniform: bool = False,
    rand_type: npt.DTypeLike = np.float64,
) -> dict[str, NDArray]:
    """Check that a symbol gives the same outputs and gradients on several devices and in several types.

    Parameters
    ----------
    sym
        The symbol, or one for each entry of `ctx_list`, with the same names of arguments.
    ctx_list
        For each run a dict with ``'ctx'``, the shapes of the inputs by name, and optionally ``'type_dict'``, types
        by name.
    scale
        The standard deviation of the random arguments (or the bound, with `use_uniform`).
    grad_req
        ``'write'``, ``'add'`` or ``'null'``: one for all, a list or a dict. With ``'null'`` only outputs are compared.
    arg_params, aux_params
        Values by name instead of random ones (arguments) or of what binding gives (auxiliary states).
    rtol, atol
        Tolerances: a number, a dict from NumPy type to number, or None for those of the types.
    raise_on_err
        Whether a difference raises; otherwise it is printed.
    ground_truth
        The reference, by name of output and of argument; the results in the finest type if None.
    equal_nan
        Whether NaN equals NaN.
    use_uniform
        Whether random arguments are uniform, in ``-scale..scale``, instead of normal.
    rand_type
        The type that random numbers are rounded to first: the coarsest one makes all inputs equal exactly.

    Returns
    -------
    dict
        The reference: the outputs by name, and the gradients by name of argument.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="fc")
    >>> single, double = (
    ...     {"ctx": mx.cpu(), "x": (2, 3), "type_dict": {"x": t}} for t in ("float32", "float64")
    ... )
    >>> sorted(check_consistency(net, [single, double]))
    ['fc_bias', 'fc_output', 'fc_weight', 'x']
    """
    who = "check_consistency"
    symbols = [sym] * len(ctx_list) if isinstance(sym, Symbol) else list(sym)
    # A single run has nothing to be compared with, unless the reference is given.
    if len(symbols) != len(ctx_list) or len(ctx_list) < (1 if ground_truth else 2):
        raise ParameterError(
            f"{who}: ctx_list must have two or more entries, and a symbol for each; "
            f"got {len(ctx_list)} and {len(symbols)}"
        )
    names = symbols[0].list_arguments()
    if any(other.list_arguments() != names for other in symbols):
        raise ParameterError(f"{who}: symbols must have the same arguments, {', '.join(names)}")
    executors = []
    for one, setting in zip(symbols, ctx_list, strict=True):
        if "ctx" not in setting:
            raise ParameterError(f"{who}: each entry of ctx_list must have 'ctx'; got {dict(setting)!r}")
        executors.append(one.simple_bind(grad_req=grad_req, **setting))
    _fill_equal(executors, scale, arg_params or {}, aux_params or {}, use_uniform, rand_type)

    results = _results_of(executors)
    # The run with the smallest tolerance: float64 before float32 before float16.
    finest = max(range(len(executors)), key=lambda i: _fineness(executors[i].outputs[0]))
    truth = results[finest] if ground_truth is None else dict(ground_truth)
    for name in truth:
        # The runs may differ in what they have: gradients exist only where one was asked for.
        if not any(name in found for found in results):
            raise NameLookupError(f"{who}: ground_truth has {name!r}{near_names(name, results[0])}")
    for number, found in enumerate(results):
        if ground_truth is None and number == finest:
            continue
        for name, value in found.items():
            if name not in truth:
                continue
            labels = (
                f"{name} at position {number}",
                f"at position {finest}" if ground_truth is None else "truth",
            )
            near, least = (_tolerance_for(tol, value, truth[name]) for tol in (rtol, atol))
            try:
                assert_almost_equal(value, truth[name], near, least, labels, equal_nan, use_broadcast=False)
            except AssertionError as difference:
                if raise_on_err:
                    raise
                print(difference)
    return truth


def _fill_equal(
    executors: Sequence[Executor],
    scale: float,
    arg_params: Mapping[str, ArrayLike],
    aux_params: Mapping[str, ArrayLike],
    use_uniform: bool,
    rand_type: npt.DTypeLike,
) -> None:
    """Give all executors the same arguments, gradients to add to and auxiliary states."""
    must_be_known("check_consistency: arg_params", arg_params, list(executors[0].arg_dict))
    for name, like in executors[0].arg_dict.items():
        if name in arg_params:
            value = as_numpy(arg_params[name])
        elif use_uniform:
            value = np.random.uniform(-scale, scale, like.shape).astype(rand_type)
        else:
            value = np.random.normal(scale=scale, size=like.shape).astype(rand_type)
        # Rounded to `rand_type` once, and then to the type of each executor: all start from the same numbers.
        for executor in executors:
            executor.arg_dict[name][:] = value
            grad = executor.grad_dict.get(name)
            if grad is not None:
                grad[:] = 0  # grad_req='add' adds to it
    for name, state in aux_params.items():
        for executor in executors:
            put_state(executor, name, as_numpy(state))


def _results_of(executors: Sequence[Executor]) -> list[dict[str, NDArray]]:
    """Return outputs and gradients of each; the gradients of the outputs are the same numbers for all."""
    results = []
    head_grads: list[np.ndarray] | None = None
    for executor in executors:
        outputs = executor.forward(is_train=any(grad is not None for grad in executor.grad_arrays))
        found = {name: output.copy() for name, output in zip(executor.output_dict, outputs, strict=True)}
        head_grads = (
            # Drawn for the first executor, and used for all.
            [np.random.normal(size=output.shape) for output in outputs] if head_grads is None else head_grads
        )
        grads = {name: grad for name, grad in executor.grad_dict.items() if grad is not None}
        if grads:
            executor.backward([array(grad, out.device, out.dtype) for grad, out in zip(head_grads, outputs)])
        results.append({**found, **grads})
    return results


def _fineness(output: NDArray) -> float:
    # Integers have a tolerance of 0, but are no reference for other types.
    return -get_rtol(dtype=element_type(output)) or -1.0


def _tolerance_for(tolerance: Tolerance, value: ArrayLike, right: ArrayLike) -> float | None:
    if not isinstance(tolerance, Mapping):
        return tolerance
    table = {dtype_name(kind): number for kind, number in tolerance.items()}
    kinds = [element_type(value), element_type(right)]
    if missing := [kind for kind in kinds if kind not in table]:
        raise ParameterError(f"check_consistency: tolerances must have {missing[0]}; got {', '.join(table)}")
    # The coarser of the two types decides.
    return max(table[kind] for kind in kinds)
