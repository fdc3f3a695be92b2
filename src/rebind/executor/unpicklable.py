"""Executors do not pickle: they are bound to memory of this process."""

from __future__ import annotations

from typing import NoReturn

from ..errors import UnpicklableError

__all__ = ["Unpicklable"]


class Unpicklable:
    """A mixin whose objects refuse to be pickled and deep-copied, with a sentence; MXNet raises a ValueError."""

    def __getstate__(self) -> NoReturn:
        who = type(self).__name__
        raise UnpicklableError(
            f"{who}: what is pickled or deep-copied must not be bound to arrays; got a bound {who}. Pickle its symbol "
            "and the arrays in arg_dict and aux_dict, and bind the symbol again."
        )

    def __copy__(self) -> Unpicklable:
        # A shallow copy works on the same arrays.
        found = type(self).__new__(type(self))
        found.__dict__.update(self.__dict__)
        return found
