"""A module's forward, backward and update as one call."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable

from ..executor import DataParallelExecutorGroup
from .batches import AnyBatch
from .bound_module import BoundModule
from .joint import Joint
from .joint_update import CachedStep, JointUpdate
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

    _joint_update: JointUpdate | None = None  # how the last update was made so

    def forward_backward(self, data_batch: AnyBatch) -> None:
        """Compute outputs and gradients for a batch."""
        group = self._group
        if group is None or not self._repeats_passes() or not group.passes.run(data_batch, is_train=True):
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
        """Do the three steps at once where that can be done; see `BaseModule.forward_backward_update`."""
        group, policy = self._group, self.policy
        if group is None or not group.is_compiled or not self._takes_plain_steps():
            return False
        if type(policy) is not LocalUpdate or policy.store is not None or len(self._parameters.devices) > 1:
            return False
        if self.params_initialized and self._step_again(group, policy, data_batch):
            done = True
        else:
            self._follow_batch(data_batch)
            trained = self._parameters.trained()  # of the batch's shapes
            update = JointUpdate.of(policy, trained, self._joint_update)
            # The arrays are the executors', and live no longer than these.
            self._joint_update = None if update is None else update.of_arrays(())
            if update is None or self._inputs.absent_labels:
                return False
            done = group.forward_backward_update(data_batch, update)
        self._has_gradients = self._has_gradients or done
        return done

    def _step_again(
        self, group: DataParallelExecutorGroup, policy: LocalUpdate, data_batch: AnyBatch
    ) -> bool:
        """Do what was done for the last batch; return whether that is the right thing, and was done."""
        inputs, update, steps = group.passes.inputs, self._joint_update, group.passes.steps
        if inputs is None or update is None or not group.has_run:
            return False
        arrays = inputs.read(data_batch)
        if arrays is None or len(arrays) < len(inputs.arrays):
            return False
        cached: CachedStep | None = steps.find(
            lambda: CachedStep.of(group, update, self._parameters.trained())
        )
        if cached is None or not steps.note(cached.run(arrays, policy)):
            return False
        self._inputs.absent_labels = []
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
