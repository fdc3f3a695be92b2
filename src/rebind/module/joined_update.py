"""`JoinedUpdate`: a module's update as compiled code takes it, together with forward and backward."""

from __future__ import annotations

import weakref
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ..checks import is_ours
from ..executor.compiling import CompiledCode
from ..executor.updating import UpdatingStep
from ..ndarray import NDArray
from ..optimizer import Optimizer
from ..optimizer.arrays import ArrayTree
from ..optimizer.step import Rates, StateTree, UpdatePart
from .device_arrays import Trained
from .update import LocalUpdate

__all__ = ["JoinedRule", "JoinedUpdate"]


class JoinedRule:
    """How a policy updates parameters on one device, and what was compiled of it. It holds no weights.

    Parameters
    ----------
    policy
        Whose updates they are.
    names
        The parameters.

    Examples
    --------
    >>> import rebind as mx
    >>> policy = LocalUpdate(mx.optimizer.create("sgd"), ["w"])
    >>> rule = JoinedRule.of(policy, ["w"], None)
    >>> JoinedRule.of(policy, ["w"], rule) is rule
    True
    >>> JoinedRule.of(LocalUpdate(mx.optimizer.create("lbsgd"), ["w"]), ["w"], rule) is None
    True
    """

    def __init__(self, policy: LocalUpdate, names: Sequence[str]) -> None:
        self.policy, self.names = policy, list(names)
        self.optimizer = policy.updater.optimizer
        self.indices = [policy.keys(name)[0] for name in names]
        self.part = self.optimizer.update_part(self.indices)
        # They live as long as the networks, which other modules may use, and as long as this rule.
        self.steps: MutableMapping[CompiledCode, UpdatingStep | None] = weakref.WeakKeyDictionary()

    @classmethod
    def of(cls, policy: LocalUpdate, names: Sequence[str], last: JoinedRule | None) -> JoinedRule | None:
        """Return the rule of a policy: the `last` one if it is that; None where an update is no known function."""
        # A file of states may bring another optimizer, and a program may put another updater in its place.
        optimizer = policy.optimizer_in_use
        if not (policy.updates_together and _is_pure(optimizer)):
            return None
        if last is not None and last.policy is policy and last.optimizer is optimizer and last.names == names:
            return last
        return cls(policy, names)


@dataclass
class JoinedUpdate:
    """An update of weights as an executor takes it; see `rebind.executor.Update`.

    Counts, schedules and states are those of the policy's updater: what follows is the same whichever way an update
    was made.

    Attributes
    ----------
    rule
        How they are updated.
    trained
        The parameters.

    Examples
    --------
    >>> import rebind as mx
    >>> sgd, weight = mx.optimizer.create("sgd", learning_rate=0.5), mx.nd.array([1])
    >>> rule = JoinedRule(LocalUpdate(sgd, ["w"]), ["w"])
    >>> update = JoinedUpdate(rule, [Trained("w", [weight], [mx.nd.array([1])])])
    >>> update.finish(*update.begin())
    >>> weight.item(), sgd.num_update
    (0.5, 1)
    """

    rule: JoinedRule
    trained: Sequence[Trained]

    @property
    def names(self) -> Sequence[str]:
        """The parameters' names."""
        return self.rule.names

    @property
    def part(self) -> UpdatePart:
        """The update as a function of tensors."""
        return self.rule.part

    @property
    def steps(self) -> MutableMapping[CompiledCode, UpdatingStep | None]:
        """What was compiled with it."""
        return self.rule.steps

    @property
    def _weights(self) -> list[NDArray]:
        return [each.weights[0] for each in self.trained]

    def _stored_states(self, weights: Sequence[NDArray]) -> Sequence[ArrayTree]:
        found = self.rule.policy.updater.ready_states(self.rule.indices, weights)
        return cast("Sequence[ArrayTree]", found)  # of numbers only an optimizer of a user's own has some

    def begin(self) -> tuple[list[StateTree], Rates]:
        """Count an update; return the states, as they are in memory, and the rates."""
        rule, weights = self.rule, self._weights
        each_weight = zip(rule.indices, weights, self._stored_states(weights), strict=True)
        states = [rule.optimizer.step_state(*each) for each in each_weight]
        rule.optimizer._set_current_context(weights[0].context.device_id)
        return states, rule.optimizer.rates(rule.indices, weights[0].tensor.device)

    def finish(self, states: list[StateTree], rates: Rates) -> None:
        """Make the update that was begun, by the gradients in their arrays."""
        weights, gradients = self._weights, [each.gradients[0].tensor for each in self.trained]
        new_weights, new_states = self.part([each.tensor for each in weights], gradients, states, rates)
        for weight, value in zip(weights, new_weights, strict=True):
            weight.write(value)
        for i, state, new in zip(self.rule.indices, self._stored_states(weights), new_states, strict=True):
            self.rule.optimizer.write_step_state(i, state, new)


def _is_pure(optimizer: Optimizer[Any]) -> bool:
    """Return whether an update is a known function of tensors, whose states are written where they are.

    >>> import rebind as mx
    >>> _is_pure(mx.optimizer.create("adam")), _is_pure(mx.optimizer.create("lbsgd"))
    (True, False)
    """
    kind = type(optimizer)
    return (
        optimizer.is_ours
        and is_ours(optimizer, "update_group")
        and is_ours(optimizer, "step")
        and kind.write_step_state is Optimizer.write_step_state
    )
