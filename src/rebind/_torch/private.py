"""How a private name of PyTorch is looked up, tried, and replaced where it does not do what it should."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import torch

from .. import config

__all__ = ["USES", "Use", "optional", "private"]

F = TypeVar("F", bound=Callable[..., Any])
#: Says whether what was found behaves; an error means that it does not.
Probe = Callable[[Any], bool]


class Use(NamedTuple):
    """One private name of PyTorch that rebind uses.

    Attributes
    ----------
    name
        As a program would write it: ``torch._foreach_add_``.
    reason
        Why no public name does.
    works
        Whether this PyTorch has it and it behaves.
    public
        What takes its place; None where a feature is left out without it.
    """

    name: str
    reason: str
    works: bool
    public: Callable[..., Any] | None


#: Every private name that was asked for until now.
USES: dict[str, Use] = {}


def optional(name: str, reason: str, probe: Probe | None = None) -> Any:
    """Return what a private name of PyTorch stands for; None where it is not there or does not behave.

    For what has no public form: who uses it asks first.

    Parameters
    ----------
    name
        The name, beginning at ``torch``.
    reason
        Why no public name does.
    probe
        Tries it. Without one it is enough that the name is there.

    Examples
    --------
    >>> optional("torch._no_such_function", "for this example") is None
    True
    >>> optional("torch.add", "for this example", lambda add: add(torch.ones(1), 1).item() == 3) is None
    True
    >>> del USES["torch._no_such_function"], USES["torch.add"]
    """
    return _look_up(name, reason, probe, None)


def private(
    name: str, reason: str, probe: Probe | None = None, *, take: Callable[[Any], Any] | None = None
) -> Callable[[F], F]:
    """Return a decorator of the public form of a private function; what it returns is one of the two.

    So the name that is decorated is PyTorch's function itself, and a call costs nothing more.

    Parameters
    ----------
    name, reason, probe
        As for `optional`.
    take
        Returns the function where what was found is not the function itself, or has other parameters.

    Examples
    --------
    >>> @private("torch._no_such_function", "for this example")
    ... def double(x):
    ...     return 2 * x
    >>> double(4)
    8
    >>> del USES["torch._no_such_function"]
    """

    def choose(public: F) -> F:
        found = _look_up(name, reason, probe, public)
        if found is None:
            return public
        chosen: F = found if take is None else take(found)
        return chosen

    return choose


def _look_up(name: str, reason: str, probe: Probe | None, public: Callable[..., Any] | None) -> Any:
    found = None
    if config.get("REBIND_PRIVATE_TORCH"):
        with contextlib.suppress(Exception):  # whatever it is that another release does
            candidate = attrgetter(name.removeprefix("torch."))(torch)
            found = candidate if probe is None or probe(candidate) else None
    USES[name] = Use(name, reason, found is not None, public)
    return found
