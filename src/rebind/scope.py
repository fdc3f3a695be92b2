"""Scopes of `with` statements that give symbols names and attributes."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from .absent import old_names
from .errors import ParameterError

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["AttrScope", "NameManager", "Prefix"]

T = TypeVar("T")


class NameManager:
    """Automatic names of symbols: ``convolution0``, ``convolution1``, ...

    ``with NameManager():`` starts counting from 0.

    Examples
    --------
    >>> names = NameManager()
    >>> names.get(None, "convolution"), names.get(None, "convolution"), names.get("conv1", "convolution")
    ('convolution0', 'convolution1', 'conv1')
    """

    def __init__(self) -> None:
        self._counter: dict[str, int] = {}

    def get(self, name: str | None, hint: str) -> str:
        """Return `name` if there is one, else the next automatic name for `hint`.

        >>> names = NameManager()
        >>> names.get(None, "fc"), names.get("mine", "fc"), names.get(None, "fc")
        ('fc0', 'mine', 'fc1')
        """
        if name:
            return name
        # Per hint, as in MXNet: files of parameters rely on `convolution0` being the first convolution.
        number = self._counter.get(hint, 0)
        self._counter[hint] = number + 1
        return f"{hint}{number}"

    def __enter__(self) -> NameManager:
        _names.enter(self)
        return self

    def __exit__(self, *_: object) -> None:
        _names.leave()

    current: ClassVar[NameManager]  # the innermost manager
    _current: ClassVar[_Current[NameManager]]


class Prefix(NameManager):
    """A manager that puts `prefix` before every name, given names too.

    >>> with Prefix("stage1_"):
    ...     NameManager.current.get("conv", "convolution")
    'stage1_conv'
    """

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        """Return the prefixed name.

        >>> Prefix("stage1_").get(None, "conv")
        'stage1_conv0'
        """
        return self._prefix + super().get(name, hint)


class AttrScope:
    """Attributes (strings) for every symbol made inside of ``with AttrScope(...)``; inner scopes add to outer.

    >>> with AttrScope(ctx_group="dev1"):
    ...     AttrScope.current.get({"lr_mult": "2"})
    {'ctx_group': 'dev1', 'lr_mult': '2'}
    """

    def __init__(self, **attributes: str) -> None:
        for key, value in attributes.items():
            if not isinstance(value, str):
                raise ParameterError(f"AttrScope: attribute {key!r} must be a string; got {value!r}")
        self._own = attributes

    def get(self, attr: Mapping[str, str] | None) -> dict[str, str]:
        """Return the scope's attributes with those in `attr` added; the latter win.

        >>> AttrScope(lr_mult="1", ctx_group="a").get({"lr_mult": "2"})
        {'lr_mult': '2', 'ctx_group': 'a'}
        """
        # Those of the scopes around it are found where it is used: it may be entered inside others, in other threads.
        found: dict[str, str] = {}
        for scope in _attributes.up_to(self):
            found |= scope._own
        return {**found, **(attr or {})}

    def __enter__(self) -> Self:
        _attributes.enter(self)
        return self

    def __exit__(self, *_: object) -> None:
        _attributes.leave()

    current: ClassVar[AttrScope]  # the innermost scope
    _current: ClassVar[_Current[AttrScope]]


class _Scopes(Generic[T]):
    """The scopes of this thread or task, from the outermost in; as a class attribute, the innermost.

    What one thread enters or leaves, no other sees. Each thread has an outermost scope of its own, as in MXNet.
    """

    def __init__(self, name: str, make: Callable[[], T]) -> None:
        self._entered: contextvars.ContextVar[tuple[T, ...]] = contextvars.ContextVar(name, default=())
        self._make = make
        self._outermost = threading.local()

    def _all(self) -> tuple[T, ...]:
        entered = self._entered.get()
        if entered:
            return entered
        try:
            return (self._outermost.scope,)
        except AttributeError:  # the first use in this thread
            self._outermost.scope = self._make()
            return (self._outermost.scope,)

    def enter(self, scope: T) -> None:
        self._entered.set((*self._all(), scope))

    def leave(self) -> None:
        rest = self._entered.get()[:-1]
        # The outermost alone is as if nothing was entered.
        self._entered.set(rest if len(rest) > 1 else ())

    def up_to(self, scope: T) -> tuple[T, ...]:
        """Return the scopes from the outermost to `scope`; `scope` alone where it is not entered."""
        scopes = self._all()
        if scopes[-1] is scope:  # the common case
            return scopes
        at = max((i for i, each in enumerate(scopes) if each is scope), default=-1)
        return scopes[: at + 1] if at >= 0 else (scope,)

    def replace(self, scope: T) -> None:
        """Replace the innermost scope."""
        if self._entered.get():
            self._entered.set((*self._all()[:-1], scope))
        else:
            self._outermost.scope = scope

    def __get__(self, instance: object, owner: type) -> T:
        return self._all()[-1]


class _Current(Generic[T]):
    """The innermost scope as MXNet's own code has it, ``NameManager._current.value``: programs assign a new one."""

    def __init__(self, scopes: _Scopes[T]) -> None:
        self._scopes = scopes

    @property
    def value(self) -> T:
        return self._scopes.__get__(None, type(self))

    @value.setter
    def value(self, scope: T) -> None:
        self._scopes.replace(scope)


_names = _Scopes("rebind_names", NameManager)
_attributes = _Scopes("rebind_attributes", AttrScope)
NameManager.current = _names  # type: ignore[assignment]  # a descriptor, which returns the innermost
AttrScope.current = _attributes  # type: ignore[assignment]  # likewise
NameManager._current = _Current(_names)
AttrScope._current = _Current(_attributes)

if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
