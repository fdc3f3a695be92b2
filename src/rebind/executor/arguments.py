"""What an executor is given: arrays by name, and a request for the gradient of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, get_args

from ..checks import warn_user
from ..errors import ArgumentError, ParameterError, near_names, shown
from ..ndarray import NDArray
from ..ndarray.base import wrap
from ..ndarray.storage import DenseStorage
from ..shapes import Shape, size

__all__ = [
    "GRAD_REQS",
    "Arrays",
    "GradReq",
    "GradReqs",
    "arrays_by_name",
    "in_shape",
    "read_grad_req",
    "warn_of_near_names",
]

GradReq: TypeAlias = Literal["write", "add", "null"]
GRAD_REQS: tuple[GradReq, ...] = get_args(GradReq)
#: What a caller may give: one word for all arguments, a list in their order, or a dict (absent names: ``'null'``).
GradReqs: TypeAlias = "str | Sequence[str] | Mapping[str, str]"
#: Arrays from a caller: by name, or in the order of the names.
Arrays: TypeAlias = "Mapping[str, NDArray | None] | Sequence[NDArray | None] | None"


def read_grad_req(grad_req: GradReqs, names: Sequence[str], who: str = "bind") -> dict[str, GradReq]:
    """Return the request for each argument.

    >>> read_grad_req({"w": "add"}, ["x", "w"])
    {'x': 'null', 'w': 'add'}
    """
    if isinstance(grad_req, str):
        requests: dict[str, str] = dict.fromkeys(names, grad_req)
    elif isinstance(grad_req, Mapping):
        warn_of_near_names(grad_req, names, who)
        requests = {name: grad_req.get(name, "null") for name in names}
    elif isinstance(grad_req, (list, tuple)):
        if len(grad_req) != len(names):
            raise ParameterError(
                f"{who}: grad_req: a list must hold one word for each of {list(names)}; got {list(grad_req)}"
            )
        requests = dict(zip(names, grad_req, strict=True))
    else:
        raise ArgumentError(f"{who}: grad_req must be a word, a list or a dict; got {grad_req!r}")
    return {name: _checked(who, name, word) for name, word in requests.items()}


def warn_of_near_names(grad_req: Mapping[str, str], names: Sequence[str], who: str) -> None:
    """Warn of requests for names that are near those of arguments without one; other networks' may be there too."""
    for name in grad_req.keys() - set(names):
        if (near := near_names(name, set(names) - grad_req.keys())) != ".":
            warn_user(f"{who}: grad_req: no argument {name!r}{near} It is ignored.")


def _checked(who: str, name: str, word: str) -> GradReq:
    for known in GRAD_REQS:
        if word == known:
            return known
    raise ParameterError(f"{who}: grad_req must be one of 'write', 'add', 'null'; got {word!r} for {name!r}")


def in_shape(old: NDArray, shape: Shape) -> NDArray:
    """Return `old` itself if it has the shape, its memory in that shape if it is large enough, else zeros.

    >>> import rebind as mx
    >>> in_shape(mx.nd.ones((2, 3)), (2, 2)).shape
    (2, 2)
    """
    if old.shape == shape:
        return old
    wanted = size(shape)
    if wanted <= old.size and isinstance(old.storage, DenseStorage):
        return old.alias(old.tensor.reshape(-1)[:wanted].reshape(shape))
    return wrap(old.storage.zeros_like(shape), old.device)


def arrays_by_name(who: str, arrays: Arrays, names: Sequence[str]) -> dict[str, NDArray]:
    """Return arrays by name from a list in the order of `names` or a dict; extra names are left out.

    >>> import rebind as mx
    >>> list(arrays_by_name("bind: args", [mx.nd.ones((1,)), None], ["x", "w"]))
    ['x']
    """
    if arrays is None:
        return {}
    if isinstance(arrays, Mapping):
        found = {name: value for name, value in arrays.items() if name in names and value is not None}
    elif isinstance(arrays, (list, tuple)):
        if len(arrays) != len(names):
            raise ParameterError(
                f"{who}: a list must hold {len(names)} arrays, for {list(names)}; got {len(arrays)}"
            )
        found = {}
        for name, value in zip(names, arrays, strict=True):
            # A list may repeat a name, since two variables may share one; they are then one argument.
            if value is not None and found.setdefault(name, value) is not value:
                raise ParameterError(
                    f"{who}: variables of one name are one argument, so {name!r} must get one array; got two"
                )
    else:
        raise ArgumentError(f"{who} must be a list or a dict of NDArrays; got {shown(arrays)}")
    for name, value in found.items():
        if not isinstance(value, NDArray):
            raise ArgumentError(f"{who}: {name!r} must be an NDArray; got {value!r}")
    return found
