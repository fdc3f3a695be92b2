"""What is made, or imported, when it is first asked for: an import pays for what is used, not for what there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

from .absent import old_names
from .completion import listing

__all__ = ["OnFirstUse"]

T = TypeVar("T")


class OnFirstUse(Mapping[str, T]):
    """Values by name, each made once, when it is first asked for.

    The functions of `nd` and `sym` are such values: a program uses a few of hundreds, and their help texts and
    signatures alone took half of the import.

    Parameters
    ----------
    makers
        By name, what makes the value.

    Examples
    --------
    >>> values = OnFirstUse({"answer": lambda: [42]})
    >>> values["answer"], values["answer"] is values["answer"]
    ([42], True)
    """

    def __init__(self, makers: Mapping[str, Callable[[], T]]) -> None:
        self._makers = makers
        self._made: dict[str, T] = {}

    @staticmethod
    def from_modules(package: str, names: Mapping[str, str]) -> OnFirstUse[Any]:
        """Return what modules of a package have: `names` says in which module below it each name is.

        The modules are among the values too, as modules that are imported are attributes of their package.

        >>> sorted(OnFirstUse.from_modules("rebind.io", {"CSVIter": "csv_iter"}))
        ['CSVIter', 'csv_iter']
        """
        makers: dict[str, Callable[[], Any]]
        makers = {module: partial(import_module, f"{package}.{module}") for module in names.values()}
        makers |= {name: partial(_value, package, module, name) for name, module in names.items()}
        return OnFirstUse(makers)

    def __getitem__(self, name: str) -> T:
        if name not in self._made:
            # Of two threads that both make it, the first one's is what both return.
            self._made.setdefault(name, self._makers[name]())
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def attributes(self, namespace: dict[str, Any]) -> tuple[Callable[[str], T], Callable[[], list[str]]]:
        """Return `__getattr__` and `__dir__` of a module that has the values as attributes.

        `namespace` is the module's ``globals()``. What is there stands, and a value is there once it is made: later
        uses cost what those of any attribute do.

        >>> get, names = OnFirstUse({"answer": lambda: 42}).attributes({"__name__": "deep", "thought": 0})
        >>> get("answer"), names()
        (42, ['__name__', 'answer', 'thought'])
        """
        old = old_names(namespace["__name__"])

        def get(name: str) -> T:
            if name not in self._makers:
                return old(name)
            return namespace.setdefault(name, self[name])

        if "__all__" in namespace:
            return get, listing(namespace)
        return get, lambda: sorted({*namespace, *self._makers})


def _value(package: str, module: str, name: str) -> Any:
    return getattr(import_module(f"{package}.{module}"), name)
