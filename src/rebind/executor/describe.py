"""Texts about a bound graph: what runs it, its operators by name, and the memory that it takes."""

from __future__ import annotations

from collections.abc import Collection

import torch

from ..graph import Entry, Facts, Graph, Node
from ..graph.passes import names_of_changes
from ..shapes import size
from .gradient_flow import gradient_receivers
from .programs import Program, Programs

__all__ = ["describe_memory", "describe_programs", "operator_of"]


def describe_programs(graph: Graph, programs: Programs, is_trained: bool) -> str:
    """Return a text about the programs of a graph: which run, after which passes, and why no faster ones do.

    Parameters
    ----------
    graph
        The user's graph.
    programs
        What runs it.
    is_trained
        Whether an argument gets a gradient.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.MakeLoss(mx.sym.sin(mx.sym.var("x")), name="loss")
    >>> exe = net.simple_bind(mx.cpu(), x=(2,))
    >>> print(exe.describe())  # doctest: +ELLIPSIS
    loss_output on cpu(0), backend 'default', ... thread...
    training: recorded
      chosen when gradients may be asked for, and no other program takes the network
      passes: none changed it
      not compiled: the backend 'default' has no compiler for it
      not explicit: the operator sin declares no derivative
    inference: inference
      chosen when nothing can be differentiated: is_train=False, or no argument gets a gradient
      passes: none changed it
    """
    plans, threads = programs.plans, torch.get_num_threads()
    lines = [
        f"{', '.join(graph.output_names)} on {plans.device}, backend {plans.backend!r}, "
        f"{threads} thread{'s' if threads > 1 else ''}"
    ]
    if is_trained:
        program = programs.training(backward_follows=True)
        lines += _describe("training", program, graph, programs)
        reasons = {"compiled": programs.why_not_compiled(), "explicit": programs.why_not_explicit()}
        lines += [
            f"  not {name}: {reason}" for name, reason in reasons.items() if reason and name != program.name
        ]
    inference = programs.inference()
    lines += _describe("inference", inference, graph, programs)
    if inference.plan.preparation is not None:
        lines.append("  what follows from parameters alone is computed once")
    return "\n".join(lines)


def _describe(mode: str, program: Program, graph: Graph, programs: Programs) -> list[str]:
    names = names_of_changes(graph, programs.plans.facts, program.plan.target)
    lines = [
        f"{mode}: {program.name}",
        f"  chosen when {program.chosen_when}",
        f"  passes: {', '.join(names) or 'none changed it'}",
    ]
    compiled = program.plan.compiled
    if compiled is not None:
        lines.append(f"  code: compiled by {programs.plans.backend!r}")
        if compiled.uncompiled:
            lines.append(
                f"  not compiled: {', '.join(compiled.uncompiled)}: kernels for storage types, and what feeds them"
            )
    elif programs.plans.failure is not None:
        lines.append(f"  code: not compiled: {programs.plans.failure}")
    return lines


def operator_of(graph: Graph, name: str) -> str | None:
    """Return the operator that a monitor's `name` is of; None for a variable's name, or one that is of no operator.

    >>> import rebind as mx
    >>> operator_of(mx.sym.exp(mx.sym.var("x"), name="e").graph, "e_backward_output")
    "exp 'e'"
    """
    if any(node.name == name for node in graph.variables):
        return None
    candidates = [
        node for node in graph.nodes if node.operator is not None and name.startswith(f"{node.name}_")
    ]
    if not candidates:
        return None
    # Of `fc` and `fc_2`, the output `fc_2_output` is of the longer one.
    node = max(candidates, key=lambda node: len(node.name))
    assert node.operator is not None
    return f"{node.operator.name} {node.name!r}"


def describe_memory(graph: Graph, facts: Facts, wanted: Collection[str]) -> str:
    """Return the last lines of MXNet's ``debug_str()``: what a step takes beside the bound arrays, and the operators.

    The result of a node is freed when it is used up, or with the gradient that it is needed for. What has no known
    shape counts as nothing; what has no known type counts as float32.

    Parameters
    ----------
    graph, facts
        The network, and its shapes and types.
    wanted
        The names of the arguments that get gradients.

    Examples
    --------
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
    operators = [node for node in graph.nodes if node.operator is not None]
    reached = gradient_receivers(graph)
    differentiated: set[Node] = set()
    for node in graph.nodes:
        if node.is_variable:
            depends = node.name in wanted
        else:
            depends = any(entry.node in differentiated for entry in node.inputs)
        # A node is differentiated if an argument that wants a gradient is before it, and one of an output after it.
        if depends and node in reached:
            differentiated.add(node)

    def nbytes(node: Node) -> int:
        # What is not known counts nothing.
        found = [facts[Entry(node, i)] for i in range(len(node.output_names))]
        return sum(size(f.shape) * (f.dtype or torch.float32).itemsize for f in found if f.shape)

    sizes: dict[Node, int] = {node: nbytes(node) for node in operators}
    # Needed after forward: outputs, and what the gradients are computed from.
    retained = {entry.node for entry in graph.outputs}
    for node in operators:
        if node in differentiated:
            retained.update((node, *(entry.node for entry in node.inputs)))
    # Later uses replace earlier ones.
    last_use = {entry.node: i for i, node in enumerate(operators) for entry in node.inputs}
    live = peak = 0
    for i, node in enumerate(operators):
        live += sizes[node]
        peak = max(peak, live)
        inputs = {entry.node for entry in node.inputs}
        live -= sum(sizes.get(each, 0) for each in inputs - retained if last_use[each] == i)
    # Backward adds a node's head gradients and the gradients of its inputs.
    backward = [
        sizes[node] + sum(sizes.get(each, 0) for each in {entry.node for entry in node.inputs})
        for node in operators
        if node in differentiated
    ]
    total = max(peak, live + max(backward, default=0))
    return f"Total {round(total / 2**20)} MB allocated\nTotal {len(operators)} operators\n"
