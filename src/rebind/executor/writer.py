"""`CodeWriter`: from a graph's nodes to the calls of a `torch.fx` graph."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from dataclasses import replace

from torch import fx

from ..draws import derive
from ..graph import Application, Entry, Facts, Graph, Node, Target
from ..graph.control_flow import needs_randomness
from ..graph.passes import backend_named, optimize
from ..ndarray.storage_tensor import on_tensors
from ..ops.declaration import Function, with_gradient, without_defaults
from ..ops.storage_types import DENSE
from .control_flow import ControlFlow
from .gradient_flow import gradient_receivers
from .losses import Loss, gradient_of
from .overwrite import overwriting_kernels
from .recompute import recomputed_nodes
from .storage_kernels import storage_kernels, storage_of

__all__ = ["CodeWriter", "body_code"]


class CodeWriter:
    """Writes the code of a graph.

    Parameters
    ----------
    graph
        What the passes have made of the user's graph.
    facts, target
        What is known of it, and what the code is for.
    losses
        For each output its loss, if it is one.
    kernels
        As for `lower`.
    draws
        Whether the code draws random numbers: its first input is then what they come from.

    Attributes
    ----------
    recomputed
        The nodes whose results are not retained for backward.
    is_dense
        Whether all inputs are dense, and all kernels for that.

    Examples
    --------
    >>> import rebind as mx
    >>> graph = mx.sym.exp(mx.sym.var("x"), name="e").graph
    >>> code = CodeWriter(graph, Facts(), Target(), [None], None, draws=False).write(graph.arguments, ())
    >>> [step.op for step in code.nodes]
    ['placeholder', 'call_function', 'output']
    """

    def __init__(
        self,
        graph: Graph,
        facts: Facts,
        target: Target,
        losses: Sequence[Loss | None],
        kernels: Sequence[Function] | None,
        draws: bool,
    ) -> None:
        self.graph, self.facts, self.target, self.kernels = graph, facts, target, kernels
        self.losses = losses
        self.loss_nodes = {loss.node for loss in losses if loss is not None}
        self.records = target.recorded or target.training
        # What no gradient reaches is not recorded, so that its inputs are freed as soon as they are used.
        self.recorded = set(graph.nodes) if target.traced else gradient_receivers(graph)
        needs_gradient = self.recorded - self.loss_nodes if self.records else set()
        # Who traces the code without a compiler gives it dense copies.
        takes_stored = not target.traced or backend_named(target.backend).compiler is not None
        self.storage_kernels = storage_kernels(graph, facts, needs_gradient) if takes_stored else {}
        self.is_dense = not (
            self.storage_kernels or any(storage_of(node, facts) != DENSE for node in graph.variables)
        )
        # A compiler plans memory itself; across devices `.to` may return an array that others use; what kernels for
        # other storage types need for their gradients is not known.
        in_place = self.is_dense and not (target.traced or target.spans_devices)
        overwriting = overwriting_kernels(graph, self.records) if in_place else {}
        # The inputs of losses are there until backward has begun.
        held = {entry.node for node in self.loss_nodes for entry in node.inputs}
        self.recomputed = recomputed_nodes(graph, facts, target, overwriting, held)
        # What is retained must be there when a node computes its result from it again.
        self.overwriting = {
            node: over.kernel
            for node, over in overwriting.items()
            if node not in self.recomputed or over.entry.node in self.recomputed
        }
        self.code = fx.Graph()
        self.source = self.code.placeholder("source") if draws else None
        self.values: dict[Entry, fx.Node] = {}
        self.new_aux: dict[Node, fx.Node] = {}
        self.loss_inputs: dict[Node, tuple[fx.Node | None, ...]] = {}
        self.stateful = 0  # how many operators so far remember something between runs
        self.drawn = 0  # how many operators so far draw

    def write(
        self,
        arguments: Sequence[Node],
        auxiliary: Sequence[Node],
        retained: Sequence[Node] = (),
        alone: bool = False,
    ) -> fx.Graph:
        """Write the code, with its inputs in the order in which the user's graph has them, then what is retained.

        With `alone` the code returns the outputs, and nothing else.
        """
        for i, node in enumerate((*arguments, *auxiliary, *retained)):
            # Names of variables need not be names in Python, nor differ from each other: "stage1/conv:0", "lambda".
            name = re.sub(r"[^A-Za-z0-9_]", "_", node.name)
            self.values[Entry(node)] = self.code.placeholder(f"input{i}_{name}")
        for node in self.graph.nodes:
            if isinstance(node, Application):
                self._call(node)
        outputs = tuple(self.values[entry] for entry in self.graph.outputs)
        new_aux = tuple(self.new_aux.get(node) for node in auxiliary)
        sources = tuple(None if loss is None else self.loss_inputs[loss.node] for loss in self.losses)
        self.code.output(outputs if alone else (outputs, new_aux, sources))
        # Outputs of nodes that nothing uses, such as a mask in inference.
        self.code.eliminate_dead_code()
        return self.code

    def _call(self, node: Application) -> None:
        op = node.operator
        device = self.facts.devices.get(Entry(node), self.target.device)
        inputs = [self.values[entry] for entry in node.inputs]
        if self.target.spans_devices:
            inputs = [self.code.call_method("to", (value, device)) for value in inputs]
        arguments = _all_inputs(node, inputs)
        kernel, keywords = self._kernel(node), op.signature.keywords(node.params)
        if kernel is op.kernels.function:  # others give them to a gradient's rule, too
            keywords = without_defaults(kernel, keywords)
        modes = op.signature.mode_keywords(self.target.training, self._source_for(node), device)
        if node in self.loss_nodes:
            self.loss_inputs[node] = arguments
        result = self.code.call_function(kernel, arguments, {**keywords, **modes})
        # This is how errors, monitors and profilers know the node of a step.
        result.meta["node"] = node
        count = len(op.record.output_names(node.params))
        # A function with one result returns it bare, not in a tuple.
        if count + len(op.returned_aux) == 1:
            self.values[Entry(node)] = result
            return
        for i in range(count):
            self.values[Entry(node, i)] = self.code.call_function(operator.getitem, (result, i))
        if op.returned_aux:
            named = zip(node.input_names, node.inputs, strict=True)
            states = [entry.node for name, entry in named if op.signature.is_auxiliary(name)]
            # Behind the outputs, in the order of the inputs.
            for i, state in enumerate(states, start=count):
                self.new_aux[state] = self.code.call_function(operator.getitem, (result, i))

    def _source_for(self, node: Application) -> fx.Node | None:
        """Return where a node's random numbers come from: under a compiler each node has a seed of its own."""
        if not node.operator.draws(node.params, self.target.training):
            return None
        if not self.target.traced:
            return self.source
        self.drawn += 1
        return self.code.call_function(derive, (self.source, self.drawn))

    def _kernel(self, node: Application) -> Function:
        """Return the function that computes a node."""
        op = node.operator
        if node in self.storage_kernels and op.kernels.make is None:
            return on_tensors(self.storage_kernels[node])
        if op.subgraphs:
            return ControlFlow(node, self.target, body_code)
        if op.kernels.make is not None:
            if self.kernels is None:
                return op.kernels.make(node.locate)
            # In the order of the graph, so that both modes of an executor find the same kernel.
            self.stateful += 1
            return self.kernels[self.stateful - 1]
        if not self.records:
            # Nothing is recorded anyway. The inputs of losses are looked at after the run.
            over = None if node in self.loss_nodes else self.overwriting.get(node)
            return over or op.kernels.function
        # Not recorded: a loss's gradient comes from its rule, and no gradient comes to the others.
        if node in self.loss_nodes:
            return op.kernels.forward
        if node in self.overwriting and node in self.recorded:
            return self.overwriting[node]
        if node not in self.recorded:
            return op.kernels.forward
        if op.kernels.gradient is None:
            return op.kernels.differentiable
        return with_gradient(op.kernels.function, gradient_of(node, self.target))


def body_code(graph: Graph, facts: Facts, target: Target) -> tuple[fx.GraphModule, bool]:
    """Return the code of a graph in which losses are operators like any other, and whether it draws: of a loop's body.

    >>> import rebind as mx
    >>> code, draws = body_code(mx.sym.exp(mx.sym.var("x")).graph, Facts(), Target())
    >>> draws
    False
    """
    # A body runs many times in a run: it has no place for what is held, and its results are retained as the loop's are.
    target = replace(target, recorded=True, recompute="none")
    best, known = optimize(graph, facts, target)
    draws = needs_randomness(best, target.training)
    no_losses = [None] * len(best.outputs)  # a loss in a body is an operator like any other
    code = CodeWriter(best, known, target, no_losses, None, draws)
    return fx.GraphModule({}, code.write(graph.arguments, graph.auxiliary)), draws


def _all_inputs(node: Application, present: Sequence[fx.Node]) -> tuple[fx.Node | None, ...]:
    """Return the inputs with None for absent optional ones, as the function takes them."""
    found = node.operator.signature.arguments(node.params, present)
    while found and found[-1] is None:  # what is absent at the end can be left out
        found.pop()
    return tuple(found)
