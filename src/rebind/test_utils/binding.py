"""The arrays that a check binds a symbol with: given in a list or a dict, of any kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar

import numpy as np

from .. import dtypes
from ..device import Device, as_device
from ..dtypes import DTypeLike
from ..errors import NameLookupError, ParameterError, near_names
from ..executor import Executor, GradReqs
from ..ndarray import NDArray, array
from ..ndarray.base import wrap
from ..ops.storage_types import DENSE
from ..symbol import Symbol
from .arrays import rand_ndarray
from .defaults import ArrayLike, as_numpy

__all__ = [
    "ArraysLike", "by_name", "copy_of", "initial_gradients", "must_be_known", "on_device", "parsed", "put_state",
    "requests_of",
]  # fmt: skip

T = TypeVar("T")

#: Arrays by name, or in the order of the symbol's arguments, outputs or auxiliary states.
ArraysLike: TypeAlias = "Mapping[str, ArrayLike] | Sequence[ArrayLike]"


def must_be_known(who: str, given: Iterable[str], names: Sequence[str]) -> None:
    """Raise a NameLookupError for a name that is none of `names`.

    >>> must_be_known("check: location", ["dat"], ["data", "weight"])
    Traceback (most recent call last):
    rebind.errors.NameLookupError: check: location: no 'dat'; did you mean 'data'? Names: data, weight.
    """
    for name in given:
        if name not in names:
            raise NameLookupError(f"{who}: no {name!r}{near_names(name, names)} Names: {', '.join(names)}.")


def by_name(who: str, values: Mapping[str, T] | Sequence[T], names: Sequence[str]) -> dict[str, T]:
    """Return the values by name, from a list in the order of `names` or from a dict that has them all.

    >>> by_name("check: location", [1, 2], ["data", "weight"])
    {'data': 1, 'weight': 2}
    """
    if not isinstance(values, Mapping):
        if not isinstance(values, (list, tuple)) or len(values) != len(names):
            raise ParameterError(f"{who} must be a dict, or a list for {list(names)}; got {values!r}")
        values = dict(zip(names, values, strict=True))
    must_be_known(who, values, names)
    missing = [name for name in names if name not in values]
    if missing:
        raise ParameterError(f"{who}: arrays are missing for {', '.join(map(repr, missing))}")
    return {name: values[name] for name in names}


def on_device(values: Mapping[str, ArrayLike], ctx: Device, dtype: DTypeLike) -> dict[str, NDArray]:
    """Return copies on a device in one type, or each in its own with ``dtype="asnumpy"``.

    >>> import rebind as mx
    >>> on_device({"x": np.ones(2, "int8")}, mx.cpu(), "asnumpy")["x"].dtype
    <class 'numpy.int8'>
    """
    own = isinstance(dtype, str) and dtype == "asnumpy"
    return {name: copy_of(value, ctx, None if own else dtype) for name, value in values.items()}


def copy_of(value: ArrayLike, ctx: Device, dtype: DTypeLike | None) -> NDArray:
    """Return a copy on a device, in another type unless that is None; of a sparse array a sparse one.

    >>> import rebind as mx
    >>> copy_of(mx.nd.ones((1, 2)).tostype("csr"), mx.cpu(1), "float64")
    <BLANKLINE>
    <CSRNDArray 1x2 @cpu(1)>
    """
    if isinstance(value, NDArray) and value.stype != DENSE:
        kind = None if dtype is None else dtypes.torch_dtype(dtype)
        return wrap(value.storage.to(ctx.torch, kind, copy=True), ctx)
    numbers = as_numpy(value)
    return array(numbers, ctx, numbers.dtype if dtype is None else dtype)


def parsed(
    who: str,
    sym: Symbol,
    location: ArraysLike,
    aux_states: ArraysLike | None,
    ctx: Device | None,
    dtype: DTypeLike,
) -> tuple[Device, dict[str, NDArray], dict[str, NDArray]]:
    """Return the device, and arguments and auxiliary states by name as arrays on it.

    >>> import rebind as mx
    >>> device, args, aux = parsed("check", mx.sym.var("x") * 2, [[1.0, 2.0]], None, mx.cpu(1), "float64")
    >>> device, args["x"].asnumpy(), aux
    (cpu(1), array([1., 2.]), {})
    """
    device = as_device(ctx, f"{who}: ctx")
    args = by_name(f"{who}: location", location, sym.list_arguments())
    aux = by_name(f"{who}: aux_states", aux_states or {}, sym.list_auxiliary_states())
    return device, on_device(args, device, dtype), on_device(aux, device, dtype)


def requests_of(who: str, grad_req: GradReqs, names: Sequence[str]) -> dict[str, str]:
    """Return the gradient request of each name, from one for all, a list, or a dict of those that are not null.

    >>> requests_of("check: grad_req", {"weight": "add"}, ["data", "weight"])
    {'data': 'null', 'weight': 'add'}
    """
    if isinstance(grad_req, str):
        return dict.fromkeys(names, grad_req)
    if isinstance(grad_req, Mapping):
        must_be_known(who, grad_req, names)
        return {name: grad_req.get(name, "null") for name in names}
    return by_name(who, grad_req, names)


def initial_gradients(
    who: str, args: Mapping[str, NDArray], names: Iterable[str], stypes: Mapping[str, str] | None
) -> dict[str, NDArray]:
    """Return a random array for the gradient of each argument, of the storage type that `stypes` has for its name.

    >>> import rebind as mx
    >>> grads = initial_gradients("check", {"w": mx.nd.ones((3, 2))}, ["w"], {"w": "row_sparse"})
    >>> grads["w"].stype
    'row_sparse'
    """
    must_be_known(f"{who}: storage types of gradients", stypes or {}, list(args))
    made = {}
    for name in names:
        like, stype = args[name], (stypes or {}).get(name, DENSE)
        made[name] = rand_ndarray(like.shape, stype, dtype=like.dtype, ctx=like.device)
    return made


def put_state(executor: Executor, name: str, value: np.ndarray) -> None:
    """Write a value into an auxiliary state of an executor.

    >>> import rebind as mx
    >>> exe = mx.sym.BatchNorm(mx.sym.var("x"), name="bn").simple_bind(mx.cpu(), x=(4, 2))
    >>> put_state(exe, "bn_moving_mean", np.array([1.0, 2.0]))
    >>> exe.aux_dict["bn_moving_mean"].asnumpy()
    array([1., 2.], dtype=float32)
    """
    must_be_known("aux_states", [name], list(executor.aux_dict))
    state = executor.aux_dict[name]
    assert state is not None  # it is bound
    state[:] = value
