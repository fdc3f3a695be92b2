"""How recorded arrays were computed, step by step: what `autograd.get_symbol` reads.

A step holds operators and parameters, never tensors: it does not prolong the life of any memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from ..ops import Operator
from ..params import Params

if TYPE_CHECKING:
    from .base import ArrayBase

__all__ = ["Source", "Step", "remember", "source_of"]


class Step:
    """An operator applied to outputs of earlier steps; without an operator, an array from which recording started.

    `opaque` is a text about what computed the array, where it was not an operator.
    """

    __slots__ = ("marked", "opaque", "operator", "params", "sources")

    def __init__(
        self,
        operator: Operator | None = None,
        params: Params | None = None,
        sources: tuple[Source, ...] = (),
        marked: bool = False,
        opaque: str = "",
    ) -> None:
        self.operator = operator
        self.params = Params() if params is None else params
        self.sources = sources
        self.opaque = opaque
        self.marked = marked  # of an array from which recording started: whether it has a gradient


Source: TypeAlias = tuple[Step, int]  # the step and which of its outputs


def source_of(array: ArrayBase) -> Source:
    """Return the step that computed an array; for one that nothing recorded computed, a new step without inputs.

    >>> import rebind as mx
    >>> step, output = source_of(mx.nd.ones((2,)))
    >>> step.operator, output
    (None, 0)
    """
    if array.history is None:
        array.history = (Step(marked=array.leaf is not None), 0)
    return array.history


def remember(
    op: Operator, p: Params, arrays: Sequence[ArrayBase | None], results: Sequence[ArrayBase]
) -> None:
    """Note that `op` computed `results` from `arrays`.

    >>> import rebind as mx
    >>> from rebind.ops import find
    >>> x, y = mx.nd.ones((2,)), mx.nd.ones((2,))
    >>> remember(find("exp"), Params(), [x], [y])
    >>> step, output = source_of(y)
    >>> step.operator.name, step.sources == (source_of(x),)
    ('exp', True)
    """
    step = Step(op, p, tuple([source_of(array) for array in arrays if array is not None]))
    for i, result in enumerate(results):
        result.history = (step, i)
