"""Steps that a program may override: a class declares them, and is asked whether an object has others."""

from __future__ import annotations

from collections.abc import Callable
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
        owner._steps = {name: getattr(kind, name) for name in names or owner._steps}
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
    kind, own = type(instance), vars(instance)
    declared: dict[str, object] = getattr(
        of or kind, "_steps", {}
    )  # of no class of rebind's: all is the program's
    return any(
        name not in declared or getattr(kind, name) is not declared[name] or name in own for name in names
    )
