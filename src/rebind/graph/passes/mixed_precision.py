"""Mixed precision: a network of float32 in which what gains from it is computed in a 16-bit type.

Casts go in where a value changes its type, once for each value and type; what is computed where follows from `Rules`.
Types are followed through the graph, so that nothing is cast that is of the right type already. Where a type is known
only when the network is bound (that of an input), ``amp_multicast`` finds the widest one then.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import torch

from ... import dtypes
from ...errors import DTypeError
from ...ops import find
from ...precision import LOW_TYPES, Rules
from ..control_flow import control_flow_operator, is_control_flow
from ..graph import Application, Entry, Graph, Node, Variable, rewrite
from ..inference import infer_types

__all__ = ["CASTS", "cast_inputs", "mixed_precision", "without_casts"]

#: The operators that it puts in, which have as many outputs as inputs.
CASTS = ("amp_cast", "amp_multicast")


def mixed_precision(
    graph: Graph,
    rules: Rules,
    data_names: Collection[str] | None = None,
    excluded: Collection[str] = (),
    store_low: bool = False,
) -> Graph:
    """Return `graph` with casts, computed by `rules`; its outputs have the types that they had.

    Parameters
    ----------
    graph
        A network; what is not declared otherwise is float32.
    rules
        What each operator is computed in.
    data_names
        Which variables are inputs, of types that are not known yet. The others are parameters, and get their type as an
        attribute. None: all are inputs.
    excluded
        Names of nodes that stay as they are.
    store_low
        Store in the 16-bit type each parameter that nothing needs in float32, instead of a cast.

    Examples
    --------
    >>> import rebind as mx
    >>> low = Rules(torch.float16, low=frozenset({"dot"}), full=frozenset(), widest=frozenset())
    >>> product = mx.sym.dot(mx.sym.var("a"), mx.sym.var("b"), name="product")
    >>> [node.name for node in mixed_precision(product.graph, low).nodes if not node.is_variable]
    ['a_amp_cast_float16', 'b_amp_cast_float16', 'product', 'product_output_amp_cast_float32']
    """
    return _Conversion(graph, rules, data_names, frozenset(excluded), store_low).run()


class _Value(NamedTuple):
    """The entry in the new graph that has the value of one in the old.

    `dtype` is None where it is not known; `lowered` is whether it is of less precision than it was, or may be.
    """

    entry: Entry
    dtype: torch.dtype | None
    lowered: bool

    @property
    def may_be_float(self) -> bool:
        return self.dtype is None or self.dtype.is_floating_point


class _Conversion:
    def __init__(
        self,
        graph: Graph,
        rules: Rules,
        data_names: Collection[str] | None,
        excluded: frozenset[str],
        store_low: bool,
    ) -> None:
        self.graph, self.rules, self.excluded = graph, rules, excluded
        params = [] if data_names is None else [n for n in graph.variables if n.name not in data_names]
        self.params = {id(node) for node in params}
        # Parameters are float32 unless they declare otherwise; inputs stay open, since they may be integers: tokens, or
        # the bytes of an image.
        declared = {node.name: torch.float32 for node in params if "__dtype__" not in node.attributes}
        self.types = infer_types(graph, declared)
        self.low_params = self._only_for_low() if store_low else set()
        self.values: dict[Entry, _Value] = {}
        self.casts: dict[tuple[Entry, torch.dtype], Entry] = {}

    def run(self) -> Graph:
        for node in self.graph.nodes:
            new, types, any_lowered = self._variable(node) if node.is_variable else self._application(node)
            for i, dtype in enumerate(types):
                old = Entry(node, i)
                before = self.types.of(old)
                # Of an unknown type all that is known is whether something before it was computed in 16 bits.
                lowered = any_lowered if dtype is None else dtype in LOW_TYPES and dtype is not before
                self.values[old] = _Value(Entry(new, i), dtype, lowered)
        return Graph(self._restored(entry) for entry in self.graph.outputs)

    def _only_for_low(self) -> set[int]:
        """Return the parameters of float32 that only operators of low precision use."""
        by_low: set[int] = set()
        by_others = {id(entry.node) for entry in self.graph.outputs}
        for node in self.graph.nodes:
            low = not node.is_variable and self._kind(node) == "low"
            for entry, fixed in zip(node.inputs, _fixed(node), strict=True):
                # What is float32 whatever the operator computes in, its statistics say, must stay so.
                (by_low if low and not fixed else by_others).add(id(entry.node))
        return {
            id(node)
            for node in self.graph.arguments
            if id(node) in self.params & by_low - by_others and self.types.of(Entry(node)) is torch.float32
        }

    def _variable(self, node: Node) -> tuple[Node, Sequence[torch.dtype | None], bool]:
        dtype = self.types.of(Entry(node))
        if id(node) not in self.params or dtype is None:
            return node, [dtype], False
        if id(node) in self.low_params:
            dtype = self.rules.target
        attributes = {**node.attributes, "__dtype__": str(dtypes.flag(dtype))}
        return Variable(node.name, attributes), [dtype], False

    def _kind(self, node: Node) -> str:
        assert node.operator is not None
        # Loops are left as they are: a state must have one type in all steps, whatever the body computes in.
        if node.operator.subgraphs or node.name in self.excluded:
            return "as it was"
        return self.rules.kind(node.operator.name, node.params)

    def _application(self, node: Node) -> tuple[Node, Sequence[torch.dtype | None], bool]:
        kind = self._kind(node)
        values = [self.values[entry] for entry in node.inputs]
        # An operator that takes any type may still want one type for all inputs, as the sum of a value that was lowered
        # and one that was not.
        if kind == "any" and self._disagree(node, values):
            kind = "widest"
        fixed = _fixed(node)
        entries, types = [value.entry for value in values], [value.dtype for value in values]
        lowered = [value.lowered for value in values]
        floats = [i for i, value in enumerate(values) if value.may_be_float and not fixed[i]]
        if kind == "low":
            for i in floats:
                entries[i], types[i] = self._low(values[i]), self.rules.target
        elif kind == "widest" and len({types[i] for i in floats}) == 1 and None not in types:
            pass  # of one type already
        # One of the types is unknown: which is the widest shows at run time.
        elif kind == "widest" and any(lowered) and None in [types[i] for i in floats]:
            multicast = _multicast(f"{node.name}_amp_multicast", entries)
            entries = [Entry(multicast, i) for i in range(len(entries))]
            types = [None if i in floats else dtype for i, dtype in enumerate(types)]
        elif kind != "any":
            # Back to float32, whatever came in 16 bits by a cast of ours; by the user's own, only for "full".
            for i in range(len(values)):
                if lowered[i] or (kind == "full" and types[i] in LOW_TYPES):
                    entries[i], types[i], lowered[i] = self._full(values[i]), torch.float32, False
        new = node if tuple(entries) == node.inputs else node.with_inputs(entries)
        return new, _output_types(node, types), kind == "low" or any(lowered)

    def _disagree(self, node: Node, values: Sequence[_Value]) -> bool:
        """Return whether inputs that must be of one type would not be, if unknown ones are float32."""
        if not any(value.lowered for value in values) or len(values) == 1:
            return False
        try:
            _output_types(node, [value.dtype or torch.float32 for value in values])
        except DTypeError:
            return True
        return False

    def _low(self, value: _Value) -> Entry:
        return value.entry if value.dtype is self.rules.target else self._cast(value.entry, self.rules.target)

    def _full(self, value: _Value) -> Entry:
        return self._cast(value.entry, torch.float32)

    def _restored(self, entry: Entry) -> Entry:
        value = self.values[entry]
        return self._full(value) if value.lowered else value.entry

    def _cast(self, entry: Entry, dtype: torch.dtype) -> Entry:
        # One cast for each value and type, however many nodes use it: a weight is converted once in a forward pass.
        if (entry, dtype) not in self.casts:
            self.casts[entry, dtype] = _amp_cast(f"{entry.name}_amp_cast_{dtypes.name(dtype)}", entry, dtype)
        return self.casts[entry, dtype]


def _fixed(node: Node) -> list[bool]:
    """Return for each input whether its type is fixed: auxiliary states, and what an operator declares as float32."""
    op = node.operator
    if op is None:
        return []
    slots = op.inference.type_slots(node.params)
    return [
        op.signature.is_auxiliary(name) or isinstance(slots.get(name, slots.get("*", "T")), torch.dtype)
        for name in node.input_names
    ]


def _output_types(node: Node, types: Sequence[torch.dtype | None]) -> Sequence[torch.dtype | None]:
    """Return the types of a node's outputs from those of its inputs."""
    names = [str(i) for i in range(len(types))]
    # A graph of the one node: nothing else can decide its types.
    alone = node.with_inputs([Entry(Variable(name)) for name in names])
    given = {name: dtype for name, dtype in zip(names, types, strict=True) if dtype is not None}
    return infer_types(Graph(Entry(alone, i) for i in range(len(node.output_names))), given).outputs


def _amp_cast(name: str, entry: Entry, dtype: torch.dtype) -> Entry:
    op = find("amp_cast")
    given = {"dtype": dtypes.name(dtype)}
    return Entry(Application(op, name, (entry,), op.parse(given), given))


def _multicast(name: str, entries: Sequence[Entry]) -> Node:
    op = find("amp_multicast")
    given = {"num_outputs": str(len(entries))}
    return Application(op, name, tuple(entries), op.parse(given), given)


def cast_inputs(rules: Rules, node: Node, name: Callable[[str], str]) -> list[Entry]:
    """Return the inputs of one node behind the casts that `rules` ask for.

    Types are not known when a node is made, so that each input is cast: at run time this does nothing where the type is
    right. `name` gives names to new nodes: ``name("amp_cast")``.

    >>> import rebind as mx
    >>> low = Rules(torch.float16, low=frozenset({"exp"}), full=frozenset(), widest=frozenset())
    >>> node = mx.sym.exp(mx.sym.var("x")).graph.outputs[0].node
    >>> cast_inputs(low, node, lambda kind: f"{kind}0")[0].node
    <amp_cast 'amp_cast0'>
    """
    op, entries = node.operator, node.inputs
    kind = "any" if op is None else rules.kind(op.name, node.params)
    if kind == "any":
        return list(entries)
    if kind == "widest":
        # One input is the widest by itself.
        if len(entries) < 2:
            return list(entries)
        multicast = _multicast(name("amp_multicast"), entries)
        return [Entry(multicast, i) for i in range(len(entries))]
    dtype = rules.target if kind == "low" else torch.float32
    return [
        entry if fixed or _is_cast_to(entry, dtype) else _amp_cast(name("amp_cast"), entry, dtype)
        for entry, fixed in zip(entries, _fixed(node), strict=True)
    ]


def _is_cast_to(entry: Entry, dtype: torch.dtype) -> bool:
    op = entry.node.operator
    return op is not None and op.name == "amp_cast" and entry.node.params.dtype is dtype


def without_casts(graph: Graph) -> Graph:
    """Return `graph` without the casts of mixed precision, in the bodies of loops and branches too.

    >>> import rebind as mx
    >>> net = mx.sym.exp(mx.sym.amp_cast(mx.sym.var("x"), dtype="float16"), name="e")
    >>> without_casts(net.graph).nodes
    (<variable 'x'>, <exp 'e'>)
    """

    def replace(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
        if node.is_variable:
            return None
        op = node.operator
        # A cast has as many outputs as inputs: each reader gets the input in the place of the output.
        if op.name in CASTS:
            return inputs
        if is_control_flow(op) and any(map(_has_casts, op.subgraphs)):
            bodies = [without_casts(body) for body in op.subgraphs]
            made = control_flow_operator(op, node.params, bodies, len(inputs))
            new = dataclasses.replace(node, operator=made, inputs=inputs)
            return [Entry(new, i) for i in range(len(new.output_names))]
        return None

    return rewrite(graph, replace) if _has_casts(graph) else graph


def _has_casts(graph: Graph) -> bool:
    return any(
        op.name in CASTS or any(map(_has_casts, op.subgraphs))
        for node in graph.nodes
        if (op := node.operator) is not None
    )
