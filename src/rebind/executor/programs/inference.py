"""Runs through which nothing is differentiated."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor
from torch.jit import is_tracing

from ...draws import Source
from ...grad_mode import grad_mode
from ..bound import BoundArrays
from ..lower import Plan
from ..observer import Observer
from ..outputs import detached
from ..prepared_parameters import PreparedParameters
from .base import Program, Results, run_forward

__all__ = ["InferenceProgram"]


class InferenceProgram(Program):
    """Forward alone, with what follows from parameters alone computed once.

    Parameters
    ----------
    plan
        What runs.
    prepared
        Holds what was computed from the parameters.

    Examples
    --------
    >>> import torch, rebind as mx
    >>> from rebind.executor import Target, lower
    >>> program = InferenceProgram(lower((mx.sym.var("x") * 2).graph, Target()), PreparedParameters())
    >>> program.run([torch.ones(2)], None).outputs
    [tensor([2., 2.])]
    """

    name = "inference"
    chosen_when = "nothing can be differentiated: is_train=False, or no argument gets a gradient"
    is_inference = True

    def __init__(self, plan: Plan, prepared: PreparedParameters) -> None:
        super().__init__(plan)
        self._prepared = prepared

    def inputs(self, arrays: BoundArrays) -> list[Tensor] | None:
        """Return arguments, auxiliary states and what was prepared; None where parameters may change unseen."""
        prepared = self.prepared(arrays)
        if prepared is None:
            return None
        # Not the leaves of gradients, which are aliases of the arrays: a trace would take them for constants.
        tensors = arrays.memory() if is_tracing() else arrays.tensors(self.plan.channels_last)
        return [*tensors, *prepared]

    def prepared(self, arrays: BoundArrays) -> Sequence[Tensor] | None:
        """Return what follows from parameters alone; None where these may change unseen."""
        preparation = self.plan.preparation
        if preparation is None:
            return ()
        return self._prepared.values(preparation, arrays.storages(preparation.positions))

    def run(
        self, inputs: Sequence[Tensor], source: Source | None, observer: Observer | None = None
    ) -> Results:
        """Run forward."""
        with grad_mode(False):
            outputs, new_aux, loss_inputs = run_forward(self.plan, inputs, source, observer, infer=True)
            return Results(detached(outputs, inputs, loss_inputs), new_aux)
