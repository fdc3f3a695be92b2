"""Forward that autograd records, and backward that autograd runs."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from torch import Tensor

from ...draws import Source
from ...grad_mode import grad_mode
from ..backward import Backward, Record
from ..bound import BoundArrays
from ..lower import Plan
from ..observer import Observer, observed_call
from ..outputs import detached
from .base import OnGradient, Program, Results, run_forward

__all__ = ["RecordedProgram"]


class RecordedProgram(Program):
    """Forward recorded by autograd, which then runs backward; it takes every network.

    The code of a compiled plan is compiled in both directions.

    Examples
    --------
    >>> import torch, rebind as mx
    >>> from rebind.executor import Target, lower
    >>> program = RecordedProgram(lower((mx.sym.var("x") * 2).graph, Target(training=True)))
    >>> program.run([torch.ones(2, requires_grad=True)], None).outputs
    [tensor([2., 2.])]
    """

    name = "recorded"
    chosen_when = "gradients may be needed, and no other program can run the network"
    is_recorded = True

    def run(
        self, inputs: Sequence[Tensor], source: Source | None, observer: Observer | None = None
    ) -> Results:
        """Run forward."""
        with grad_mode(True):
            outputs, new_aux, loss_inputs = run_forward(self.plan, inputs, source, observer)
        record = Record(outputs, loss_inputs, inputs)
        way_back = _AutogradGradients(self.plan, record, observer)
        return Results(detached(outputs, inputs, loss_inputs), new_aux, way_back)


class _AutogradGradients:
    """The way back through autograd, which needs the head gradients of outputs that are no losses."""

    def __init__(self, plan: Plan, record: Record, observer: Observer | None) -> None:
        self._backward, self._record, self._observer = Backward.of(plan), record, observer
        self._training = plan.target.training

    def __call__(
        self, arrays: BoundArrays, head_grads: Sequence[Tensor | None], on_gradient: OnGradient | None
    ) -> None:
        """Run backward, and put the gradients into their arrays."""
        run = functools.partial(self._backward, self._record, head_grads=head_grads)
        take = functools.partial(arrays.take_gradients, run, on_gradient, head_grads)
        observed_call(self._observer, "backward", "autograd", head_grads, take, self._training)
