"""What a module does where workers train together: its part in a step for which it has no batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..kvstore import KVStoreBase
from ..ndarray import NDArray
from .copies import Copies
from .jobs import any_of

__all__ = ["Joint"]


class Joint(Copies):
    """A module that can train with those of other workers; `Module` adds the steps.

    >>> import rebind as mx
    >>> module = mx.mod.Module(mx.sym.BatchNorm(mx.sym.var("data"), name="bn"), label_names=None)
    >>> module.bind([("data", (2, 3))])
    >>> [len(of_devices) for of_devices in module.auxiliary_arrays()], module.stores()
    ([1, 1], [])
    """

    def stores(self) -> list[KVStoreBase]:
        """Return the store, if there is one."""
        policy = self.policy
        return [] if policy is None or policy.store is None else [policy.store]

    def _samples_per_update(self, store: KVStoreBase | None) -> int:
        samples = self._need_group("init_optimizer()").batch_size * self.batches_per_update
        # Workers that do not wait for each other update one by one, each by the gradients of its own batch.
        if store is not None and store.capabilities.spans_processes and store.capabilities.is_synchronous:
            samples *= store.num_workers
        return samples

    def auxiliary_arrays(self) -> list[Sequence[NDArray]]:
        """Return for each auxiliary state the arrays of all devices; not copies."""
        return list(self._need_group("auxiliary_arrays()").aux_arrays)

    def take_no_batch(self) -> None:
        """Set gradients as a batch without samples has them."""
        if self.batches_per_update == 1:  # otherwise the sums of earlier batches stay as they are
            self.clear_gradients()
        self._on_gradient()  # the other workers' pushes begin with their backward
        self._has_gradients = True  # `update` is to use them

    def _sends(self) -> bool:
        # Scaled gradients are checked for an overflow first.
        if not self.sends_gradients or self.loss_scaler is not None:
            return False
        policy = self.policy
        return (
            policy is not None
            and policy.store is not None
            and policy.store.capabilities.takes_ready_gradients
        )

    def _on_gradient(self) -> Callable[[str], None] | None:
        if not self._sends() or self.policy is None:
            return None
        return self.policy.start_sending(self._parameters.trained())

    def on_any_worker(self, holds: bool) -> bool:
        """Return whether a condition holds on one of the workers whose gradients are summed."""
        return any_of(self.stores(), holds)
