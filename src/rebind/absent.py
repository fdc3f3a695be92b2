"""Classes and functions of MXNet's that rebind has by name only: they can be imported, and say so when used."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

from .errors import AbsentFeatureError, AbsentNameError

__all__ = ["AbsentClass", "absence", "absent_class", "absent_function", "old_names"]


def old_names(module: str) -> Callable[[str], Any]:
    """Return `__getattr__` of a module: what MXNet's of that path has besides, or a sentence on why it is not here.

    >>> import rebind as mx
    >>> old_names("rebind.io")("MXDataIter")
    Traceback (most recent call last):
    rebind.errors.AbsentNameError: mx.io.MXDataIter is not part of rebind. mx.io.NDArrayIter takes arrays, ...
    """

    def get(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        # By name, since `compat` is above all others: a program that uses no such name does not load it.
        return importlib.import_module("rebind.compat").attribute_below(module, name)

    return get


class _SaysWhat(type):
    """Class attributes, such as other ways to make one, are absent as the class is."""

    def __getattr__(cls, name: str) -> NoReturn:
        if name.startswith("_") or "whole_name" in name:
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        whole: str = cls.whole_name
        instead: str = cls.instead
        raise AbsentNameError(f"{whole}.{name}: {whole} is not part of rebind. {instead.removesuffix('.')}.")


class AbsentClass(metaclass=_SaysWhat):
    """Base of the classes that rebind does not have: making one, or one derived from it, is an error.

    >>> class Pictures(absent_class("gluon.data.Dataset", "Use mx.io.NDArrayIter")):
    ...     pass
    >>> Pictures()
    Traceback (most recent call last):
    rebind.errors.AbsentFeatureError: Pictures: gluon.data.Dataset is not part of rebind. Use mx.io.NDArrayIter.
    """

    whole_name: ClassVar[str]
    instead: ClassVar[str]

    def __new__(cls, *args: object, **kwargs: object) -> NoReturn:
        """Raise the error that says what to use instead."""
        derived = "" if "whole_name" in vars(cls) else f"{cls.__name__}: "
        raise AbsentFeatureError(
            f"{derived}{cls.whole_name} is not part of rebind. {cls.instead.removesuffix('.')}."
        )


def absent_class(name: str, instead: str, module: str = "rebind") -> type[AbsentClass]:
    """Return a class that can be named and derived from, and says what to use instead when it is made.

    >>> isinstance(3, absent_class("io.MXDataIter", "Use mx.io.NDArrayIter"))
    False
    """
    content = {"whole_name": name, "instead": instead, "__module__": module}
    short = name.rpartition(".")[2]
    return type(short, (AbsentClass,), {**content, "__doc__": f"`{name}`, which rebind does not have."})


def absent_function(name: str, instead: str) -> Callable[..., NoReturn]:
    """Return a function whose call raises an error that says what to use instead.

    >>> absent_function("gluon.utils.download", "Use curl")()
    Traceback (most recent call last):
    rebind.errors.AbsentFeatureError: gluon.utils.download is not part of rebind. Use curl.
    """

    def absent(*args: object, **kwargs: object) -> NoReturn:
        raise AbsentFeatureError(f"{name} is not part of rebind. {instead.removesuffix('.')}.")

    absent.__name__ = absent.__qualname__ = name.rpartition(".")[2]
    absent.__doc__ = f"Raise: `{name}` is not part of rebind. {instead.removesuffix('.')}."
    return absent


def absence(value: object) -> str | None:
    """Return the sentence that a class or function from here says when it is used; None for any other value.

    >>> absence(absent_function("gluon.utils.download", "Use curl"))
    'gluon.utils.download is not part of rebind. Use curl.'
    >>> absence(len) is None
    True
    """
    if isinstance(value, _SaysWhat) and value is not AbsentClass:
        whole: str = value.whole_name
        instead: str = value.instead
        return f"{whole} is not part of rebind. {instead.removesuffix('.')}."
    if getattr(value, "__module__", None) == __name__ and getattr(value, "__name__", None) not in globals():
        return (getattr(value, "__doc__", None) or "").removeprefix("Raise: ").replace("`", "") or None
    return None
