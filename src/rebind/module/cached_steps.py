"""The steps of a batch as one call, or as the last batch had them."""

from __future__ import annotations

from typing import cast

from ..executor import DataParallelExecutorGroup
from ..protocols import Batch
from .batches import AnyBatch
from .bound_network import BoundNetwork
from .joint_update import CachedStep, JointUpdate
from .parameters import Parameters
from .update import LocalUpdate
from .update_policy import UpdatePolicy

__all__ = ["CachedSteps"]


class CachedSteps:
    """Steps of a network at once, or again; `Module` has the single steps, and knows where none differs.

    Parameters
    ----------
    network, parameters
        Those of the module.

    Examples
    --------
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

    def __init__(self, network: BoundNetwork, parameters: Parameters) -> None:
        self._network, self._parameters = network, parameters
        self._update: JointUpdate | None = None  # how the last update was made so; without arrays

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_update": None}

    def predict(self, data_batch: AnyBatch) -> bool:
        """Compute the outputs of a batch like the last one; return whether that was done."""
        group = self._network.group
        if (
            group is None
            or not self._parameters.initialized
            or not group.passes.run(data_batch, is_train=False)
        ):
            return False
        self._network.note_labels(cast(Batch, data_batch))  # no list of batches, for there is one device
        return True

    def forward_backward(self, data_batch: AnyBatch) -> bool:
        """Compute outputs and gradients for a batch like the last one; return whether that was done."""
        group = self._network.group
        if group is None or not self._parameters.initialized:
            return False
        return group.passes.run(data_batch, is_train=True) and self._note_done()

    def forward_backward_update(self, data_batch: AnyBatch, policy: UpdatePolicy | None) -> bool:
        """Do the three steps in one call of compiled code where that can be done; return whether it was done."""
        network, group = self._network, self._network.group
        if group is None or not group.is_compiled or not self._parameters.initialized:
            return False
        if type(policy) is not LocalUpdate or policy.store is not None or len(self._parameters.devices) > 1:
            return False
        if self._step_again(group, policy, data_batch):
            return True
        network.follow(data_batch)
        trained = self._parameters.trained()  # of the batch's shapes
        update = JointUpdate.of(policy, trained, self._update)
        # The arrays are the executors', and live no longer than these.
        self._update = None if update is None else update.of_arrays(())
        if update is None or network.absent_labels:
            return False
        done = group.forward_backward_update(data_batch, update)
        network.has_gradients = network.has_gradients or done
        return done

    def _step_again(
        self, group: DataParallelExecutorGroup, policy: LocalUpdate, data_batch: AnyBatch
    ) -> bool:
        """Do what was done for the last batch; return whether that is the right thing, and was done."""
        inputs, update, steps = group.passes.inputs, self._update, group.passes.steps
        if inputs is None or update is None or not group.has_run:
            return False
        arrays = inputs.read(data_batch)
        if arrays is None or len(arrays) < len(inputs.arrays):
            return False
        cached: CachedStep | None = steps.find(
            lambda: CachedStep.of(group, update, self._parameters.trained())
        )
        return cached is not None and steps.note(cached.run(arrays, policy)) and self._note_done()

    def _note_done(self) -> bool:
        self._network.absent_labels = []
        self._network.has_gradients = True
        return True
