"""Inputs whose values persist from batch to batch, such as the state of a recurrent network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ...checks import LIST, check_kind
from ...errors import ParameterError
from ...ndarray import NDArray
from ...protocols import ArrayLike
from .outputs import merged
from .routing import Copy, Target, copy_all
from .split import Split

__all__ = ["StateValues", "States"]

#: Values of states: for each an array for the whole batch, or a list of the devices' arrays.
StateValues: TypeAlias = "Sequence[ArrayLike] | Sequence[Sequence[NDArray]]"


@dataclass(frozen=True)
class States:
    """The states of a network on all devices; their first axis is the batch.

    Attributes
    ----------
    names
        The states.
    arrays
        For each the devices' arrays.
    split
        Which samples each device has.

    Examples
    --------
    >>> import rebind as mx
    >>> states = States(["h"], [[mx.nd.zeros((1,)), mx.nd.zeros((1,))]], Split((slice(0, 1), slice(1, 2))))
    >>> states.set([mx.nd.array([3, 4])])
    >>> states.get()[0].asnumpy()
    array([3., 4.], dtype=float32)
    """

    names: Sequence[str]
    arrays: list[list[NDArray]]
    split: Split

    def get(self, merge: bool = True) -> list[NDArray] | list[list[NDArray]]:
        """Return the states: joined over the devices, or for each the list of the devices' arrays.

        >>> import rebind as mx
        >>> states = States(["h"], [[mx.nd.zeros((1,)), mx.nd.ones((1,))]], Split((slice(0, 1), slice(1, 2))))
        >>> states.get()[0].asnumpy().tolist()
        [0.0, 1.0]
        """
        return merged(self.arrays, [0] * len(self.arrays), merge)

    def set(self, values: StateValues | None = None, number: float | None = None) -> None:
        """Set the states from arrays, or all to one number.

        >>> import rebind as mx
        >>> states = States(["h"], [[mx.nd.zeros((1,)), mx.nd.ones((1,))]], Split((slice(0, 1), slice(1, 2))))
        >>> states.set(number=5)
        >>> states.get()[0].asnumpy().tolist()
        [5.0, 5.0]
        """
        if (values is None) == (number is None):
            got = "neither" if values is None else "both"
            raise ParameterError(f"set_states: needs either states or value; got {got}")
        if values is None:
            assert number is not None
            for array in (array for arrays in self.arrays for array in arrays):
                array[:] = number
            return
        check_kind("set_states", LIST, states=values)
        if len(values) != len(self.names):
            raise ParameterError(
                f"set_states: states must hold an array for each of {list(self.names)}; got {len(values)}"
            )
        # All are checked before the first is copied: an error leaves the states as they were.
        copies: list[Copy] = []
        for name, arrays, given in zip(self.names, self.arrays, values, strict=True):
            target = Target(f"set_states: state {name!r}", 0, self.split, arrays)
            each_device = isinstance(given, (list, tuple))
            copies += target.copies_for_each(given) if each_device else target.copies(given)  # type: ignore[arg-type]
        copy_all(copies)
