"""The graph of a symbol: plain data that is never changed after it is made.

A `Graph` is a tuple of entries; an `Entry` is one output of a node; a node is a `Variable` or the `Application` of an
operator to entries. What is cached by a node or a graph (plans, shapes) stays right, since neither changes. One thing
may: a node's `attributes`, strings such as ``__lr_mult__``, since MXNet's programs set them on
existing symbols (``internals[i]._set_attr(...)``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar, Literal, NamedTuple, TypeAlias, TypeVar

from ..errors import MXNetError
from ..ops import Operator
from ..params import Params

__all__ = [
    "Application", "Entry", "Graph", "Node", "Variable", "check", "depth_first", "input_variable", "rewrite",
    "rewrite_with_map",
]  # fmt: skip

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Variable:
    """A node that is given from outside: an input, a label, a parameter or an auxiliary state.

    Attributes
    ----------
    name
        The name by which it is given.
    attributes
        Strings such as ``__shape__`` and ``__lr_mult__``.

    Examples
    --------
    >>> data = Variable("data")
    >>> data.output_names, data.operator
    (('data',), None)
    """

    name: str
    attributes: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", dict(self.attributes))

    # A walk over a graph asks every node the same; a variable has no operator and takes nothing.
    operator: ClassVar[None] = None
    inputs: ClassVar[tuple[Entry, ...]] = ()
    input_names: ClassVar[tuple[str, ...]] = ()
    params: ClassVar[Params] = Params()
    given: ClassVar[Mapping[str, str]] = MappingProxyType({})
    is_variable: ClassVar[Literal[True]] = True
    visible_outputs: ClassVar[int] = 1

    @property
    def output_names(self) -> tuple[str, ...]:
        """The name of its one output: its own."""
        return (self.name,)

    def with_inputs(self, inputs: Sequence[Entry]) -> Variable:
        """Return a copy; there are no inputs to change."""
        return Variable(self.name, self.attributes)

    def __repr__(self) -> str:
        return f"<variable {self.name!r}>"


@dataclass(frozen=True, eq=False)
class Application:
    """A node that applies an operator to inputs.

    Attributes
    ----------
    operator, params
        What is computed; the parameters are parsed.
    name
        The node's name.
    inputs
        Where the inputs come from; optional inputs that are absent are left out.
    given
        The parameters as the user gave them, as text: what a symbol's JSON holds.
    attributes
        Further strings, such as ``__ctx_group__``.
    called_as
        The operator's name in the call that made the node: for errors only. A file has the operator's first name.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from rebind.ops import find
    >>> square = Application(find("square"), "square0", (Entry(Variable("x")),))
    >>> square.input_names, square.output_names
    (('data',), ('square0_output',))
    >>> replace(square, name="y").output_names  # nodes do not change: this is another
    ('y_output',)
    """

    operator: Operator
    name: str
    inputs: tuple[Entry, ...] = ()
    params: Params = field(default_factory=Params)
    given: Mapping[str, str] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    called_as: str = ""

    is_variable: ClassVar[Literal[False]] = False

    def __post_init__(self) -> None:
        # Copies: what a caller does with a dict later must not change a node.
        object.__setattr__(self, "inputs", tuple(self.inputs))
        object.__setattr__(self, "given", MappingProxyType(dict(self.given)))
        object.__setattr__(self, "attributes", dict(self.attributes))
        object.__setattr__(self, "called_as", self.called_as or self.operator.name)

    # Once for a node: inference, passes and what writes code ask for them again for each shape.

    @cached_property
    def input_names(self) -> tuple[str, ...]:
        """The operator's names of the inputs."""
        return self.operator.signature.inputs_for(self.params, len(self.inputs))

    @cached_property
    def output_names(self) -> tuple[str, ...]:
        """The full names of all outputs: ``fc1_output``."""
        return tuple(f"{self.name}_{output}" for output in self.operator.record.output_names(self.params))

    @cached_property
    def _count(self) -> int:
        return len(self.operator.record.output_names(self.params))

    @property
    def outputs(self) -> tuple[Entry, ...]:
        """All outputs.

        >>> import rebind as mx
        >>> [entry.name for entry in mx.sym.exp(mx.sym.var("x"), name="e").graph.outputs[0].node.outputs]
        ['e_output']
        """
        return tuple([Entry(self, i) for i in range(self._count)])

    @property
    def visible_outputs(self) -> int:
        """How many outputs a user sees."""
        return self.operator.record.visible_outputs(self.params)

    def with_inputs(self, inputs: Sequence[Entry]) -> Application:
        """Return the same node with other inputs.

        >>> import rebind as mx
        >>> node = mx.sym.exp(mx.sym.var("x"), name="e").graph.outputs[0].node
        >>> node.with_inputs([Entry(Variable("y"))]).inputs[0].name, node.inputs[0].name
        ('y', 'x')
        """
        return Application(
            self.operator, self.name, tuple(inputs), self.params, self.given, self.attributes, self.called_as
        )

    def locate(self, error: MXNetError, inputs: Sequence[str] = ()) -> MXNetError:
        """Add to an error that it comes from this node, and return it; `inputs` are texts for its end.

        >>> import rebind as mx
        >>> node = mx.sym.exp(mx.sym.var("x"), name="e").graph.outputs[0].node
        >>> print(node.locate(MXNetError("it failed"), ["data ('x') (2,)"]))
        exp 'e': it failed. Inputs: data ('x') (2,)
        """
        return error.locate(self.operator.name, called_as=self.called_as, node=self.name, inputs=inputs)

    def __repr__(self) -> str:
        return f"<{self.operator.name} {self.name!r}>"


#: Either kind; `node.operator is None` and `node.is_variable` are true of variables.
Node: TypeAlias = "Variable | Application"


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
        """All nodes, each after its inputs, in the order of a depth-first walk: MXNet's order of arguments.

        >>> import rebind as mx
        >>> mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="fc").graph.nodes
        (<variable 'x'>, <variable 'fc_weight'>, <variable 'fc_bias'>, <FullyConnected 'fc'>)
        """
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
            # By use: what an operator takes as a state is one.
            if op is not None and op.signature.aux_names:
                named = zip(node.input_names, node.inputs, strict=False)
                found.update(
                    id(entry.node)
                    for name, entry in named
                    if entry.node.is_variable and op.signature.is_auxiliary(name)
                )
        return frozenset(found)

    @cached_property
    def arguments(self) -> tuple[Node, ...]:
        """Variables that the caller gives."""
        return tuple(node for node in self.variables if id(node) not in self._auxiliary_ids)

    @cached_property
    def auxiliary(self) -> tuple[Node, ...]:
        """Variables that hold auxiliary states.

        >>> import rebind as mx
        >>> mx.sym.BatchNorm(mx.sym.var("x"), name="bn").graph.auxiliary
        (<variable 'bn_moving_mean'>, <variable 'bn_moving_var'>)
        """
        return tuple(node for node in self.variables if id(node) in self._auxiliary_ids)

    @cached_property
    def uses(self) -> Counter[Entry]:
        """How often each entry is an input of a node or an output of the graph.

        >>> import rebind as mx
        >>> x = mx.sym.var("x")
        >>> (x * x).graph.uses[x.graph.outputs[0]]
        2
        """
        found = Counter(entry for node in self.nodes for entry in node.inputs)
        # An output is used, too: by the caller.
        found.update(self.outputs)
        return found

    @cached_property
    def single_users(self) -> Mapping[Entry, tuple[Application, int]]:
        """The user of each entry that is used once, and as which of its inputs.

        >>> import rebind as mx
        >>> graph = mx.sym.exp(mx.sym.var("x"), name="e").graph
        >>> [(entry.name, user.name) for entry, (user, _) in graph.single_users.items()]
        [('x', 'e')]
        """
        return {
            entry: (node, i)
            for node in self.nodes
            if isinstance(node, Application)
            for i, entry in enumerate(node.inputs)
            if self.uses[entry] == 1
        }

    @cached_property
    def output_names(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return tuple(entry.name for entry in self.outputs)

    @property
    def internals(self) -> Graph:
        """The graph whose outputs are all visible outputs of all nodes.

        >>> import rebind as mx
        >>> mx.sym.exp(mx.sym.var("x"), name="e").graph.internals.output_names
        ('x', 'e_output')
        """
        return Graph(Entry(node, i) for node in self.nodes for i in range(node.visible_outputs))


def depth_first(starts: Iterable[T], sources: Callable[[T], Sequence[T]]) -> list[T]:
    """Return the nodes that can be reached from `starts`, each once and after its `sources`.

    It has a stack of its own, where recursion would fail for a chain of a thousand nodes.

    >>> sources = {"sum": ["a", "product"], "product": ["a", "b"], "a": [], "b": []}
    >>> depth_first(["sum"], sources.__getitem__)
    ['a', 'b', 'product', 'sum']
    """
    # By identity: what is walked need not be hashable.
    order: list[T] = []
    seen: set[int] = set()
    for start in starts:
        # Each frame remembers how far it has come through its sources, as a recursive call would.
        stack = [(start, iter(sources(start)))] if id(start) not in seen else []
        seen.add(id(start))
        while stack:
            node, rest = stack[-1]
            for source in rest:
                if id(source) not in seen:
                    seen.add(id(source))
                    stack.append((source, iter(sources(source))))
                    break
            else:
                order.append(node)
                stack.pop()
    return order


def input_variable(op: Operator, node_name: str, input_name: str, given: Mapping[str, str]) -> Entry:
    """Return the variable that is made for an input that nobody gave: ``fc1_weight``.

    As in MXNet it carries the attributes of the operator's node, parameters too, and the operator's own choice of an
    initializer.

    >>> from rebind.ops import find
    >>> input_variable(find("BatchNorm"), "bn", "moving_var", {}).node.attributes
    {'__init__': '["one", {}]'}
    """
    attributes = dict(given)
    if input_name in op.record.inits:
        attributes.setdefault("__init__", op.record.inits[input_name])
    return Entry(Variable(f"{node_name}_{input_name}", attributes))


def rewrite(graph: Graph, replace: Callable[[Node, tuple[Entry, ...]], Sequence[Entry] | None]) -> Graph:
    """Return a graph in which `replace` was asked for every node.

    `replace` gets a node and its inputs in the new graph, and returns the entries that replace its outputs,
    or None to leave the node as it is. Nodes that nothing changes are shared with the old graph, and a graph in which
    nothing changes is returned as it is.

    >>> import rebind as mx
    >>> net = mx.sym.exp(mx.sym.exp(mx.sym.var("x")), name="e")
    >>> without = rewrite(net.graph, lambda node, inputs: None if node.is_variable else inputs)
    >>> without.output_names
    ('x',)
    """
    return rewrite_with_map(graph, replace)[0]


def rewrite_with_map(
    graph: Graph, replace: Callable[[Node, tuple[Entry, ...]], Sequence[Entry] | None]
) -> tuple[Graph, dict[Entry, Entry]]:
    """As `rewrite`; and return, for each entry of the old graph that changed, the new one: for `Facts.after`.

    >>> import rebind as mx
    >>> graph = mx.sym.exp(mx.sym.var("x"), name="e").graph
    >>> new, changed = rewrite_with_map(graph, lambda node, inputs: inputs if inputs else None)
    >>> [(old.name, entry.name) for old, entry in changed.items()]
    [('e_output', 'x')]
    """
    new: dict[Entry, Entry] = {}
    for node in graph.nodes:
        inputs = tuple(new.get(entry, entry) for entry in node.inputs)
        entries = replace(node, inputs)
        if entries is None:
            if inputs == node.inputs:
                continue
            # A change below renews all that follows from it, since nodes hold their inputs.
            same = node.with_inputs(inputs)
            entries = [Entry(same, i) for i in range(len(node.output_names))]
        new |= {Entry(node, i): entry for i, entry in enumerate(entries)}
    # The graph itself, since plans and shapes are cached by it.
    if not new:
        return graph, new
    return Graph(new.get(entry, entry) for entry in graph.outputs), new


def check(graph: Graph) -> Graph:
    """Return `graph`; an error names the node when the graph is not well-formed.

    Well-formed: each node has the inputs that its operator takes, each entry refers to an output that exists, and
    auxiliary states are variables that feed nothing else than auxiliary inputs.

    >>> from rebind.ops import find
    >>> check(Graph([Entry(Application(find("exp"), "e"))]))
    Traceback (most recent call last):
        ...
    rebind.errors.MXNetError: graph: exp 'e' must have the inputs data; got 0
    """
    # A state that was also an argument would have to be written and differentiated at once.
    auxiliary = {id(node) for node in graph.auxiliary}
    for node in graph.nodes:
        if node.operator is None:
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
                    f"graph: {name} of {node.name!r} must be one of {len(entry.node.output_names)} outputs of "
                    f"{entry.node!r}; got number {entry.index}"
                )
            if id(entry.node) in auxiliary and not node.operator.signature.is_auxiliary(name):
                raise MXNetError(
                    f"graph: auxiliary state {entry.node.name!r} cannot also be the input {name} of {node.name!r}"
                )
    return graph
