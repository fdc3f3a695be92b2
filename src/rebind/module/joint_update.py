"""A module's update as compiled code takes it, together with forward and backward."""

from __future__ import annotations

import copy
import weakref
from collections.abc import MutableMapping, Sequence
from typing import Any, cast

from ..checks import is_of_rebind
from ..draws import Source
from ..executor import DataParallelExecutorGroup
from ..executor.cache import Guard
from ..executor.cached_pass import CachedPass
from ..executor.compiling import CompiledCode
from ..executor.joint_update import BoundJointStep, JointStep
from ..executor.programs import Results
from ..ndarray import NDArray
from ..optimizer import Optimizer
from ..optimizer.arrays import ArrayTree
from ..optimizer.cached_update import CachedUpdate
from ..optimizer.step import Rates, StateTree, UpdatePart
from .parameters import Trained
from .update import LocalUpdate

__all__ = ["CachedStep", "JointUpdate"]


class JointUpdate:
    """How a policy updates parameters on one device, and what was compiled of it; see `rebind.executor.Update`.

    Counts, schedules and states are those of the policy's updater: what follows is the same whichever way an update
    was made.

    Parameters
    ----------
    policy
        Whose updates they are.
    trained
        The parameters.

    Examples
    --------
    >>> import rebind as mx
    >>> sgd, weight = mx.optimizer.create("sgd", learning_rate=0.5), mx.nd.array([1])
    >>> update = JointUpdate(LocalUpdate(sgd, ["w"]), [Trained("w", [weight], [mx.nd.array([1])])])
    >>> update.finish(*update.begin())
    >>> weight.item(), sgd.num_update
    (0.5, 1)
    """

    def __init__(self, policy: LocalUpdate, trained: Sequence[Trained]) -> None:
        self.policy, self.trained = policy, trained
        self.names = [each.name for each in trained]
        self.optimizer = policy.updater.optimizer
        self.indices = [policy.keys(name)[0] for name in self.names]
        self.part: UpdatePart = self.optimizer.update_part(self.indices)
        # They live as long as the networks, which other modules may use, and as long as this update.
        self.steps: MutableMapping[CompiledCode, JointStep | None] = weakref.WeakKeyDictionary()

    def of_arrays(self, trained: Sequence[Trained]) -> JointUpdate:
        """Return the update for other arrays of the same parameters, with what was compiled of this one."""
        other = copy.copy(self)
        other.trained = trained
        return other

    @classmethod
    def of(
        cls, policy: LocalUpdate, trained: Sequence[Trained], last: JointUpdate | None
    ) -> JointUpdate | None:
        """Return the update of a policy: the `last` one if it is that; None where it is no known function.

        >>> import rebind as mx
        >>> policy = LocalUpdate(mx.optimizer.create("sgd"), ["w"])
        >>> trained = [Trained("w", [mx.nd.array([1])], [mx.nd.array([1])])]
        >>> update = JointUpdate.of(policy, trained, None)
        >>> JointUpdate.of(policy, trained, update).steps is update.steps
        True
        >>> JointUpdate.of(LocalUpdate(mx.optimizer.create("lbsgd"), ["w"]), trained, update) is None
        True
        """
        # A file of states may bring another optimizer, and a program may put another updater in its place.
        optimizer = policy.optimizer_in_use
        if not (trained and policy.updates_together and _is_pure(optimizer)):
            return None
        names = [each.name for each in trained]
        if last is None or (last.policy, last.optimizer, last.names) != (policy, optimizer, names):
            return cls(policy, trained)
        return last.of_arrays(trained)

    @property
    def weights(self) -> list[NDArray]:
        """The arrays that are updated."""
        return [each.weights[0] for each in self.trained]

    def _stored_states(self, weights: Sequence[NDArray]) -> Sequence[ArrayTree]:
        states = self.policy.updater.states_of(self.indices, weights)
        return cast("Sequence[ArrayTree]", states)  # of numbers only an optimizer of a user's own has some

    def states(self) -> list[StateTree]:
        """Return the states, as they are in memory."""
        weights = self.weights
        each_weight = zip(self.indices, weights, self._stored_states(weights), strict=True)
        return [self.optimizer.step_state(*each) for each in each_weight]

    def begin(self) -> tuple[list[StateTree], Rates]:
        """Count an update; return the states, as they are in memory, and the rates."""
        states, weights = self.states(), self.weights
        self.optimizer._set_current_context(weights[0].context.device_id)
        return states, self.optimizer.rates(self.indices, weights[0].tensor.device)

    def finish(self, states: list[StateTree], rates: Rates) -> None:
        """Make the update that was begun, by the gradients in their arrays."""
        weights, gradients = self.weights, [each.gradients[0].tensor for each in self.trained]
        new_weights, new_states = self.part([each.tensor for each in weights], gradients, states, rates)
        for weight, value in zip(weights, new_weights, strict=True):
            weight.write(value)
        for i, state, new in zip(self.indices, self._stored_states(weights), new_states, strict=True):
            self.optimizer.write_step_state(i, state, new)


class CachedStep:
    """Forward, backward and update in one call of compiled code, for batches like the last one. Made by `of`.

    Attributes
    ----------
    guard
        What must be as it was: what the pass and the update ask for, and the policy.
    """

    def __init__(
        self, cached: CachedPass, update: CachedUpdate, joint: BoundJointStep, of: JointUpdate, guard: Guard
    ) -> None:
        self._pass, self._update, self._joint, self._of = cached, update, joint, of
        self._weights = of.weights
        self.guard = guard

    @classmethod
    def of(
        cls, group: DataParallelExecutorGroup, update: JointUpdate, trained: Sequence[Trained]
    ) -> CachedStep | None:
        """Return it for steps like the one that was made; None where each has more to find out."""
        update = update.of_arrays(trained)
        passes, updater = group.passes, update.policy.updater
        cached = None if passes.inputs is None else CachedPass.of(passes.runner, passes.inputs, is_train=True)
        cached_update = updater.cached_update(update.indices, update.weights)
        if cached is None or cached_update is None or cached.program.plan.compiled is None:
            return None
        step = update.steps.get(cached.program.plan.compiled)
        joint = None if step is None else step.bound(update.states(), cached.tensors)
        if joint is None:
            return None
        policy = update.policy

        def objects() -> tuple[object, ...]:
            return policy.function, cached.guard.holds(), cached_update.guard.holds()

        guard = Guard.of((), objects)
        return None if guard is None else cls(cached, cached_update, joint, update, guard)

    def run(self, batch: Sequence[NDArray], policy: object) -> bool:
        """Do it for a batch; return whether it was done. If not, nothing was updated, and nothing counted."""
        if policy is not self._of.policy or not self._joint.has_its_settings:
            return False
        return self._pass.run(batch, self._run)

    def _run(self, tensors: Sequence[Any], source: Source | None) -> Results:
        return Results.of(self._joint(self._update.rates(self._weights), tensors, source))


def _is_pure(optimizer: Optimizer[Any]) -> bool:
    """Return whether an update is a known function of tensors, whose states are written where they are.

    >>> import rebind as mx
    >>> _is_pure(mx.optimizer.create("adam")), _is_pure(mx.optimizer.create("lbsgd"))
    (True, False)
    """
    kind = type(optimizer)
    return (
        optimizer.is_ours
        and is_of_rebind(optimizer.update_group)
        and is_of_rebind(optimizer.step)
        and kind.write_step_state is Optimizer.write_step_state
    )
