"""A module's steps of training in one call of compiled code."""

from __future__ import annotations

from .batches import AnyBatch
from .joined_update import JoinedRule, JoinedUpdate
from .joint import Joint
from .update import LocalUpdate

__all__ = ["WholeSteps"]

#: What may not be another's, so that all of it can be done at once.
_STEPS = ("forward", "backward", "forward_backward", "update", "apply_gradients")
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

    def forward_backward_update(self, data_batch: AnyBatch) -> bool:
        """Do the three steps at once where that can be done; see `Steps.forward_backward_update`."""
        policy = self.policy
        if self._group is None or not self._group.is_compiled or not self._takes_plain_steps():
            return False
        if type(policy) is not LocalUpdate or policy.store is not None or len(self._parameters.devices) > 1:
            return False
        group, trained = self._follow_batch(data_batch), self._parameters.trained()
        rule = self._joined = JoinedRule.of(policy, [each.name for each in trained], self._joined)
        if rule is None or not trained or self._inputs.absent_labels:
            return False
        done = group.forward_backward_update(data_batch, JoinedUpdate(rule, trained))
        self._has_gradients = self._has_gradients or done
        return done

    def _takes_plain_steps(self) -> bool:
        """Return whether nothing comes between the steps: no scale, no workers, no step of a subclass's own."""
        return (
            self.loss_scaler is None
            and self.workers is None
            and all(getattr(type(self), name).__module__.startswith(_PACKAGE) for name in _STEPS)
            and vars(self).keys().isdisjoint(_STEPS)
        )
