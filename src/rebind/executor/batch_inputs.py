"""The arrays of an executor that batches are loaded into."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from torch import Tensor

from .._torch.tensors import is_lazy, lazy_clone
from ..mode import mode
from ..ndarray import NDArray
from ..ndarray.storage import DenseStorage
from ..tuning import current

__all__ = ["BatchInputs"]

_dense_shape_of = operator.attrgetter("storage.memory.shape")

_CAN_LEND = lazy_clone is not None and is_lazy is not None


class BatchInputs:
    """The inputs of a network on one device, for batches of exactly what it has.

    A batch is lent where that can be done: the input's array is a lazy clone of the batch's, of which PyTorch makes a
    copy as soon as somebody writes into either of them.

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
        # By position: what operators write to, or hand on by its address, is copied by them, and not lent again.
        least = current().lent_input_elements
        self._lends = [array.size >= least and _CAN_LEND for array in self.arrays]
        self._is_sure = not any(self._lends)

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
        """Lend or copy the arrays of a batch; labels that it lacks stay as they are."""
        for i, (array, given) in enumerate(zip(self.arrays, batch, strict=False)):
            source, storage = given.tensor, array.storage
            # To a GPU, from a record, into other storage: as any array is written.
            if not isinstance(storage, DenseStorage) or not storage.tensor.is_cpu or source.requires_grad:
                array.write(source)
                continue
            if self._lends[i] and _can_be_lent(source, storage.tensor, given, array):
                try:
                    storage.tensor = lazy_clone(source)
                    continue
                except RuntimeError:  # the memory is not PyTorch's, as that of an iterator's only batch
                    self._lends[i] = False
            array.writable_tensor().copy_(source)

    def note_run(self) -> None:
        """Note, after the first run, which inputs are still lent."""
        if not self._is_sure:
            self._is_sure = True
            self._lends = [
                lends and is_lazy(array.tensor) for lends, array in zip(self._lends, self.arrays, strict=True)
            ]


def _can_be_lent(source: Tensor, target: Tensor, given: NDArray, array: NDArray) -> bool:
    """Return whether an input may be a lazy clone of a batch's array: nobody else knows the memory of either."""
    return (
        source.is_cpu
        and source.dtype is target.dtype
        and source.is_contiguous()
        and not given.storage.shared
        and not array.storage.shared
        and source.untyped_storage().nbytes() == source.nbytes
    )
