"""`mx.util`: NumPy semantics, environment variables and GPUs, as scripts use them."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from ..absent import old_names
from ..device import gpu_memory_info, num_gpus
from ..errors import ParameterError
from ..mode import mode

__all__ = [
    "get_gpu_count", "get_gpu_memory", "getenv", "is_np_array", "is_np_shape", "np_array", "np_shape", "reset_np",
    "set_module", "set_np", "set_np_shape", "setenv", "use_np", "use_np_array", "use_np_shape",
]  # fmt: skip

F = TypeVar("F", bound=Callable[..., Any])


def is_np_shape() -> bool:
    """Return whether NumPy's shapes are on.

    >>> is_np_shape()
    False
    """
    return mode.numpy_shapes


def set_np_shape(active: bool) -> bool:
    """Switch NumPy's shapes on or off; return what it was.

    With them a number becomes an array without axes, and files are written in the version of the format that has
    arrays without axes or elements. In symbols 0 is a size then, and -1 an unknown one.

    >>> before = set_np_shape(True)
    >>> set_np_shape(before)
    True
    """
    before, mode.numpy_shapes = mode.numpy_shapes, bool(active)
    return before


@contextmanager
def np_shape(active: bool = True) -> Iterator[None]:
    """Switch NumPy's shapes on in the ``with`` block.

    >>> import rebind as mx
    >>> with np_shape():
    ...     mx.nd.array(3.0).shape
    ()
    """
    before = set_np_shape(active)
    try:
        yield
    finally:
        set_np_shape(before)


def use_np_shape(func: F) -> F:
    """Decorate a function so that NumPy's shapes are on while it runs; a class so that they are in its methods.

    >>> use_np_shape(is_np_shape)()
    True
    """
    # A class is changed in place; its nested classes are not.
    if isinstance(func, type):
        for name, member in list(vars(func).items()):
            if callable(member) and not isinstance(member, type):
                setattr(func, name, use_np_shape(member))
        return func

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with np_shape(True):
            return func(*args, **kwargs)

    return wrapped  # type: ignore[return-value]  # it has the signature of `func`


def is_np_array() -> bool:
    """Return whether functions return `mx.np` arrays: no, since `mx.np` is not part of rebind.

    >>> is_np_array()
    False
    """
    return False


def np_array(active: bool = True) -> AbstractContextManager[None]:
    """Return a scope in which functions return `mx.np` arrays, or with ``active=False`` do not.

    The latter has no effect; the former is an error.

    >>> with np_array(False):
    ...     is_np_array()
    False
    """
    if active:
        raise _no_np_arrays("np_array")
    return np_shape(is_np_shape())  # a scope that changes nothing


def use_np_array(func: F) -> F:
    """Refuse: functions on `mx.np` arrays are not part of rebind.

    >>> use_np_array(print)
    Traceback (most recent call last):
    rebind.errors.ParameterError: util.use_np_array: the arrays of mx.np are not part of rebind. ...
    """
    raise _no_np_arrays("use_np_array")


def use_np(func: F) -> F:
    """Refuse: functions on `mx.np` arrays are not part of rebind.

    >>> use_np(print)
    Traceback (most recent call last):
    rebind.errors.ParameterError: util.use_np: the arrays of mx.np are not part of rebind. ...
    """
    raise _no_np_arrays("use_np")


def set_np(shape: bool = True, array: bool = True) -> None:
    """Switch NumPy's shapes, and `mx.np` arrays; with ``array=True`` an error.

    >>> set_np(shape=True, array=False)
    >>> reset_np()
    """
    if array:
        raise _no_np_arrays("set_np")
    set_np_shape(shape)


def reset_np() -> None:
    """Switch NumPy's shapes off.

    >>> reset_np()
    >>> is_np_shape()
    False
    """
    set_np_shape(False)


def _no_np_arrays(who: str) -> ParameterError:
    return ParameterError(
        f"util.{who}: the arrays of mx.np are not part of rebind. Use mx.nd, or np_shape for NumPy's shapes alone."
    )


def getenv(name: str) -> str | None:
    """Return the environment variable `name`, or None.

    >>> getenv("REBIND_NO_SUCH_VARIABLE") is None
    True
    """
    return os.environ.get(name)


def setenv(name: str, value: str | None) -> None:
    """Set the environment variable `name`; None removes it.

    >>> setenv("REBIND_EXAMPLE", "1")
    >>> getenv("REBIND_EXAMPLE")
    '1'
    >>> setenv("REBIND_EXAMPLE", None)
    """
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def get_gpu_count() -> int:
    """Return how many GPUs there are.

    >>> get_gpu_count() == num_gpus()
    True
    """
    return num_gpus()


def get_gpu_memory(gpu_dev_id: int) -> tuple[int, int]:
    """Return the free and the total bytes of a GPU's memory."""
    return gpu_memory_info(gpu_dev_id)


def set_module(module: str | None) -> Callable[[F], F]:
    """Return a decorator that sets the ``__module__`` of a function or class.

    >>> set_module("mxnet.util")(lambda: None).__module__
    'mxnet.util'
    """

    def decorate(func: F) -> F:
        if module is not None:
            func.__module__ = module
        return func

    return decorate


if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
