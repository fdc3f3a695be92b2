"""From a graph to straight-line code: one `torch.fx` graph, made once and run for every batch.

The code does not depend on shapes, so that an executor that is reshaped, a bucket that comes again, and each device of
a data-parallel group share it. It is the one seam to compilers, exporters and profilers.
"""

from __future__ import annotations

import functools
import operator
import re
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor, fx

from ..device import Device
from ..errors import MXNetError, ShapeError, UserCodeError
from ..graph import Entry, Graph, Inferred, Node, infer_shapes
from ..graph.passes import join_layers
from ..ndarray.compute import explain
from ..ops.control_flow import RUNNERS
from ..shapes import Shape, is_known
from .overwrite import count_uses, overwriting_kernels

__all__ = ["Kernels", "Plan", "lower"]

#: What operators keep between runs, by their place in the graph; for one that runs parts of a graph, a dict again.
Kernels: TypeAlias = dict[int, Any]


class Loss(NamedTuple):
    """An output whose gradient does not depend on what stands behind it.

    `reuse` tells whether the memory of its first input is free for the gradient: nothing else needs it.
    """

    node: Node
    reuse: bool


@dataclass(frozen=True)
class Plan:
    """A graph as code for one mode. It does not hold the graph, which it is kept with and must not keep alive.

    Attributes
    ----------
    training
        The mode.
    code
        The `torch.fx` module.
    run
        Its code: ``run(generator, *arguments, *auxiliary) -> (outputs, new auxiliary values, inputs of losses)``. Pure:
        arrays go in and come out; a new auxiliary value is None where the state stays as it is.
    losses
        For each output that is a loss, its node: `backward` starts from the loss's inputs, with the operator's own
        gradient. None for other outputs.
    """

    training: bool
    code: fx.GraphModule
    run: Callable[
        ..., tuple[tuple[Tensor, ...], tuple[Tensor | None, ...], tuple[tuple[Tensor, ...] | None, ...]]
    ]
    losses: tuple[Loss | None, ...]

    def blame(self, error: Exception, generator: Any, tensors: Sequence[Tensor]) -> Exception:
        """Return `error`, which `run` raised, as one that names the node that failed and its inputs."""
        return _find_failure(self.code, error, (generator, *tensors))


_plans: weakref.WeakKeyDictionary[Graph, dict[Any, Plan]] = weakref.WeakKeyDictionary()


def lower(
    graph: Graph,
    training: bool,
    device: Device,
    groups: Mapping[str, Device] | None = None,
    sizes: Mapping[int, Shape] | None = None,
    kernels: Kernels | None = None,
) -> Plan:
    """Return the plan of `graph`; made at the first call for a mode, then kept as long as the graph.

    Parameters
    ----------
    graph
        What to run.
    training
        The mode of operators such as `Dropout` and `BatchNorm`.
    device
        Where it runs.
    groups
        For a node with the attribute ``ctx_group``, the device that its group runs on.
    sizes
        By the id of a node that makes an array of a shape that it does not wholly know (``zeros(shape=(0, 200))``), the
        shape.
    kernels
        For operators that keep something between runs (`Custom`): the executor's own kernels, by their place in the
        graph. They are made here when they are not there yet, and a plan with them is not shared.
    """
    plans = _plans.setdefault(graph, {})
    places = tuple(sorted((group, str(place.torch)) for group, place in (groups or {}).items()))
    key = (training, device.torch, places, tuple((sizes or {}).items()))
    plan = plans.get(key) if kernels is None else None
    if plan is None:
        variables = (*graph.arguments, *graph.auxiliary)
        better = join_layers(graph)
        losses = _losses(better)
        code = fx.GraphModule(
            {}, _trace(better, variables, training, device, groups or {}, sizes or {}, losses, kernels)
        )
        plan = Plan(training, code, code.forward, losses)
        if kernels is None:
            plans[key] = plan
    return plan


def _losses(graph: Graph) -> tuple[Loss | None, ...]:
    """Return, for each output, its node if it is a loss whose value nothing else uses."""
    uses = count_uses(graph)

    def loss(entry: Entry) -> Loss | None:
        node, op = entry.node, entry.node.operator
        if (
            op is None
            or op.gradient_rule is None
            or op.needs_head_gradient(node.params)
            or len(op.outputs_for(node.params)) != 1
            or uses[entry] != 1
        ):
            return None
        source = node.inputs[0]
        producer = source.node.operator
        return Loss(
            node, producer is not None and producer.owns_output and source.index == 0 and uses[source] == 1
        )

    return tuple(map(loss, graph.outputs))


def _trace(
    graph: Graph,
    variables: Sequence[Node],
    training: bool,
    device: Device,
    groups: Mapping[str, Device],
    sizes: Mapping[int, Shape],
    losses: Sequence[Loss | None],
    kernels: Kernels | None,
) -> fx.Graph:
    code = fx.Graph()
    generator = code.placeholder("generator")
    several_devices = len({device.torch, *(d.torch for d in groups.values())}) > 1
    values: dict[tuple[int, int], fx.Node | None] = {}
    for i, node in enumerate(variables):
        # Names of variables need not be names in Python, nor unlike each other: "stage1/conv:0", "lambda".
        values[id(node), 0] = code.placeholder(f"input{i}_{re.sub(r'[^A-Za-z0-9_]', '_', node.name)}")
    new_aux: dict[int, fx.Node] = {}
    loss_ids = {id(loss.node) for loss in losses if loss is not None}
    loss_inputs: dict[int, tuple[Any, ...]] = {}
    kept = 0  # how many operators so far keep something between runs
    overwriting = {} if several_devices else overwriting_kernels(graph)
    for node in graph.nodes:
        op = node.operator
        if op is None:
            continue
        place = groups.get(node.attributes.get("__ctx_group__", ""), device)
        inputs = [values[id(entry.node), entry.index] for entry in node.inputs]
        if several_devices:
            inputs = [code.call_method("to", (value, place.torch)) for value in inputs]
        keywords: dict[str, Any] = dict(op.keywords(node.params))
        if id(node) in sizes:
            keywords.update(op.size_keywords(node.params, sizes[id(node)]))
        keywords.update(op.mode_keywords(training, generator, place.torch))
        arguments = tuple(_all_inputs(node, inputs))
        if id(node) in loss_ids:
            loss_inputs[id(node)] = arguments
        kernel: Callable[..., Any]
        if op.subgraphs:
            own = None if kernels is None else kernels.setdefault(kept, {})
            kernel = _ControlFlow(node, training, place, groups, own)
            kept += 1
        elif op.make_kernel is not None and kernels is not None:
            kernel = kernels.setdefault(kept, op.make_kernel())
            kept += 1
        elif id(node) in loss_ids:
            kernel = op.forward_kernel
        else:
            kernel = overwriting.get(id(node), op.kernel)
        result = code.call_function(kernel, arguments, keywords)
        result.meta["node"] = node
        names = op.outputs_for(node.params)
        if len(names) + len(op.returned_aux) == 1:
            values[id(node), 0] = result
            continue
        for i in range(len(names)):
            values[id(node), i] = code.call_function(operator.getitem, (result, i))
        if op.returned_aux:
            states = [
                e for name, e in zip(node.input_names, node.inputs, strict=True) if op.is_auxiliary(name)
            ]
            for i, entry in enumerate(states, start=len(names)):
                new_aux[id(entry.node)] = code.call_function(operator.getitem, (result, i))

    outputs = tuple(values[id(entry.node), entry.index] for entry in graph.outputs)
    sources = tuple(None if loss is None else loss_inputs[id(loss.node)] for loss in losses)
    code.output((outputs, tuple(new_aux.get(id(node)) for node in graph.auxiliary), sources))
    code.eliminate_dead_code()
    return code


class _ControlFlow:
    """Runs a loop or a branch: the code of its parts, as often as needed."""

    def __init__(
        self,
        node: Node,
        training: bool,
        device: Device,
        groups: Mapping[str, Device],
        kernels: Kernels | None,
    ) -> None:
        op = node.operator
        assert op is not None
        self.__name__ = op.name.strip("_")  # what the plan's code calls it
        self._run, self._params = RUNNERS[op.name], node.params
        self._parts = [
            _Part(graph, training, device, groups, None if kernels is None else kernels.setdefault(i, {}))
            for i, graph in enumerate(op.subgraphs)
        ]
        self._states = [i for i, name in enumerate(op.input_names) if op.is_auxiliary(name)]

    def __call__(self, *tensors: Tensor, generator: Any = None, **parameters: Any) -> Any:
        bodies = [functools.partial(part, generator) for part in self._parts]
        outputs, moved = self._run(bodies, tensors, self._params)
        results = (*outputs, *(moved.get(i) for i in self._states))
        return results if len(results) > 1 else results[0]


class _Part:
    """One part of a graph as code, made at its first run."""

    def __init__(
        self,
        graph: Graph,
        training: bool,
        device: Device,
        groups: Mapping[str, Device],
        kernels: Kernels | None,
    ) -> None:
        self._graph = graph
        self._how = training, device, groups
        self._kernels = kernels
        self._codes: dict[Any, fx.GraphModule] = {}
        self._has_open_sizes = any(
            node.operator is not None and node.operator.has_open_size(node.params) for node in graph.nodes
        )
        place = {id(node): i for i, node in enumerate(graph.variables)}
        self._order = [place[id(node)] for node in (*graph.arguments, *graph.auxiliary)]
        self._states = [place[id(node)] for node in graph.auxiliary]

    def _code(self, tensors: Sequence[Tensor]) -> fx.GraphModule:
        key = tuple(tensor.shape for tensor in tensors) if self._has_open_sizes else None
        code = self._codes.get(key)
        if code is None:
            graph, (training, device, groups) = self._graph, self._how
            named = zip((node.name for node in graph.variables), tensors, strict=True)
            shapes = {name: tuple(tensor.shape) for name, tensor in named}
            sizes = open_sizes(graph, infer_shapes(graph, shapes)) if self._has_open_sizes else {}
            variables = (*graph.arguments, *graph.auxiliary)
            losses = [None] * len(graph.outputs)  # a loss in a part is an operator like any other
            traced = _trace(graph, variables, training, device, groups, sizes, losses, self._kernels)
            code = self._codes[key] = fx.GraphModule({}, traced)
        return code

    def __call__(self, generator: Any, *tensors: Tensor) -> tuple[Sequence[Tensor], dict[int, Tensor]]:
        code, arguments = self._code(tensors), [tensors[i] for i in self._order]
        try:
            outputs, new_aux, _ = code.forward(generator, *arguments)
        except UserCodeError:
            raise
        except Exception as error:
            raise _find_failure(code, error, (generator, *arguments)) from None
        moved = zip(self._states, new_aux, strict=True)
        return outputs, {place: value for place, value in moved if value is not None}


def open_sizes(graph: Graph, inferred: Inferred) -> dict[int, Shape]:
    """Return, by the id of each node that makes an array of a size that its consumers know, the shape.

    Raises
    ------
    ShapeError
        When a shape does not follow; it names the node.
    """
    sizes = {}
    for node in graph.nodes:
        if node.operator is not None and node.operator.has_open_size(node.params):
            shape = inferred.of(Entry(node))
            if not is_known(shape):
                raise ShapeError(
                    f"{node.operator.name} {node.name!r}: its shape does not follow from the arrays (known is "
                    f"{shape}); give it in full"
                )
            sizes[id(node)] = shape
    return sizes


def _all_inputs(node: Node, present: Sequence[Any]) -> list[Any]:
    """Return the inputs with None in the places of absent optional ones, as the function takes them."""
    op = node.operator
    assert op is not None
    if op.variadic:
        return list(present)
    values = dict(zip(node.input_names, present, strict=True))
    found = [values.get(name) for name in op.input_names]
    while found and found[-1] is None:  # what is absent at the end need not be said
        found.pop()
    return found


def _find_failure(code: fx.GraphModule, error: Exception, arguments: Sequence[Any]) -> Exception:
    """Run a plan's code again, node by node, and return what fails as an error that names the node."""
    values: dict[fx.Node, Any] = {}
    rest = iter(arguments)
    for step in code.graph.nodes:
        if step.op == "output":
            break
        if step.op == "placeholder":
            values[step] = next(rest)
            continue
        args = fx.map_arg(step.args, values.__getitem__)
        keywords = fx.map_arg(step.kwargs, values.__getitem__)
        try:
            with torch.no_grad():
                if step.op == "call_method":
                    values[step] = getattr(args[0], step.target)(*args[1:], **keywords)
                else:
                    values[step] = step.target(*args, **keywords)
        except Exception as found:
            node: Node | None = step.meta.get("node")
            if node is None or node.operator is None:
                return found
            who = f"{node.operator.name} {node.name!r}"
            if isinstance(found, MXNetError):
                return type(found)(str(found).replace(node.operator.name, who, 1))
            if isinstance(found, (RuntimeError, IndexError)):
                return explain(node.operator, who, args, node.params, found)
            return found
    return error


def entry_needs_head_gradient(entry: Entry) -> bool:
    """Tell whether `backward` must be given a gradient for this output."""
    op = entry.node.operator
    return op is None or op.needs_head_gradient(entry.node.params)
