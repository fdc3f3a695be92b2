"""A module with an auxiliary one, which has the same network and a snapshot of the parameters."""

from __future__ import annotations

from collections.abc import Sequence

from ...module import Module
from ...module.batches import AnyBatch
from ...module.descs import Shapes
from ...module.settings import RowIds
from ...ndarray import NDArray

__all__ = ["WithSnapshot"]


class WithSnapshot(Module):
    """A module whose inputs, shapes and states an auxiliary module shares; `SVRGModule` makes that and trains by both.

    >>> import rebind as mx
    >>> from rebind.contrib.svrg_optimization import SVRGModule
    >>> module = SVRGModule(mx.sym.square(mx.sym.var("data")), label_names=None, update_freq=1)
    >>> isinstance(module, WithSnapshot)
    True
    """

    _mod_aux: Module

    def reshape(self, data_shapes: Shapes, label_shapes: Shapes | None = None) -> None:
        """Change the shapes of inputs and labels, in both modules; parameters and optimizer stay."""
        super().reshape(data_shapes, label_shapes)
        if self._mod_aux.binded:
            self._mod_aux.reshape(data_shapes, label_shapes)

    def prepare(self, data_batch: AnyBatch, sparse_row_id_fn: RowIds | None = None) -> None:
        """Prepare both modules for a batch; rows of sparse parameters are fetched for the trained one only."""
        super().prepare(data_batch, sparse_row_id_fn)
        self._mod_aux.prepare(data_batch)

    def set_states(self, states: Sequence[NDArray] | None = None, value: float | None = None) -> None:
        """Set the states of both modules from arrays, or all to one number."""
        super().set_states(states, value)
        if self._mod_aux.binded:
            self._mod_aux.set_states(states, value)
