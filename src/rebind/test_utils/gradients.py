"""Checking gradients against finite differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from .. import dtypes
from ..checks import an, check_kind
from ..device import Device
from ..dtypes import DTypeLike
from ..errors import ArgumentError, ParameterError
from ..executor import Executor
from ..ndarray import array
from ..symbol import Symbol
from .binding import ArraysLike, initial_gradients, must_be_known, on_device, parsed, put_state
from .compare import assert_almost_equal
from .defaults import RTOLS, STEPS, ArrayLike, as_numpy, get_atol, get_rtol

__all__ = ["check_numeric_gradient", "numeric_grad"]

#: The arguments whose gradients are checked: names, or names with the request for each.
GradNodes: TypeAlias = "Sequence[str] | Mapping[str, str]"


def numeric_grad(
    executor: Executor,
    location: Mapping[str, ArrayLike],
    aux_states: Mapping[str, ArrayLike] | None = None,
    eps: float = 1e-4,
    use_forward_train: bool = True,
    dtype: DTypeLike = np.float32,
) -> dict[str, np.ndarray]:
    """Return the gradients of the sum of an executor's outputs, by central differences.

    Parameters
    ----------
    executor
        A bound executor; its arguments are restored at the end.
    location
        The arguments by name: those that gradients are computed for, at the values they have.
    aux_states
        The auxiliary states by name, restored before every pass.
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


def _differences(
    executor: Executor,
    location: Mapping[str, ArrayLike],
    aux_states: Mapping[str, ArrayLike],
    eps: float,
    is_train: bool,
    projections: Sequence[np.ndarray],
) -> dict[str, np.ndarray]:
    """Return the gradients of ``sum(output * projection)`` by central differences."""

    def value(name: str, point: np.ndarray) -> float:
        # Each pass of training updates auxiliary states, and so would change the function between the two points.
        for state, initial in aux_states.items():
            put_state(executor, state, as_numpy(initial))
        outputs = executor.forward(is_train, **{name: point})
        return sum(
            float(np.sum(output.asnumpy().astype(np.float64) * projection))
            for output, projection in zip(outputs, projections, strict=True)
        )

    found = {}
    for name, given in location.items():
        centre = as_numpy(given).astype(np.float64)
        grad = np.zeros(centre.shape)
        for index in np.ndindex(centre.shape):
            ahead, behind = centre.copy(), centre.copy()
            ahead[index] += eps / 2
            behind[index] -= eps / 2
            grad[index] = (value(name, ahead) - value(name, behind)) / eps
        # Back to the point itself, at which the other arguments are varied.
        executor.arg_dict[name][:] = centre
        found[name] = grad
    return found


def check_numeric_gradient(
    sym: Symbol,
    location: ArraysLike,
    aux_states: ArraysLike | None = None,
    numeric_eps: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    grad_nodes: GradNodes | None = None,
    use_forward_train: bool = True,
    ctx: Device | None = None,
    grad_stype_dict: Mapping[str, str] | None = None,
    dtype: DTypeLike = np.float32,
) -> None:
    """Check the gradients that `backward` computes against finite differences.

    The gradients are those of the sum of the outputs, weighted with random numbers. Unlike MXNet, the
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
        Tolerances; those of `dtype` if None, but in float64 an `atol` of 1e-8, the accuracy of the differences.
    grad_nodes
        The arguments that are checked (all if None): a list, or a dict from name to ``'write'``, ``'add'`` or
        ``'null'``.
    use_forward_train
        Whether the differences are taken in training mode; `backward` always is.
    ctx
        The device, the default one if None.
    grad_stype_dict
        The storage types of the gradients by name, for those that are not dense.
    dtype
        The type that `backward` is run in.

    Raises
    ------
    AssertionError
        It names the argument and lists the worst positions.

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
    kind = dtypes.name(dtype)
    if kind not in RTOLS:
        raise ParameterError(f"{who}: dtype must be one of {', '.join(RTOLS)}; got {dtype!r}")
    check_kind(who, an(Symbol), sym=sym)
    requests = _checked_nodes(who, grad_nodes, sym.list_arguments())
    device, args, aux = parsed(who, sym, location, aux_states, ctx, dtype)
    # Rounded to `dtype` first, so that differences and `backward` are taken at the same points.
    exact_args, exact_aux = on_device(args, device, np.float64), on_device(aux, device, np.float64)

    # 'null' is checked, too: its gradient must not change. 'absent' is not.
    chosen = [name for name, request in requests.items() if request != "absent"]
    # Random, so that 'add' is seen to add and 'null' to leave it.
    grads = initial_gradients(who, args, chosen, grad_stype_dict)
    before = {name: grads[name].asnumpy().astype(np.float64) for name in chosen}
    wanted = {name: "null" if request == "absent" else request for name, request in requests.items()}
    executor = sym.bind(device, args, grads, wanted, aux)
    outputs = executor.forward(is_train=True)
    # Away from 0, so that every output counts; in `dtype`, so that both sides see the same numbers.
    head_grads = [array(np.random.uniform(0.1, 1.1, out.shape), device, out.dtype) for out in outputs]
    executor.backward(head_grads)

    points = {name: exact_args[name].asnumpy() for name in chosen if requests[name] != "null"}
    states = {name: state.asnumpy() for name, state in exact_aux.items()}
    exact = sym.bind(device, exact_args, grad_req="null", aux_states=exact_aux)
    step = STEPS["float64"] if numeric_eps is None else numeric_eps
    numeric = _differences(
        exact, points, states, step, use_forward_train, [as_numpy(grad) for grad in head_grads]
    )

    rtol = get_rtol(rtol, dtype)
    atol = max(get_atol(None, dtype), 1e-8) if atol is None else atol
    for name in chosen:
        # 'add' adds to the former gradient; 'null', which has no difference, leaves it as it is.
        right = numeric.get(name, 0.0) + before[name] * (requests[name] != "write")
        labels = (f"NUMERICAL_{name}", f"BACKWARD_{name}")
        assert_almost_equal(right, grads[name], rtol, atol, labels, use_broadcast=False)


def _checked_nodes(who: str, grad_nodes: GradNodes | None, names: Sequence[str]) -> dict[str, str]:
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
    must_be_known(who, chosen, names)
    return {**dict.fromkeys(names, "absent"), **chosen}
