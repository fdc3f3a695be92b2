"""Kernels of loops and branches, which run the code of their bodies."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from torch import Tensor, fx

from ..draws import Source, derive
from ..graph import Facts, Graph, Node, Target, infer_shapes, infer_types
from ..graph.passes import uses_shapes
from ..ops.control_flow import RUNNERS
from .failure import failure_of

__all__ = ["ControlFlow"]

#: Writes the code of a body; returns it, and whether it draws random numbers.
WriteBody: TypeAlias = Callable[[Graph, Facts, Target], tuple[fx.GraphModule, bool]]


class ControlFlow:
    """The kernel of a node that runs graphs: its loop or branch, with a `Body` for each graph.

    Parameters
    ----------
    node
        The node; its operator holds the graphs.
    target
        What the code is for.
    write
        Writes the code of a body.
    """

    def __init__(self, node: Node, target: Target, write: WriteBody) -> None:
        op = node.operator
        assert op is not None
        self.__name__ = op.name.strip("_")  # what the plan's code calls it
        self._run, self._params = RUNNERS[op.name], node.params
        self._bodies = [Body(graph, target, write) for graph in op.subgraphs]
        self._states = [
            i for i, name in enumerate(op.signature.input_names) if op.signature.is_auxiliary(name)
        ]

    def __call__(self, *tensors: Tensor, generator: Source | None = None, **parameters: Any) -> Any:
        """Return the outputs and the new auxiliary states; `parameters` are the node's, which it knows."""
        steps = itertools.count(1)  # a seed must be used once only: each run of a body has its own

        def run(body: Body, *values: Tensor) -> tuple[Sequence[Tensor], dict[int, Tensor]]:
            return body(derive(generator, next(steps)), *values)

        bodies = [functools.partial(run, body) for body in self._bodies]
        outputs, new_states = self._run(bodies, tensors, self._params)
        results = (*outputs, *(new_states.get(i) for i in self._states))
        return results if len(results) > 1 else results[0]


class Body:
    """A graph that a loop or a branch runs, as code that is written at its first run."""

    def __init__(self, graph: Graph, target: Target, write: WriteBody) -> None:
        self._graph, self._target, self._write = graph, target, write
        self._codes: dict[object, tuple[fx.GraphModule, bool]] = {}
        self._uses_shapes = uses_shapes(graph, target)
        # The operator's inputs are in the order of the body's variables; a plan takes arguments first.
        position = {node: i for i, node in enumerate(graph.variables)}
        self._order = [position[node] for node in (*graph.arguments, *graph.auxiliary)]
        self._states = [position[node] for node in graph.auxiliary]

    def __call__(self, source: Source | None, *tensors: Tensor) -> tuple[Sequence[Tensor], dict[int, Tensor]]:
        """Return the outputs, and new auxiliary states by the number of their variable."""
        code, draws = self._code(tensors)
        arguments = [tensors[i] for i in self._order]
        try:
            outputs, new_aux, _ = code.forward(source, *arguments) if draws else code.forward(*arguments)
        except Exception as error:
            found = failure_of(code, error)
            if found is error:
                raise
            raise found from None
        # None is a state that did not change.
        values = zip(self._states, new_aux, strict=True)
        return outputs, {state: value for state, value in values if value is not None}

    def _code(self, tensors: Sequence[Tensor]) -> tuple[fx.GraphModule, bool]:
        # Where no pass uses shapes, one code serves all of them.
        key = tuple(tensor.shape for tensor in tensors) if self._uses_shapes else None
        if key not in self._codes:
            facts = self._facts(tensors) if self._uses_shapes else Facts()
            self._codes[key] = self._write(self._graph, facts, self._target)
        return self._codes[key]

    def _facts(self, tensors: Sequence[Tensor]) -> Facts:
        names = [node.name for node in self._graph.variables]
        types = infer_types(
            self._graph, {name: tensor.dtype for name, tensor in zip(names, tensors, strict=True)}
        )
        shapes = {name: tuple(tensor.shape) for name, tensor in zip(names, tensors, strict=True)}
        return Facts.of(infer_shapes(self._graph, shapes, types), types)
