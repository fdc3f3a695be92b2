"""From a graph to straight-line code: one `torch.fx` graph, made once and run for every batch.

The code does not depend on shapes, so that an executor that is reshaped, a bucket that comes again, and each device of
a data-parallel group share it. It is the one seam to compilers, exporters and profilers.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, fx

from ..device import Device
from ..errors import MXNetError
from ..graph import Entry, Graph, Node
from ..ndarray.compute import explain

__all__ = ["Plan", "lower"]


@dataclass(frozen=True)
class Plan:
    """A graph as code for one mode.

    Attributes
    ----------
    graph
        What was lowered.
    training
        The mode.
    code
        The `torch.fx` module.
    run
        Its code: ``run(generator, *arguments, *auxiliary) -> (outputs, new auxiliary values)``. Pure: arrays go in
        and come out; a new auxiliary value is None where the state stays as it is.
    """

    graph: Graph
    training: bool
    code: fx.GraphModule
    run: Callable[..., tuple[tuple[Tensor, ...], tuple[Tensor | None, ...]]]

    def blame(self, error: Exception, generator: Any, tensors: Sequence[Tensor]) -> Exception:
        """Return `error`, which `run` raised, as one that names the node that failed and its inputs."""
        return _Blame(self.code).find(error, generator, tensors)


_plans: weakref.WeakKeyDictionary[Graph, dict[Any, Plan]] = weakref.WeakKeyDictionary()


def lower(graph: Graph, training: bool, device: Device, groups: Mapping[str, Device] | None = None) -> Plan:
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
    """
    plans = _plans.setdefault(graph, {})
    key = (training, device.torch, tuple(sorted((group, d.torch) for group, d in (groups or {}).items())))
    plan = plans.get(key)
    if plan is None:
        code = fx.GraphModule({}, _trace(graph, training, device, groups or {}))
        plan = plans[key] = Plan(graph, training, code, code.forward)
    return plan


def _trace(graph: Graph, training: bool, device: Device, groups: Mapping[str, Device]) -> fx.Graph:
    code = fx.Graph()
    generator = code.placeholder("generator")
    values: dict[tuple[int, int], fx.Node | None] = {}
    for node in (*graph.arguments, *graph.auxiliary):
        values[id(node), 0] = code.placeholder(node.name)
    new_aux: dict[int, fx.Node] = {}
    several_devices = len({device.torch, *(d.torch for d in groups.values())}) > 1

    for node in graph.nodes:
        op = node.operator
        if op is None:
            continue
        place = groups.get(node.attributes.get("__ctx_group__", ""), device)
        inputs = [values[id(entry.node), entry.index] for entry in node.inputs]
        if several_devices:
            inputs = [code.call_method("to", (value, place.torch)) for value in inputs]
        keywords: dict[str, Any] = op.keywords(node.params)
        if "training" in op.modes:
            keywords["training"] = training
        if "generator" in op.modes:
            keywords["generator"] = generator
        if "device" in op.modes:
            keywords["device"] = place.torch
        result = code.call_function(op.kernel, tuple(_all_inputs(node, inputs)), keywords)
        result.meta["node"] = node
        names = op.outputs_for(node.params)
        if len(names) + len(op.aux_names) == 1:
            values[id(node), 0] = result
            continue
        for i in range(len(names)):
            values[id(node), i] = code.call_function(operator.getitem, (result, i))
        for i, entry in enumerate(node.inputs[len(node.inputs) - len(op.aux_names) :], start=len(names)):
            new_aux[id(entry.node)] = code.call_function(operator.getitem, (result, i))

    outputs = tuple(values[id(entry.node), entry.index] for entry in graph.outputs)
    code.output((outputs, tuple(new_aux.get(id(node)) for node in graph.auxiliary)))
    code.eliminate_dead_code()
    return code


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


class _Blame(fx.Interpreter):
    """Runs a plan again, node by node, to see where it fails."""

    def find(self, error: Exception, generator: Any, tensors: Sequence[Tensor]) -> Exception:
        try:
            with torch.no_grad():
                self.run(generator, *tensors)
        except Exception as found:  # whatever it is, it is handed on, with a name
            return found
        return error

    def run_node(self, n: fx.Node) -> Any:
        node: Node | None = n.meta.get("node")
        try:
            return super().run_node(n)
        except Exception as error:
            if node is None or node.operator is None:
                raise
            tensors, _ = self.fetch_args_kwargs_from_env(n)
            who = f"{node.operator.name} {node.name!r}"
            if isinstance(error, MXNetError):
                raise type(error)(str(error).replace(node.operator.name, who, 1)) from None
            raise explain(node.operator, who, tensors, node.params, error) from None


def entry_needs_head_gradient(entry: Entry) -> bool:
    """Tell whether `backward` must be given a gradient for this output."""
    op = entry.node.operator
    return op is None or op.needs_head_gradient(entry.node.params)
