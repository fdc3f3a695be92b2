"""Update operators with row_sparse gradients: they update the rows that the gradient has, and no others.

Without ``lazy_update``, or with states of another storage type than the weight's, they fall back to dense as in MXNet,
and all rows are updated.
"""

from __future__ import annotations

from ....errors import ShapeError
from ....ops import find
from ....ops.storage_types import storage_kernel
from ...storage import Storage
from ..row_sparse import RowSparseStorage

__all__ = ["UPDATES"]

#: The operators for which MXNet has such kernels, with the numbers of their states.
UPDATES = {
    "sgd_update": 0, "sgd_mom_update": 1, "adam_update": 2, "ftrl_update": 2, "_sparse_adagrad_update": 1,
    "_contrib_group_adagrad_update": 1,
}  # fmt: skip


def _declare(name: str, stype: str) -> None:
    """Declare the kernel of an operator, for weights and states of a storage type."""

    def over(weight: Storage, grad: RowSparseStorage, *states: Storage, **settings: object) -> None:
        """Update the rows of weight and states."""
        if grad.shape != weight.shape:
            raise ShapeError(
                f"grad must have the shape of weight, {tuple(weight.shape)}; got {tuple(grad.shape)}"
            )
        ordered = grad.in_order()
        rows, values = ordered.indices, ordered.data
        for state in states:
            if isinstance(state, RowSparseStorage) and not len(state.indices):
                state.store_all_rows()  # once: rows would be added to it in every step
        targets = (weight, *states)
        gathered = [target.rows(rows) for target in targets]
        find(name).kernels.in_place["weight"].function(gathered[0], values, *gathered[1:], **settings)
        for target, tensor in zip(targets, gathered, strict=True):
            target.write_rows(rows, tensor)

    @storage_kernel(
        name,
        (stype, "row_sparse", *[stype] * UPDATES[name]),
        (stype,),
        when=lambda p: p.get("lazy_update", True),
        over=over,
    )
    def updated(weight: Storage, grad: RowSparseStorage, *states: Storage, **settings: object) -> Storage:
        """Return the new weight; rows of the states are updated in place."""
        new = weight.copy()
        over(new, grad, *states, **settings)
        return new


for _name in UPDATES:
    for _stype in ("default", "row_sparse"):
        _declare(_name, _stype)
