"""How recorded arrays were computed, step by step: what `autograd.get_symbol` and `backward` read.

torch records how gradients flow. Where a gradient is blocked on the way (`BlockGrad`, a comparison) it records nothing;
the steps here still lead to the marked arrays behind, whose gradients are zeros then. A step holds operators and
parameters, never tensors: it does not prolong the life of any memory.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

from ..errors import StateError
from ..ops import Operator
from ..params import Params

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Source", "Step", "free", "marked_behind", "opaque_step", "remember", "source_of", "steps_behind"]


class Step:
    """An operator applied to outputs of earlier steps; without an operator, an array from which recording started.

    Attributes
    ----------
    opaque
        A text about what computed the array, where it was not an operator.
    marked
        The array from which recording started, where it has a gradient; None for other steps.
    depends
        Whether a marked array is behind it.
    freed
        Whether a `backward` has used it up.
    """

    __slots__ = ("depends", "freed", "marked", "opaque", "operator", "params", "sources")

    def __init__(
        self,
        operator: Operator | None = None,
        params: Params | None = None,
        sources: tuple[Source, ...] = (),
        marked: Recorded | None = None,
        opaque: str = "",
        depends: bool = False,
    ) -> None:
        self.operator = operator
        self.params = Params() if params is None else params
        self.sources = sources
        self.opaque = opaque
        # The array holds the step; a strong reference back would be a cycle.
        self.marked = None if marked is None else weakref.ref(marked)
        self.depends = depends or marked is not None
        self.freed = False


Source: TypeAlias = tuple[Step, int]  # the step and which of its outputs


class Receiver(Protocol):
    """Where the gradient of a marked array goes, as far as `backward` knows of it."""

    reached: bool

    def receive_nothing(self) -> None:
        """Take a gradient of zeros."""


class Recorded(Protocol):
    """An array, as far as its history knows of it."""

    history: Source | None

    @property
    def leaf(self) -> Tensor | None:
        """The tensor that torch records in its stead, where it is marked."""

    @property
    def marking(self) -> Receiver | None:
        """Where its gradient goes, where it is marked."""


def source_of(array: Recorded) -> Source:
    """Return the step that computed an array; for one that nothing recorded computed, a new step without inputs.

    >>> import rebind as mx
    >>> step, output = source_of(mx.nd.ones((2,)))
    >>> step.operator, output
    (None, 0)
    """
    if array.history is None:
        array.history = (Step(marked=array if array.leaf is not None else None), 0)
    return array.history


def opaque_step(what: str, arrays: Iterable[Recorded]) -> Source:
    """Return the step of an array that was computed from `arrays` by something that is no operator.

    >>> import rebind as mx
    >>> step, _ = opaque_step("a function", [mx.nd.ones((2,))])
    >>> step.opaque, step.depends
    ('a function', False)
    """
    sources = tuple(map(source_of, arrays))
    # Opaque to `get_symbol`, but not to backward.
    return Step(opaque=what, sources=sources, depends=any(step.depends for step, _ in sources)), 0


def remember(op: Operator, p: Params, arrays: Sequence[Recorded | None], results: Sequence[Recorded]) -> None:
    """Note that `op` computed `results` from `arrays`.

    >>> import rebind as mx
    >>> from rebind.ops import find
    >>> x, y = mx.nd.ones((2,)), mx.nd.ones((2,))
    >>> remember(find("exp"), Params(), [x], [y])
    >>> step, output = source_of(y)
    >>> step.operator.name, step.sources == (source_of(x),)
    ('exp', True)
    """
    sources: list[Source] = []
    depends = False
    for array in arrays:
        if array is not None:
            source = array.history or source_of(array)
            sources.append(source)
            depends = depends or source[0].depends
    step = Step(op, p, tuple(sources), depends=depends)
    for i, result in enumerate(results):
        result.history = (step, i)


def steps_behind(arrays: Iterable[Recorded]) -> list[Step]:
    """Return the steps between arrays and the marked arrays that they depend on, those of the latter too.

    Raises
    ------
    StateError
        When an earlier `backward` has freed one of them.

    Examples
    --------
    >>> import rebind as mx
    >>> x = mx.nd.ones((2,))
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = mx.nd.BlockGrad(x)
    >>> [step.operator.name if step.operator else "x" for step in steps_behind([y])]
    ['BlockGrad', 'x']
    """
    # Steps that depend on no marked array have no gradient, and are not walked.
    pending = [array.history[0] for array in arrays if array.history is not None and array.history[0].depends]
    seen = set(pending)
    found: list[Step] = []
    while pending:
        step = pending.pop()
        if step.freed:
            raise StateError(
                "backward: what was recorded is freed by the first backward; call it with retain_graph=True to do it "
                "again"
            )
        found.append(step)
        for source, _ in step.sources:
            if source.depends and source not in seen:
                seen.add(source)
                pending.append(source)
    return found


def marked_behind(steps: Iterable[Step]) -> list[Recorded]:
    """Return the marked arrays among steps, those that still exist.

    >>> import rebind as mx
    >>> x = mx.nd.ones((2,))
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = mx.nd.BlockGrad(x)
    >>> marked_behind(steps_behind([y])) == [x]
    True
    """
    found = [step.marked() for step in steps if step.marked is not None]
    return [array for array in found if array is not None]


def free(steps: Iterable[Step]) -> None:
    """Let a later `backward` over these steps be an error; what is marked can be recorded from again.

    >>> step = Step(opaque="a function")
    >>> free([step])
    >>> step.freed
    True
    """
    for step in steps:
        step.freed = step.marked is None
