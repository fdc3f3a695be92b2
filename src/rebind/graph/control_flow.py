"""Loops and branches in a graph: operators that hold graphs.

Each such node has an operator of its own: what it takes, and what shapes and types go through it, follow from its
parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..errors import FormatError, ShapeError
from ..ops import Inference, Input, Kernels, Operator, Record, Shapes, Signature, Types
from ..ops.control_flow import RUNNERS
from ..params import Params
from ..shapes import Shape, is_known, merge
from .graph import Entry, Graph
from .inference import Inferred, infer_shapes, infer_types

__all__ = ["control_flow_operator", "is_control_flow", "is_stateful", "needs_randomness"]


def is_control_flow(op: Operator) -> bool:
    """Return whether an operator runs parts of a graph."""
    return op.name in RUNNERS


def is_stateful(graph: Graph) -> bool:
    """Return whether an operator in the graph, or in a part, keeps something from one run to the next."""
    return any(
        op.kernels.make is not None or any(map(is_stateful, op.subgraphs))
        for node in graph.nodes
        if (op := node.operator) is not None
    )


def needs_randomness(graph: Graph) -> bool:
    """Return whether an operator in the graph, or in a part, draws random numbers."""
    return any(
        "generator" in node.operator.signature.modes for node in graph.nodes if node.operator is not None
    )


class Part(NamedTuple):
    """One of the graphs, and how it is connected.

    `sources` tells for each of its variables the number of the input that it stands for and whether it sees one slice
    of it; `outputs`, for each of its outputs, the number of the output that it gives, whether stacked with those of
    other steps, and the input that it takes the place of in the next step.
    """

    graph: Graph
    sources: tuple[tuple[int, bool], ...]
    outputs: tuple[tuple[int, bool, int | None], ...]
    steps: int | None  # how many steps are stacked; None: as many as the first input has slices


def _parts(name: str, p: Params, graphs: Sequence[Graph]) -> list[Part]:
    """Return the parts of an operator with their connections; IndexError when the parameters do not fit."""
    if name == "_foreach":
        places = (*p.in_data_locs, *p.in_state_locs, *p.remain_locs)
        count, data = len(places), len(p.in_data_locs)
        sources = tuple((places.index(i), i in p.in_data_locs) for i in range(count))
        states = range(data, data + len(p.in_state_locs))
        stacked: list[tuple[int, bool, int | None]] = [(i, True, None) for i in range(p.num_out_data)]
        carried = [(p.num_out_data + k, False, place) for k, place in enumerate(states)]
        return [Part(graphs[0], sources, (*stacked, *carried), None)]
    if name == "_while_loop":
        variables = [p.func_input_locs[place] for place in p.func_var_locs]
        stacked = [(i, True, None) for i in range(p.num_out_data)]
        carried = [(p.num_out_data + k, False, place) for k, place in enumerate(variables)]
        return [
            Part(graphs[0], tuple((i, False) for i in p.cond_input_locs), (), None),
            Part(
                graphs[1],
                tuple((i, False) for i in p.func_input_locs),
                (*stacked, *carried),
                p.max_iterations,
            ),
        ]
    branches = (p.cond_input_locs, p.then_input_locs, p.else_input_locs)
    through = tuple((i, False, None) for i in range(p.num_outputs))
    return [
        Part(graph, tuple((i, False) for i in places), outputs, None)
        for graph, places, outputs in zip(graphs, branches, ((), through, through), strict=True)
    ]


def control_flow_operator(template: Operator, p: Params, graphs: Sequence[Graph], inputs: int) -> Operator:
    """Return the operator of one node.

    Parameters
    ----------
    template
        ``_foreach``, ``_while_loop`` or ``_cond``.
    p
        Its parameters.
    graphs
        Its parts.
    inputs
        How many inputs the node has.

    Raises
    ------
    FormatError
        When parameters, parts and inputs do not fit each other.
    """
    wanted = {"_foreach": 1, "_while_loop": 2, "_cond": 3}[template.name]
    try:
        if len(graphs) != wanted:
            raise ValueError(f"it needs {wanted} subgraphs; got {len(graphs)}")
        parts = _parts(template.name, p, graphs)
        for part in parts:
            if len(part.sources) != len(part.graph.variables):
                raise ValueError(
                    f"a subgraph takes {len(part.graph.variables)} arrays; got {len(part.sources)}"
                )
            if part.outputs and len(part.outputs) != len(part.graph.outputs):
                raise ValueError(
                    f"a subgraph gives {len(part.graph.outputs)} arrays; {len(part.outputs)} are used"
                )
        if {place for part in parts for place, _ in part.sources} != set(range(inputs)):
            raise ValueError(f"its parameters do not name each of its {inputs} inputs")
    except (ValueError, IndexError) as error:
        raise FormatError(f"parameters, subgraphs and inputs must fit each other; {error}") from None

    states = {
        place
        for part in parts
        for variable, (place, _) in zip(part.graph.variables, part.sources, strict=True)
        if variable in part.graph.auxiliary
    }
    names = tuple(f"arg{i}" for i in range(inputs))
    outputs = template.record.output_names(p)
    flow = _Flow(parts, names, len(outputs))
    return Operator(
        template.name,
        Signature(
            tuple(Input(name, auxiliary=i in states) for i, name in enumerate(names)),
            template.signature.parameters,
            frozenset({"generator"} if any(map(needs_randomness, graphs)) else ()),
        ),
        Kernels(flow.on_meta),
        Inference(
            flow.fill_shapes, types=dict.fromkeys((*names, *outputs), "any"), types_rule=flow.fill_types
        ),
        Record(outputs),
        subgraphs=tuple(graphs),
    )


class _Flow:
    """What shapes and types go through a node."""

    def __init__(self, parts: Sequence[Part], names: Sequence[str], outputs: int) -> None:
        self.parts, self.names, self.outputs = parts, names, outputs

    def fill_types(self, types: Types, p: Params) -> Types:
        """Return the types of inputs and outputs."""
        known = [types.get(name) for name in self.names]
        found: list[torch.dtype | None] = [None] * self.outputs
        for part in (*self.parts, *self.parts):  # what the last part tells may help the first
            inferred = self._types(part, known)
            for variable, (place, _) in zip(part.graph.variables, part.sources, strict=True):
                known[place] = known[place] or inferred.of(Entry(variable))
            for dtype, (place, _, back) in zip(inferred.outputs, part.outputs, strict=False):
                found[place] = found[place] or dtype
                if back is not None:
                    known[back] = known[back] or dtype
        outputs = ("output",) if self.outputs == 1 else tuple(f"output{i}" for i in range(self.outputs))
        return {**dict(zip(self.names, known, strict=True)), **dict(zip(outputs, found, strict=True))}

    def _types(self, part: Part, known: Sequence[torch.dtype | None]) -> Inferred[torch.dtype]:
        given = {
            variable.name: known[place]
            for variable, (place, _) in zip(part.graph.variables, part.sources, strict=True)
        }
        return infer_types(part.graph, given)

    def fill_shapes(self, shapes: Shapes, p: Params) -> Shapes:
        """Return the shapes of inputs, as far as they follow."""
        known = [shapes.get(name) for name in self.names]
        while True:
            before = list(known)
            for part in self.parts:
                inferred = self._shapes(part, known)
                for variable, (place, sliced) in zip(part.graph.variables, part.sources, strict=True):
                    shape = inferred.of(Entry(variable))
                    if shape is not None and sliced:
                        shape = ((known[place] or (0,))[0], *shape)
                    known[place] = self._merged(place, known[place], shape)
                for shape, (_, _, back) in zip(inferred.outputs, part.outputs, strict=False):
                    if back is not None:
                        known[back] = self._merged(back, known[back], shape)
            if known == before:
                return dict(zip(self.names, known, strict=True))

    def _merged(self, place: int, first: Shape | None, second: Shape | None) -> Shape | None:
        try:
            return merge(first, second)
        except ValueError:
            raise ShapeError(
                f"input {place} has shape {first}, but what takes its place in the next step has shape {second}"
            ) from None

    def _shapes(
        self, part: Part, known: Sequence[Shape | None], types: Sequence[torch.dtype | None] | None = None
    ) -> Inferred[Shape]:
        given = {}
        for variable, (place, sliced) in zip(part.graph.variables, part.sources, strict=True):
            shape = known[place]
            if shape is not None:
                given[variable.name] = shape[1:] if sliced else shape
        return infer_shapes(part.graph, given, None if types is None else self._types(part, types))

    def on_meta(self, *tensors: Tensor, **parameters: Any) -> Any:
        """Return outputs without content."""
        shapes, types = [tuple(tensor.shape) for tensor in tensors], [tensor.dtype for tensor in tensors]
        found: list[Any] = [None] * self.outputs
        for part in self.parts:
            if not part.outputs:
                continue
            inferred, dtypes = self._shapes(part, shapes, types), self._types(part, types)
            steps = shapes[0][0] if part.steps is None else part.steps
            for shape, dtype, (place, stacked, _) in zip(
                inferred.outputs, dtypes.outputs, part.outputs, strict=True
            ):
                if shape is None or not is_known(shape):
                    raise ShapeError(f"the shape of output {place} does not follow from the inputs' shapes")
                whole = (steps, *shape) if stacked else shape
                if found[place] is not None and tuple(found[place].shape) != whole:
                    raise ShapeError(
                        f"output {place} must have one shape in both branches; got {tuple(found[place].shape)} and "
                        f"{whole}"
                    )
                found[place] = torch.empty(whole, dtype=dtype or torch.float32, device="meta")
        return tuple(found) if len(found) > 1 else found[0]
