"""How recorded arrays were computed, operator by operator: what `autograd.get_symbol` and `backward` read.

torch records how gradients flow. Where a gradient is blocked on the way (`BlockGrad`, a comparison) it records nothing;
the nodes of this tape still lead to the marked arrays behind, whose gradients are zeros then. A node holds operators
and parameters, never tensors: it does not prolong the life of any memory.
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

__all__ = [
    "Source", "TapeNode", "free", "marked_behind", "nodes_behind", "opaque_node", "remember", "source_of",
]  # fmt: skip


class TapeNode:
    """An operator applied to outputs of earlier nodes; without an operator, an array from which recording started.

    Attributes
    ----------
    opaque
        A text about what computed the array, where it was not an operator.
    marked
        The array from which recording started, where it has a gradient; None for other nodes.
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
        # The array holds the node; a strong reference back would be a cycle.
        self.marked = None if marked is None else weakref.ref(marked)
        self.depends = depends or marked is not None
        self.freed = False


Source: TypeAlias = tuple[TapeNode, int]  # the node and which of its outputs


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
    """Return the node that computed an array; for one that nothing recorded computed, a new node without inputs.

    >>> import rebind as mx
    >>> node, output = source_of(mx.nd.ones((2,)))
    >>> node.operator, output
    (None, 0)
    """
    if array.history is None:
        array.history = (TapeNode(marked=array if array.leaf is not None else None), 0)
    return array.history


def opaque_node(what: str, arrays: Iterable[Recorded]) -> Source:
    """Return the node of an array that was computed from `arrays` by something that is no operator.

    >>> import rebind as mx
    >>> node, _ = opaque_node("a function", [mx.nd.ones((2,))])
    >>> node.opaque, node.depends
    ('a function', False)
    """
    sources = tuple(map(source_of, arrays))
    # Opaque to `get_symbol`, but not to backward.
    return TapeNode(opaque=what, sources=sources, depends=any(node.depends for node, _ in sources)), 0


def remember(op: Operator, p: Params, arrays: Sequence[Recorded | None], results: Sequence[Recorded]) -> None:
    """Note that `op` computed `results` from `arrays`.

    >>> import rebind as mx
    >>> from rebind.ops import find
    >>> x, y = mx.nd.ones((2,)), mx.nd.ones((2,))
    >>> remember(find("exp"), Params(), [x], [y])
    >>> node, output = source_of(y)
    >>> node.operator.name, node.sources == (source_of(x),)
    ('exp', True)
    """
    sources: list[Source] = []
    depends = False
    for array in arrays:
        if array is not None:
            source = array.history or source_of(array)
            sources.append(source)
            depends = depends or source[0].depends
    node = TapeNode(op, p, tuple(sources), depends=depends)
    for i, result in enumerate(results):
        result.history = (node, i)


def nodes_behind(arrays: Iterable[Recorded]) -> list[TapeNode]:
    """Return the nodes between arrays and the marked arrays that they depend on, those of the latter too.

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
    >>> [node.operator.name if node.operator else "x" for node in nodes_behind([y])]
    ['BlockGrad', 'x']
    """
    # Steps that depend on no marked array have no gradient, and are not walked.
    pending = [array.history[0] for array in arrays if array.history is not None and array.history[0].depends]
    seen = set(pending)
    nodes: list[TapeNode] = []
    while pending:
        node = pending.pop()
        if node.freed:
            raise StateError(
                "backward: the recorded graph was freed by the first backward(); call that one with "
                "retain_graph=True"
            )
        nodes.append(node)
        for source, _ in node.sources:
            if source.depends and source not in seen:
                seen.add(source)
                pending.append(source)
    return nodes


def marked_behind(nodes: Iterable[TapeNode]) -> list[Recorded]:
    """Return the marked arrays among nodes, those that still exist.

    >>> import rebind as mx
    >>> x = mx.nd.ones((2,))
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = mx.nd.BlockGrad(x)
    >>> marked_behind(nodes_behind([y])) == [x]
    True
    """
    arrays = [node.marked() for node in nodes if node.marked is not None]
    return [array for array in arrays if array is not None]


def free(nodes: Iterable[TapeNode]) -> None:
    """Let a later `backward` over these nodes be an error; what is marked can be recorded from again.

    >>> node = TapeNode(opaque="a function")
    >>> free([node])
    >>> node.freed
    True
    """
    for node in nodes:
        node.freed = node.marked is None
