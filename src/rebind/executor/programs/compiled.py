"""Forward and backward in one call of compiled code, for who announces that backward will follow.

Where autograd runs compiled code, it calls it twice, and holds in between what backward needs. One call does without
autograd: what is quick to compute gains most. It needs that backward is given no head gradients, as after losses.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence

from torch import Tensor

from ...draws import Source
from ...grad_mode import grad_mode
from ..backward import Backward
from ..bound import BoundArrays
from ..compiling import with_own_code
from ..fixed_shape import ShapeSpecializer, reads_inputs_alone
from ..lower import Plan
from ..observer import Observer
from ..outputs import detached
from ..step import Gradients, Step, compiled
from .base import Program, Results, observed_piece

__all__ = ["CompiledProgram", "JointCode"]


class JointCode:
    """Forward and backward of a compiled plan as one function of its tensors.

    Parameters
    ----------
    plan
        For training, and compiled; what its outputs need is no head gradient.
    wanted
        The positions of the arguments that get gradients.

    Attributes
    ----------
    failure
        Why it cannot be compiled, for all executors that share it; None as long as nothing went wrong.

    Examples
    --------
    >>> import torch, rebind as mx
    >>> from rebind.executor import Target, lower
    >>> target = Target(training=True, backend="eager", traced=True)
    >>> code = JointCode(lower(mx.sym.MakeLoss(mx.sym.var("x") ** 2).graph, target), (0,))
    >>> code([torch.tensor([3.0])], None).gradients
    (tensor([6.]),)
    """

    def __init__(self, plan: Plan, wanted: tuple[int, ...]) -> None:
        assert plan.compiled is not None
        step = Step(dataclasses.replace(plan, compiled=None), Backward.of(plan), wanted)

        def joint(tensors: Sequence[Tensor], source: Source | None) -> Gradients:
            return step.forward_backward(tensors, seed=source)

        self._joint, self._compiler = joint, plan.compiled.compiler
        self._exact = ShapeSpecializer(joint, self._compiler, reads_inputs_alone(plan.code))
        self.failure: str | None = None

    @functools.cached_property  # CUDA graphs need no compiler, which takes seconds to import
    def _for_any_sizes(self) -> Callable[[Sequence[Tensor], Source | None], Gradients]:
        return compiled(with_own_code(self._joint), backend=self._compiler)

    def __call__(self, tensors: Sequence[Tensor], source: Source | None) -> Gradients:
        """Run it: arguments and auxiliary states in; outputs, gradients and new states out."""
        exactly = self._exact.run(tensors, source)
        results = self._for_any_sizes(tensors, source) if exactly is None else Gradients(*exactly)
        results = results.with_own_memory()
        # None of what exact code returns is in the memory of an input.
        known = None if exactly is None else ()
        outputs = detached(results.outputs, tensors, [known] * len(results.outputs))
        return results._replace(outputs=tuple(outputs))


class CompiledProgram(Program):
    """Forward and backward in one call of compiled code.

    Parameters
    ----------
    plan
        What runs.
    code
        Its forward and backward.
    """

    name = "compiled"
    chosen_when = (
        "training by a backend with a compiler, if backward is the next call and needs no head gradients"
    )
    computes_gradients = True

    def __init__(self, plan: Plan, code: JointCode) -> None:
        super().__init__(plan)
        self.code = code

    @property
    def is_valid(self) -> bool:
        """Whether it may be run: no executor has found that its code cannot be compiled."""
        return self.code.failure is None and super().is_valid

    def inputs(self, arrays: BoundArrays) -> list[Tensor]:
        """Return the arrays' tensors in the order that the code is compiled for."""
        return arrays.tensors()

    def run(
        self, inputs: Sequence[Tensor], source: Source | None, observer: Observer | None = None
    ) -> Results:
        """Run forward and backward; the way back has the gradients already."""
        call = functools.partial(self.code, inputs, source)
        with grad_mode(False):
            results = observed_piece(observer, self.plan, inputs, call)
        return Results.of(results)
