"""The graph of a symbol: plain data that is never changed after it is made.

A `Graph` is a tuple of entries; an `Entry` is one output of a `Node`; a node is a variable or the application of an
operator to entries. One thing may change: a node's `attributes`, strings that say something about it
(``__lr_mult__``), since MXNet's programs set them on existing symbols (``internals[i]._set_attr(...)``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, TypeVar

from ..errors import MXNetError
from ..ops import Operator
from ..params import Params

__all__ = ["Entry", "Graph", "Node", "check", "depth_first", "input_variable", "rewrite", "rewrite_with_map"]

T = TypeVar("T")


class Node:
    """A variable (`operator` is None) or an operator applied to inputs.

    Attributes
    ----------
    operator, params
        What is computed; the parameters are parsed.
    name
        The node's name.
    given
        The parameters as the user gave them, as text: what a symbol's JSON holds.
    attributes
        Further strings, such as ``__ctx_group__``.
    inputs
        Where the inputs come from; optional inputs that are absent are left out.
    """

    __slots__ = ("attributes", "given", "inputs", "name", "operator", "params")

    def __init__(
        self,
        operator: Operator | None,
        name: str,
        inputs: Sequence[Entry] = (),
        params: Params | None = None,
        given: Mapping[str, str] | None = None,
        attributes: Mapping[str, str] | None = None,
    ) -> None:
        self.operator = operator
        self.name = name
        self.inputs = tuple(inputs)
        self.params = Params() if params is None else params
        self.given = dict(given or {})
        self.attributes = dict(attributes or {})

    @property
    def is_variable(self) -> bool:
        """Whether the node is a variable."""
        return self.operator is None

    @property
    def input_names(self) -> tuple[str, ...]:
        """The operator's names of the inputs."""
        return () if self.operator is None else self.operator.inputs_for(self.params, len(self.inputs))

    @property
    def output_names(self) -> tuple[str, ...]:
        """The full names of all outputs: ``fc1_output``; a variable's is its own."""
        if self.operator is None:
            return (self.name,)
        return tuple(f"{self.name}_{output}" for output in self.operator.outputs_for(self.params))

    @property
    def visible_outputs(self) -> int:
        """How many outputs a user sees."""
        return 1 if self.operator is None else self.operator.visible_outputs(self.params)

    def with_inputs(self, inputs: Sequence[Entry]) -> Node:
        """Return the same node with other inputs."""
        return Node(self.operator, self.name, inputs, self.params, self.given, self.attributes)

    def __repr__(self) -> str:
        kind = "variable" if self.operator is None else self.operator.name
        return f"<{kind} {self.name!r}>"


class Entry(NamedTuple):
    """One output of a node."""

    node: Node
    index: int = 0  # type: ignore[assignment]  # a tuple's method of that name is of no use here

    @property
    def name(self) -> str:
        """The output's full name."""
        return self.node.output_names[self.index]


class Graph:
    """Entries that are computed together, with what they need."""

    def __init__(self, outputs: Iterable[Entry]) -> None:
        self.outputs = tuple(outputs)

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes, each after its inputs, in the order of a depth-first walk: MXNet's order of arguments."""
        return tuple(
            depth_first(
                (entry.node for entry in self.outputs), lambda node: [entry.node for entry in node.inputs]
            )
        )

    @cached_property
    def variables(self) -> tuple[Node, ...]:
        """Arguments and auxiliary states."""
        return tuple(node for node in self.nodes if node.is_variable)

    @cached_property
    def _auxiliary_ids(self) -> frozenset[int]:
        found: set[int] = set()
        for node in self.nodes:
            op = node.operator
            if op is not None and op.aux_names:
                named = zip(node.input_names, node.inputs, strict=False)
                found.update(
                    id(entry.node)
                    for name, entry in named
                    if entry.node.is_variable and op.is_auxiliary(name)
                )
        return frozenset(found)

    @cached_property
    def arguments(self) -> tuple[Node, ...]:
        """Variables that the caller gives."""
        return tuple(node for node in self.variables if id(node) not in self._auxiliary_ids)

    @cached_property
    def auxiliary(self) -> tuple[Node, ...]:
        """Variables that hold auxiliary states."""
        return tuple(node for node in self.variables if id(node) in self._auxiliary_ids)

    @cached_property
    def output_names(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return tuple(entry.name for entry in self.outputs)

    @property
    def internals(self) -> Graph:
        """The graph whose outputs are all visible outputs of all nodes."""
        return Graph(Entry(node, i) for node in self.nodes for i in range(node.visible_outputs))


def depth_first(starts: Iterable[T], sources: Callable[[T], Sequence[T]]) -> list[T]:
    """Return the nodes that can be reached from `starts`, each once and after its `sources`.

    It keeps its own stack: a chain of any length is fine.
    """
    order: list[T] = []
    seen: set[int] = set()
    for start in starts:
        stack = [(start, iter(sources(start)))] if id(start) not in seen else []
        seen.add(id(start))
        while stack:
            node, rest = stack[-1]
            source = next((each for each in rest if id(each) not in seen), None)
            if source is None:
                order.append(node)
                stack.pop()
            else:
                seen.add(id(source))
                stack.append((source, iter(sources(source))))
    return order


def input_variable(op: Operator, node_name: str, input_name: str, said: Mapping[str, str]) -> Entry:
    """Return the variable that is made for an input that nobody gave: ``fc1_weight``.

    As in MXNet it carries what is said of the operator's node, parameters too, and the operator's own choice of an
    initializer.
    """
    attributes = dict(said)
    if input_name in op.inits:
        attributes.setdefault("__init__", op.inits[input_name])
    return Entry(Node(None, f"{node_name}_{input_name}", attributes=attributes))


def rewrite(graph: Graph, replace: Callable[[Node, tuple[Entry, ...]], Sequence[Entry] | None]) -> Graph:
    """Return a graph in which `replace` was asked for every node.

    `replace` gets a node and its inputs in the new graph, and returns the entries that take the place of its
    outputs, or None to keep the node. Nodes that nothing changes are shared with the old graph, and a graph in which
    nothing changes is returned as it is.
    """
    return rewrite_with_map(graph, replace)[0]


def rewrite_with_map(
    graph: Graph, replace: Callable[[Node, tuple[Entry, ...]], Sequence[Entry] | None]
) -> tuple[Graph, dict[Entry, Entry]]:
    """As `rewrite`; and return, for each entry of the old graph that changed, the new one: for `Facts.after`."""
    new: dict[Entry, Entry] = {}
    for node in graph.nodes:
        inputs = tuple(new.get(entry, entry) for entry in node.inputs)
        entries = replace(node, inputs)
        if entries is None:
            if inputs == node.inputs:
                continue
            same = node.with_inputs(inputs)
            entries = [Entry(same, i) for i in range(len(node.output_names))]
        new |= {Entry(node, i): entry for i, entry in enumerate(entries)}
    if not new:
        return graph, new
    return Graph(new.get(entry, entry) for entry in graph.outputs), new


def check(graph: Graph) -> Graph:
    """Return `graph`; an error names the node when the graph is not well-formed.

    Well-formed: each node has the inputs that its operator takes, each entry refers to an output that exists, and
    auxiliary states are variables that feed nothing else than auxiliary inputs.
    """
    auxiliary = {id(node) for node in graph.auxiliary}
    for node in graph.nodes:
        if node.operator is None:
            if node.inputs:
                raise MXNetError(f"graph: variable {node.name!r} must have no inputs; got {len(node.inputs)}")
            continue
        names = node.input_names
        if len(names) != len(node.inputs):
            raise MXNetError(
                f"graph: {node.operator.name} {node.name!r} must have the inputs {', '.join(names)}; "
                f"got {len(node.inputs)}"
            )
        for name, entry in zip(names, node.inputs, strict=True):
            if not 0 <= entry.index < len(entry.node.output_names):
                raise MXNetError(
                    f"graph: {name} of {node.name!r} is output {entry.index} of {entry.node!r}: none such"
                )
            if id(entry.node) in auxiliary and not node.operator.is_auxiliary(name):
                raise MXNetError(
                    f"graph: auxiliary state {entry.node.name!r} cannot also be the input {name} of {node.name!r}"
                )
    return graph
