"""From a graph to straight-line code: one `torch.fx` graph, made once and run for every batch.

The code does not depend on shapes unless a pass used them, so an executor that is reshaped, a bucket that comes
again, and each device of a data-parallel group share it. Compilers, exporters and profilers all start from it.
"""

from __future__ import annotations

import operator
import re
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from torch import Tensor, fx

from .. import generators
from ..device import Device
from ..draws import Source, derive
from ..grad_mode import is_grad_enabled
from ..graph import Application, Entry, Facts, Graph, Node, Target
from ..graph.control_flow import counted_constants, needs_randomness
from ..graph.passes import CHANNELS_LAST, backend_named, optimize
from ..ops.spec import Function, GradientRule, with_gradient
from ..params import Params
from .compiling import CompiledCode, in_given_layout
from .control_flow import ControlFlow, Kernels
from .failure import failure_of, named_gradient
from .overwrite import overwriting_kernels
from .prepared import Preparation, split, what_is_computed
from .recompute import recomputed_nodes
from .rematerialize import Rematerialized

__all__ = [
    "Kernels",
    "Loss",
    "Plan",
    "Values",
    "body_code",
    "gradient_receivers",
    "head_gradient_reaches",
    "lower",
]

#: What a plan returns: outputs, new auxiliary values (None: unchanged), the inputs of outputs that are losses.
Values: TypeAlias = """tuple[
    tuple[Tensor, ...], tuple[Tensor | None, ...], tuple[tuple[Tensor | None, ...] | None, ...]
]"""


class Loss(NamedTuple):
    """An output whose gradient does not depend on what is computed from it.

    Attributes
    ----------
    node
        The node.
    reuse
        Whether the gradient may overwrite its first input, which nothing else needs.
    gradient
        The operator's own rule; its errors name the node.
    """

    node: Application
    reuse: bool
    gradient: GradientRule


@dataclass(frozen=True)
class Plan:
    """The forward part of a step: a graph as code for one target. It is pure: tensors in, tensors out.

    It holds no reference to the graph: plans are cached by graph, and must not prolong its life.

    Attributes
    ----------
    target
        What it is for.
    code
        The `torch.fx` module.
    draws
        Whether it draws random numbers; its first argument is then what they come from.
    losses
        For each output that is a loss, its node: the backward part starts from the loss's inputs, with the operator's
        own gradient. None for other outputs.
    outputs
        The entries of the outputs.
    head_gradient_reaches
        For each output the positions of the arguments whose gradients follow from its head gradient. Where a loss is
        on the way there are none: it ignores what comes from behind.
    constants
        In training mode, the positions of arguments that an operator counts as a number (`gamma` of a `BatchNorm` with
        `fix_gamma`), and that number: their arrays are to hold it.
    preparation
        What is computed from parameters alone, if anything, for runs in which nothing is recorded. What it gives comes
        behind the auxiliary states.
    compiled
        Runs instead of the code, where the target's backend has a compiler.
    channels_last
        The positions of arguments that are best given with their channels last in memory.
    recomputed
        The nodes whose results are not kept for backward.
    """

    target: Target
    code: fx.GraphModule
    draws: bool
    losses: tuple[Loss | None, ...]
    outputs: tuple[Entry, ...]
    head_gradient_reaches: tuple[tuple[int, ...], ...]
    constants: Mapping[int, float]
    preparation: Preparation | None = None
    compiled: CompiledCode | None = None
    channels_last: frozenset[int] = frozenset()
    recomputed: frozenset[Node] = frozenset()

    def __call__(self, source: Source | None, tensors: Sequence[Tensor]) -> Values:
        """Run it on arguments and auxiliary states, in the order of ``list_arguments()`` and so on.

        `source` is where random numbers come from: a generator, or a seed where a compiler traces.
        """
        run: Callable[..., Any] = self.code.forward if self.compiled is None else self.compiled
        if self.recomputed and is_grad_enabled():
            run = Rematerialized(self.code, self.recomputed).run
        return run(source, *tensors) if self.draws else run(*tensors)

    def random_source(self, device: Device) -> tuple[Source, Tensor]:
        """Return where the random numbers of its next run come from, and the state of the device's generator before.

        >>> import rebind as mx
        >>> net = mx.sym.Dropout(mx.sym.var("x"))
        >>> lower(net.graph, Target(traced=True)).random_source(mx.cpu())[0].dtype
        torch.int64
        """
        generator = generators.generator(device)
        state = generator.get_state()
        return (generators.step_seed(device) if self.target.traced else generator), state

    def explain(self, error: Exception) -> Exception:
        """Return `error`, which a run raised, as one that names the node that failed and its inputs.

        >>> import torch, rebind as mx
        >>> plan = lower(mx.sym.dot(mx.sym.var("a"), mx.sym.var("b"), name="product").graph, Target())
        >>> try:
        ...     plan(None, [torch.ones(2, 3), torch.ones(2, 3)])
        ... except Exception as error:
        ...     print(str(plan.explain(error)).partition(":")[0])
        dot 'product'
        """
        return failure_of(self.code, error)


PlanKey: TypeAlias = tuple[Target, tuple[Node, ...], tuple[Node, ...]]
_plans: weakref.WeakKeyDictionary[Graph, dict[PlanKey, Plan]] = weakref.WeakKeyDictionary()


def lower(graph: Graph, target: Target, facts: Facts | None = None, kernels: Kernels | None = None) -> Plan:
    """Return the plan of `graph` for a target; made once, then cached as long as the graph lives.

    Parameters
    ----------
    graph
        What to run: the user's graph. The passes of the target's backend are run on it first.
    target
        The mode, the devices, and what the code is for.
    facts
        Shapes and types, for the passes that use them.
    kernels
        For operators that remember something between runs (`Custom`): the executor's own kernels, by their position
        in the graph. Those that are missing are made here, and a plan with them is not shared.

    Examples
    --------
    >>> import torch, rebind as mx
    >>> plan = lower((mx.sym.var("x") * 2).graph, Target())
    >>> outputs, _, _ = plan(None, [torch.ones(2)])
    >>> outputs[0].tolist()
    [2.0, 2.0]
    """
    best, known = optimize(graph, facts or Facts(), target)
    if kernels is not None:
        return _make_plan(graph, best, known, target, kernels)
    plans = _plans.setdefault(best, {})
    # Two graphs may be optimized to one, but take their arguments in another order.
    key = (target, graph.arguments, graph.auxiliary)
    plan = plans.get(key)
    if plan is None:
        plan = plans[key] = _make_plan(graph, best, known, target, None)
    return plan


def _make_plan(given: Graph, best: Graph, facts: Facts, target: Target, kernels: Kernels | None) -> Plan:
    preparation: Preparation | None = None
    kept: tuple[Node, ...] = ()
    if (parts := split(best, facts)) is not None:
        preparation = _make_preparation(given, parts.kept, facts, target)
        best, facts, kept = parts.rest, parts.facts, parts.variables
    losses = tuple(_losses(best, target))
    draws = needs_randomness(best)
    writer = _Code(best, facts, target, losses, kernels, draws)
    code = fx.GraphModule({}, writer.write(given.arguments, given.auxiliary, kept))
    reaches = head_gradient_reaches(best, given.arguments)
    constants = _constants(given) if target.training else {}
    compiler = backend_named(target.backend).compiler if target.traced else None
    if (
        compiler is not None and target.training and target.device.type == "cpu"
    ):  # where `channels_last` is for
        compiler = in_given_layout(compiler)
    compiled = None if compiler is None else CompiledCode(code, compiler)
    last = frozenset(
        i for i, node in enumerate(given.arguments) if facts.layouts.get(Entry(node)) == CHANNELS_LAST
    )
    again = writer.recomputed
    return Plan(
        target, code, draws, losses, given.outputs, reaches, constants, preparation, compiled, last, again
    )


def _make_preparation(given: Graph, kept: Graph, facts: Facts, target: Target) -> Preparation:
    code = _Code(kept, facts, target, [None] * len(kept.outputs), None, draws=False)
    module = fx.GraphModule({}, code.write(kept.variables, (), alone=True))
    positions = {node: i for i, node in enumerate((*given.arguments, *given.auxiliary))}
    return Preparation(module, tuple(positions[node] for node in kept.variables), what_is_computed(kept))


def _constants(graph: Graph) -> dict[int, float]:
    """Return the positions of arguments that an operator counts as constants, and the numbers.

    >>> import rebind as mx
    >>> _constants(mx.sym.BatchNorm(mx.sym.var("x"), name="bn").graph)  # of x, bn_gamma and bn_beta
    {1: 1.0}
    """
    numbers = counted_constants(graph)
    return {i: numbers[node] for i, node in enumerate(graph.arguments) if node in numbers}


def _losses(graph: Graph, target: Target) -> list[Loss | None]:
    """Return, for each output, its node if it is a loss whose value nothing else uses."""
    uses = graph.uses

    def loss(entry: Entry) -> Loss | None:
        # Where the value is used elsewhere too, autograd has to pass through the operator.
        node = entry.node
        if not isinstance(node, Application):
            return None
        op = node.operator
        # A loss at an end of the graph: autograd can start at its inputs, and nothing after it is left out.
        if (
            op.kernels.gradient is None
            or op.kernels.needs_head_gradient(node.params)
            or len(op.record.output_names(node.params)) != 1
            or uses[entry] != 1
        ):
            return None
        source = node.inputs[0]
        producer = source.node.operator
        # The gradient may be written over the input if that is memory of its own, which nothing else reads.
        owned = producer is not None and producer.kernels.owns_output and source.index == 0
        # A compiler decides by itself what shares memory.
        reuse = owned and uses[source] == 1 and not target.traced
        return Loss(node, reuse, _gradient(node, target))

    return list(map(loss, graph.outputs))


def head_gradient_reaches(graph: Graph, arguments: Sequence[Node]) -> tuple[tuple[int, ...], ...]:
    """Return, for each output, the positions of the arguments that its head gradient reaches.

    >>> import rebind as mx
    >>> x = mx.sym.var("x")
    >>> net = mx.sym.Group([x * mx.sym.var("y"), mx.sym.MakeLoss(x) * 2])
    >>> head_gradient_reaches(net.graph, net.graph.arguments)
    ((0, 1), ())
    """
    positions = {node: i for i, node in enumerate(arguments)}

    def reached(output: Entry) -> tuple[int, ...]:
        # The usual output is a loss, where the walk ends at once.
        found = [output.node]
        seen = set(found)
        for node in found:  # it grows
            if node.operator is not None and node.operator.kernels.needs_head_gradient(node.params):
                new = [entry.node for entry in node.inputs if entry.node not in seen]
                seen.update(new)
                found += dict.fromkeys(new)
        return tuple(sorted(positions[node] for node in found if node in positions))

    return tuple(map(reached, graph.outputs))


def gradient_receivers(graph: Graph) -> set[Node]:
    """Return the nodes that a gradient of some output can reach: not those before an operator that blocks it.

    >>> import rebind as mx
    >>> x = mx.sym.exp(mx.sym.var("x"), name="e")
    >>> [
    ...     sorted(node.name for node in gradient_receivers(net.graph))
    ...     for net in (x, mx.sym.BlockGrad(x, name="b"))
    ... ]
    [['e', 'x'], ['b']]
    """
    found = {entry.node for entry in graph.outputs}
    for node in reversed(graph.nodes):  # what uses a node comes before it
        if node in found and node.operator is not None and not _blocks(node):
            found.update(entry.node for entry in node.inputs)
    return found


def _blocks(node: Node) -> bool:
    assert node.operator is not None
    kernels = node.operator.kernels
    # A loss needs no head gradient either, but has a gradient of its own; so may a custom operator.
    own = kernels.gradient is not None or kernels.make is not None
    return not own and not kernels.needs_head_gradient(node.params)


class _Code:
    """Writes the code of a graph."""

    def __init__(
        self,
        graph: Graph,
        facts: Facts,
        target: Target,
        losses: Sequence[Loss | None],
        kernels: Kernels | None,
        draws: bool,
    ) -> None:
        self.graph, self.facts, self.target, self.kernels = graph, facts, target, kernels
        self.losses = losses
        self.loss_nodes = {loss.node for loss in losses if loss is not None}
        # A compiler plans memory itself; across devices `.to` may return an array that others use.
        in_place = not (target.traced or target.spans_devices)
        recorded = target.recorded or target.training
        overwriting = overwriting_kernels(graph, recorded) if in_place else {}
        # The inputs of losses are there until backward has begun.
        held = {entry.node for node in self.loss_nodes for entry in node.inputs}
        self.recomputed = recomputed_nodes(graph, facts, target.recompute, overwriting, held)
        # What is kept must be there when a node computes its result from it again.
        self.overwriting = {
            node: over.kernel
            for node, over in overwriting.items()
            if node not in self.recomputed or over.entry.node in self.recomputed
        }
        # What no gradient reaches is not recorded, so that its inputs are freed as soon as they are used.
        self.recorded = set(graph.nodes) if target.traced else gradient_receivers(graph)
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
        kept: Sequence[Node] = (),
        alone: bool = False,
    ) -> fx.Graph:
        """Write the code, with its inputs in the order in which the user's graph has them, then what is kept.

        With `alone` the code returns the outputs, and nothing else.
        """
        for i, node in enumerate((*arguments, *auxiliary, *kept)):
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
        keywords: dict[str, Any] = {
            **op.signature.keywords(node.params),
            **op.signature.mode_keywords(self.target.training, self._source_for(node), device),
        }
        if node in self.loss_nodes:
            self.loss_inputs[node] = arguments
        result = self.code.call_function(self._kernel(node), arguments, keywords)
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
        if "generator" not in node.operator.signature.modes:
            return None
        if not self.target.traced:
            return self.source
        self.drawn += 1
        return self.code.call_function(derive, (self.source, self.drawn))

    def _kernel(self, node: Application) -> Function:
        """Return the function that computes a node."""
        op = node.operator
        # Numbered in the order of the graph, so that both modes of an executor find the same kernel.
        if op.subgraphs or (op.kernels.make is not None and self.kernels is not None):
            number, self.stateful = self.stateful, self.stateful + 1
            if op.subgraphs:
                own = None if self.kernels is None else self.kernels.setdefault(number, {})
                return ControlFlow(node, self.target, own, body_code)
            assert self.kernels is not None and op.kernels.make is not None
            return self.kernels.setdefault(number, op.kernels.make(node.locate))
        # Not recorded: a loss's gradient comes from its rule, and no gradient comes to the others.
        if node in self.loss_nodes or (op.kernels.make is None and node not in self.recorded):
            return op.kernels.forward
        if node in self.overwriting:
            return self.overwriting[node]
        if op.kernels.gradient is None:
            return op.kernels.differentiable
        return with_gradient(op.kernels.function, _gradient(node, self.target))


def _gradient(node: Application, target: Target) -> GradientRule:
    """Return the declared gradient of a node."""
    rule = node.operator.kernels.gradient
    assert rule is not None
    # What a compiler made has no nodes to name.
    return _with_params(rule, node.params) if target.traced else named_gradient(node)


def _with_params(rule: GradientRule, params: Params) -> GradientRule:
    """Return a rule that takes the node's own parameters: a compiler does not follow how they are made anew."""

    def gradient(
        p: Params,
        inputs: Sequence[Tensor | None],
        outputs: Sequence[Tensor],
        head_grads: Sequence[Tensor],
        **memory: Tensor,
    ) -> Sequence[Tensor | None]:
        return rule(params, inputs, outputs, head_grads, **memory)

    return gradient


def body_code(
    graph: Graph, facts: Facts, target: Target, kernels: Kernels | None
) -> tuple[fx.GraphModule, bool]:
    """Return the code of a graph in which losses are operators like any other, and whether it draws: of a loop's body.

    >>> import rebind as mx
    >>> code, draws = body_code(mx.sym.exp(mx.sym.var("x")).graph, Facts(), Target(), None)
    >>> draws
    False
    """
    # A body runs many times in a run: it has no place for what is kept, and its results are kept as the loop's are.
    target = replace(target, recorded=True, recompute="none")
    best, known = optimize(graph, facts, target)
    draws = needs_randomness(best)
    no_losses = [None] * len(best.outputs)  # a loss in a body is an operator like any other
    code = _Code(best, known, target, no_losses, kernels, draws)
    return fx.GraphModule({}, code.write(graph.arguments, graph.auxiliary)), draws


def _all_inputs(node: Application, present: Sequence[fx.Node]) -> tuple[fx.Node | None, ...]:
    """Return the inputs with None for absent optional ones, as the function takes them."""
    found = node.operator.signature.arguments(node.params, present)
    while found and found[-1] is None:  # what is absent at the end can be left out
        found.pop()
    return tuple(found)
