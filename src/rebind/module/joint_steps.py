"""`JointSteps`: what a module does besides its steps where workers train together."""

from __future__ import annotations

from collections.abc import Sequence

from ..kvstore import KVStoreBase
from ..ndarray import NDArray
from .workers import Workers

__all__ = ["JointSteps"]


class JointSteps:
    """What workers ask of a module that they train together; `Steps` adds the steps.

    >>> import rebind as mx
    >>> module = mx.mod.PythonLossModule()
    >>> module.stores(), module.auxiliary_arrays(), module.workers
    ([], [], None)
    """

    #: How many batches' gradients are summed before an update; `fit` sets it.
    batches_per_update: int = 1
    #: Whether nothing looks at the gradients between `backward` and `update`, so that a store over processes may send
    #: them while backward computes others; `fit` sets it.
    sends_gradients: bool = False
    #: Those that it trains with; `fit` sets it for a run over several.
    workers: Workers | None = None

    def auxiliary_arrays(self) -> list[Sequence[NDArray]]:
        """Return for each auxiliary state the arrays of all devices, not copies; workers agree on their mean."""
        return []

    def stores(self) -> list[KVStoreBase]:
        """Return the stores that gradients go through; none before `init_optimizer`."""
        return []

    def take_no_batch(self) -> None:
        """Set gradients as a batch without samples has them: for a step in which only other workers have a batch."""
        if self.batches_per_update == 1:
            self.clear_gradients()

    def clear_gradients(self) -> None:
        """Set all gradients to zero; a kind of module defines it."""
