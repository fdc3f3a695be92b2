"""Binding one executor, with the arrays of another one and memory for inputs that several share."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from ...device import Device
from ...dtypes import DTypeLike
from ...errors import ArgumentError, NameLookupError, ParameterError, ShapeError, near_names
from ...executor import Executor, Sharing, simple_bind
from ...logs import resolve
from ...ndarray import NDArray
from ...protocols import Logger
from ...symbol import Symbol

__all__ = []


def _check_arguments(symbol: Symbol) -> None:
    """Check that no two arguments, and no two auxiliary states, have one name.

    Raises
    ------
    ParameterError
        It names what appears more than once.
    """
    for kind, names in (
        ("arguments", symbol.list_arguments()),
        ("auxiliary states", symbol.list_auxiliary_states()),
    ):
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise ParameterError(
                f"executor_manager: names of {kind} must differ; {', '.join(map(repr, twice))} appears more than once "
                f"among {names}. Give the layers names (name=...)."
            )


def _bind_exec(
    sym: Symbol,
    ctx: Device,
    input_shapes: Mapping[str, Sequence[int]],
    param_names: Sequence[str],
    need_grad: bool | set[str] = False,
    base_exec: Executor | None = None,
    shared_data_arrays: dict[str, NDArray] | None = None,
    input_types: Mapping[str, DTypeLike] | None = None,
    logger: Logger = logging,
) -> Executor:
    """Return an executor, which may share its arrays with another one.

    Parameters
    ----------
    sym
        The network.
    ctx
        The device.
    input_shapes
        The shapes of the inputs, by name.
    param_names
        Which arguments are parameters.
    need_grad
        Which arguments get gradients: none (False), all but the inputs (True), or those in a set of names.
    base_exec
        An executor whose arrays of parameters, gradients and auxiliary states are used.
    shared_data_arrays
        Memory for inputs, by name. An input that needs as much or less uses what is there; one that needs more gets new
        memory, which replaces it, and the logger warns.
    input_types
        The types of the inputs, by name.
    logger
        Where warnings go.

    Raises
    ------
    ShapeError
        When a parameter or auxiliary state of `base_exec` has another shape or type than this network needs.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, no_bias=True, name="fc")
    >>> base = _bind_exec(net, mx.cpu(), {"data": (4, 5)}, ["fc_weight"])
    >>> small = _bind_exec(net, mx.cpu(), {"data": (2, 5)}, ["fc_weight"], base_exec=base)
    >>> small.arg_dict["fc_weight"] is base.arg_dict["fc_weight"]
    True
    """
    arguments = sym.list_arguments()
    variables = [*arguments, *sym.list_auxiliary_states()]
    _check_names("input_shapes", input_shapes, variables)
    _check_names("input_types", input_types or {}, variables)
    wanted = _wanted_gradients(need_grad, arguments, input_shapes)
    shared = [name for name in param_names if name in arguments]
    if base_exec is not None:
        have = base_exec.arg_dict
        missing = [name for name in shared if name not in have]
        if missing:
            raise ParameterError(
                f"_bind_exec: base_exec must have all parameters; it lacks {', '.join(map(repr, missing))}"
            )
    # Binding replaces what is too small in the caller's dict: compared afterwards, so that it can warn.
    before = dict(shared_data_arrays or {})
    executor = simple_bind(
        sym,
        ctx,
        input_shapes,
        input_types,
        {name: "write" if name in wanted else "null" for name in arguments},
        sharing=Sharing(base_exec, shared, shared_data_arrays, frozenset(input_shapes)),
    )
    if base_exec is not None:
        _check_auxiliary(executor, base_exec)
    _warn_of_new_memory(before, shared_data_arrays or {}, logger)
    return executor


def _wanted_gradients(
    need_grad: bool | set[str], arguments: Sequence[str], inputs: Collection[str]
) -> set[str]:
    """Return which arguments get gradients."""
    # True: all but the inputs.
    if isinstance(need_grad, bool):
        return set(arguments) - set(inputs) if need_grad else set()
    if not isinstance(need_grad, (set, frozenset)):
        raise ArgumentError(f"_bind_exec: need_grad must be True, False or a set of names; got {need_grad!r}")
    _check_names("need_grad", need_grad, arguments)
    return set(need_grad)


def _check_names(what: str, names: Collection[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise NameLookupError(
                f"_bind_exec: {what}: the symbol has no argument {name!r}{near_names(name, known)}"
            )


def _warn_of_new_memory(before: Mapping[str, NDArray], after: Mapping[str, NDArray], logger: Logger) -> None:
    """Warn of inputs for which the shared memory was too small."""
    for name, old in before.items():
        if (new := after[name]) is not old:
            resolve(logger).warning(
                'bucketing: the input "%s" has shape %s (%s), for which the memory bound for shape %s (%s) is not '
                "enough: it is bound again. Let default_bucket_key be the bucket with the largest input to share its "
                "memory.",
                name,
                new.shape,
                new.dtype.__name__,
                old.shape,
                old.dtype.__name__,
            )


def _check_auxiliary(executor: Executor, base: Executor) -> None:
    have = base.aux_dict
    for name, state in executor.aux_dict.items():
        other = have.get(name)
        if (
            state is not other
        ):  # binding shares a state where shape and type fit, and makes a new one otherwise
            assert state is not None
            got = "none" if other is None else f"{other.shape} {other.dtype.__name__}"
            raise ShapeError(
                f"_bind_exec: the auxiliary state {name!r} of base_exec must have shape and type "
                f"{state.shape} {state.dtype.__name__}; got {got}"
            )
