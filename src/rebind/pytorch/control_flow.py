"""Loops and branches: what their bodies read, and the calls of the functions that run them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch

from ..graph import Application, Entry, Graph, Node, infer_shapes, infer_types
from ..graph.control_flow import Body, bodies_of
from ..shapes import Shape
from .context import NetworkContext
from .facts import Facts

__all__ = ["ControlFlow"]

_PARTS = {"_foreach": ("body",), "_while_loop": ("condition", "body"), "_cond": ("condition", "then", "else")}


class ControlFlow:
    """A node that runs graphs.

    Attributes
    ----------
    helper
        The function that runs them.
    bodies
        Of each body its name, its connections, and what is known of its graph.
    passed
        Which inputs of the node the bodies are given: all but parameters that one body has for itself.
    """

    def __init__(self, outer: NetworkContext, node: Application) -> None:
        self.node = node
        self.helper = node.operator.name.strip("_")
        bodies = bodies_of(node.operator.name, node.params, node.operator.subgraphs)
        changing = {back for body in bodies for _, _, back in body.outputs}
        own = [
            {
                index
                for index, sliced in body.sources
                if not sliced and index not in changing and self._is_own(outer, bodies, body, index)
            }
            for body in bodies
        ]
        self.passed = [i for i in range(len(node.inputs)) if not any(i in each for each in own)]
        parts = _PARTS[node.operator.name]
        self.bodies = [
            (part, body, self._context(outer, body, each))
            for part, body, each in zip(parts, bodies, own, strict=True)
        ]

    def _is_own(self, outer: NetworkContext, bodies: Sequence[Body], body: Body, index: int) -> bool:
        """Whether an input is a parameter that nothing but this body uses."""
        entry, variable = self.node.inputs[index], self.variable(body, index)
        readers = [number for each in bodies for number, _ in each.sources]
        return (
            outer.owns(entry)
            and variable is not None
            and variable.name == entry.name
            and readers.count(index) == 1
        )

    @staticmethod
    def variable(body: Body, index: int) -> Node | None:
        """Return the variable of a body that reads an input of the node, if one does."""
        for variable, (number, _) in zip(body.graph.variables, body.sources, strict=True):
            if number == index:
                return variable
        return None

    def _context(self, outer: NetworkContext, body: Body, own: set[int]) -> NetworkContext:
        names = {self.node.inputs[index].name for index in own}
        parameters = {name: value for name, value in outer.parameters.items() if name in names}
        graph = Graph(body.graph.outputs)
        facts = self._facts(outer.facts, body)
        return replace(outer, graph=graph, parameters=parameters, facts=facts, inputs={})

    def _facts(self, outer: Facts, body: Body) -> Facts:
        given: dict[str, torch.dtype | None] = {
            variable.name: outer.types.get(self.node.inputs[index])
            for variable, (index, _) in zip(body.graph.variables, body.sources, strict=True)
        }
        types = infer_types(body.graph, given).entries

        def shapes(known: Mapping[Entry, Shape]) -> Mapping[Entry, Shape]:
            found = {}
            for variable, (index, sliced) in zip(body.graph.variables, body.sources, strict=True):
                shape = known.get(self.node.inputs[index])
                if shape is not None:
                    found[variable.name] = (shape[1:] or (1,)) if sliced else shape
            return infer_shapes(body.graph, found, types).entries

        return Facts(shapes(outer.shapes), shapes(outer.sizes), shapes(outer.other_sizes), types)

    def call(self, helper: str, bodies: Sequence[str], values: Sequence[str]) -> str:
        """Return the call, of bodies and values by their names."""
        p, inputs = self.node.params, f"({', '.join(values)}{',' if len(values) == 1 else ''})"
        settings: tuple[str, ...] = ()
        if self.helper == "foreach":
            settings = (f"slices={len(p.in_data_locs)}", f"states={len(p.in_state_locs)}")
        elif self.helper == "while_loop":
            states = tuple(self.passed.index(p.func_input_locs[index]) for index in p.func_var_locs)
            settings = (f"states={states!r}", f"max_iterations={p.max_iterations}")
        return f"{helper}({', '.join([*bodies, inputs, *settings])})"
