"""Registries: classes and functions by case-insensitive names."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .absent import old_names
from .checks import check_instance, warn_user
from .errors import ArgumentError, NameLookupError, ParameterError, near_names, shown

__all__ = ["Registry", "get_alias_func", "get_create_func", "get_register_func", "get_registry"]

T = TypeVar("T")
E = TypeVar("E")


class Registry(Generic[T]):
    """Classes or functions of one kind (optimizers, metrics, ...) by name.

    Names and aliases are case-insensitive. Registering another class under a name in use warns and names both:
    old scripts do it on purpose.

    Parameters
    ----------
    kind
        What is registered, in the singular, for messages.
    base
        The class whose instances `create` returns as they are.

    Examples
    --------
    >>> shapes = Registry("shape")
    >>> @shapes.register("circle", "disc")
    ... class Circle:
    ...     pass
    >>> shapes["DISC"] is Circle
    True
    """

    def __init__(self, kind: str, base: type | None = None) -> None:
        self.kind = kind
        self.base = base
        self._entries: dict[str, T] = {}

    def register(self, *names: Any) -> Any:
        """Register under `names`, or, used bare on a class, under the class's own name.

        >>> shapes = Registry("shape")
        >>> @shapes.register("disc", "ring")
        ... class Circle: ...
        >>> list(shapes)
        ['disc', 'ring']
        """
        # Bare, as ``@register`` above a class.
        if len(names) == 1 and not isinstance(names[0], str):
            return self._add(names[0], (names[0].__name__,))
        return lambda entry: self._add(entry, names or (entry.__name__,))

    def alias(self, *names: str) -> Callable[[E], E]:
        """Register additional names; a decorator.

        >>> shapes = Registry("shape")
        >>> @shapes.alias("disc", "ring")
        ... @shapes.register
        ... class Circle: ...
        >>> list(shapes)
        ['circle', 'disc', 'ring']
        """
        return lambda entry: self._add(entry, names)

    def _add(self, entry: Any, names: tuple[str, ...]) -> Any:
        for name in names:
            old = self._entries.get(name.lower())
            if old is not None and old is not entry:
                warn_user(f"{self.kind} {name!r}: {_where(entry)} replaces {_where(old)}")
            self._entries[name.lower()] = entry
        return entry

    def __getitem__(self, name: str) -> T:
        try:
            return self._entries[name.lower()]
        except KeyError:
            raise NameLookupError(
                f"no {self.kind} {shown(name)}{near_names(name.lower(), self._entries)} "
                f"Registered: {', '.join(sorted(self._entries))}."
            ) from None

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def create(self, spec: object, *args: Any, **kwargs: Any) -> Any:
        """Return an instance from a name, from a JSON string ``["name", {...}]``, or `spec` itself if it is one.

        >>> shapes = Registry("shape")
        >>> _ = shapes.register("box")(dict)
        >>> shapes.create("box", width=2), shapes.create('["box", {"width": 3}]')
        ({'width': 2}, {'width': 3})
        """
        if self.base is not None and isinstance(spec, self.base):
            if args or kwargs:
                raise ArgumentError(
                    f"{self.kind}: an instance takes no further arguments; got {spec!r} with {args or kwargs}"
                )
            return spec
        if (
            isinstance(spec, str) and spec[:1] == "["
        ):  # no name begins so; parsing is left to those that are JSON
            spec, kwargs = self._read(spec)
        check_instance(spec, self.kind)
        if not isinstance(spec, str):
            raise ArgumentError(f"{self.kind}: must be a name or an instance; got {shown(spec)}")
        return self[spec](*args, **kwargs)  # type: ignore[operator]  # entries are classes where create() is used

    def _read(self, text: str) -> tuple[str, dict[str, Any]]:
        try:
            name, keywords = json.loads(text)
        except (ValueError, TypeError, RecursionError):
            name, keywords = None, None
        if not isinstance(name, str) or not isinstance(keywords, dict):
            raise ParameterError(f'{self.kind}: text must be JSON such as ["name", {{}}]; got {text!r}')
        return name, keywords


# Registries that a program makes for its own base classes, through MXNet's functions below.
_registries: dict[type, Registry[type]] = {}


def _registry_of(base_class: type, nickname: str) -> Registry[type]:
    if base_class not in _registries:
        _registries[base_class] = Registry(nickname, base_class)
    return _registries[base_class]


def get_registry(base_class: type) -> dict[str, type]:
    """Return what is registered for `base_class` through the functions below: a dict from lower-case names.

    >>> get_registry(int)
    {}
    """
    found = _registries.get(base_class)
    return {} if found is None else {name: found[name] for name in found}


def get_register_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """Return a function that registers subclasses of `base_class`, under their own or a given name.

    Examples
    --------
    >>> class Shape:
    ...     pass
    >>> register = get_register_func(Shape, "shape")
    >>> @register
    ... class Circle(Shape):
    ...     pass
    >>> create = get_create_func(Shape, "shape")
    >>> isinstance(create("circle"), Circle), isinstance(create('["circle", {}]'), Circle)
    (True, True)
    """
    registry = _registry_of(base_class, nickname)

    def register(klass: type, name: str | None = None) -> type:
        if not (isinstance(klass, type) and issubclass(klass, base_class)):
            raise ArgumentError(
                f"{nickname}.register: must be a subclass of {base_class.__name__}; got {klass!r}"
            )
        return registry._add(klass, (name or klass.__name__,))

    return register


def get_alias_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """Return a decorator that registers a subclass of `base_class` under additional names.

    >>> class Shape: ...
    >>> @get_alias_func(Shape, "shape")("disc", "ring")
    ... class Circle(Shape): ...
    >>> sorted(get_registry(Shape))
    ['disc', 'ring']
    """
    register = get_register_func(base_class, nickname)

    def alias(*names: str) -> Callable[[type], type]:
        def decorate(klass: type) -> type:
            for name in names:
                register(klass, name)
            return klass

        return decorate

    return alias


def get_create_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """Return a function that makes an instance from a name with arguments.

    It also takes a JSON string, ``["name", {...}]`` or ``{nickname: "name", ...}``, a dict of the latter form, the
    name by the keyword `nickname`, and an instance, which it returns.

    >>> class Wheel:
    ...     def __init__(self, size):
    ...         self.size = size
    >>> _ = get_register_func(Wheel, "wheel")(Wheel, "big")
    >>> create = get_create_func(Wheel, "wheel")
    >>> create("big", 5).size, create(wheel="big", size=6).size, create({"wheel": "big", "size": 7}).size
    (5, 6, 7)
    """
    registry = _registry_of(base_class, nickname)

    def create(*args: Any, **kwargs: Any) -> Any:
        if not args and nickname not in kwargs:
            raise ArgumentError(f"{nickname}: must be given, a name or an instance")
        spec, *rest = args or (kwargs.pop(nickname),)
        # MXNet's other form: one object with the name under the nickname.
        if isinstance(spec, str) and spec[:1] == "{":
            spec = _read_dict(spec, nickname)
        if isinstance(spec, dict):
            if rest or kwargs or nickname not in spec:
                raise ArgumentError(
                    f"{nickname}: a dict must hold {nickname!r} and all arguments; got {spec!r} with {rest or kwargs}"
                )
            kwargs = dict(spec)
            spec = kwargs.pop(nickname)
        return registry.create(spec, *rest, **kwargs)

    return create


def _read_dict(text: str, nickname: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ParameterError(
            f'{nickname}: text must be JSON such as {{"{nickname}": "name"}}; got {text!r}'
        ) from None


def _where(entry: object) -> str:
    return f"{getattr(entry, '__module__', '?')}.{getattr(entry, '__qualname__', entry)}"


if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
