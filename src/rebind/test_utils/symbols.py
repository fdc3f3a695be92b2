"""Checking symbols: their structure, their outputs, the gradients of their arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from ..checks import an, check_kind, warn_user
from ..device import Device, as_device
from ..dtypes import DTypeLike
from ..errors import ParameterError, near_names
from ..executor import Executor, GradReqs
from ..ndarray import NDArray, array
from ..symbol import Symbol
from .binding import ArraysLike, by_name, copy_of, initial_gradients, parsed, requests_of
from .compare import assert_almost_equal
from .defaults import ArrayLike, as_numpy

__all__ = ["check_symbolic_backward", "check_symbolic_forward", "same_symbol_structure", "simple_forward"]

#: As `ArraysLike`; None where there is no gradient, or none is checked.
OptionalArrays: TypeAlias = "Mapping[str, ArrayLike | None] | Sequence[ArrayLike | None]"


def same_symbol_structure(sym1: Symbol, sym2: Symbol) -> bool:
    """Whether two symbols have the same operators in the same order; names and parameters do not count.

    >>> import rebind as mx
    >>> same_symbol_structure(mx.sym.relu(mx.sym.var("a")), mx.sym.relu(mx.sym.var("b"), name="c"))
    True
    """
    first, second = (
        [node.operator and node.operator.name for node in symbol.graph.nodes] for symbol in (sym1, sym2)
    )
    return first == second


def simple_forward(
    sym: Symbol, ctx: Device | None = None, is_train: bool = False, **inputs: ArrayLike
) -> np.ndarray | list[np.ndarray]:
    """Return the outputs of a symbol as NumPy arrays; a single one when there is one output.

    Parameters
    ----------
    sym
        The symbol.
    ctx
        The device, the default one if None.
    is_train
        The mode of operators such as `Dropout`.
    **inputs
        The arguments by name; NumPy arrays become float32, as in `mx.nd.array`.

    Examples
    --------
    >>> import rebind as mx
    >>> simple_forward(mx.sym.var("x") * 2, x=np.array([1.0, 2.0]))
    array([2., 4.], dtype=float32)
    """
    check_kind("simple_forward", an(Symbol), sym=sym)
    device = as_device(ctx, "simple_forward: ctx")
    for name in inputs.keys() - {*sym.list_inputs()}:
        warn_user(f"simple_forward: no argument {name!r}{near_names(name, sym.list_inputs())} It is ignored.")
    executor = sym.bind(
        device, {name: array(value, device) for name, value in inputs.items()}, grad_req="null"
    )
    outputs = [output.asnumpy() for output in executor.forward(is_train)]
    return outputs[0] if len(outputs) == 1 else outputs


def check_symbolic_forward(
    sym: Symbol,
    location: ArraysLike,
    expected: ArraysLike,
    rtol: float | None = None,
    atol: float | None = None,
    aux_states: ArraysLike | None = None,
    ctx: Device | None = None,
    equal_nan: bool = False,
    dtype: DTypeLike = np.float32,
) -> list[NDArray]:
    """Check the outputs of a symbol, and return them.

    Parameters
    ----------
    sym
        The symbol.
    location
        Its arguments: a list in their order, or a dict.
    expected
        Its outputs, or what broadcasts to them: a list in their order, or a dict.
    rtol, atol
        Tolerances; those of the types if None.
    aux_states
        The auxiliary states, a list or a dict.
    ctx
        The device, the default one if None.
    equal_nan
        Whether NaN equals NaN.
    dtype
        The type that arguments and auxiliary states are converted to; ``"asnumpy"`` leaves them as they are.

    Raises
    ------
    AssertionError
        It names the output and lists the worst positions.

    Examples
    --------
    >>> import rebind as mx
    >>> outputs = check_symbolic_forward(mx.sym.var("x") ** 2, [np.array([3.0])], [np.array([9.0])])
    """
    who = "check_symbolic_forward"
    device, args, aux = parsed(who, sym, location, aux_states, ctx, dtype)
    wanted = by_name(f"{who}: expected", expected, sym.list_outputs())
    outputs = sym.bind(device, args, grad_req="null", aux_states=aux).forward()
    for name, output in zip(wanted, outputs, strict=True):
        names = (f"EXPECTED_{name}", f"FORWARD_{name}")
        assert_almost_equal(wanted[name], output, rtol, atol, names, equal_nan)
    return outputs


def check_symbolic_backward(
    sym: Symbol,
    location: ArraysLike,
    out_grads: OptionalArrays | None,
    expected: OptionalArrays,
    rtol: float | None = None,
    atol: float | None = None,
    aux_states: ArraysLike | None = None,
    grad_req: GradReqs = "write",
    ctx: Device | None = None,
    grad_stypes: Mapping[str, str] | None = None,
    equal_nan: bool = False,
    dtype: DTypeLike = np.float32,
) -> dict[str, NDArray | None]:
    """Check the gradients of a symbol's arguments, and return them.

    Parameters
    ----------
    sym
        The symbol.
    location
        Its arguments: a list in their order, or a dict.
    out_grads
        The head gradients: a list in their order, a dict, or None for a symbol that is a loss.
    expected
        The gradients: a list in the order of the arguments, or a dict with those that are checked.
    grad_req
        ``'write'``, ``'add'`` or ``'null'``: one for all, a list or a dict. The gradients begin as random numbers:
        ``'add'`` must add to them, ``'null'`` leave them as they are.
    grad_stypes
        The storage types of the gradients by name, for those that are not dense.
    rtol, atol, aux_states, ctx, equal_nan, dtype
        As for `check_symbolic_forward`.

    Raises
    ------
    AssertionError
        It names the argument and lists the worst positions.

    Examples
    --------
    >>> import rebind as mx
    >>> x = mx.sym.var("x")
    >>> grads = check_symbolic_backward(x * x, [np.array([3.0])], [np.array([1.0])], {"x": np.array([6.0])})
    """
    who = "check_symbolic_backward"
    device, args, aux = parsed(who, sym, location, aux_states, ctx, dtype)
    names = sym.list_arguments()
    if isinstance(expected, Mapping):
        # The names that it lacks are not checked; by_name() below rejects those that no argument has.
        wanted = {**dict.fromkeys(names), **expected}
        by_name(f"{who}: expected", wanted, names)
    else:
        wanted = by_name(f"{who}: expected", expected, names)
    checked = {name: grad for name in names if (grad := wanted[name]) is not None}
    if not checked:
        raise ParameterError(f"{who}: expected must have the gradient of one argument or more; got none")
    requests = requests_of(f"{who}: grad_req", grad_req, names)
    grads = initial_gradients(who, args, checked, grad_stypes)
    before = {name: grads[name].asnumpy() for name in checked}  # as rounded to the type of the gradient
    executor = sym.bind(device, args, grads, requests, aux)
    executor.forward(is_train=True)
    executor.backward(None if out_grads is None else _head_grads(who, executor, out_grads))
    for name in checked:
        right = as_numpy(checked[name])
        if requests[name] == "add":
            right = right + before[name]
        elif requests[name] == "null":
            right = before[name]
        labels = (f"EXPECTED_{name}", f"BACKWARD_{name}")
        assert_almost_equal(right, grads[name], rtol, atol, labels, equal_nan)
    return dict(grads)


def _head_grads(who: str, executor: Executor, out_grads: OptionalArrays) -> list[NDArray | None]:
    """Return the head gradients, each in the type and on the device of its output."""
    named = by_name(f"{who}: out_grads", out_grads, list(executor.output_dict))
    return [
        None if grad is None else copy_of(grad, output.device, output.dtype)
        for grad, output in zip(named.values(), executor.outputs, strict=True)
    ]
