"""Code of which a compiler takes the dense part, and kernels for storage types compute the rest.

Compilers take and give dense tensors only: of a table they would make a dense gradient. So whatever such a kernel
computes, and what that is computed from, runs as it is, and hands dense tensors to the rest, which is compiled as one
piece. Autograd goes back through both.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection

from torch import fx

from ..graph import Node
from .compiling import CompiledCode

__all__ = ["PartlyCompiledCode"]


class PartlyCompiledCode(CompiledCode):
    """The code of a plan, with all that follows some nodes compiled as one piece.

    Parameters
    ----------
    code
        The plan's.
    nodes
        The nodes that are not compiled; what they are computed from is among them.
    make
        Makes compiled code of the rest.

    Attributes
    ----------
    first
        The code that is not compiled; it returns what the rest reads.
    rest
        The code of the rest.

    Examples
    --------
    >>> import torch, rebind as mx
    >>> from rebind.executor import Target, lower
    >>> graph = mx.sym.sin(mx.sym.exp(mx.sym.var("x"), name="exp")).graph
    >>> plan = lower(graph, Target(traced=True))
    >>> nodes = {node for node in graph.nodes if node.name == "exp"}
    >>> code = PartlyCompiledCode(plan.code, nodes, lambda rest: CompiledCode(rest, "eager"))
    >>> outputs, _, _ = code(torch.zeros(1))
    >>> outputs[0], code.uncompiled
    (tensor([0.8415]), ('exp',))
    """

    def __init__(
        self,
        code: fx.GraphModule,
        nodes: Collection[Node],
        make: Callable[[fx.GraphModule], CompiledCode],
    ) -> None:
        first = _first_steps(code.graph, nodes)
        self.first, self.rest = _split(code.graph, first)
        self._compiled_rest = make(self.rest)
        super().__init__(code, self._compiled_rest.compiler)
        self.uncompiled = tuple(step.meta["node"].name for step in first if "node" in step.meta)

    def __call__(self, *inputs: object) -> object:
        """Run it."""
        return self._compiled_rest(*self.first.forward(*inputs))

    def give_up(self, reason: str) -> None:
        """Note why it cannot be compiled, and drop what was compiled."""
        super().give_up(reason)
        self._compiled_rest.give_up(reason)


def _first_steps(code: fx.Graph, nodes: Collection[Node]) -> list[fx.Node]:
    """Return the inputs of code, and the steps that compute some nodes and what these are computed from."""
    found: set[fx.Node] = set()
    for step in reversed(code.nodes):
        if step in found or step.op == "placeholder" or step.meta.get("node") in nodes:
            found.update((step, *step.all_input_nodes))
    # One of several results is a step of its own.
    found |= {step for step in code.nodes if step.target is operator.getitem and step.args[0] in found}
    return [step for step in code.nodes if step in found]


def _split(code: fx.Graph, first: Collection[fx.Node]) -> tuple[fx.GraphModule, fx.GraphModule]:
    """Return the code of the first steps, and that of the others, whose inputs are the results of the former."""
    others = [step for step in code.nodes if step not in set(first)]
    used = {each for step in others for each in step.all_input_nodes}
    read = [step for step in first if step in used]

    before, after = fx.Graph(), fx.Graph()
    copies: dict[fx.Node, fx.Node] = {}
    for step in first:
        copies[step] = before.node_copy(step, copies.__getitem__)
    before.output(tuple([copies[step] for step in read]))

    copies = {step: after.placeholder(step.name) for step in read}
    for step in others:
        copies[step] = after.node_copy(step, copies.__getitem__)
    return fx.GraphModule({}, before), fx.GraphModule({}, after)
