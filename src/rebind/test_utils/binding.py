"""What a symbol is bound with, as checks are given it: lists or dicts, of arrays of any kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..device import Device, as_device
from ..errors import NameLookupError, ParameterError, near_names
from ..executor import Executor
from ..ndarray import NDArray, array
from ..symbol import Symbol
from .defaults import as_numpy

__all__ = ["by_name", "dense_only", "must_be_known", "on_device", "parsed", "put_state", "requests_of"]


def must_be_known(who: str, given: Iterable[str], names: Sequence[str]) -> None:
    """Raise a NameLookupError for a name that is none of `names`.

    >>> must_be_known("check: location", ["dat"], ["data", "weight"])
    Traceback (most recent call last):
    rebind.errors.NameLookupError: check: location: no 'dat'; did you mean 'data'? Names: data, weight.
    """
    for name in given:
        if name not in names:
            raise NameLookupError(f"{who}: no {name!r}{near_names(name, names)} Names: {', '.join(names)}.")


def by_name(who: str, values: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the values by name, from a list in the order of `names` or from a dict that has them all.

    >>> by_name("check: location", [1, 2], ["data", "weight"])
    {'data': 1, 'weight': 2}
    """
    if not isinstance(values, Mapping):
        if not isinstance(values, (list, tuple)) or len(values) != len(names):
            raise ParameterError(f"{who}: must be a dict, or a list for {list(names)}; got {values!r}")
        values = dict(zip(names, values, strict=True))
    must_be_known(who, values, names)
    missing = [name for name in names if name not in values]
    if missing:
        raise ParameterError(f"{who}: arrays are missing for {', '.join(map(repr, missing))}")
    return {name: values[name] for name in names}


def on_device(values: Mapping[str, Any], ctx: Device, dtype: Any) -> dict[str, NDArray]:
    """Return copies on a device in one type, or each in its own with ``dtype="asnumpy"``.

    >>> import rebind as mx
    >>> on_device({"x": np.ones(2, "int8")}, mx.cpu(), "asnumpy")["x"].dtype
    <class 'numpy.int8'>
    """
    own = isinstance(dtype, str) and dtype == "asnumpy"
    return {
        name: array(as_numpy(value), ctx, as_numpy(value).dtype if own else dtype)
        for name, value in values.items()
    }


def parsed(
    who: str, sym: Symbol, location: Any, aux_states: Any, ctx: Device | None, dtype: Any
) -> tuple[Device, dict[str, NDArray], dict[str, NDArray]]:
    """Return the device, and arguments and auxiliary states by name as arrays on it."""
    device = as_device(ctx, f"{who}: ctx")
    args = by_name(f"{who}: location", location, sym.list_arguments())
    aux = by_name(f"{who}: aux_states", aux_states or {}, sym.list_auxiliary_states())
    return device, on_device(args, device, dtype), on_device(aux, device, dtype)


def requests_of(who: str, grad_req: Any, names: Sequence[str]) -> dict[str, str]:
    """Return the gradient request of each name, from one word, a list, or a dict of those that are not null.

    >>> requests_of("check: grad_req", {"weight": "add"}, ["data", "weight"])
    {'data': 'null', 'weight': 'add'}
    """
    if isinstance(grad_req, str):
        return dict.fromkeys(names, grad_req)
    if isinstance(grad_req, Mapping):
        must_be_known(who, grad_req, names)
        return {name: grad_req.get(name, "null") for name in names}
    return by_name(who, grad_req, names)


def dense_only(who: str, stypes: Mapping[str, str] | None) -> None:
    """Raise a ParameterError for a kind of storage that is not dense."""
    for name, stype in (stypes or {}).items():
        if stype != "default":
            raise ParameterError(
                f"{who}: storage of the gradient of {name!r} must be 'default'; got {stype!r}. "
                "Sparse storage is not there yet."
            )


def put_state(executor: Executor, name: str, value: np.ndarray) -> None:
    """Write a value into an auxiliary state of an executor."""
    must_be_known("aux_states", [name], list(executor.aux_dict))
    state = executor.aux_dict[name]
    assert state is not None  # it is bound
    state[:] = value
