"""Arrays of single steps that are together the sections of one array: what was unrolled, seen as a whole."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph import Application, Entry
from .substitution import application, common_attributes

__all__ = ["Sequences"]

# How many operators, each applied to every step by itself, are looked through: residual additions, joined directions.
_DEPTH = 8


class Sequences:
    """Finds, for the arrays of all steps, the one array that they are the sections of, along its first axis.

    Examples
    --------
    >>> import rebind as mx
    >>> steps = mx.sym.SliceChannel(mx.sym.var("x"), num_outputs=2, axis=0, squeeze_axis=True, name="steps")
    >>> sequences, entries = Sequences(), steps.graph.outputs
    >>> sequences.whole(entries).name, sequences.whole(entries[::-1]).name
    ('x', 'x_reversed_output')
    >>> sequences.whole(entries[:1]) is None
    True
    """

    def __init__(self) -> None:
        # For the array of a step: that of all steps, how many there are, and which one it is.
        self._positions: dict[Entry, tuple[Entry, int, int]] = {}
        self._by_time: dict[Application, Entry] = {}
        self._known: dict[tuple[Entry, ...], Entry | None] = {}
        #: Arrays of all steps that are known to have three axes: (time, batch, features).
        self.of_rows: set[Entry] = set()

    def add(self, steps: Sequence[Entry], whole: Entry) -> None:
        """Enter an array (time, batch, features) for the arrays of its steps."""
        self._positions |= {step: (whole, len(steps), i) for i, step in enumerate(steps)}
        self.of_rows.add(whole)

    def whole(self, steps: Sequence[Entry], depth: int = _DEPTH) -> Entry | None:
        """Return the array of all `steps`; None when they are not the sections of one."""
        key = tuple(steps)
        if key not in self._known:
            self._known[key] = self._sections(key) or self._from_the_end(key) or self._applied(key, depth)
        return self._known[key]

    def _sections(self, steps: tuple[Entry, ...]) -> Entry | None:
        """Return the array that is split into `steps`, in their order."""
        positions = [self._position_of(step) for step in steps]
        first = positions[0]
        if first is None or positions != [(first[0], len(steps), i) for i in range(len(steps))]:
            return None
        return first[0]

    def _from_the_end(self, steps: tuple[Entry, ...]) -> Entry | None:
        """Return the array of steps that are known in the opposite order."""
        forth = self._known.get(steps[::-1]) or self._sections(steps[::-1])
        if forth is None:
            return None
        name, attributes = f"{forth.node.name}_reversed", forth.node.attributes
        return self._like(Entry(application("reverse", name, [forth], attributes, axis=(0,))), [forth])

    def _position_of(self, step: Entry) -> tuple[Entry, int, int] | None:
        found = self._positions.get(step)
        node = step.node
        if found is not None or node.is_variable or node.operator.name != "SliceChannel":
            return found
        p = node.params
        if not p.squeeze_axis or p.num_outputs < 2 or p.axis not in (0, 1):
            return None
        if node not in self._by_time:
            source = node.inputs[0]
            if p.axis:
                name, attributes = f"{node.name}_by_time", node.attributes
                source = Entry(application("SwapAxis", name, [source], attributes, dim1=0, dim2=1))
            self._by_time[node] = source
        return self._by_time[node], p.num_outputs, step.index

    def _applied(self, steps: tuple[Entry, ...], depth: int) -> Entry | None:
        """Return one application to all steps of an operator that is applied to each."""
        first = steps[0].node
        if first.is_variable or not depth:
            return None
        given = _given_for_all(first)
        nodes = [step.node for step in steps]
        if given is None or not all(_is_equal(step, first) for step in steps):
            return None
        inputs = [self.whole([node.inputs[k] for node in nodes], depth - 1) for k in range(len(first.inputs))]
        found = [entry for entry in inputs if entry is not None]
        if len(found) < len(inputs):
            return None
        name = f"{first.name} to {nodes[-1].name}"
        node = application(first.operator.name, name, found, common_attributes(nodes), **given)
        return self._like(Entry(node), found)

    def _like(self, made: Entry, inputs: Sequence[Entry]) -> Entry:
        """Return `made`, which has as many axes as any of `inputs`."""
        if self.of_rows.intersection(inputs):
            self.of_rows.add(made)
        return made


def _given_for_all(node: Application) -> dict[str, object] | None:
    """Return the parameters with which a node's operator does for all steps at once what it does for each; or None."""
    is_by_element = node.operator.name in ("elemwise_add", "amp_cast")
    if is_by_element or (node.operator.name == "Dropout" and not node.params.axes):
        return dict(node.given)
    # Along axis 0 the steps may be sections of a vector, which has no axis 1.
    if node.operator.name == "Concat" and node.params.dim > 0:
        return {"dim": node.params.dim + 1, "num_args": len(node.inputs)}
    return None


def _is_equal(step: Entry, first: Application) -> bool:
    node = step.node
    return (
        not node.is_variable
        and node.operator is first.operator
        and node.params == first.params
        and len(node.inputs) == len(first.inputs)
    )
