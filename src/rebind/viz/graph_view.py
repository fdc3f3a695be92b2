"""A symbol as plain data for pictures and tables: read from its JSON and its inferred shapes, both public."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from ..dtypes import DTypeLike
from ..symbol import Symbol

__all__ = ["Entry", "GraphView", "Node", "looks_like_parameter", "read_symbol"]

Shape = tuple[int, ...]
T = TypeVar("T")

# The endings by which MXNet distinguishes parameters from inputs; `_parameters` is a fused RNN's.
PARAMETER_ENDINGS = (
    "_weight",
    "_bias",
    "_beta",
    "_gamma",
    "_moving_var",
    "_moving_mean",
    "_running_var",
    "_running_mean",
    "_parameters",
)


def looks_like_parameter(name: str) -> bool:
    """Return whether a variable of this name counts as a parameter rather than an input.

    >>> looks_like_parameter("conv1_weight"), looks_like_parameter("data")
    (True, False)
    """
    return name.endswith(PARAMETER_ENDINGS)


class Entry(NamedTuple):
    """One output of one node."""

    node: int
    output: int


@dataclass(frozen=True)
class Node:
    """An operator or, with ``op == "null"``, a variable."""

    name: str
    op: str
    attrs: Mapping[str, str]
    inputs: tuple[Entry, ...]

    @property
    def is_variable(self) -> bool:
        """Whether this is a variable, which nothing computes."""
        return self.op == "null"


@dataclass(frozen=True)
class GraphView:
    """Nodes in topological order, with the shapes and types that are known.

    Attributes
    ----------
    shapes, types
        By name of output, as ``symbol.get_internals().list_outputs()`` gives them; empty when not asked for.
    auxiliary
        Names of the auxiliary states.
    """

    nodes: tuple[Node, ...]
    heads: tuple[Entry, ...]
    auxiliary: frozenset[str]
    shapes: Mapping[str, Shape] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)

    def shape(self, entry: Entry) -> Shape | None:
        """Return the shape of an output, if known.

        >>> import rebind as mx
        >>> view = read_symbol(mx.sym.var("x") * 2, who="example", shape={"x": (3,)})
        >>> view.shape(view.heads[0])
        (3,)
        """
        return self._find(self.shapes, entry)

    def type(self, entry: Entry) -> str | None:
        """Return the name of an output's type, if known.

        >>> import rebind as mx
        >>> view = read_symbol(mx.sym.var("x") * 2, who="example", shape=None, dtype={"x": "float16"})
        >>> view.type(view.heads[0])
        'float16'
        """
        return self._find(self.types, entry)

    def _find(self, table: Mapping[str, T], entry: Entry) -> T | None:
        """Look an output up by the names that it may have: `fc1_output`, `slice0_output2`, `lstm_state`."""
        name = self.nodes[entry.node].name
        if self.nodes[entry.node].is_variable:
            return table.get(name)
        usual = [f"{name}_output{entry.output}"]
        if entry.output == 0:
            usual.insert(0, f"{name}_output")
        for candidate in usual:
            if candidate in table:
                return table[candidate]
        # An output with a name of its own: the node's name and a suffix. Outputs of other nodes whose names begin so
        # too (`lstm` and `lstm_h2h`) do not count.
        longer = tuple(f"{n.name}_" for n in self.nodes if n.name.startswith(f"{name}_"))
        own = [key for key in table if key.startswith(f"{name}_") and not key.startswith(longer)]
        own = [key for key in own if key not in {node.name for node in self.nodes}]
        return table[own[entry.output]] if entry.output < len(own) else None


def read_symbol(
    symbol: Symbol,
    *,
    who: str,
    shape: Mapping[str, Sequence[int]] | None,
    dtype: Mapping[str, DTypeLike] | None = None,
) -> GraphView:
    """Read a symbol's nodes and, with `shape` or `dtype`, infer shapes and types.

    >>> import rebind as mx
    >>> view = read_symbol(mx.sym.var("x") * 2, who="example", shape={"x": (3,)})
    >>> [(node.op, view.shape(Entry(i, 0))) for i, node in enumerate(view.nodes)]
    [('null', (3,)), ('_mul_scalar', (3,))]

    Raises
    ------
    TypeError
        If `symbol` is no symbol, or `shape` or `dtype` no mapping.
    ValueError
        If the given shapes leave some output's shape unknown.
    """
    if not hasattr(symbol, "tojson"):
        raise TypeError(f"{who}: symbol must be a Symbol; got {type(symbol).__name__}")
    for argument, value in (("shape", shape), ("dtype", dtype)):
        if value is not None and not isinstance(value, Mapping):
            raise TypeError(f"{who}: {argument} must be a dict from input name to {argument}; got {value!r}")
    # An entry is [node, output, version] in JSON; versions have no meaning here.
    graph = json.loads(symbol.tojson())
    nodes = tuple(
        Node(
            name=node["name"],
            op=node["op"],
            attrs=node.get("attrs", {}),
            inputs=tuple(Entry(*entry[:2]) for entry in node["inputs"]),
        )
        for node in graph["nodes"]
    )
    heads = tuple(Entry(*entry[:2]) for entry in graph["heads"])
    internals = symbol.get_internals()
    shapes = {} if shape is None else _shapes(internals, shape, nodes, who)
    types = {} if dtype is None else _types(internals, dtype)
    return GraphView(nodes, heads, frozenset(symbol.list_auxiliary_states()), shapes, types)


def _shapes(
    internals: Symbol, given: Mapping[str, Sequence[int]], nodes: Sequence[Node], who: str
) -> dict[str, Shape]:
    """Return the shape of each output by its name."""
    found = internals.infer_shape(**given)[1]
    if found is None:
        missing = ", ".join(repr(n.name) for n in nodes if n.is_variable and n.name not in given)
        raise ValueError(
            f"{who}: shape must name enough inputs to know all shapes; got {dict(given)!r}. "
            f"Other variables are {missing}."
        )
    return {name: tuple(known or ()) for name, known in zip(internals.list_outputs(), found)}


def _types(internals: Symbol, given: Mapping[str, DTypeLike]) -> dict[str, str]:
    """Return the name of each output's type by the output's name; nothing where not all are known."""
    found = internals.infer_type(**given)[1] or ()
    return {
        name: getattr(known, "__name__", str(known)) for name, known in zip(internals.list_outputs(), found)
    }
