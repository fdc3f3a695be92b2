"""Loops and branches in a graph: operators that hold graphs.

Each such node has an operator of its own: what it takes, and what shapes and types go through it, follow from its
bodies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..checks import is_of_rebind
from ..errors import FormatError, ShapeError
from ..ops import Inference, Input, Kernels, Operator, Record, Shapes, Signature, Types
from ..ops.control_flow import RUNNERS
from ..params import Params
from ..shapes import Shape, is_known, merge
from .graph import Application, Entry, Graph, Node
from .inference import Inferred, infer_shapes, infer_types

__all__ = [
    "Body", "Flow", "bodies_of", "control_flow_operator", "counted_constants", "is_control_flow", "is_stateful",
    "needs_randomness", "runs_users_code",
]  # fmt: skip


def is_control_flow(op: Operator) -> bool:
    """Return whether an operator runs bodies of a graph.

    >>> from rebind.ops import find
    >>> is_control_flow(find("_foreach")), is_control_flow(find("exp"))
    (True, False)
    """
    return op.name in RUNNERS


def is_stateful(graph: Graph) -> bool:
    """Return whether an operator in the graph, or in a body, remembers something from one run to the next.

    >>> import rebind as mx
    >>> is_stateful(mx.sym.Dropout(mx.sym.var("x")).graph)  # what it draws is not remembered
    False
    """
    return any(
        op.kernels.make is not None or any(map(is_stateful, op.subgraphs))
        for node in graph.nodes
        if (op := node.operator) is not None
    )


def runs_users_code(graph: Graph) -> bool:
    """Return whether an operator in the graph, or in a body, is not the library's, so that it may do anything.

    >>> import rebind as mx
    >>> runs_users_code(mx.sym.exp(mx.sym.var("x")).graph)
    False
    """
    return any(
        op.kernels.runs_users_code
        or not is_of_rebind(op.kernels.function)
        or any(map(runs_users_code, op.subgraphs))
        for node in graph.nodes
        if (op := node.operator) is not None
    )


def needs_randomness(graph: Graph, training: bool = True) -> bool:
    """Return whether an operator in the graph, or in a body, draws random numbers in a mode.

    >>> import rebind as mx
    >>> x = mx.sym.var("x")
    >>> needs_randomness(mx.sym.Dropout(x).graph), needs_randomness(mx.sym.exp(x).graph)
    (True, False)
    """
    return any(
        node.operator.draws(node.params, training) for node in graph.nodes if node.operator is not None
    )


def counted_constants(graph: Graph) -> dict[Node, float]:
    """Return the variables that an operator of the graph, or of a body, counts as a number whatever they hold.

    >>> import rebind as mx
    >>> net = mx.sym.BatchNorm(mx.sym.var("x"), name="bn")
    >>> [(node.name, number) for node, number in counted_constants(net.graph).items()]
    [('bn_gamma', 1.0)]
    """
    found: dict[Node, float] = {}
    for node in graph.nodes:
        if isinstance(node, Application) and node.operator.kernels.constants is not None:
            numbers = node.operator.kernels.constants(node.params)
            for name, entry in zip(node.input_names, node.inputs, strict=True):
                if name in numbers and entry.node.is_variable:
                    found[entry.node] = numbers[name]
    return found


class Body(NamedTuple):
    """One of the graphs, and how it is connected.

    Attributes
    ----------
    graph
        The body.
    sources
        For each of its variables: the number of the node's input that it reads, and whether it reads one slice of it.
    outputs
        For each of its outputs: the number of the node's output that it is, whether it is stacked with those of other
        steps, and the input whose value it is in the next step, if any.
    steps
        How many steps are stacked; None: as many as the first input has slices.
    """

    graph: Graph
    sources: tuple[tuple[int, bool], ...]
    outputs: tuple[tuple[int, bool, int | None], ...]
    steps: int | None


def bodies_of(name: str, p: Params, graphs: Sequence[Graph]) -> list[Body]:
    """Return the bodies of an operator with their connections; IndexError when the parameters do not fit."""
    if name == "_foreach":
        # Inputs of the node lie as data, states, the rest; `indices` says which variable of the body each is.
        indices = (*p.in_data_locs, *p.in_state_locs, *p.remain_locs)
        count, data = len(indices), len(p.in_data_locs)
        sources = tuple((indices.index(i), i in p.in_data_locs) for i in range(count))
        states = range(data, data + len(p.in_state_locs))
        # Output of the body, whether steps are stacked, and the input that it becomes in the next step.
        stacked: list[tuple[int, bool, int | None]] = [(i, True, None) for i in range(p.num_out_data)]
        carried = [(p.num_out_data + k, False, index) for k, index in enumerate(states)]
        return [Body(graphs[0], sources, (*stacked, *carried), None)]
    if name == "_while_loop":
        variables = [p.func_input_locs[index] for index in p.func_var_locs]
        stacked = [(i, True, None) for i in range(p.num_out_data)]
        carried = [(p.num_out_data + k, False, index) for k, index in enumerate(variables)]
        return [
            Body(graphs[0], tuple((i, False) for i in p.cond_input_locs), (), None),
            Body(
                graphs[1],
                tuple((i, False) for i in p.func_input_locs),
                (*stacked, *carried),
                p.max_iterations,
            ),
        ]
    # A branch has no steps: nothing is sliced, stacked or carried on.
    branches = (p.cond_input_locs, p.then_input_locs, p.else_input_locs)
    through = tuple((i, False, None) for i in range(p.num_outputs))
    return [
        Body(graph, tuple((i, False) for i in indices), outputs, None)
        for graph, indices, outputs in zip(graphs, branches, ((), through, through), strict=True)
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
        Its bodies.
    inputs
        How many inputs the node has.

    Raises
    ------
    FormatError
        When parameters, bodies and inputs do not fit each other.

    Examples
    --------
    >>> import rebind as mx
    >>> from rebind.ops import find
    >>> x, y, pred = mx.sym.var("x"), mx.sym.var("y"), mx.sym.var("pred")
    >>> cond = find("_cond")
    >>> where = {"cond_input_locs": (0,), "then_input_locs": (1,), "else_input_locs": (1,)}
    >>> p = cond.parse({"num_args": 5, "num_outputs": 1, **where})
    >>> op = control_flow_operator(cond, p, [pred.graph, mx.sym.exp(x).graph, (y * 2).graph], inputs=2)
    >>> op.signature.input_names, len(op.subgraphs)
    (('arg0', 'arg1'), 3)
    """
    wanted = {"_foreach": 1, "_while_loop": 2, "_cond": 3}[template.name]
    try:
        if len(graphs) != wanted:
            raise ValueError(f"the node must have {wanted} subgraphs; got {len(graphs)}")
        bodies = bodies_of(template.name, p, graphs)
        for body in bodies:
            if len(body.sources) != len(body.graph.variables):
                raise ValueError(
                    f"a subgraph must have {len(body.graph.variables)} inputs; got {len(body.sources)}"
                )
            if body.outputs and len(body.outputs) != len(body.graph.outputs):
                raise ValueError(
                    f"a subgraph must have {len(body.outputs)} outputs; got {len(body.graph.outputs)}"
                )
        # An input that no body takes would never get a shape or a type.
        if {index for body in bodies for index, _ in body.sources} != set(range(inputs)):
            raise ValueError(f"the parameters must name each of the {inputs} inputs")
    except (ValueError, IndexError) as error:
        raise FormatError(f"parameters, subgraphs and inputs must fit each other; {error}") from None

    states = {
        index
        for body in bodies
        for variable, (index, _) in zip(body.graph.variables, body.sources, strict=True)
        if variable in body.graph.auxiliary
    }
    # Inputs have no names of their own in MXNet: each is what one or more bodies call a variable.
    names = tuple(f"arg{i}" for i in range(inputs))
    outputs = template.record.output_names(p)
    # What changes from step to step is not the array that the caller holds.
    changing = {index for body in bodies for _, _, index in body.outputs}
    constants = {
        names[index]: number
        for body in bodies
        for variable, number in counted_constants(body.graph).items()
        for index, sliced in [body.sources[body.graph.variables.index(variable)]]
        if not sliced and index not in changing
    }
    flow = Flow(bodies, names, len(outputs))
    return Operator(
        template.name,
        Signature(
            tuple(Input(name, auxiliary=i in states) for i, name in enumerate(names)),
            template.signature.parameters,
            frozenset({"generator"} if any(map(needs_randomness, graphs)) else ()),
        ),
        Kernels(flow.on_meta, constants=(lambda p: constants) if constants else None),
        Inference(
            flow.fill_shapes, types=dict.fromkeys((*names, *outputs), "any"), types_rule=flow.fill_types
        ),
        Record(outputs),
        subgraphs=tuple(graphs),
    )


class Flow:
    """What shapes and types go through a node."""

    def __init__(self, bodies: Sequence[Body], names: Sequence[str], outputs: int) -> None:
        self.bodies, self.names, self.outputs = bodies, names, outputs

    def fill_types(self, types: Types, p: Params) -> Types:
        """Return the types of inputs and outputs."""
        known = [types.get(name) for name in self.names]
        found: list[torch.dtype | None] = [None] * self.outputs
        for body in (
            *self.bodies,
            *self.bodies,
        ):  # twice: what the last body finds may settle a type in the first
            # Declared or found before wins: a contradiction is found by the body's own inference.
            inferred = self._types(body, known)
            for variable, (index, _) in zip(body.graph.variables, body.sources, strict=True):
                known[index] = known[index] or inferred.of(Entry(variable))
            for dtype, (index, _, back) in zip(inferred.outputs, body.outputs, strict=False):
                found[index] = found[index] or dtype
                if back is not None:
                    known[back] = known[back] or dtype
        outputs = ("output",) if self.outputs == 1 else tuple(f"output{i}" for i in range(self.outputs))
        return {**dict(zip(self.names, known, strict=True)), **dict(zip(outputs, found, strict=True))}

    def _types(self, body: Body, known: Sequence[torch.dtype | None]) -> Inferred[torch.dtype]:
        given = {
            variable.name: known[index]
            for variable, (index, _) in zip(body.graph.variables, body.sources, strict=True)
        }
        return infer_types(body.graph, given)

    def fill_shapes(self, shapes: Shapes, p: Params) -> Shapes:
        """Return the shapes of inputs, as far as they follow."""
        known = [shapes.get(name) for name in self.names]
        # To a fixed point: a state's shape comes from its first value, or from what a step makes of it. It is reached,
        # since sizes only become known and never change.
        while True:
            before = list(known)
            for body in self.bodies:
                inferred = self._shapes(body, known)
                for variable, (index, sliced) in zip(body.graph.variables, body.sources, strict=True):
                    shape = inferred.of(Entry(variable))
                    if shape is not None and sliced:
                        shape = _unsliced(shape, known[index])
                    known[index] = self._merged(index, known[index], shape)
                for shape, (_, _, back) in zip(inferred.outputs, body.outputs, strict=False):
                    if back is not None:
                        known[back] = self._merged(back, known[back], shape)
            if known == before:
                return dict(zip(self.names, known, strict=True))

    def _merged(self, index: int, first: Shape | None, second: Shape | None) -> Shape | None:
        try:
            return merge(first, second)
        except ValueError:
            raise ShapeError(
                f"input {index} must have the same shape in every step; got {first}, and {second} in the next step"
            ) from None

    def _shapes(
        self, body: Body, known: Sequence[Shape | None], types: Sequence[torch.dtype | None] | None = None
    ) -> Inferred[Shape]:
        given = {}
        for variable, (index, sliced) in zip(body.graph.variables, body.sources, strict=True):
            shape = known[index]
            if shape is not None:
                # One number is an array of one axis, as it is between brackets.
                given[variable.name] = (shape[1:] or (1,)) if sliced else shape
        return infer_shapes(body.graph, given, None if types is None else self._types(body, types))

    def on_meta(self, *tensors: Tensor, **parameters: Any) -> Any:
        """Return outputs without content."""
        shapes, types = [tuple(tensor.shape) for tensor in tensors], [tensor.dtype for tensor in tensors]
        found: list[Any] = [None] * self.outputs
        for body in self.bodies:
            if not body.outputs:
                continue
            inferred, dtypes = self._shapes(body, shapes, types), self._types(body, types)
            # A while_loop has outputs of `max_iterations` slices, however few steps it takes.
            steps = shapes[0][0] if body.steps is None else body.steps
            for shape, dtype, (index, stacked, _) in zip(
                inferred.outputs, dtypes.outputs, body.outputs, strict=True
            ):
                if shape is None or not is_known(shape):
                    raise ShapeError(
                        f"the shape of output {index} cannot be inferred from the shapes of the inputs"
                    )
                whole = (steps, *shape) if stacked else shape
                # Only the branches of a `cond` come here twice for one output.
                if found[index] is not None and tuple(found[index].shape) != whole:
                    raise ShapeError(
                        f"output {index} must have the same shape in both branches; "
                        f"got {tuple(found[index].shape)} and {whole}"
                    )
                found[index] = torch.empty(whole, dtype=dtype or torch.float32, device="meta")
        return tuple(found) if len(found) > 1 else found[0]


def _unsliced(shape: Shape, known: Shape | None) -> Shape | None:
    """Return the shape of an input that has slices of a shape, as far as it follows from these.

    >>> _unsliced((2, 3), None), _unsliced((2, 3), (5, 0, 0)), _unsliced((1,), (5,)), _unsliced((1,), None)
    ((0, 2, 3), (5, 2, 3), (5,), None)
    """
    if shape == (1,) and (known is None or len(known) == 1):
        return known  # numbers, or rows of one
    # The number of steps comes first, 0 where it is not known yet.
    return ((known or (0,))[0], *shape)
