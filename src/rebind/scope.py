"""Scopes of `with` statements that give symbols names and attributes."""

from __future__ import annotations

import contextvars
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

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
        self._tokens: list[contextvars.Token] = []

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
        self._tokens.append(_names.set(self))
        return self

    def __exit__(self, *_: object) -> None:
        _names.reset(self._tokens.pop())

    current: ClassVar[NameManager]  # the innermost manager


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
        self._attr: dict[str, str] = dict(attributes)
        self._tokens: list[contextvars.Token] = []

    def get(self, attr: Mapping[str, str] | None) -> dict[str, str]:
        """Return the scope's attributes with those in `attr` added; the latter win.

        >>> AttrScope(lr_mult="1", ctx_group="a").get({"lr_mult": "2"})
        {'lr_mult': '2', 'ctx_group': 'a'}
        """
        return {**self._attr, **(attr or {})}

    def __enter__(self) -> Self:
        # At entry, not at construction: a scope object may be entered inside another one later.
        self._attr = {**AttrScope.current._attr, **self._own}
        self._tokens.append(_attributes.set(self))
        return self

    def __exit__(self, *_: object) -> None:
        _attributes.reset(self._tokens.pop())

    current: ClassVar[AttrScope]  # the innermost scope


class _Innermost(Generic[T]):
    """The class attribute `current`: what the innermost ``with`` of this thread or task entered."""

    def __init__(self, scopes: contextvars.ContextVar[T]) -> None:
        self.scopes = scopes

    def __get__(self, instance: object, owner: type) -> T:
        return self.scopes.get()


# The outermost scopes are shared by all threads, as MXNet's are not: names never repeat within a process.
_names = contextvars.ContextVar("rebind_names", default=NameManager())  # noqa: B039
_attributes = contextvars.ContextVar("rebind_attributes", default=AttrScope())  # noqa: B039
NameManager.current = _Innermost(_names)  # type: ignore[assignment]  # a descriptor, which returns one
AttrScope.current = _Innermost(_attributes)  # type: ignore[assignment]  # likewise
