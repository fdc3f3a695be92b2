"""Checking symbols: their outputs, their gradients, and that all places agree."""

from __future__ import annotations

import numbers
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..device import Device, as_device
from ..errors import ArgumentError, NameLookupError, ParameterError, near_names
from ..executor import Executor
from ..ndarray import NDArray, array
from ..optimizer import Optimizer
from ..symbol import Symbol
from .compare import assert_almost_equal, compare_ndarray_tuple
from .data import rand_ndarray
from .defaults import RTOLS, STEPS, as_numpy, dtype_name, element_type, get_atol, get_rtol

__all__ = [
    "check_consistency",
    "check_numeric_gradient",
    "check_speed",
    "check_symbolic_backward",
    "check_symbolic_forward",
    "compare_optimizer",
    "numeric_grad",
    "same_symbol_structure",
    "simple_forward",
]


def same_symbol_structure(sym1: Symbol, sym2: Symbol) -> bool:
    """Tell whether two symbols have the same operators in the same order; names and parameters do not count.

    >>> import rebind as mx
    >>> same_symbol_structure(mx.sym.relu(mx.sym.var("a")), mx.sym.relu(mx.sym.var("b"), name="c"))
    True
    """
    first, second = (
        [node.operator and node.operator.name for node in symbol._graph.nodes] for symbol in (sym1, sym2)
    )
    return first == second


def simple_forward(sym: Symbol, ctx: Device | None = None, is_train: bool = False, **inputs: Any) -> Any:
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
    place = as_device(ctx, "simple_forward: ctx")
    executor = sym.bind(place, {name: array(value, place) for name, value in inputs.items()}, grad_req="null")
    outputs = [output.asnumpy() for output in executor.forward(is_train)]
    return outputs[0] if len(outputs) == 1 else outputs


def _must_be_known(who: str, given: Iterable[str], names: Sequence[str]) -> None:
    for name in given:
        if name not in names:
            raise NameLookupError(f"{who}: no {name!r}{near_names(name, names)} Names: {', '.join(names)}.")


def _named(who: str, values: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the values by name, from a list in the order of `names` or from a dict that has them all."""
    if not isinstance(values, Mapping):
        if not isinstance(values, (list, tuple)) or len(values) != len(names):
            raise ParameterError(f"{who}: must be a dict, or a list for {list(names)}; got {values!r}")
        values = dict(zip(names, values, strict=True))
    _must_be_known(who, values, names)
    missing = [name for name in names if name not in values]
    if missing:
        raise ParameterError(f"{who}: arrays are missing for {', '.join(map(repr, missing))}")
    return {name: values[name] for name in names}


def _placed(values: Mapping[str, Any], ctx: Device, dtype: Any) -> dict[str, NDArray]:
    """Return copies on a device in one type, or each in its own with ``dtype="asnumpy"``."""
    own = isinstance(dtype, str) and dtype == "asnumpy"
    return {
        name: array(as_numpy(value), ctx, as_numpy(value).dtype if own else dtype)
        for name, value in values.items()
    }


def _parsed(
    who: str, sym: Symbol, location: Any, aux_states: Any, ctx: Device | None, dtype: Any
) -> tuple[Device, dict[str, NDArray], dict[str, NDArray]]:
    place = as_device(ctx, f"{who}: ctx")
    args = _named(f"{who}: location", location, sym.list_arguments())
    aux = _named(f"{who}: aux_states", aux_states or {}, sym.list_auxiliary_states())
    return place, _placed(args, place, dtype), _placed(aux, place, dtype)


def check_symbolic_forward(
    sym: Symbol,
    location: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    aux_states: Any = None,
    ctx: Device | None = None,
    equal_nan: bool = False,
    dtype: Any = np.float32,
) -> list[NDArray]:
    """Check the outputs of a symbol, and return them.

    Parameters
    ----------
    sym
        The symbol.
    location
        Its arguments: a list in their order, or a dict.
    expected
        Its outputs: a list in their order, or a dict.
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
        It names the output and the worst places.

    Examples
    --------
    >>> import rebind as mx
    >>> outputs = check_symbolic_forward(mx.sym.var("x") ** 2, [np.array([3.0])], [np.array([9.0])])
    """
    who = "check_symbolic_forward"
    place, args, aux = _parsed(who, sym, location, aux_states, ctx, dtype)
    wanted = _named(f"{who}: expected", expected, sym.list_outputs())
    outputs = sym.bind(place, args, grad_req="null", aux_states=aux).forward()
    for name, output in zip(wanted, outputs, strict=True):
        names = (f"EXPECTED_{name}", f"FORWARD_{name}")
        assert_almost_equal(wanted[name], output, rtol, atol, names, equal_nan, use_broadcast=False)
    return outputs


def _requests(who: str, grad_req: Any, names: Sequence[str]) -> dict[str, str]:
    if isinstance(grad_req, str):
        return dict.fromkeys(names, grad_req)
    if isinstance(grad_req, Mapping):
        _must_be_known(who, grad_req, names)
        return {name: grad_req.get(name, "null") for name in names}
    return _named(who, grad_req, names)


def check_symbolic_backward(
    sym: Symbol,
    location: Any,
    out_grads: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    aux_states: Any = None,
    grad_req: Any = "write",
    ctx: Device | None = None,
    grad_stypes: Mapping[str, str] | None = None,
    equal_nan: bool = False,
    dtype: Any = np.float32,
) -> dict[str, NDArray | None]:
    """Check the gradients of a symbol's arguments, and return them.

    Parameters
    ----------
    sym
        The symbol.
    location
        Its arguments: a list in their order, or a dict.
    out_grads
        The gradients of its outputs: a list in their order, a dict, or None for a symbol that is a loss.
    expected
        The gradients: a list in the order of the arguments, or a dict with those that are checked.
    rtol, atol
        Tolerances; those of the types if None.
    aux_states
        The auxiliary states, a list or a dict.
    grad_req
        ``'write'``, ``'add'`` or ``'null'``: one word, a list or a dict. With ``'add'`` the arrays hold random numbers
        before, with ``'null'`` they must keep them.
    ctx
        The device, the default one if None.
    grad_stypes
        The kinds of storage of the gradients; only ``'default'``.
    equal_nan
        Whether NaN equals NaN.
    dtype
        The type that arguments and auxiliary states are converted to; ``"asnumpy"`` leaves them as they are.

    Raises
    ------
    AssertionError
        It names the argument and the worst places.

    Examples
    --------
    >>> import rebind as mx
    >>> x = mx.sym.var("x")
    >>> grads = check_symbolic_backward(x * x, [np.array([3.0])], [np.array([1.0])], {"x": np.array([6.0])})
    """
    who = "check_symbolic_backward"
    _dense_only(who, grad_stypes)
    place, args, aux = _parsed(who, sym, location, aux_states, ctx, dtype)
    names = sym.list_arguments()
    if isinstance(expected, Mapping):
        wanted = {**dict.fromkeys(names), **expected}
        _named(f"{who}: expected", wanted, names)
    else:
        wanted = _named(f"{who}: expected", expected, names)
    chosen = [name for name in names if wanted[name] is not None]
    if not chosen:
        raise ParameterError(f"{who}: expected must have the gradient of one argument or more; got none")
    requests = _requests(f"{who}: grad_req", grad_req, names)
    before = {name: np.random.normal(size=args[name].shape) for name in chosen}
    grads = {name: array(before[name], place, args[name].dtype) for name in chosen}
    before = {name: grads[name].asnumpy() for name in chosen}
    executor = sym.bind(place, args, grads, requests, aux)
    executor.forward(is_train=True)
    executor.backward(None if out_grads is None else _heads(who, executor, out_grads))
    for name in chosen:
        right = as_numpy(wanted[name])
        if requests[name] == "add":
            right = right + before[name]
        elif requests[name] == "null":
            right = before[name]
        labels = (f"EXPECTED_{name}", f"BACKWARD_{name}")
        assert_almost_equal(right, grads[name], rtol, atol, labels, equal_nan, use_broadcast=False)
    return dict(grads)


def _dense_only(who: str, stypes: Mapping[str, str] | None) -> None:
    for name, stype in (stypes or {}).items():
        if stype != "default":
            raise ParameterError(
                f"{who}: storage of the gradient of {name!r} must be 'default'; got {stype!r}. "
                "Sparse storage is not there yet."
            )


def _heads(who: str, executor: Executor, out_grads: Any) -> list[NDArray | None]:
    """Return the gradients of the outputs, each in the type and place of its output."""
    named = _named(f"{who}: out_grads", out_grads, list(executor.output_dict))
    return [
        None if grad is None else array(as_numpy(grad), output.device, output.dtype)
        for grad, output in zip(named.values(), executor.outputs, strict=True)
    ]


def numeric_grad(
    executor: Executor,
    location: Mapping[str, Any],
    aux_states: Mapping[str, Any] | None = None,
    eps: float = 1e-4,
    use_forward_train: bool = True,
    dtype: Any = np.float32,
) -> dict[str, np.ndarray]:
    """Return the gradients of the sum of an executor's outputs, by central differences.

    Parameters
    ----------
    executor
        A bound executor; it holds its arguments again at the end.
    location
        The arguments by name: those that gradients are computed for, at the values they have.
    aux_states
        The auxiliary states by name, put back before every pass.
    eps
        The distance of the two points of a difference.
    use_forward_train
        Whether to run in training mode.
    dtype
        The type of the gradients that are returned.

    Examples
    --------
    >>> import rebind as mx
    >>> exe = (mx.sym.var("x") ** 2).bind(mx.cpu(), [mx.nd.array([3.0], dtype="float64")], grad_req="null")
    >>> numeric_grad(exe, {"x": np.array([3.0])})["x"].round(3)
    array([6.], dtype=float32)
    """
    ones = [np.ones(output.shape) for output in executor.forward(use_forward_train)]
    found = _differences(executor, location, aux_states or {}, eps, use_forward_train, ones)
    return {name: grad.astype(dtypes.numpy_type(dtype)) for name, grad in found.items()}


def _put_state(executor: Executor, name: str, value: np.ndarray) -> None:
    _must_be_known("aux_states", [name], list(executor.aux_dict))
    state = executor.aux_dict[name]
    assert state is not None  # it is bound
    state[:] = value


def _differences(
    executor: Executor,
    location: Mapping[str, Any],
    aux_states: Mapping[str, Any],
    eps: float,
    is_train: bool,
    projections: Sequence[np.ndarray],
) -> dict[str, np.ndarray]:
    """Return the gradients of ``sum(output * projection)`` by central differences."""

    def value(name: str, point: np.ndarray) -> float:
        for state, kept in aux_states.items():
            _put_state(executor, state, kept)
        outputs = executor.forward(is_train, **{name: point})
        return sum(
            float(np.sum(output.asnumpy().astype(np.float64) * projection))
            for output, projection in zip(outputs, projections, strict=True)
        )

    found = {}
    for name, given in location.items():
        centre = as_numpy(given).astype(np.float64)
        grad = np.zeros(centre.shape)
        for place in np.ndindex(centre.shape):
            ahead, behind = centre.copy(), centre.copy()
            ahead[place] += eps / 2
            behind[place] -= eps / 2
            grad[place] = (value(name, ahead) - value(name, behind)) / eps
        executor.arg_dict[name][:] = centre
        found[name] = grad
    return found


def check_numeric_gradient(
    sym: Symbol,
    location: Any,
    aux_states: Any = None,
    numeric_eps: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    grad_nodes: Any = None,
    use_forward_train: bool = True,
    ctx: Device | None = None,
    grad_stype_dict: Mapping[str, str] | None = None,
    dtype: Any = np.float32,
) -> None:
    """Check the gradients that `backward` computes against finite differences.

    The outputs are multiplied by random numbers and summed; of this sum gradients are taken. Unlike MXNet, the
    differences are always computed in float64, so that a check of float32 is not blurred by its own reference, and a
    symbol may have several outputs.

    Parameters
    ----------
    sym
        The symbol; random numbers in it, as of `Dropout`, would differ between passes.
    location
        Its arguments: a list in their order, or a dict.
    aux_states
        The auxiliary states, a list or a dict.
    numeric_eps
        The distance of the two points of a difference; by default ``2 ** -14``.
    rtol, atol
        Tolerances; those of `dtype` if None, but in float64 an `atol` of 1e-8: differences are not more exact.
    grad_nodes
        The arguments that are checked (all if None): a list, or a dict from name to ``'write'``, ``'add'`` or
        ``'null'``.
    use_forward_train
        Whether the differences are taken in training mode; `backward` always is.
    ctx
        The device, the default one if None.
    grad_stype_dict
        The kinds of storage of the gradients; only ``'default'``.
    dtype
        The type that `backward` is run in.

    Raises
    ------
    AssertionError
        It names the argument and the worst places.

    Examples
    --------
    >>> import rebind as mx
    >>> x, y = mx.sym.var("x"), mx.sym.var("y")
    >>> check_numeric_gradient(x * y, [np.array([1.0, 2.0]), np.array([3.0, 4.0])])
    >>> check_numeric_gradient(mx.sym.BlockGrad(x), [np.array([1.0])])
    Traceback (most recent call last):
        ...
    AssertionError: NUMERICAL_x and BACKWARD_x differ: 1 of 1 elements (100%) ...
    """
    who = "check_numeric_gradient"
    _dense_only(who, grad_stype_dict)
    kind = dtypes.name(dtype)
    if kind not in RTOLS:
        raise ParameterError(f"{who}: dtype must be one of {', '.join(RTOLS)}; got {dtype!r}")
    requests = _checked_nodes(who, grad_nodes, sym.list_arguments())
    place, args, aux = _parsed(who, sym, location, aux_states, ctx, dtype)
    # Through `dtype` first: the differences are of the function at the points where `backward` is.
    exact_args, exact_aux = _placed(args, place, np.float64), _placed(aux, place, np.float64)

    chosen = [name for name, request in requests.items() if request != "absent"]
    before = {name: np.random.normal(size=args[name].shape) for name in chosen}
    grads = {name: array(before[name], place, dtype) for name in chosen}
    before = {name: grads[name].asnumpy().astype(np.float64) for name in chosen}
    wanted = {name: "null" if request == "absent" else request for name, request in requests.items()}
    executor = sym.bind(place, args, grads, wanted, aux)
    outputs = executor.forward(is_train=True)
    # Away from 0, so that no output is left out; in `dtype`, so that both sides see the same numbers.
    heads = [array(np.random.uniform(0.1, 1.1, out.shape), place, out.dtype) for out in outputs]
    executor.backward(heads)

    points = {name: exact_args[name].asnumpy() for name in chosen if requests[name] != "null"}
    states = {name: state.asnumpy() for name, state in exact_aux.items()}
    exact = sym.bind(place, exact_args, grad_req="null", aux_states=exact_aux)
    step = STEPS["float64"] if numeric_eps is None else numeric_eps
    numeric = _differences(exact, points, states, step, use_forward_train, [as_numpy(head) for head in heads])

    rtol = get_rtol(rtol, dtype)
    atol = max(get_atol(None, dtype), 1e-8) if atol is None else atol
    for name in chosen:
        right = numeric.get(name, 0.0) + before[name] * (requests[name] != "write")
        labels = (f"NUMERICAL_{name}", f"BACKWARD_{name}")
        assert_almost_equal(right, grads[name], rtol, atol, labels, use_broadcast=False)


def _checked_nodes(who: str, grad_nodes: Any, names: Sequence[str]) -> dict[str, str]:
    """Return the request for each argument, ``'absent'`` for one that is not checked."""
    if grad_nodes is None:
        return dict.fromkeys(names, "write")
    if not isinstance(grad_nodes, (Mapping, list, tuple)):
        raise ArgumentError(
            f"{who}: grad_nodes must be a list of names or a dict from name to request; got {grad_nodes!r}"
        )
    if not grad_nodes:
        raise ParameterError(f"{who}: grad_nodes must name one argument or more; got {grad_nodes!r}")
    chosen = dict(grad_nodes) if isinstance(grad_nodes, Mapping) else dict.fromkeys(grad_nodes, "write")
    _must_be_known(who, chosen, names)
    return {**dict.fromkeys(names, "absent"), **chosen}


def check_consistency(
    sym: Symbol | Sequence[Symbol],
    ctx_list: Sequence[Mapping[str, Any]],
    scale: float = 1.0,
    grad_req: Any = "write",
    arg_params: Mapping[str, Any] | None = None,
    aux_params: Mapping[str, Any] | None = None,
    rtol: Any = None,
    atol: Any = None,
    raise_on_err: bool = True,
    ground_truth: Mapping[str, Any] | None = None,
    equal_nan: bool = False,
    use_uniform: bool = False,
    rand_type: Any = np.float64,
) -> dict[str, NDArray]:
    """Check that a symbol gives the same outputs and gradients on several devices and in several types.

    Parameters
    ----------
    sym
        The symbol, or one for each place of `ctx_list` with the same names of arguments.
    ctx_list
        At each place a dict with ``'ctx'``, the shapes of the inputs by name, and optionally ``'type_dict'``, types
        by name.
    scale
        The standard deviation of the random arguments (or the bound, with `use_uniform`).
    grad_req
        ``'write'``, ``'add'`` or ``'null'``: one word, a list or a dict. With ``'null'`` only outputs are compared.
    arg_params, aux_params
        Values by name instead of random ones (arguments) or of what binding gives (auxiliary states).
    rtol, atol
        Tolerances: a number, a dict from NumPy type to number, or None for those of the types.
    raise_on_err
        Whether a difference raises; otherwise it is printed.
    ground_truth
        What is right, by name of output and of argument; the results in the finest type if None.
    equal_nan
        Whether NaN equals NaN.
    use_uniform
        Whether random arguments are uniform, in ``-scale..scale``, instead of normal.
    rand_type
        The type that random numbers are rounded to first: the coarsest one makes all inputs equal exactly.

    Returns
    -------
    dict
        What was taken for right: the outputs by name, and the gradients by name of argument.

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
    if len(symbols) != len(ctx_list) or len(ctx_list) < (1 if ground_truth else 2):
        raise ParameterError(
            f"{who}: needs two or more places, and a symbol for each; got {len(ctx_list)} and {len(symbols)}"
        )
    names = symbols[0].list_arguments()
    if any(other.list_arguments() != names for other in symbols):
        raise ParameterError(f"{who}: symbols must have the same arguments, {', '.join(names)}")
    executors = []
    for one, setting in zip(symbols, ctx_list, strict=True):
        if "ctx" not in setting:
            raise ParameterError(f"{who}: each place of ctx_list must have 'ctx'; got {dict(setting)!r}")
        executors.append(one.simple_bind(grad_req=grad_req, **setting))
    _fill_alike(executors, scale, arg_params or {}, aux_params or {}, use_uniform, rand_type)

    results = _results_of(executors)
    finest = max(range(len(executors)), key=lambda i: _fineness(executors[i].outputs[0]))
    truth = results[finest] if ground_truth is None else dict(ground_truth)
    for name in truth:
        if not any(name in found for found in results):
            raise NameLookupError(f"{who}: ground_truth has {name!r}{near_names(name, results[0])}")
    for number, found in enumerate(results):
        if ground_truth is None and number == finest:
            continue
        for name, value in found.items():
            if name not in truth:
                continue
            labels = (f"{name} at place {number}", f"at place {finest}" if ground_truth is None else "truth")
            near, least = (_tolerance_for(tol, value, truth[name]) for tol in (rtol, atol))
            try:
                assert_almost_equal(value, truth[name], near, least, labels, equal_nan, use_broadcast=False)
            except AssertionError as difference:
                if raise_on_err:
                    raise
                print(difference)
    return truth


def _fill_alike(
    executors: Sequence[Executor],
    scale: float,
    arg_params: Mapping[str, Any],
    aux_params: Mapping[str, Any],
    use_uniform: bool,
    rand_type: Any,
) -> None:
    """Give all executors the same arguments, gradients to add to and auxiliary states."""
    _must_be_known("check_consistency: arg_params", arg_params, list(executors[0].arg_dict))
    for name, like in executors[0].arg_dict.items():
        if name in arg_params:
            value = as_numpy(arg_params[name])
        elif use_uniform:
            value = np.random.uniform(-scale, scale, like.shape).astype(rand_type)
        else:
            value = np.random.normal(scale=scale, size=like.shape).astype(rand_type)
        for executor in executors:
            executor.arg_dict[name][:] = value
            grad = executor.grad_dict.get(name)
            if grad is not None:
                grad[:] = 0
    for name, value in aux_params.items():
        for executor in executors:
            _put_state(executor, name, as_numpy(value))


def _results_of(executors: Sequence[Executor]) -> list[dict[str, NDArray]]:
    """Return outputs and gradients of each; the gradients of the outputs are the same numbers for all."""
    results = []
    heads: list[np.ndarray] | None = None
    for executor in executors:
        outputs = executor.forward(is_train=any(grad is not None for grad in executor.grad_arrays))
        found = {name: output.copy() for name, output in zip(executor.output_dict, outputs, strict=True)}
        heads = [np.random.normal(size=output.shape) for output in outputs] if heads is None else heads
        grads = {name: grad for name, grad in executor.grad_dict.items() if grad is not None}
        if grads:
            executor.backward([array(head, out.device, out.dtype) for head, out in zip(heads, outputs)])
        results.append({**found, **grads})
    return results


def _fineness(output: NDArray) -> float:
    return -get_rtol(dtype=element_type(output)) or -1.0  # whole numbers are no reference for others


def _tolerance_for(tolerance: Any, value: Any, right: Any) -> float | None:
    if not isinstance(tolerance, Mapping):
        return tolerance
    table = {dtype_name(kind): number for kind, number in tolerance.items()}
    kinds = [element_type(value), element_type(right)]
    if missing := [kind for kind in kinds if kind not in table]:
        raise ParameterError(f"check_consistency: tolerances must have {missing[0]}; got {', '.join(table)}")
    return max(table[kind] for kind in kinds)


def check_speed(
    sym: Symbol,
    location: Mapping[str, Any] | None = None,
    ctx: Device | None = None,
    N: int = 20,
    grad_req: Any = None,
    typ: str = "whole",
    **kwargs: Any,
) -> float:
    """Return the seconds that one pass through a symbol takes, after one to warm up.

    Parameters
    ----------
    sym
        The symbol.
    location
        The arguments by name; random ones of the shapes in `kwargs` if None.
    ctx
        The device, the default one if None.
    N
        How many passes are timed.
    grad_req
        As in `simple_bind`; ``'write'`` if None.
    typ
        ``'whole'`` is forward and backward, ``'forward'`` forward only.
    **kwargs
        Shapes of the inputs by name, when there is no `location`.

    Examples
    --------
    >>> import rebind as mx
    >>> check_speed(mx.sym.var("x") ** 2, x=(2, 3), N=2) > 0
    True
    """
    if typ not in ("whole", "forward"):
        raise ParameterError(f"check_speed: typ must be 'whole' or 'forward'; got {typ!r}")
    if N < 1:
        raise ParameterError(f"check_speed: N must be >= 1; got {N}")
    place = as_device(ctx, "check_speed: ctx")
    shapes = kwargs if location is None else {name: np.shape(as_numpy(v)) for name, v in location.items()}
    executor = sym.simple_bind(place, "write" if grad_req is None else grad_req, **shapes)
    for name, argument in executor.arg_dict.items():
        given = None if location is None else location.get(name)
        argument[:] = np.random.normal(size=argument.shape) if given is None else as_numpy(given)
    heads = [array(np.ones(out.shape), place, out.dtype) for out in executor.forward()]

    def once() -> None:
        executor.forward(is_train=typ == "whole")
        if typ == "whole":
            executor.backward(heads)
        for output in executor.outputs:
            output.wait_to_read()

    once()
    start = time.perf_counter()
    for _ in range(N):
        once()
    return (time.perf_counter() - start) / N


def compare_optimizer(
    opt1: Optimizer,
    opt2: Optimizer,
    shape: Any,
    dtype: Any,
    w_stype: str = "default",
    g_stype: str = "default",
    rtol: float = 1e-4,
    atol: float = 1e-5,
    compare_states: bool = True,
    ntensors: int = 1,
) -> None:
    """Check that two optimizers make the same update of random weights, and the same states.

    Parameters
    ----------
    opt1, opt2
        The optimizers.
    shape
        The shape of the weight; with several tensors a list of shapes, or one shape for all.
    dtype
        The type of weights and gradients.
    w_stype, g_stype
        The kinds of storage of weights and gradients; only ``'default'``.
    rtol, atol
        Tolerances.
    compare_states
        Whether states are compared too.
    ntensors
        How many weights there are; several are given to an optimizer together if it takes them so.
    """
    _dense_only("compare_optimizer", {"weight": w_stype, "gradient": g_stype})
    several = bool(shape) and not isinstance(shape[0], numbers.Integral)
    shapes = list(shape) if several else [tuple(shape)] * ntensors
    if len(shapes) != ntensors:
        raise ParameterError(f"compare_optimizer: ntensors must be the number of shapes; got {ntensors}")
    start = [rand_ndarray(one, dtype=dtype) for one in shapes]
    grads = [rand_ndarray(one, dtype=dtype) for one in shapes]
    made = []
    for opt in (opt1, opt2):
        weights = [weight.copy() for weight in start]
        states = [opt.create_state_multi_precision(i, weight) for i, weight in enumerate(weights)]
        if ntensors > 1 and opt.takes_lists:
            copies = [grad.copy() for grad in grads]
            opt.update_multi_precision(list(range(ntensors)), weights, copies, states)
        else:
            for i, weight in enumerate(weights):
                opt.update_multi_precision(i, weight, grads[i].copy(), states[i])
        made.append((weights, states))
    if compare_states:
        compare_ndarray_tuple(made[0][1], made[1][1], rtol, atol)
    compare_ndarray_tuple(made[0][0], made[1][0], rtol, atol)
