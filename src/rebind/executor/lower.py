"""From a graph to straight-line code: one `torch.fx` graph, made once and run for every batch.

The code does not depend on shapes unless a pass used them, so an executor that is reshaped, a bucket that comes
again, and each device of a data-parallel group share it. Compilers, exporters and profilers all start from it.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from torch import Tensor, fx

from .. import generators
from ..device import Device
from ..draws import Source
from ..grad_mode import inference_mode, is_grad_enabled
from ..graph import Entry, Facts, Graph, Node, Target
from ..graph.control_flow import counted_constants, needs_randomness, runs_users_code
from ..graph.passes import CHANNELS_LAST, backend_named, optimize
from ..ops.declaration import Function
from .compiling import CompiledCode, in_given_layout
from .failure import failure_of
from .fixed_shape import InferenceCode
from .freezing import FrozenCode, parameter_positions
from .gradient_flow import head_gradient_reaches
from .losses import Loss, losses_of
from .parameter_transform import Preparation, Split, split, what_is_computed
from .partly_compiled import PartlyCompiledCode
from .rematerialize import Rematerialized
from .storage_kernels import storage_of, uncompiled_nodes
from .writer import CodeWriter

__all__ = ["Plan", "Values", "lower"]

#: What a plan returns: outputs, new auxiliary values (None: unchanged), the inputs of outputs that are losses.
Values: TypeAlias = """tuple[
    tuple[Tensor, ...], tuple[Tensor | None, ...], tuple[tuple[Tensor | None, ...] | None, ...]
]"""


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
    infers
        Whether runs of which nothing is differentiated may be in PyTorch's inference mode, in which operators leave out
        what autograd would have to know: on the processor, of dense arrays, without a compiler, and without users'
        code, which may keep tensors for a run that is recorded.
    channels_last
        The positions of arguments that are best given with their channels last in memory.
    recomputed
        The nodes whose results are not retained for backward.
    joint
        Forward and backward together, by the positions of the arguments that get gradients: their code, which executors
        of the graph share, or the reason why there is none. See `Programs`.
    is_dense
        Whether all that it is given is dense, and all kernels are for that.
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
    infers: bool = False
    channels_last: frozenset[int] = frozenset()
    recomputed: frozenset[Node] = frozenset()
    joint: dict[tuple[int, ...], Any] = field(default_factory=dict, repr=False, compare=False)
    is_dense: bool = True

    def __call__(self, source: Source | None, tensors: Sequence[Tensor]) -> Values:
        """Run it on arguments and auxiliary states, in the order of ``list_arguments()`` and so on.

        `source` is where random numbers come from: a generator, or a seed where a compiler traces.
        """
        run: Callable[..., Any] = self.code.forward if self.compiled is None else self.compiled
        if self.recomputed and is_grad_enabled():
            run = Rematerialized(self.code, self.recomputed).run
        return run(source, *tensors) if self.draws else run(*tensors)

    def infer(self, source: Source | None, tensors: Sequence[Tensor]) -> Values:
        """Run it where nothing is differentiated; what it returns may be tensors of inference mode.

        >>> import torch, rebind as mx
        >>> plan = lower((mx.sym.var("x") * 2).graph, Target())
        >>> plan.infer(None, [torch.ones(2)])[0][0].is_inference()
        True
        """
        if not self.infers:  # not a mode that is off: that would record
            return self(source, tensors)
        with inference_mode(True):
            return self(source, tensors)

    def random_source(self, device: Device, *, replays: bool = True) -> tuple[Source | None, Tensor | None]:
        """Return where the random numbers of its next run come from, and the device's generator's state before.

        None for each where it draws none; `replays` says whether the state is wanted, to run the same once more.

        >>> import rebind as mx
        >>> net = mx.sym.Dropout(mx.sym.var("x"))
        >>> lower(net.graph, Target(training=True, traced=True)).random_source(mx.cpu())[0].dtype
        torch.int64
        """
        if not self.draws:
            return None, None
        generator = generators.generator(device)
        state = generator.get_state() if replays else None
        return (generators.step_seed(device) if self.target.traced else generator), state

    def why_needs_head_gradients(self, wanted: Collection[int]) -> str | None:
        """Return why the gradients of arguments at some positions depend on what backward is given; None if not.

        >>> import rebind as mx
        >>> nets = (mx.sym.var("x") ** 2, mx.sym.MakeLoss(mx.sym.var("x") ** 2))
        >>> [lower(net.graph, Target(training=True)).why_needs_head_gradients({0}) is None for net in nets]
        [False, True]
        """
        for entry, loss, reached in zip(self.outputs, self.losses, self.head_gradient_reaches, strict=True):
            if loss is None and not set(wanted).isdisjoint(reached):
                return f"the output {entry.name!r} is no loss: backward needs its head gradient"
        return None

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


#: By what the passes made of a graph; and by the user's graph, for what is computed in other shapes.
_plans: weakref.WeakKeyDictionary[Graph, dict[Hashable, Plan]] = weakref.WeakKeyDictionary()


def lower(
    graph: Graph,
    target: Target,
    facts: Facts | None = None,
    kernels: Sequence[Function] | None = None,
    *,
    is_first: bool = False,
) -> Plan:
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
        For operators that remember something between runs (`Custom`): the executor's own kernels, in the order of the
        graph. A plan with them is not shared.
    is_first
        Whether it is for the first run in these shapes, which may be the only one. In inference the plan may then be
        that of other shapes, if it differs only in where packed weights lie in memory: right for these, too, and
        there already.

    Examples
    --------
    >>> import torch, rebind as mx
    >>> plan = lower((mx.sym.var("x") * 2).graph, Target())
    >>> outputs, _, _ = plan(None, [torch.ones(2)])
    >>> outputs[0].tolist()
    [2.0, 2.0]
    """
    facts = facts or Facts()
    packs = not (target.recorded or target.training or target.traced or kernels is not None or facts.storage)
    others = _plans.setdefault(graph, {})
    if is_first and packs and others:
        # Not stored: of a program in which each picture has a size of its own that would be all that it ever sees.
        best, _ = optimize(graph, facts, target, is_stored=False)
        found = _plans.get(best, {}).get(_key(graph, target, facts)) or others.get(
            (target, _what(graph, best))
        )
        if found is not None:
            return found
    best, known = optimize(graph, facts, target)
    if kernels is not None:
        return _make_plan(graph, best, known, target, kernels)
    plans, key = _plans.setdefault(best, {}), _key(graph, target, facts)
    plan = plans.get(key)
    if plan is None:
        plan = plans[key] = _make_plan(graph, best, known, target, None)
        if packs and best is not graph and (what := _what(graph, best)) is not None:
            others.setdefault((target, what), plan)
    return plan


def _key(graph: Graph, target: Target, facts: Facts) -> Hashable:
    # Two graphs may be optimized to one, but take their arguments in another order.
    return target, graph.arguments, graph.auxiliary, _storage(graph, facts)


def _storage(graph: Graph, facts: Facts) -> tuple[str, ...]:
    return tuple([storage_of(node, facts) for node in graph.variables]) if facts.storage else ()


def _what(graph: Graph, best: Graph) -> Hashable:
    """Return what `best`, which passes made of `graph`, computes; None where that cannot be compared."""
    try:
        hash(found := what_is_computed(best, {node: i for i, node in enumerate(graph.variables)}))
    except (KeyError, TypeError):  # a variable that a pass made, a parameter that is a list
        return None
    return found


def _make_plan(
    given: Graph, best: Graph, facts: Facts, target: Target, kernels: Sequence[Function] | None
) -> Plan:
    preparation: Preparation | None = None
    retained: tuple[Node, ...] = ()
    backend = backend_named(target.backend)
    # Where gradients may be asked for, what depends on parameters alone is computed in each run; a compiler to which
    # they are constants computes it once by itself.
    differentiates = target.recorded or target.training
    if not (differentiates or backend.freezing) and (parts := split(best, facts)) is not None:
        preparation = _make_preparation(given, parts, facts, target)
        best, facts, retained = parts.rest, parts.facts, parts.variables
    losses = tuple(losses_of(best, target))
    draws = needs_randomness(best, target.training)
    writer = CodeWriter(best, facts, target, losses, kernels, draws)
    code = fx.GraphModule({}, writer.write(given.arguments, given.auxiliary, retained))
    reaches = head_gradient_reaches(best, given.arguments)
    constants = _constants(given) if target.training else {}
    compiler = backend.compiler if target.traced else None
    if (
        compiler is not None and target.training and target.device.type == "cpu"
    ):  # where `channels_last` is for
        compiler = in_given_layout(compiler)
    compiled: CompiledCode | None = None
    if compiler is not None and backend.freezing:
        compiled = frozen = FrozenCode(code, compiler, parameter_positions(given, best), draws)
        preparation = frozen.preparation
    elif compiler is not None:
        make = functools.partial(CompiledCode if differentiates else InferenceCode, compiler=compiler)
        uncompiled = uncompiled_nodes(best, facts, writer.storage_kernels)
        compiled = PartlyCompiledCode(code, uncompiled, make) if uncompiled else make(code)
    last = frozenset(
        i for i, node in enumerate(given.arguments) if facts.layouts.get(Entry(node)) == CHANNELS_LAST
    )
    infers = writer.is_dense and not (target.training or compiled or runs_users_code(best))
    return Plan(
        target,
        code,
        draws,
        losses,
        given.outputs,
        reaches,
        constants,
        preparation,
        compiled,
        infers and target.device.type == "cpu",
        last,
        writer.recomputed,
        is_dense=writer.is_dense,
    )


def _make_preparation(given: Graph, parts: Split, facts: Facts, target: Target) -> Preparation:
    retained = parts.retained
    code = CodeWriter(retained, facts, target, [None] * len(retained.outputs), None, draws=False)
    module = fx.GraphModule({}, code.write(retained.variables, (), alone=True))
    positions = {node: i for i, node in enumerate((*given.arguments, *given.auxiliary))}
    return Preparation(
        module,
        tuple(positions[node] for node in retained.variables),
        what_is_computed(retained),
    )


def _constants(graph: Graph) -> dict[int, float]:
    """Return the positions of arguments that an operator counts as constants, and the numbers.

    >>> import rebind as mx
    >>> _constants(mx.sym.BatchNorm(mx.sym.var("x"), name="bn").graph)  # of x, bn_gamma and bn_beta
    {1: 1.0}
    """
    numbers = counted_constants(graph)
    return {i: numbers[node] for i, node in enumerate(graph.arguments) if node in numbers}
