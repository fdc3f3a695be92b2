"""Forward and backward of a network of which only the dense part is compiled."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from torch import Tensor

from ...draws import Source
from ...grad_mode import grad_mode
from ..backward import accumulated
from ..lower import Plan
from ..partly_compiled import PartlyCompiledCode
from ..step import Gradients
from .compiled import JointCode

__all__ = ["PartlyJointCode"]


class PartlyJointCode(JointCode):
    """Forward and backward of the dense part in one call of compiled code; autograd goes through the part before.

    Parameters
    ----------
    plan
        For training, and partly compiled; what its outputs need is no head gradient.
    wanted
        The positions of the arguments that get gradients.

    Examples
    --------
    >>> import torch, rebind as mx
    >>> weight = mx.sym.var("weight")
    >>> taken = mx.sym.Embedding(mx.sym.var("x"), weight, input_dim=9, output_dim=1, sparse_grad=True)
    >>> exe = mx.sym.MakeLoss(taken**2).simple_bind(mx.cpu(), x=(1,), backend="eager")
    >>> code = PartlyJointCode(exe.runner.plans.get(is_train=True), (1,))
    >>> [gradient] = code([torch.tensor([5.0]), torch.full((9, 1), 3.0)], None).gradients
    >>> gradient.stored.indices, gradient.stored.data
    (tensor([5]), tensor([[6.]]))
    """

    def __init__(self, plan: Plan, wanted: tuple[int, ...]) -> None:
        assert isinstance(plan.compiled, PartlyCompiledCode)
        self._first, rest = plan.compiled.first.forward, plan.compiled.rest
        # What numbers are drawn from is the first input of the code, if it draws any.
        [source, *_] = [step.name for step in plan.code.graph.find_nodes(op="placeholder")]
        read = [step.name for step in rest.graph.find_nodes(op="placeholder")]
        self._draws, self._rest_draws = plan.draws, plan.draws and source in read
        self._plan, self._wanted = dataclasses.replace(plan, code=rest, draws=self._rest_draws), wanted
        self._rest: JointCode | None = None
        self.failure: str | None = None

    def __call__(self, tensors: Sequence[Tensor], source: Source | None) -> Gradients:
        """Run it: arguments and auxiliary states in; outputs, gradients and new states out."""
        inputs = list(tensors)
        with grad_mode(True):
            for i in self._wanted:
                # Leaves of their own: gradients stop at the arguments.
                inputs[i] = inputs[i].detach().requires_grad_()
            read = self._first(*([source, *inputs] if self._draws else inputs))
        if self._rest_draws:
            _, *read = read
        if self._rest is None:
            # The same in each run: what depends on the arguments that get gradients.
            recorded = tuple([i for i, each in enumerate(read) if each.requires_grad])
            self._rest = JointCode(self._plan, recorded)
        found = self._rest([each.detach() for each in read], source)
        recorded_tensors = [each for each in read if each.requires_grad]
        leaves = [inputs[i] for i in self._wanted]
        return found._replace(gradients=_go_back(recorded_tensors, found.gradients, leaves))


def _go_back(
    read: Sequence[Tensor], gradients: Sequence[Tensor | None], leaves: Sequence[Tensor]
) -> tuple[Tensor | None, ...]:
    """Return the gradients of leaves, from those of what the compiled part has read, leaves among it."""
    # What no output depends on has none.
    known = {each: found for each, found in zip(read, gradients, strict=True) if found is not None}
    roots = [each for each in known if not each.is_leaf]
    through_first = accumulated(roots, [known[each] for each in roots], leaves, [None] * len(leaves))
    return tuple(
        found if direct is None else direct if found is None else direct + found
        for direct, found in zip(map(known.get, leaves), through_first, strict=True)
    )
