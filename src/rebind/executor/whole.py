"""Forward and backward in one call, for who announces that backward will follow.

Where autograd runs compiled code, it calls it twice, and keeps in between what backward needs. One call does without
autograd: what is quick to compute gains most. It needs that backward is given no head gradients, as after losses.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence

from torch import Tensor

from ..draws import Source
from .backward import Backward
from .compiling import with_own_code
from .exact import FirstSizes, reads_inputs_alone
from .explicit import Halves, explicit_halves, explicit_step
from .lower import Plan
from .outputs import detached
from .step import Gradients, Step, compiled

__all__ = ["WholeStep", "needs_head_gradients", "two_halves", "whole_step"]

#: From arguments and auxiliary states, and where random numbers come from, to outputs, gradients and new states.
WholeStep = Callable[[Sequence[Tensor], "Source | None"], Gradients]


def whole_step(plan: Plan, wanted: tuple[int, ...]) -> WholeStep | None:
    """Return forward and backward of a plan as one function, made once; None where that does not go.

    That of a compiled plan is compiled; any other is code without autograd (`explicit_step`).

    Parameters
    ----------
    plan
        For training.
    wanted
        The positions of the arguments that get gradients.

    Examples
    --------
    >>> import torch, rebind as mx
    >>> from rebind.executor import Target, lower
    >>> target = Target(training=True, backend="eager", traced=True)
    >>> step = whole_step(lower(mx.sym.MakeLoss(mx.sym.var("x") ** 2).graph, target), (0,))
    >>> step([torch.tensor([3.0])], None).gradients
    (tensor([6.]),)
    """
    steps = plan.steps
    if wanted not in steps:
        make = explicit_step if plan.compiled is None else _compile
        steps[wanted] = make(plan, wanted) if wanted and not needs_head_gradients(plan, wanted) else None
    return steps[wanted]


def two_halves(plan: Plan, wanted: tuple[int, ...]) -> Halves | None:
    """Return forward and backward of a plan that is not compiled as two functions without autograd, made once.

    None where that does not go.

    >>> import rebind as mx
    >>> from rebind.executor import Target, lower
    >>> nets = (mx.sym.MakeLoss(mx.sym.var("x") ** 2), mx.sym.MakeLoss(mx.sym.square(mx.sym.var("x"))))
    >>> [two_halves(lower(net.graph, Target(training=True)), (0,)) is None for net in nets]
    [True, False]
    """
    if wanted not in plan.halves:
        goes = wanted and plan.compiled is None and not needs_head_gradients(plan, wanted)
        plan.halves[wanted] = explicit_halves(plan, wanted) if goes else None
    found: Halves | None = plan.halves[wanted]
    return found


def needs_head_gradients(plan: Plan, wanted: tuple[int, ...]) -> bool:
    """Return whether the gradients of some arguments depend on what backward is given.

    >>> import rebind as mx
    >>> from rebind.executor import Target, lower
    >>> nets = (mx.sym.var("x") ** 2, mx.sym.MakeLoss(mx.sym.var("x") ** 2))
    >>> [needs_head_gradients(lower(net.graph, Target(training=True)), (0,)) for net in nets]
    [True, False]
    """
    pairs = zip(plan.losses, plan.head_gradient_reaches, strict=True)
    return any(loss is None and not set(wanted).isdisjoint(reached) for loss, reached in pairs)


def _compile(plan: Plan, wanted: tuple[int, ...]) -> WholeStep:
    assert plan.compiled is not None
    step = Step(dataclasses.replace(plan, compiled=None), Backward.of(plan), wanted)

    def whole(tensors: Sequence[Tensor], source: Source | None) -> Gradients:
        return step.forward_backward(tensors, seed=source)

    compiler = plan.compiled.compiler
    exact = FirstSizes(whole, compiler, reads_inputs_alone(plan.code))

    @functools.cache  # CUDA graphs need no compiler, which takes seconds to import
    def for_any_sizes() -> WholeStep:
        return compiled(with_own_code(whole), backend=compiler)

    def call(tensors: Sequence[Tensor], source: Source | None) -> Gradients:
        exactly = exact.run(tensors, source)
        found = for_any_sizes()(tensors, source) if exactly is None else Gradients(*exactly)
        found = found.with_own_memory()
        # None of what exact code returns is in the memory of an input.
        known = None if exactly is None else ()
        return found._replace(outputs=tuple(detached(found.outputs, tensors, [known] * len(found.outputs))))

    return call
