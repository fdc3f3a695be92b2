"""The arrays of an executor that batches are loaded into."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from ..mode import mode
from ..ndarray import NDArray

__all__ = ["BatchInputs"]

_dense_shape_of = operator.attrgetter("storage.memory.shape")


class BatchInputs:
    """The inputs of a network on one device, for batches of exactly what it has.

    Parameters
    ----------
    data, labels
        The arrays, in the order of a batch's.

    Examples
    --------
    >>> import rebind as mx
    >>> x = mx.nd.zeros((2,))
    >>> inputs = BatchInputs([x], [])
    >>> [inputs.read(mx.io.DataBatch([mx.nd.zeros((size,))])) is None for size in (2, 3)]
    [False, True]
    >>> inputs.load([mx.nd.array([1, 2])])
    >>> x.asnumpy().tolist()
    [1.0, 2.0]
    """

    def __init__(self, data: Sequence[NDArray], labels: Sequence[NDArray]) -> None:
        self.arrays = [*data, *labels]
        self._data = len(data)
        self._shapes = [each.shape for each in self.arrays]

    def read(self, batch: object) -> list[NDArray] | None:
        """Return the arrays of a batch with all data, and all labels or none; None of what fits not as it is.

        That is what is no batch, or not of dense arrays in these shapes, or comes where a record of the user's has the
        inputs.
        """
        data, labels = getattr(batch, "data", None), getattr(batch, "label", None) or ()
        if not (isinstance(data, (list, tuple)) and isinstance(labels, (list, tuple))):
            return None
        arrays = [*data, *labels]
        if len(data) != self._data or (labels and len(arrays) != len(self.arrays)) or mode.recording:
            return None
        try:
            if [*map(_dense_shape_of, arrays)] != self._shapes[: len(arrays)]:
                return None
        except AttributeError:  # NumPy's, or of another storage
            return None
        is_free = all([array.leaf is None and array.history is None for array in self.arrays])
        return arrays if is_free else None

    def load(self, batch: Sequence[NDArray]) -> None:
        """Copy the arrays of a batch; labels that it lacks stay as they are."""
        for array, given in zip(self.arrays, batch, strict=False):
            array.write(given.tensor)
