"""`ReadyStep`: forward, backward and update for a batch like the last one; how they are done is found out once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from torch import Tensor

from ..draws import Source
from ..executor import DataParallelExecutorGroup
from ..executor.group.ready import ReadyBatches
from ..executor.step import Gradients
from ..executor.updating import UpdatingAgain
from ..optimizer.arrays import ArrayTree
from ..optimizer.ready import ReadyUpdate
from .batches import AnyBatch
from .device_arrays import Trained
from .joined_update import JoinedRule
from .update import LocalUpdate

__all__ = ["ReadyStep"]


class ReadyStep:
    """A step on one device that repeats the one before, as long as it `holds`. Made by `of`.

    What a program may change between two batches is looked at each time: arrays and their memory, the optimizer with
    its settings, states and rates, the shapes of the batch, monitors. All else was found out when it was made.

    Parameters
    ----------
    group, policy, trained
        The executors, what updates, and the parameters.
    batches, update
        What is known of batches and their passes, and of the update.
    compiled
        Forward, backward and update as one call; None: code without autograd, and an update.
    """

    def __init__(
        self,
        group: DataParallelExecutorGroup,
        policy: LocalUpdate,
        trained: Sequence[Trained],
        batches: ReadyBatches,
        update: ReadyUpdate,
        compiled: UpdatingAgain | None,
    ) -> None:
        self._group, self._policy, self._updater, self._trained = group, policy, policy.updater, trained
        self._indices = [policy.keys(each.name)[0] for each in trained]
        self._weights = [each.weights[0] for each in trained]
        self._gradients = [each.gradients[0] for each in trained]
        self._batches, self._update, self._compiled = batches, update, compiled
        #: Whether a step was made so.
        self.was_used = False

    @classmethod
    def of(
        cls,
        group: DataParallelExecutorGroup,
        policy: LocalUpdate,
        trained: Sequence[Trained],
        rule: JoinedRule | None,
    ) -> ReadyStep | None:
        """Return it for steps like the one that was made; None where each has more to find out.

        Parameters
        ----------
        group, policy, trained
            As of the class.
        rule
            How updates are compiled, of a network that is.
        """
        batches = group.like_last.ready_batches()
        if batches is None or not trained or not policy.updates_together:
            return None
        indices, weights = (
            [policy.keys(each.name)[0] for each in trained],
            [each.weights[0] for each in trained],
        )
        update = policy.updater.ready_update(indices, weights)
        if update is None:
            return None
        plan = batches.runs.plan
        if plan.compiled is None:
            return cls(group, policy, trained, batches, update, None)
        step = None if rule is None else rule.steps.get(plan.compiled)
        if rule is None or step is None:
            return None
        states = [
            rule.optimizer.step_state(i, weight, cast(ArrayTree, policy.updater.states[i]))
            for i, weight in zip(indices, weights, strict=True)
        ]
        compiled = step.again(states, batches.runs.tensors)
        return None if compiled is None else cls(group, policy, trained, batches, update, compiled)

    def holds(self, group: DataParallelExecutorGroup | None, policy: object) -> bool:
        """Return whether all is as it was."""
        updater = self._updater
        return (
            group is self._group
            and policy is self._policy
            and self._policy.function is updater
            and self._batches.hold(self._group.execs)
            and self._update.holds(updater.optimizer, self._indices, updater.states)
            and (self._compiled is None or self._compiled.holds())
        )

    def run(self, data_batch: AnyBatch) -> bool:
        """Do it for a batch; return whether it was done. If not, nothing was updated, and nothing counted."""
        if self._compiled is not None:
            arrays = self._batches.arrays_of(data_batch)
            if arrays is None:
                return False
            self.was_used = True
            self._batches.run(arrays, self._run_compiled)
            return True
        if not self._batches.repeat(data_batch):
            return False
        self.was_used = True
        if self._update.takes(self._gradients):  # and the weights, whose memory is that of before
            self._update.update(self._weights, self._gradients)
        else:
            self._policy.update(self._trained)
        return True

    def _run_compiled(self, _: Sequence[Tensor], source: Source | None) -> Gradients:
        assert self._compiled is not None
        return self._compiled(self._update.rates(self._weights), source)
