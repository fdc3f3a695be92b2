"""Methods of a module that are those of others which it holds, made from a table."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeVar

from .base_module import BaseModule
from .module import Module
from .steps import need_steps

__all__ = ["calls_all", "delegates"]

T = TypeVar("T")


def _described_as(original: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that gives a method the name, the signature and the docstring of another, or of its base's."""

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        functools.update_wrapper(method, original)
        method.__doc__ = inspect.getdoc(original)
        return method

    return decorate


def delegates(to: str, names: str, *, after: tuple[str, ...] = ()) -> Callable[[type[T]], type[T]]:
    """Return a class decorator that adds methods and properties of `Module`, as those of a module that is held.

    They have the signatures and docstrings of `Module`'s, as far as it has others than `BaseModule`.

    Parameters
    ----------
    to
        Where the other module is: ``'buckets.current'``.
    names
        The methods and properties.
    after
        The steps that must have been taken before.
    """
    target = attrgetter(to)

    def decorate(kind: type[T]) -> type[T]:
        for name in names.split():
            setattr(kind, name, _delegated(name, target, after))
        return kind

    return decorate


def _delegated(name: str, target: Callable[[Any], Any], after: tuple[str, ...]) -> Any:
    original = getattr(Module, name, None)  # None for an attribute that each object has
    if not callable(original):

        def read(self: Any) -> Any:
            need_steps(self, name, *after)
            return getattr(target(self), name)

        return property(read, doc=inspect.getdoc(original) if isinstance(original, property) else None)

    @_described_as(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        need_steps(self, f"{name}()", *after)
        return getattr(target(self), name)(*args, **kwargs)

    return call


def calls_all(names: str, *, joined: bool, after: tuple[str, ...] = ()) -> Callable[[type[T]], type[T]]:
    """Return a class decorator that adds methods of `BaseModule`: those of all modules in `_modules`, in turn.

    Parameters
    ----------
    names
        The methods.
    joined
        Whether they return lists, which are joined.
    after
        The steps that must have been taken before.
    """

    def decorate(kind: type[T]) -> type[T]:
        for name in names.split():
            setattr(kind, name, _called_on_all(name, joined, after))
        return kind

    return decorate


def _called_on_all(name: str, joined: bool, after: tuple[str, ...]) -> Any:
    @_described_as(getattr(BaseModule, name))
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        need_steps(self, f"{name}()", *after)
        found = [getattr(module, name)(*args, **kwargs) for module in self._modules]
        return [each for one in found for each in one] if joined else None

    return call
