"""Texts about a bound graph: its operators by name, and the memory that it takes."""

from __future__ import annotations

import torch

from ..graph import Entry, Facts, Graph
from ..shapes import size

__all__ = ["describe_memory", "operator_of"]


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


def describe_memory(graph: Graph, facts: Facts, bound_bytes: int) -> str:
    """Return the last lines of MXNet's ``debug_str()``: what bound arrays and all outputs take, and the operators.

    What has no known shape counts as nothing; what has no known type counts as float32.

    >>> import rebind as mx
    >>> print(describe_memory(mx.sym.var("x").graph, Facts(), bound_bytes=3 * 2**20), end="")
    Total 3 MB allocated
    Total 0 operators
    """
    operators = [node for node in graph.nodes if node.operator is not None]
    total = bound_bytes
    for node in operators:
        for i in range(len(node.output_names)):
            fact = facts[Entry(node, i)]
            total += size(fact.shape) * (fact.dtype or torch.float32).itemsize if fact.shape else 0
    return f"Total {round(total / 2**20)} MB allocated\nTotal {len(operators)} operators\n"
