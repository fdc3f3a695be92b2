"""A module's forward, backward and update as one call."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable

from ..executor import DataParallelExecutorGroup
from .batches import AnyBatch
from .bound_module import BoundModule
from .joined_update import JoinedRule, JoinedUpdate
from .joint import Joint
from .ready_step import ReadyStep
from .update import LocalUpdate

__all__ = ["WholeSteps"]

#: What may not be another's, so that all of it can be done at once.
_STEPS = ("forward", "backward", "forward_backward", "update", "apply_gradients")
_PASSES = ("forward", "backward")
_PACKAGE = __name__.rpartition(".")[0] + "."


class WholeSteps(Joint):
    """A module that can do forward, backward and update at once; `Module` adds the single steps.

    >>> import rebind as mx
    >>> net = mx.sym.LinearRegressionOutput(
    ...     mx.sym.var("data") * mx.sym.var("w", shape=(1,)), mx.sym.var("label")
    ... )
    >>> module = mx.mod.Module(net, label_names=["label"], backend="aot_eager")
    >>> module.bind([("data", (1,))], [("label", (1,))])
    >>> module.set_params({"w": mx.nd.array([1])}, {})
    >>> module.init_optimizer(optimizer_params={"learning_rate": 0.25})
    >>> module.forward_backward_update(mx.io.DataBatch([mx.nd.array([2])], [mx.nd.array([0])]))
    True
    >>> module.get_params()[0]["w"].item()
    0.0
    """

    _joined: JoinedRule | None = None  # how the last update was made so

    def forward_backward(self, data_batch: AnyBatch) -> None:
        """Compute outputs and gradients for a batch."""
        group = self._group
        may_repeat = group is not None and group.like_last.passes.is_worth_while and self._repeats_passes()
        if group is None or not may_repeat or not group.like_last.forward_backward(data_batch):
            super().forward_backward(data_batch)
            return
        self._inputs.absent_labels = []
        self._has_gradients = True

    def _repeats_passes(self) -> bool:
        """Return whether a pass for a batch is what the executors do, and nothing else."""
        kind = type(self)
        return (
            kind.forward is BoundModule.forward
            and kind.backward is BoundModule.backward
            and vars(self).keys().isdisjoint(_PASSES)
            and self.params_initialized
            and not self._sends()
        )

    def forward_backward_update(self, data_batch: AnyBatch) -> bool:
        """Do the three steps at once where that can be done; see `Steps.forward_backward_update`."""
        group = self._group
        if group is None:
            return False
        ready = group.like_last.steps
        if not ready.is_worth_while and not group.is_compiled:
            return False
        policy = self.policy
        if not self._takes_plain_steps():
            return False
        if ready.found is not None:
            if self._repeat(ready.found, group, data_batch):
                return True
            ready.drop()
        if type(policy) is not LocalUpdate or policy.store is not None or len(self._parameters.devices) > 1:
            return False
        if not group.is_compiled:
            # What single steps have left may do for the next one.
            if not ready.is_worth_while or not group.has_run or not self._has_gradients:
                return False
            ready.keep(ReadyStep.of(group, policy, self._parameters.trained(), None))
            return ready.found is not None and self._repeat(ready.found, group, data_batch)
        self._follow_batch(data_batch)
        trained = self._parameters.trained()  # of the batch's shapes
        rule = self._joined = JoinedRule.of(policy, [each.name for each in trained], self._joined)
        if rule is None or not trained or self._inputs.absent_labels:
            return False
        done = group.forward_backward_update(data_batch, JoinedUpdate(rule, trained))
        ready = group.like_last.steps  # of these shapes
        if done and ready.is_worth_while:
            ready.keep(ReadyStep.of(group, policy, trained, rule))
        self._has_gradients = self._has_gradients or done
        return done

    def _repeat(self, ready: ReadyStep, group: DataParallelExecutorGroup, data_batch: AnyBatch) -> bool:
        """Do what was done for the last batch; return whether that is the right thing, and was done."""
        if not (self.params_initialized and ready.holds(group, self.policy) and ready.run(data_batch)):
            return False
        self._inputs.absent_labels = []
        self._has_gradients = True
        return True

    def _takes_plain_steps(self) -> bool:
        """Return whether nothing comes between the steps: no scale, no workers, no step of a subclass's own."""
        return (
            self.loss_scaler is None
            and self.workers is None
            and _are_ours(_steps_of(type(self)))
            and vars(self).keys().isdisjoint(_STEPS)
        )


_steps_of = operator.attrgetter(*_STEPS)


@functools.lru_cache(16)
def _are_ours(steps: tuple[Callable[..., object], ...]) -> bool:
    return all(step.__module__.startswith(_PACKAGE) for step in steps)
