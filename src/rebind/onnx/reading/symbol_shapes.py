"""Shapes of what is read so far, where ONNX's own inference does not know them."""

from __future__ import annotations

from ...errors import MXNetError
from ...graph import Application, Entry, Graph, Node, Variable, infer_shapes
from ...shapes import Shape
from ...symbol import Symbol

__all__ = ["SymbolShapes"]


class SymbolShapes:
    """Shapes of entries of a symbol's graph, each node inferred once, when it is first asked for."""

    def __init__(self) -> None:
        self._known: dict[Entry, Shape | None] = {}

    def set(self, symbol: Symbol, shape: Shape | None) -> None:
        """Say what shape a variable has; 0 stands where a size is free."""
        self._known[symbol.graph.outputs[0]] = shape

    def of(self, symbol: Symbol) -> Shape | None:
        """Return the shape of a symbol; None where nothing is known."""
        entry = symbol.graph.outputs[0]
        if entry not in self._known:
            for node in symbol.graph.nodes:
                if Entry(node) not in self._known:
                    self._infer(node)
        return self._known.get(entry)

    def _infer(self, node: Node) -> None:
        if not isinstance(node, Application):
            text = node.attributes.get("__shape__")
            self._known[Entry(node)] = (
                None if text is None else tuple(int(n) for n in text.strip("()").split(",") if n.strip())
            )
            return
        stand_ins = [Variable(f"input{i}") for i in range(len(node.inputs))]
        shapes = {
            variable.name: shape
            for variable, entry in zip(stand_ins, node.inputs)
            if (shape := self._known.get(entry)) is not None
        }
        alone = node.with_inputs([Entry(variable) for variable in stand_ins])
        try:
            found = infer_shapes(Graph(alone.outputs), shapes).entries
        except MXNetError:  # it is an error of the network's, which binding will explain
            found = {}
        for i, output in enumerate(alone.outputs):
            self._known[Entry(node, i)] = found.get(output)
