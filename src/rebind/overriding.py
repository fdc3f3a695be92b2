"""Steps that a program may override: a class declares them, and is asked whether an object has others."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, TypeVar

__all__ = ["declares_steps", "overrides"]

T = TypeVar("T")


def declares_steps(*names: str) -> Callable[[type[T]], type[T]]:
    """Return a class decorator: the methods of these names are steps, and the class has them as rebind knows them.

    A subclass within rebind that defines some of them in its own way is decorated too, without names.

    >>> @declares_steps("forward", "backward")
    ... class Network:
    ...     def forward(self): ...
    ...     def backward(self): ...
    >>> class Program(Network):
    ...     def backward(self): ...
    >>> overrides(Network(), "forward", "backward"), overrides(Program(), "forward", "backward")
    (False, True)
    """

    def decorate(kind: type[T]) -> type[T]:
        owner: Any = kind
        owner._declared_steps = SimpleNamespace(
            **{name: getattr(kind, name) for name in names or vars(owner._declared_steps)}
        )
        return kind

    return decorate


def overrides(instance: Any, *names: str, of: type | None = None) -> bool:
    """Return whether a program has steps of its own: in a subclass, in the class, or in the object itself.

    What they do is not known, so each must be called as MXNet calls it. With `of`, whether they are others than that
    class declares, be they rebind's.

    >>> import rebind as mx
    >>> module = mx.mod.Module(2 * mx.sym.var("data"), label_names=None)
    >>> before, module.update = overrides(module, "update"), print
    >>> before, overrides(module, "update")
    (False, True)
    """
    kind, read = type(instance), _reading(names)  # quick: a module asks for each batch
    declared = getattr(of or kind, "_declared_steps", None)
    # A class of no kind that rebind knows has all steps from the program.
    return declared is None or not vars(instance).keys().isdisjoint(names) or read(kind) != read(declared)


@functools.cache
def _reading(names: tuple[str, ...]) -> Callable[[object], object]:
    return operator.attrgetter(*names)
