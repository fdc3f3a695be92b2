"""The memory that a network takes: what its arrays hold, and its results in a step, by node."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import torch

from ..graph import Entry, Facts, Graph, Node
from ..ndarray import NDArray
from ..shapes import size
from .bound import BoundArrays
from .gradient_flow import gradient_receivers

__all__ = ["ResultMemory", "describe_memory", "memory_summary", "memory_unit", "result_memory"]


@dataclass(frozen=True)
class ResultMemory:
    """What the results of a step take, in bytes.

    Attributes
    ----------
    peak
        The most that they take at one time.
    at
        The node that runs then, as ``fc1``, or ``fc1_backward``; '' without operators.
    holders
        What is held then, by node; the largest first.
    retained
        What is held from forward to backward, by node, and the outputs; the largest first.
    operators
        How many operators there are.
    """

    peak: int
    at: str
    holders: Mapping[str, int]
    retained: Mapping[str, int]
    operators: int


def result_memory(graph: Graph, facts: Facts, wanted: Collection[str]) -> ResultMemory:
    """Return what the results of a step take, by node.

    Each is freed when it is used up, or with the gradient that it is needed for. What has no known shape counts as
    nothing; what has no known type counts as float32.

    Parameters
    ----------
    graph, facts
        The network, and its shapes and types.
    wanted
        The names of the arguments that get gradients.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.sin(mx.sym.exp(mx.sym.var("x"), name="exp"), name="sin")
    >>> facts = net.simple_bind(mx.cpu(), x=(256,)).runner.plans.facts
    >>> found = result_memory(net.graph, facts, {"x"})
    >>> found.peak, found.at, dict(found.retained)
    (4096, 'sin_backward', {'exp': 1024, 'sin': 1024})
    """
    operators = [node for node in graph.nodes if node.operator is not None]
    differentiated = _differentiated(graph, wanted)
    sizes: dict[Node, int] = {node: _nbytes(node, facts) for node in operators}
    # Needed after forward: outputs, and what the gradients are computed from.
    retained = {entry.node for entry in graph.outputs}
    for node in operators:
        if node in differentiated:
            retained.update((node, *(entry.node for entry in node.inputs)))
    # Later uses replace earlier ones.
    last_use = {entry.node: i for i, node in enumerate(operators) for entry in node.inputs}
    live: dict[Node, int] = {}
    peak = total = 0
    at, named = "", {}
    for i, node in enumerate(operators):
        live[node] = sizes[node]
        total += sizes[node]
        if total > peak:
            peak, at, named = total, node.name, {each.name: count for each, count in live.items()}
        for each in {entry.node for entry in node.inputs} - retained:
            if last_use[each] == i:
                total -= live.pop(each, 0)
    # Backward adds a node's head gradients and the gradients of its inputs.
    for node in operators:
        if node in differentiated:
            inputs = sum(sizes.get(each, 0) for each in {entry.node for entry in node.inputs})
            if total + sizes[node] + inputs > peak:
                peak, at = total + sizes[node] + inputs, f"{node.name}_backward"
                named = {each.name: count for each, count in live.items()}
                named[f"gradients at {node.name}"] = sizes[node] + inputs
    after = {node.name: sizes[node] for node in operators if node in retained}
    return ResultMemory(peak, at, _largest_first(named), _largest_first(after), len(operators))


def _differentiated(graph: Graph, wanted: Collection[str]) -> set[Node]:
    """Return the nodes with an argument that wants a gradient before them, and an output's gradient after them."""
    reached = gradient_receivers(graph)
    found: set[Node] = set()
    for node in graph.nodes:
        if node.is_variable:
            depends = node.name in wanted
        else:
            depends = any(entry.node in found for entry in node.inputs)
        if depends and node in reached:
            found.add(node)
    return found


def _nbytes(node: Node, facts: Facts) -> int:
    known = [facts[Entry(node, i)] for i in range(len(node.output_names))]
    return sum(size(each.shape) * (each.dtype or torch.float32).itemsize for each in known if each.shape)


def _largest_first(found: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(found.items(), key=lambda each: each[1], reverse=True))


def describe_memory(graph: Graph, facts: Facts, wanted: Collection[str]) -> str:
    """Return the last lines of MXNet's ``debug_str()``: what a step takes beside the bound arrays, and the operators.

    >>> import rebind as mx
    >>> net = mx.sym.var("x")
    >>> for _ in range(10):
    ...     net = net * mx.sym.var("y")
    >>> shapes = dict.fromkeys(("x", "y"), (1024, 1024))
    >>> for request in ("write", "null"):
    ...     print(net.simple_bind(mx.cpu(), request, **shapes).debug_str().splitlines()[-2])
    Total 48 MB allocated
    Total 8 MB allocated
    """
    found = result_memory(graph, facts, wanted)
    return f"Total {round(found.peak / 2**20)} MB allocated\nTotal {found.operators} operators\n"


def memory_summary(arrays: BoundArrays, facts: Facts, rows: int) -> str:
    """Return a text about the memory of a bound network: its arrays, and its results in a step, the largest first.

    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1024, name="fc")
    >>> print(net.simple_bind(mx.cpu(), data=(256, 1024)).memory_summary())
    arguments                  5.0 MB: fc_weight 4.0, data 1.0, fc_bias 0.0
    gradients                  5.0 MB: fc_weight 4.0, data 1.0, fc_bias 0.0
    results for backward       1.0 MB: fc 1.0
    results at the peak        2.0 MB: fc 1.0, gradients at fc 1.0 (in fc_backward)
    together                  12.0 MB
    """
    slots = arrays.slots
    wanted = {name for name, slot in slots.items() if slot.grad is not None}
    found = result_memory(arrays.graph, facts, wanted)
    lines = {
        "arguments": _held({name: slot.array for name, slot in slots.items()}),
        "gradients": _held({name: slot.bound_grad for name, slot in slots.items()}),
        "auxiliary states": _held(arrays.aux),
        "results for backward": found.retained if wanted else {},
        "results at the peak": found.holders,
    }
    together = sum(sum(each.values()) for name, each in lines.items() if name != "results for backward")
    unit, size = memory_unit(together)
    text = [
        _line(name, sum(each.values()) / size, unit, _shown(each, rows, size))
        for name, each in lines.items()
        if each
    ]
    text[-1] += f" (in {found.at})" if found.at else ""
    return "\n".join([*text, _line("together", together / size, unit, "")])


def memory_unit(count: int) -> tuple[str, int]:
    """Return in which unit a text shows numbers of bytes of which `count` is the largest, and its size.

    >>> memory_unit(3 * 2**20), memory_unit(2000)
    (('MB', 1048576), ('kB', 1024))
    """
    return ("MB", 2**20) if count >= 2**20 else ("kB", 2**10)


def _held(arrays: Mapping[str, NDArray | None]) -> dict[str, int]:
    """Return what arrays hold, by name; an array with several names counts once."""
    found = {id(array): (name, array.storage.nbytes) for name, array in arrays.items() if array is not None}
    return _largest_first(dict(found.values()))


def _shown(found: Mapping[str, int], rows: int, unit: int) -> str:
    listed = [f"{name} {count / unit:.1f}" for name, count in list(found.items())[:rows]]
    return ", ".join([*listed, *([f"{len(found) - rows} more"] if len(found) > rows else [])])


def _line(name: str, count: float, unit: str, listed: str) -> str:
    return f"{name:<20} {count:>9.1f} {unit}{': ' if listed else ''}{listed}"
