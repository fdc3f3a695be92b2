"""Texts about a bound graph: what runs it, and its operators by name."""

from __future__ import annotations

import torch

from ..graph import Graph
from ..graph.passes import names_of_changes
from .programs import Program, Programs

__all__ = ["describe_programs", "operator_of"]


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
      chosen when gradients may be needed, and no other program can run the network
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
