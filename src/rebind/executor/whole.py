"""Forward and backward in one compiled call, for who announces that backward will follow.

Where autograd runs compiled code, it calls it twice, and keeps in between what backward needs. One call does without
autograd: what is quick to compute gains most. It needs that backward is given no head gradients, as after losses.
"""

from __future__ import annotations

import dataclasses
import itertools
import types
from collections.abc import Callable, Sequence

from torch import Tensor

from ..draws import Source
from .backward import Backward
from .lower import Plan
from .step import Gradients, Step, compiled

__all__ = ["WholeStep", "add_to", "whole_step"]

#: From arguments and auxiliary states, and where random numbers come from, to outputs, gradients and new states.
WholeStep = Callable[[Sequence[Tensor], "Source | None"], Gradients]

_numbers = itertools.count()


def whole_step(plan: Plan, wanted: tuple[int, ...]) -> WholeStep | None:
    """Return forward and backward of a compiled plan as one function, made once; None where that does not go.

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
    assert plan.compiled is not None
    steps = plan.compiled.steps
    if wanted not in steps:
        steps[wanted] = _compile(plan, wanted) if wanted and not _needs_head_gradients(plan, wanted) else None
    return steps[wanted]


def _needs_head_gradients(plan: Plan, wanted: tuple[int, ...]) -> bool:
    pairs = zip(plan.losses, plan.head_gradient_reaches, strict=True)
    return any(loss is None and not set(wanted).isdisjoint(reached) for loss, reached in pairs)


def _compile(plan: Plan, wanted: tuple[int, ...]) -> WholeStep:
    assert plan.compiled is not None
    step = Step(dataclasses.replace(plan, compiled=None), Backward.of(plan), wanted)

    def whole(tensors: Sequence[Tensor], source: Source | None) -> Gradients:
        return step.forward_backward(tensors, seed=source)

    # The compiler counts, and limits, what it makes of one code; each network has code of its own.
    code = whole.__code__.replace(co_name=f"whole{next(_numbers)}")
    own = types.FunctionType(code, whole.__globals__, code.co_name, None, whole.__closure__)
    return compiled(own, backend=plan.compiled.compiler)


def add_to(
    gradients: Sequence[Tensor | None], leaves: Sequence[Tensor], added_to: Sequence[Tensor | None]
) -> tuple[Tensor | None, ...]:
    """Return gradients that are there already as `Backward` does: added in place to those that they are added to.

    >>> import torch
    >>> before = torch.ones(1)
    >>> add_to([torch.ones(1), torch.ones(1)], [], [before, None]), before
    ((tensor([2.]), tensor([1.])), tensor([2.]))
    """
    pairs = zip(added_to, gradients, strict=True)
    return tuple(new if old is None else old if new is None else old.add_(new) for old, new in pairs)
